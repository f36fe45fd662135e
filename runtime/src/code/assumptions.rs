//! What code can assume about launches, besides its kernel.

use std::arch::asm;
use std::fmt;
use std::mem::MaybeUninit;

use schism_hcf::{Code, KernelRef, ParameterKind};
use schism_jit_abi::{ALIGNED, ASSUME_DIVISIBLE, ASSUME_INDEX_32, NARROW};

/// The assumptions of a GPU's code; that of the CPU knows the block only, if its launch has groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Assumptions {
    /// Ids and ranges fit into 31 bits.
    pub(crate) small: bool,
    /// The range is a multiple of the block in each dimension.
    pub(crate) divisible: bool,
    /// The threads of a block, or the work-items of a group, if known; otherwise zeros.
    pub(crate) block: [u32; 3],
    /// The parameters that are addresses or 64-bit integers and multiples of [`ALIGNED`].
    pub(crate) aligned: u64,
    /// The parameters that are 64-bit integers below [`NARROW`].
    pub(crate) narrow: u64,
}

impl Assumptions {
    /// Those of AOT code; `None` if it has some that this version of schism does not know.
    pub(crate) fn of_code(code: &Code) -> Option<Self> {
        let has = |flag| code.assumptions & flag != 0;
        let known = code.assumptions & !(ASSUME_INDEX_32 | ASSUME_DIVISIBLE) == 0;
        known.then_some(Self {
            small: has(ASSUME_INDEX_32),
            divisible: has(ASSUME_DIVISIBLE),
            block: code.block,
            aligned: code.aligned,
            narrow: code.narrow,
        })
    }

    /// Whether `other` implies all of this.
    #[inline]
    pub(crate) fn hold_for(self, other: Self) -> bool {
        self.small <= other.small
            && self.divisible <= other.divisible
            && (self.block[0] == 0 || self.block == other.block)
            && self.aligned & !other.aligned == 0
            && self.narrow & !other.narrow == 0
    }

    /// What both assume.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            small: self.small && other.small,
            divisible: self.divisible && other.divisible,
            block: if self.block == other.block { self.block } else { [0; 3] },
            aligned: self.aligned & other.aligned,
            narrow: self.narrow & other.narrow,
        }
    }

    /// Those about ranges, in the form of stage 2's interface.
    pub(crate) fn flags(self) -> u32 {
        let small = if self.small { ASSUME_INDEX_32 } else { 0 };
        small | if self.divisible { ASSUME_DIVISIBLE } else { 0 }
    }

    /// The number of assumptions.
    pub(crate) fn count(self) -> u32 {
        u32::from(self.small)
            + u32::from(self.divisible)
            + u32::from(self.block != [0; 3])
            + self.aligned.count_ones()
            + self.narrow.count_ones()
    }
}

/// A parameter with a known value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ConstantArgument {
    pub(crate) param: u32,
    /// Its offset in the closure.
    pub(crate) offset: usize,
    pub(crate) bytes: Box<[u8]>,
}

impl ConstantArgument {
    /// Whether the closure contains the value.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(crate) unsafe fn holds_for(&self, closure: *const u8) -> bool {
        // SAFETY: the parameter lies in the closure.
        unsafe { is_there(closure.add(self.offset), &self.bytes) }
    }
}

impl fmt::Debug for ConstantArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "value[{}]=0x", self.param)?;
        let shown = &self.bytes[..self.bytes.len().min(CHUNK)];
        if shown.len() < self.bytes.len() {
            f.write_str("…")?;
        }
        shown.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The number of bytes compared at a time.
const CHUNK: usize = 16;

/// Whether memory contains these bytes. Some of that memory may be uninitialised, such as padding.
///
/// # Safety
/// That many bytes can be read.
#[inline]
pub(crate) unsafe fn is_there(place: *const u8, bytes: &[u8]) -> bool {
    bytes.chunks(CHUNK).zip(0..).all(|(piece, number)| {
        // SAFETY: the caller's promise.
        let found = unsafe { read(place.add(number * CHUNK), piece.len()) };
        found[..piece.len()] == *piece
    })
}

