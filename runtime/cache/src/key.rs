//! Keys of entries.

use std::fmt;
use std::str::FromStr;

/// The hash of everything that a compiled kernel depends on. Prints as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; Key::LEN]);

impl Key {
    /// The length in bytes.
    pub const LEN: usize = 32;

    /// Builds a key from parts. Keys with different purposes are always different.
    ///
    /// ```
    /// use schism_cache::Key;
    ///
    /// let key = |kernel: &[u8], target: &[u8]| {
    ///     Key::builder("machine code").part("kernel", kernel).part("target", target).finish()
    /// };
    /// assert_eq!(key(b"a", b"sm_90"), key(b"a", b"sm_90"));
    /// assert_ne!(key(b"as", b"m_90"), key(b"a", b"sm_90"));
    /// ```
    #[must_use]
    pub fn builder(purpose: &str) -> KeyBuilder {
        KeyBuilder(blake3::Hasher::new()).part("schism-cache 1", purpose.as_bytes())
    }

    /// A key from its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The key's bytes, in the order in which they are printed.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// A text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is 64 hexadecimal digits, in small letters")]
pub struct NoKey;

impl FromStr for Key {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NoKey),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut key = [0; Self::LEN];
        if pairs.len() != key.len() || !rest.is_empty() {
            return Err(NoKey);
        }
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(key))
    }
}

/// A [`Key`] under construction; see [`Key::builder`].
#[derive(Clone, Debug)]
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// Adds a part. Names and lengths are hashed, too, so parts cannot run into each other.
    #[must_use]
    pub fn part(mut self, name: &str, bytes: &[u8]) -> Self {
        for bytes in [name.as_bytes(), bytes] {
            self.0.update(&(bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, name: &str, number: u64) -> Self {
        self.part(name, &number.to_le_bytes())
    }

    /// The key of all parts, in their order.
    #[must_use]
    pub fn finish(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_can_be_read_back() {
        let key = Key::builder("test").number("n", 7).finish();
        assert_eq!(key.to_string().parse(), Ok(key));
        let text = key.to_string();
        let wrong = [&text[1..], &text[2..], "", &text.to_uppercase(), &format!("{text}00")];
        assert!(wrong.iter().all(|text| text.parse::<Key>() == Err(NoKey)));
    }

    #[test]
    fn every_part_counts() {
        let base = || Key::builder("a").part("x", b"1");
        let keys = [
            base().finish(),
            Key::builder("b").part("x", b"1").finish(),
            Key::builder("a").part("y", b"1").finish(),
            Key::builder("a").part("x", b"2").finish(),
            Key::builder("a").part("x", b"").part("1", b"").finish(),
            base().part("", b"").finish(),
            base().number("n", 0).finish(),
            base().number("n", 1).finish(),
            Key::builder("a").finish(),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{index}");
        }
    }
}
