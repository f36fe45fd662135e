//! Device addresses among the bytes of a closure.

use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use schism_hcf::Addresses;

/// An address in a closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CapturedAddress {
    /// Its offset in its parameter.
    pub(crate) offset: usize,
    pub(crate) address: usize,
    /// Whether the kernel only reads through it.
    pub(crate) read_only: bool,
    /// Whether it may be something else, because it is in a union.
    pub(crate) uncertain: bool,
}

/// Calls `found` for each address in a parameter's bytes, until that fails.
///
/// # Safety
/// A value of the type that `addresses` describes is at `place`.
pub(crate) unsafe fn for_each_address<E>(
    addresses: &Addresses,
    place: *const u8,
    mut found: impl FnMut(CapturedAddress) -> Result<(), E>,
) -> Result<(), E> {
    let tag = |offset: u64, size: u64| {
        let mut bytes = [0_u8; 16];
        // SAFETY: the tag lies in the value and is initialised: it says which variant there is.
        unsafe {
            place.add(offset as usize).copy_to_nonoverlapping(bytes.as_mut_ptr(), size as usize)
        };
        u128::from_le_bytes(bytes)
    };
    let all = addresses.for_each(tag, |at| {
        let offset = at.offset as usize;
        // SAFETY: it lies in the value.
        let address = unsafe { word(place.add(offset)) };
        let (read_only, uncertain) = (at.read_only, at.uncertain);
        match found(CapturedAddress { offset, address, read_only, uncertain }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    match all {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Reads a word whose bytes may be partly uninitialised, for example in a union.
///
/// # Safety
/// Eight bytes can be read.
pub(crate) unsafe fn word(place: *const u8) -> usize {
    // SAFETY: the caller's promise; nothing is said of the place's alignment, nor of what is there.
    let word = unsafe { place.cast::<MaybeUninit<usize>>().read_unaligned() };
    let number;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it copies a register. The compiler must assume that it writes the number, so
    // that it is initialised.
    unsafe {
        std::arch::asm!("mov {0}, {1}", out(reg) number, in(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // SAFETY: any bytes are a number.
        number = unsafe { word.assume_init() };
    }
    number
}

#[cfg(test)]
mod tests {
    use schism_hcf::{Address, AddressItem};

    use super::*;

    #[test]
    fn addresses_are_where_they_are_said_to_be() {
        let address = |offset, uncertain| {
            AddressItem::Address(Address { offset, read_only: uncertain, uncertain })
        };
        let (first, last) = (2, 2);
        let tagged =
            AddressItem::Tagged { offset: 0, size: 2, first, last, items: vec![address(3, false)] };
        let addresses = Addresses(vec![tagged, address(13, true)]);
        let mut bytes = [0_u8; 21];
        bytes[0] = 2;
        bytes[3..11].copy_from_slice(&usize::MAX.to_le_bytes());
        bytes[13..].copy_from_slice(&7_usize.to_le_bytes());
        let all = |bytes: &[u8; 21]| {
            let mut all = Vec::new();
            // SAFETY: there are as many bytes as the addresses reach over.
            let result = unsafe {
                for_each_address(&addresses, bytes.as_ptr(), |found| {
                    all.push(found);
                    if found.address == 8 { Err(found) } else { Ok(()) }
                })
            };
            (all, result.is_ok())
        };
        let first =
            CapturedAddress { offset: 3, address: usize::MAX, read_only: false, uncertain: false };
        let second = CapturedAddress { offset: 13, address: 7, read_only: true, uncertain: true };
        assert_eq!(all(&bytes), (vec![first, second], true));
        bytes[1] = 1;
        assert_eq!(all(&bytes), (vec![second], true));
        bytes[13] = 8;
        assert_eq!(all(&bytes), (vec![CapturedAddress { address: 8, ..second }], false));
    }
}
