//! The format of an entry, byte by byte.
//!
//! All integers are little-endian.
//!
//! ```text
//! offset  size  field
//!      0     8  magic         89 53 4B 43 0D 0A 1A 0A   ("\x89SKC\r\n\x1a\n")
//!      8     4  version       1
//!     12     4  meta length   at most MAX_META
//!     16     8  bytes length  at most MAX_BYTES
//!     24    32  key
//!     56    32  checksum      BLAKE3 of everything else: what is before it, then what comes after it
//!     88     m  meta
//!   88+m     b  bytes, to the end of the file
//! ```
//!
//! The entry contains the key, so that a file under another's name is detected, and the checksum
//! covers it and all the rest, so that a change of any bit is detected.

use crate::Key;

/// The cached value of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The metadata needed to use the code. At most [`MAX_META`] bytes.
    pub meta: Vec<u8>,
    /// The code. At most [`MAX_BYTES`] bytes.
    pub bytes: Vec<u8>,
}

/// The first bytes of an entry.
pub const MAGIC: [u8; 8] = *b"\x89SKC\r\n\x1a\n";
/// The version of the format.
pub const VERSION: u32 = 1;
/// Bytes before the value.
pub const HEADER_LEN: usize = 88;
/// The maximum length of `meta`.
pub const MAX_META: usize = 1 << 16;
/// The maximum length of `bytes`.
pub const MAX_BYTES: usize = 1 << 30;

/// Where the checksum is.
const CHECKSUM: std::ops::Range<usize> = 56..HEADER_LEN;

/// Why bytes are not the expected entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Shorter than a header.
    #[error("it is cut off: {0} bytes are no whole header")]
    Short(usize),
    /// It does not begin with [`MAGIC`].
    #[error("it is no entry of a kernel cache")]
    Magic,
    /// Another version wrote it.
    #[error("it has version {0} of the format, not {VERSION}")]
    Version(u32),
    /// A length exceeds the limits.
    #[error("it says that it is longer than any entry is")]
    TooLong,
    /// The lengths in the header do not match the file's.
    #[error("it is {found} bytes long instead of {expected}")]
    Length {
        /// According to its header.
        expected: u64,
        /// The actual number of bytes.
        found: usize,
    },
    /// It is the entry of another key.
    #[error("it belongs to the key {0}")]
    Key(Key),
    /// The checksum does not match.
    #[error("its checksum is wrong: bytes have changed")]
    Checksum,
}

/// The bytes of an entry.
///
/// # Errors
/// [`EntryError::TooLong`] if the value exceeds the limits.
pub fn write(key: &Key, value: &Value) -> Result<Vec<u8>, EntryError> {
    let Value { meta, bytes } = value;
    if meta.len() > MAX_META || bytes.len() > MAX_BYTES {
        return Err(EntryError::TooLong);
    }
    let mut entry = Vec::with_capacity(HEADER_LEN + meta.len() + bytes.len());
    entry.extend(MAGIC);
    entry.extend(VERSION.to_le_bytes());
    entry.extend((meta.len() as u32).to_le_bytes());
    entry.extend((bytes.len() as u64).to_le_bytes());
    entry.extend(key.as_bytes());
    entry.extend([0; Key::LEN]);
    entry.extend(meta);
    entry.extend(bytes);
    let checksum = checksum(&entry);
    entry[CHECKSUM].copy_from_slice(&checksum);
    Ok(entry)
}

/// Reads and checks an entry. `entry` is untrusted: any bytes are allowed.
///
/// # Errors
/// If it is not, bit for bit, what [`write()`] made for this key.
pub fn read(entry: &[u8], key: &Key) -> Result<Value, EntryError> {
    let (found, value) = parse(entry)?;
    if found == *key { Ok(value) } else { Err(EntryError::Key(found)) }
}

