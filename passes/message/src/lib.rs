//! The messages that kernels leave: of panics, and of `dprintln!`.
//!
//! A kernel does not format. What it leaves of a message are the two words of its
//! `core::fmt::Arguments`: the template that the compiler made of the format string, and the
//! arguments, each the address of a value and that of a formatting function. Stage 1 puts the
//! address of a constant there instead of the function's, a *descriptor*, which says what kind of
//! value it is. This crate reads all three and writes the text that `core::fmt` would have written.
//!
//! ```text
//!  template ─► "\x06hello \xC0\x00"                 pieces of text, placeholders, the end
//!  args     ─► [ value ─► 42 | descriptor ─► { kind, MAGIC, type's name, parts } ] …
//! ```
//!
//! Stage 1 writes descriptors with the layout of [`Descriptor`] and [`Part`]. A target reads them
//! with [`format`], out of whatever [`Memory`] it has: the CPU its own, a device with a memory of
//! its own what the kernel copied into a message buffer. Nothing is read outside of what the memory
//! gives, and the text has a limit, so a damaged message buffer costs no more than its message.
//!
//! Where the host cannot read the kernel's memory, the kernel copies what its message is made of
//! ([`recorder`]), and the host formats from the copies ([`buffer`]). Of most panics it leaves no
//! copy, but a few numbers beside constants that the host reads afterwards ([`shape`]).
//!
//! The template's form and that of an argument are those of the standard library that stage 1 is
//! built for. Tests compare every option with that library's own formatting.
#![no_std]

pub mod buffer;
mod format;
mod memory;
mod options;
pub mod recorder;
pub mod shape;
mod template;
mod value;
mod walk;

use core::mem::size_of;

pub use format::format;
pub use memory::{Memory, Own, Recorded};

/// Whether an address is that of code which cannot be read. A process can read its own.
fn is_code(_address: u64) -> bool {
    false
}

/// The second word of every descriptor. A function's code in a descriptor's place does not have it.
pub const MAGIC: u32 = 0x5c41_5f1d;

/// The bytes of one argument: the value's address and the formatter's. The first is null for a
/// number that is a width or a precision, which then lies in two bytes at [`COUNT_OFFSET`].
pub const ARGUMENT_SIZE: usize = 16;
/// Where a width or precision lies in its argument.
pub const COUNT_OFFSET: usize = 8;

/// What stage 1 writes for a type and a formatting trait.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// A [`Kind`], plus 256 times a [`Trait`].
    pub kind: u32,
    /// [`MAGIC`].
    pub magic: u32,
    /// The address of a name: of a type that has no other kind, or that of a struct or a variant,
    /// as `Debug` shows it.
    pub name: u64,
    /// The bytes of the name.
    pub name_len: u64,
    /// The address of the parts.
    pub parts: u64,
    /// How many.
    pub parts_len: u64,
}

/// A part of a type's descriptor. [`Kind`] says what its fields mean.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// A number.
    pub value: u64,
    /// The address of a descriptor, or null.
    pub descriptor: u64,
    /// The address of a name.
    pub name: u64,
    /// The bytes of the name.
    pub name_len: u64,
}

const _: () = assert!(size_of::<Descriptor>() == 40 && size_of::<Part>() == 32);

macro_rules! numbered {
    ($(#[$of_enum:meta])* $name:ident { $($(#[$of_variant:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$of_variant])* $variant = $number,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The one with this number.
            #[must_use]
            #[inline]
            pub const fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

numbered! {
    /// What a value is.
    Kind {
        /// Something that only its own code can format: the type's name is shown.
        Opaque = 0,
        /// `bool`.
        Bool = 1,
        /// `char`.
        Char = 2,
        /// `str`. Its length is the address's second word.
        Str = 3,
        /// `()`.
        Unit = 4,
        /// `i8`.
        I8 = 8,
        /// `i16`.
        I16 = 9,
        /// `i32`.
        I32 = 10,
        /// `i64` and `isize`.
        I64 = 11,
        /// `i128`.
        I128 = 12,
        /// `u8`.
        U8 = 16,
        /// `u16`.
        U16 = 17,
        /// `u32`.
        U32 = 18,
        /// `u64` and `usize`.
        U64 = 19,
        /// `u128`.
        U128 = 20,
        /// `f32`.
        F32 = 25,
        /// `f64`.
        F64 = 26,
        /// An address, shown as such.
        Pointer = 32,
        /// A reference. Part 0 describes what it points to.
        Reference = 33,
        /// Any type with a vtable, whose fourth word is a descriptor.
        Dyn = 34,
        /// A `core::fmt::Arguments`.
        Arguments = 35,
        /// A struct or a variant with named fields. Parts: offset, descriptor and name of each.
        Struct = 36,
        /// A tuple, or a struct or a variant with unnamed fields, or none. Parts: offset and
        /// descriptor of each.
        Tuple = 37,
        /// An enum. Part 0: where the tag is, the descriptor of the variant of all other tags (or
        /// null), and in place of the name's length the tag's bytes. Other parts: a tag and its
        /// variant's descriptor. Variants begin where the enum does.
        Enum = 38,
        /// An array. Part 0: the length, and the elements' descriptor. Part 1: the distance between
        /// elements.
        Array = 39,
        /// A slice, whose length is the address's second word. Parts as of an array, without the
        /// length.
        Slice = 40,
        /// A wrapper that formats as what is in it. Part 0: offset and descriptor.
        Wrapper = 41,
        /// A `core::ops::Range`. Parts: offset and descriptor of start and end.
        Range = 42,
        /// A `core::panicking::AssertKind`: one byte.
        AssertKind = 48,
        /// What `core::slice` says of a wrong range: start, end and length, three words.
        SliceIndex = 49,
        /// What `core::str` says of a wrong range: the text's two words, begin and end.
        StrSlice = 50,
    }
}

numbered! {
    /// A formatting trait.
    Trait {
        /// `{}`.
        Display = 0,
        /// `{:?}`.
        Debug = 1,
        /// `{:x}`.
        LowerHex = 2,
        /// `{:X}`.
        UpperHex = 3,
        /// `{:b}`.
        Binary = 4,
        /// `{:o}`.
        Octal = 5,
        /// `{:e}`.
        LowerExp = 6,
        /// `{:E}`.
        UpperExp = 7,
        /// `{:p}`.
        Pointer = 8,
    }
}
