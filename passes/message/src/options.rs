//! A placeholder's options.
//!
//! Options cannot be given to a `Formatter` as values, only as a format string: there is one here
//! for each combination that makes a difference. Width and precision are arguments of these; a fill
//! other than a space is put around the text afterwards.

use core::fmt::{
    Binary, Debug, Display, LowerExp, LowerHex, Octal, Pointer, Result, UpperExp, UpperHex, Write,
};

use crate::Trait;

const PLUS: u32 = 1 << 21;
const ALTERNATE: u32 = 1 << 23;
const ZERO: u32 = 1 << 24;
const LOWER_HEX: u32 = 1 << 25;
const UPPER_HEX: u32 = 1 << 26;
const WIDTH: u32 = 1 << 27;
const PRECISION: u32 = 1 << 28;
const FILL: u32 = (1 << 21) - 1;

/// The width of an address in `{:#p}`.
const POINTER_WIDTH: u16 = 18;

/// Which rule of `core` pads a value to a width.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padded {
    /// None, or one for each of its parts.
    No,
    /// To the right, and zeros may follow the sign.
    Number,
    /// To the left.
    Text,
}

/// What can be formatted by every [`Trait`].
pub(crate) trait Formats:
    Binary + Debug + Display + LowerExp + LowerHex + Octal + Pointer + UpperExp + UpperHex
{
}

/// Flags as `core::fmt::FormattingOptions` has them, width and precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) flags: u32,
    pub(crate) width: u16,
    pub(crate) precision: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self { flags: ' ' as u32 | 3 << 29, width: 0, precision: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alignment {
    Left,
    Right,
    Center,
    Default,
}

impl Options {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn alignment(&self) -> Alignment {
        match self.flags >> 29 & 3 {
            0 => Alignment::Left,
            1 => Alignment::Right,
            2 => Alignment::Center,
            _ => Alignment::Default,
        }
    }

    /// Writes a value by a trait as the placeholder says.
    pub(crate) fn write(
        mut self,
        out: &mut dyn Write,
        by: Trait,
        padded: Padded,
        value: &impl Formats,
    ) -> Result {
        let fill = char::from_u32(self.flags & FILL).unwrap_or(' ');
        if by == Trait::Pointer && self.has(ALTERNATE) && !self.has(WIDTH) {
            self.width = POINTER_WIDTH;
        }
        let zeros = self.has(ZERO) && padded == Padded::Number
            || by == Trait::Pointer && self.has(ALTERNATE);
        if fill == ' ' || self.width == 0 || zeros || padded == Padded::No {
            return self.through_core(out, by, value);
        }
        let width = usize::from(self.width);
        self.width = 0;
        let mut length = Length(0);
        self.through_core(&mut length, by, value)?;
        let missing = width.saturating_sub(length.0);
        let before = match (self.alignment(), padded) {
            (Alignment::Left, _) | (Alignment::Default, Padded::Text | Padded::No) => 0,
            (Alignment::Right, _) | (Alignment::Default, Padded::Number) => missing,
            (Alignment::Center, _) => missing / 2,
        };
        (0..before).try_for_each(|_| out.write_char(fill))?;
        self.through_core(out, by, value)?;
        (before..missing).try_for_each(|_| out.write_char(fill))
    }

    fn through_core(&self, out: &mut dyn Write, by: Trait, value: &impl Formats) -> Result {
        /// The format strings of one trait, an option at a time. Not of a reference to the value:
        /// `{:p}` would show that.
        macro_rules! with {
            ($trait:literal) => {
                match self.alignment() {
                    Alignment::Default => with!($trait, ""),
                    Alignment::Left => with!($trait, "<"),
                    Alignment::Right => with!($trait, ">"),
                    Alignment::Center => with!($trait, "^"),
                }
            };
            ($trait:literal, $a:literal) => {
                if self.has(PLUS) { with!($trait, $a, "+") } else { with!($trait, $a, "") }
            };
            ($trait:literal, $a:literal, $p:literal) => {
                if self.has(ALTERNATE) {
                    with!($trait, $a, $p, "#")
                } else {
                    with!($trait, $a, $p, "")
                }
            };
            ($trait:literal, $a:literal, $p:literal, $h:literal) => {
                if self.has(ZERO) {
                    with!($trait, $a, $p, $h, "0")
                } else {
                    with!($trait, $a, $p, $h, "")
                }
            };
            ($trait:literal, $a:literal, $p:literal, $h:literal, $z:literal) => {
                if self.has(PRECISION) {
                    write!(
                        out,
                        concat!("{:", $a, $p, $h, $z, "w$.p$", $trait, "}"),
                        *value,
                        w = usize::from(self.width),
                        p = usize::from(self.precision)
                    )
                } else {
                    write!(
                        out,
                        concat!("{:", $a, $p, $h, $z, "w$", $trait, "}"),
                        *value,
                        w = usize::from(self.width)
                    )
                }
            };
        }
        match by {
            Trait::Display => with!(""),
            Trait::Debug if self.has(LOWER_HEX) => with!("x?"),
            Trait::Debug if self.has(UPPER_HEX) => with!("X?"),
            Trait::Debug => with!("?"),
            Trait::LowerHex => with!("x"),
            Trait::UpperHex => with!("X"),
            Trait::Binary => with!("b"),
            Trait::Octal => with!("o"),
            Trait::LowerExp => with!("e"),
            Trait::UpperExp => with!("E"),
            Trait::Pointer => with!("p"),
        }
    }
}

/// Counts characters.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> Result {
        self.0 += text.chars().count();
        Ok(())
    }
}