/// Reads and checks an entry of any key.
///
/// # Errors
/// If it is not, bit for bit, what [`write()`] made.
pub fn parse(entry: &[u8]) -> Result<(Key, Value), EntryError> {
    let Some((header, value)) = entry.split_first_chunk::<HEADER_LEN>() else {
        return Err(EntryError::Short(entry.len()));
    };
    if header[..8] != MAGIC {
        return Err(EntryError::Magic);
    }
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| header[at + i]));
    if word(8) != VERSION {
        return Err(EntryError::Version(word(8)));
    }
    let (meta_len, bytes_len) =
        (u64::from(word(12)), u64::from(word(16)) | u64::from(word(20)) << 32);
    if meta_len > MAX_META as u64 || bytes_len > MAX_BYTES as u64 {
        return Err(EntryError::TooLong);
    }
    if value.len() as u64 != meta_len + bytes_len {
        let expected = HEADER_LEN as u64 + meta_len + bytes_len;
        return Err(EntryError::Length { expected, found: entry.len() });
    }
    if header[CHECKSUM] != checksum(entry) {
        return Err(EntryError::Checksum);
    }
    let mut key = [0; Key::LEN];
    key.copy_from_slice(&header[24..56]);
    // No longer than `value`, as was just seen.
    let (meta, bytes) = value.split_at(meta_len as usize);
    Ok((Key::from_bytes(key), Value { meta: meta.to_vec(), bytes: bytes.to_vec() }))
}

/// Of an entry that is at least a header.
fn checksum(entry: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&entry[..CHECKSUM.start]);
    hasher.update(&entry[CHECKSUM.end..]);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(seed: u8) -> Key {
        Key::builder("test").part("seed", &[seed]).finish()
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let value = Value { meta: vec![1, 2, 3], bytes: (0..=255).collect() };
        let entry = write(&key(0), &value).unwrap();
        assert_eq!(read(&entry, &key(0)), Ok(value));
        for at in 0..entry.len() {
            for bit in 0..8 {
                let mut entry = entry.clone();
                entry[at] ^= 1 << bit;
                assert!(parse(&entry).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn every_cut_and_every_addition_is_noticed() {
        let value = Value { meta: vec![1, 2, 3], bytes: (0..=255).collect() };
        let mut entry = write(&key(0), &value).unwrap();
        for len in 0..entry.len() {
            assert!(parse(&entry[..len]).is_err(), "{len}");
        }
        entry.push(0);
        assert_eq!(
            parse(&entry),
            Err(EntryError::Length { expected: entry.len() as u64 - 1, found: entry.len() })
        );
    }

    #[test]
    fn an_entry_of_another_key_is_refused() {
        let entry = write(&key(1), &Value::default()).unwrap();
        assert_eq!(read(&entry, &key(2)), Err(EntryError::Key(key(1))));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let value = Value { meta: vec![0; MAX_META + 1], bytes: Vec::new() };
        assert_eq!(write(&key(0), &value), Err(EntryError::TooLong));
        let mut entry = write(&key(0), &Value::default()).unwrap();
        entry[12..24].fill(0xff);
        assert_eq!(parse(&entry), Err(EntryError::TooLong));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seed: u8, meta: Vec<u8>, bytes: Vec<u8>) {
            let value = Value { meta, bytes };
            let entry = write(&key(seed), &value).unwrap();
            prop_assert_eq!(parse(&entry), Ok((key(seed), value)));
        }

        #[test]
        fn any_bytes_may_come(bytes: Vec<u8>) {
            prop_assert!(parse(&bytes).is_err());
        }

        // A right frame around anything, so that the checks behind the first are reached.
        #[test]
        fn any_header_may_come(
            version in prop_oneof![Just(VERSION), any::<u32>()],
            meta in prop_oneof![0_u32..64, any::<u32>()],
            bytes in prop_oneof![0_u64..64, any::<u64>()],
            rest in proptest::collection::vec(any::<u8>(), 0..256),
        ) {
            let mut entry = MAGIC.to_vec();
            entry.extend(version.to_le_bytes());
            entry.extend(meta.to_le_bytes());
            entry.extend(bytes.to_le_bytes());
            entry.extend(rest);
            prop_assert!(parse(&entry).is_err());
        }

        #[test]
        fn any_change_is_noticed(bytes: Vec<u8>, at: prop::sample::Index, to: u8) {
            let entry = write(&key(0), &Value { meta: vec![7; 5], bytes }).unwrap();
            let mut changed = entry.clone();
            *at.get_mut(&mut changed) = to;
            prop_assert_eq!(parse(&changed).is_ok(), changed == entry);
        }
    }
}