/// Copies bytes, which may be partly uninitialised.
///
/// # Safety
/// That many bytes can be read.
pub(crate) unsafe fn copy(place: *const u8, len: usize) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(len);
    for begin in (0..len).step_by(CHUNK) {
        let size = CHUNK.min(len - begin);
        // SAFETY: the caller's promise.
        let piece = unsafe { read(place.add(begin), size) };
        bytes.extend_from_slice(&piece[..size]);
    }
    bytes.into_boxed_slice()
}

/// # Safety
/// `len` bytes can be read, at most [`CHUNK`].
#[inline]
unsafe fn read(place: *const u8, len: usize) -> [u8; CHUNK] {
    let mut copy = [0_u8; CHUNK];
    // SAFETY: the caller's promise, and there is room. The comment does nothing, but the
    // compiler must assume that it has written all of the copy, so that from here on its bytes have
    // values.
    unsafe {
        std::ptr::copy_nonoverlapping(place, copy.as_mut_ptr(), len);
        asm!("/* {0} */", in(reg) copy.as_mut_ptr(), options(nostack, preserves_flags));
    }
    copy
}

/// Copies memory as words, the last of which may be filled up, into a room; `None` if that is too small.
/// Some of the memory may be uninitialised, such as padding: then anything is copied.
///
/// # Safety
/// If there is room, that many bytes can be read.
#[inline]
pub(crate) unsafe fn read_words(
    place: *const u8,
    bytes: usize,
    room: &mut [MaybeUninit<u64>],
) -> Option<&[u64]> {
    let words = bytes.div_ceil(8);
    let room = room.get_mut(..words)?;
    if let Some(last) = room.last_mut() {
        last.write(0);
    }
    // SAFETY: the caller's promise, and there is room. As in `read`, the compiler must assume that all
    // words are written.
    unsafe {
        std::ptr::copy_nonoverlapping(place, room.as_mut_ptr().cast(), bytes);
        asm!("/* {0} */", in(reg) room.as_mut_ptr(), options(nostack, preserves_flags));
        Some(std::slice::from_raw_parts(room.as_ptr().cast(), words))
    }
}

