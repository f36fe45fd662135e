//! Where a message lies.

use core::ptr;

use crate::{Descriptor, Kind, MAGIC, Part, Trait};

/// Memory that a message is read from.
pub trait Memory {
    /// `len` bytes at an address; `None` if not all of them are there. An empty slice is anywhere.
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]>;
}

/// The memory of this process.
#[derive(Debug)]
pub struct Own(());

impl Own {
    /// # Safety
    /// The value is only used to format messages that code of this process has left, whose
    /// template, arguments and descriptors can be read at their addresses and do not change
    /// meanwhile.
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

impl Memory for Own {
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let begin = ptr::with_exposed_provenance::<u8>(usize::try_from(address).ok()?);
        if begin.is_null()
            || isize::try_from(len).is_err()
            || address.checked_add(len as u64).is_none()
        {
            return None;
        }
        // SAFETY: not null and not too long; `new` was promised that what a message refers to is
        // there.
        Some(unsafe { core::slice::from_raw_parts(begin, len) })
    }
}

/// Pieces of another memory, such as what a kernel has copied into a message buffer: each an
/// address there, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a>(pub &'a [(u64, &'a [u8])]);

impl Memory for Recorded<'_> {
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        self.0.iter().find_map(|(begin, bytes)| {
            let from = usize::try_from(address.checked_sub(*begin)?).ok()?;
            bytes.get(from..from.checked_add(len)?)
        })
    }
}

/// A number of `N` bytes.
pub fn number<const N: usize>(memory: &dyn Memory, address: u64) -> Option<[u8; N]> {
    memory.bytes(address, N)?.try_into().ok()
}

/// A word: an address or a length.
pub fn word(memory: &dyn Memory, address: u64) -> Option<u64> {
    number(memory, address).map(u64::from_le_bytes)
}

/// The word at an index from an address.
pub fn word_at(memory: &dyn Memory, address: u64, index: u64) -> Option<u64> {
    word(memory, address.checked_add(index.checked_mul(8)?)?)
}

/// A descriptor's kind and trait, and the rest of it.
pub fn descriptor(memory: &dyn Memory, address: u64) -> Option<(Kind, Trait, Descriptor)> {
    let first = word(memory, address)?;
    if (first >> 32) as u32 != MAGIC {
        return None;
    }
    let [kind, of_trait, 0, 0] = (first as u32).to_le_bytes() else { return None };
    let found = Descriptor {
        kind: first as u32,
        magic: MAGIC,
        name: word_at(memory, address, 1)?,
        name_len: word_at(memory, address, 2)?,
        parts: word_at(memory, address, 3)?,
        parts_len: word_at(memory, address, 4)?,
    };
    Some((Kind::from_number(kind)?, Trait::from_number(of_trait)?, found))
}

/// One of a descriptor's parts.
pub fn part(memory: &dyn Memory, of: &Descriptor, index: u64) -> Option<Part> {
    if index >= of.parts_len {
        return None;
    }
    let at = of.parts.checked_add(index.checked_mul(size_of::<Part>() as u64)?)?;
    Some(Part {
        value: word(memory, at)?,
        descriptor: word_at(memory, at, 1)?,
        name: word_at(memory, at, 2)?,
        name_len: word_at(memory, at, 3)?,
    })
}