/// A number in memory, which may be partly uninitialised.
///
/// # Safety
/// Eight bytes can be read.
#[inline]
unsafe fn word(place: *const u8) -> u64 {
    // SAFETY: the caller's promise; nothing is said of the place's alignment, nor of what is there.
    let word = unsafe { place.cast::<MaybeUninit<u64>>().read_unaligned() };
    let number;
    // SAFETY: it copies a register. The compiler must assume that it writes the number, so
    // that it is initialised.
    unsafe {
        asm!("mov {0}, {1}", out(reg) number, in(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    number
}

/// A part of the closure that is passed by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) param: u32,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) is_float: bool,
}

/// The parameters of a kernel that code can make assumptions about.
#[derive(Debug, Default)]
pub(crate) struct FlattenedParameters {
    /// Addresses, among the first parameters: their indices, and their offsets.
    pointers: Box<[(u32, usize)]>,
    /// 64-bit integers, among the first parameters.
    longs: Box<[(u32, usize)]>,
    /// Numbers.
    pub(crate) scalars: Box<[Scalar]>,
    /// Numbers and aggregates that the program marks as [`Specialized`](crate::Specialized).
    pub(crate) specialized: Box<[Scalar]>,
}

impl FlattenedParameters {
    pub(crate) fn new(kernel: &KernelRef<'_>) -> Self {
        let flattened = || kernel.parameters.iter().zip(0_u32..);
        let scalar = |parameter: &schism_hcf::Parameter, param| Scalar {
            param,
            offset: parameter.offset as usize,
            size: parameter.size as usize,
            is_float: parameter.kind == ParameterKind::Float,
        };
        let of_kind = |kind| {
            flattened()
                .filter(move |(parameter, param)| {
                    parameter.kind == kind && parameter.size == 8 && *param < u64::BITS
                })
                .map(|(parameter, param)| (param, parameter.offset as usize))
                .collect()
        };
        Self {
            pointers: of_kind(ParameterKind::Pointer),
            longs: of_kind(ParameterKind::Integer),
            scalars: flattened()
                .filter(|(parameter, _)| {
                    let kinds = [ParameterKind::Integer, ParameterKind::Float];
                    kinds.contains(&parameter.kind) && !parameter.specialized
                })
                .map(|(parameter, param)| scalar(parameter, param))
                .collect(),
            specialized: flattened()
                .filter(|(parameter, _)| parameter.specialized)
                .map(|(parameter, param)| scalar(parameter, param))
                .collect(),
        }
    }

    #[cfg(test)]
    pub(crate) fn of(scalars: Vec<Scalar>, specialized: Vec<Scalar>) -> Self {
        let (scalars, specialized) = (scalars.into(), specialized.into());
        Self { scalars, specialized, ..Self::default() }
    }

    /// Which addresses are multiples of [`ALIGNED`], and which integers are below [`NARROW`].
    /// Device memory and its window are both aligned to more than that, so window addresses
    /// suffice.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(crate) unsafe fn assumptions(&self, closure: *const u8) -> (u64, u64) {
        // SAFETY: each flattened parameter lies in the closure, and is as large as the number.
        let number = |offset: usize| unsafe { word(closure.add(offset)) };
        let (mut aligned, mut narrow) = (0, 0);
        for &(param, offset) in &self.pointers {
            aligned |= u64::from(number(offset).is_multiple_of(ALIGNED)) << param;
        }
        for &(param, offset) in &self.longs {
            let number = number(offset);
            aligned |= u64::from(number.is_multiple_of(ALIGNED)) << param;
            narrow |= u64::from(number < NARROW) << param;
        }
        (aligned, narrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assumptions(small: bool, divisible: bool, block: u32, params: u64) -> Assumptions {
        Assumptions {
            small,
            divisible,
            block: [block, u32::from(block != 0), u32::from(block != 0)],
            aligned: params,
            narrow: params << 8,
        }
    }

    #[test]
    fn assumptions_hold_where_no_less_is_known() {
        let all = assumptions(true, true, 256, 0b101);
        assert!(Assumptions::default().hold_for(all) && all.hold_for(all));
        for less in [
            assumptions(false, true, 256, 0b101),
            assumptions(true, false, 256, 0b101),
            assumptions(true, true, 0, 0b101),
            assumptions(true, true, 128, 0b101),
            assumptions(true, true, 256, 0b100),
        ] {
            assert!(!all.hold_for(less), "{less:?}");
            let common = all.and(less);
            assert!(common.hold_for(all) && common.hold_for(less));
            assert!(common.count() < all.count());
        }
    }

    #[test]
    fn addresses_and_integers_are_looked_at() {
        let flattened = FlattenedParameters {
            pointers: Box::new([(0, 0), (2, 9)]),
            longs: Box::new([(1, 17), (5, 25), (63, 33)]),
            ..FlattenedParameters::default()
        };
        let closure = |words: [u64; 5]| {
            let mut bytes = [0xff; 41];
            for (word, at) in words.into_iter().zip([0, 9, 17, 25, 33]) {
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            bytes
        };
        for (words, aligned, narrow) in [
            ([16, 0, 0, 1, NARROW - 1], 0b111, 1 << 63 | 1 << 5 | 1 << 1),
            ([8, 1 << 40, NARROW, u64::MAX, 1 << 32], 1 << 63 | 0b110, 0),
            ([15, 24, 1 << 31 | 1, 7, 1 << 63], 1 << 63, 1 << 5),
        ] {
            // SAFETY: all flattened parameters lie in the bytes.
            let assumptions = unsafe { flattened.assumptions(closure(words).as_ptr()) };
            assert_eq!(assumptions, (aligned, narrow), "{words:x?}");
        }
    }

    #[test]
    fn values_are_compared_byte_by_byte() {
        let closure: [u8; 40] = std::array::from_fn(|i| i as u8);
        for (offset, len) in [(0, 1), (3, 8), (1, 16), (5, 17), (0, 40), (40, 0)] {
            // SAFETY: the array has these bytes.
            let bytes = unsafe { copy(closure.as_ptr().add(offset), len) };
            assert_eq!(*bytes, closure[offset..offset + len]);
            let known = ConstantArgument { param: 0, offset, bytes };
            // SAFETY: as above.
            assert!(unsafe { known.holds_for(closure.as_ptr()) });
            for changed in offset..offset + len {
                let mut other = closure;
                other[changed] ^= 1;
                // SAFETY: as above.
                assert!(!unsafe { known.holds_for(other.as_ptr()) });
            }
        }
    }
}
