//! Where addresses are in bytes that are passed by value.
//!
//! In a record they are one text, made of items with a blank between two:
//!
//! ```text
//! 8            an address of 8 bytes at offset 8
//! 8r           the same, of memory that nothing changes while the kernel runs
//! 8?  8r?      what lies there may be an address or something else: a union
//! 0*100+24(8)  an array at offset 0, of 100 elements, each 24 bytes from the one before it; an address at offset 8 of each
//! 0:1=3(8)     an address at offset 8, if the tag, of 1 byte at offset 0, is 3
//! 0:8=1-9(8)   the same, if the tag is one of 1 to 9. Where the first number is the greater, beyond the greatest tag comes 0
//! ```
//!
//! Offsets within an array count from the beginning of the element, all others from the beginning
//! of the bytes. A tag is a little-endian number of 1, 2, 4, 8 or 16 bytes.

use std::fmt;
use std::ops::ControlFlow;

/// The size of an address in bytes.
const ADDRESS: u64 = 8;

/// The maximum number of arrays and tags around an address. Types do not nest as deep.
const MAX_NESTING: usize = 256;

/// Where addresses are in the bytes of a parameter. This depends on the bytes: the tag of an enum
/// determines what lies in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Addresses(pub Vec<AddressItem>);

/// A part of [`Addresses`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AddressItem {
    /// An address.
    Address(Address),
    /// Elements that have addresses at the same offsets.
    Array {
        /// Where the first element begins.
        offset: u64,
        /// How many there are, at least 2.
        count: u64,
        /// From the beginning of one to the beginning of the next.
        stride: u64,
        /// The contents of each element; offsets count from its beginning.
        items: Vec<Self>,
    },
    /// Addresses that exist for some values of a tag.
    Tagged {
        /// Where the tag is.
        offset: u64,
        /// Its size in bytes: 1, 2, 4, 8 or 16.
        size: u64,
        /// The first of the values.
        first: u128,
        /// The last of them. If it is less than `first`, the range wraps around from the greatest
        /// value to 0.
        last: u128,
        /// The contents for these values.
        items: Vec<Self>,
    },
}

/// An address of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Where it is; it need not be aligned.
    pub offset: u64,
    /// Whether nothing changes the memory there while the kernel runs.
    pub read_only: bool,
    /// Whether it may be something else, or uninitialised: it lies in a union.
    pub uncertain: bool,
}

impl Addresses {
    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `found` for each address, until it breaks. `tag` reads the tag at an offset, with a
    /// size.
    ///
    /// # Errors
    /// What `found` breaks with.
    pub fn for_each<B>(
        &self,
        mut tag: impl FnMut(u64, u64) -> u128,
        mut found: impl FnMut(Address) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        visit(&self.0, 0, &mut tag, &mut found)
    }

    /// Parses the text form; `None` if it is not canonical, or does not fit into `size` bytes.
    pub(crate) fn parse(text: &str, size: u64) -> Option<Self> {
        let mut parser = Parser { rest: text, depth: 0 };
        let items = parser.items()?;
        let this = Self(items);
        (parser.rest.is_empty() && extent(&this.0)? <= size && this.to_string() == text)
            .then_some(this)
    }
}

fn visit<B>(
    items: &[AddressItem],
    base: u64,
    tag: &mut impl FnMut(u64, u64) -> u128,
    found: &mut impl FnMut(Address) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for item in items {
        match item {
            AddressItem::Address(address) => {
                found(Address { offset: base + address.offset, ..*address })?;
            }
            AddressItem::Array { offset, count, stride, items } => {
                for index in 0..*count {
                    visit(items, base + offset + index * stride, tag, found)?;
                }
            }
            AddressItem::Tagged { offset, size, first, last, items } => {
                let value = tag(base + offset, *size);
                let holds = match first <= last {
                    true => (*first..=*last).contains(&value),
                    false => value >= *first || value <= *last,
                };
                if holds {
                    visit(items, base, tag, found)?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

/// How many bytes items span; `None` if one of them breaks a rule.
fn extent(items: &[AddressItem]) -> Option<u64> {
    let mut end = 0;
    for item in items {
        let item_end = match item {
            AddressItem::Address(address) => address.offset.checked_add(ADDRESS)?,
            AddressItem::Array { offset, count, stride, items } => {
                let element = extent(items)?;
                if *count < 2 || element > *stride {
                    return None;
                }
                let last = stride.checked_mul(count - 1)?;
                offset.checked_add(last)?.checked_add(element)?
            }
            AddressItem::Tagged { offset, size, first, last, items } => {
                let most = match size {
                    1 | 2 | 4 | 8 => (1 << (size * 8)) - 1,
                    16 => u128::MAX,
                    _ => return None,
                };
                if *first > most || *last > most {
                    return None;
                }
                offset.checked_add(*size)?.max(extent(items)?)
            }
        };
        end = end.max(item_end);
    }
    Some(end)
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_items(&self.0, f)
    }
}

fn write_items(items: &[AddressItem], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index != 0 {
            f.write_str(" ")?;
        }
        let items = match item {
            AddressItem::Address(Address { offset, read_only, uncertain }) => {
                let read_only = if *read_only { "r" } else { "" };
                write!(f, "{offset}{read_only}{}", if *uncertain { "?" } else { "" })?;
                continue;
            }
            AddressItem::Array { offset, count, stride, items } => {
                write!(f, "{offset}*{count}+{stride}")?;
                items
            }
            AddressItem::Tagged { offset, size, first, last, items } => {
                write!(f, "{offset}:{size}={first}")?;
                if first != last {
                    write!(f, "-{last}")?;
                }
                items
            }
        };
        f.write_str("(")?;
        write_items(items, f)?;
        f.write_str(")")?;
    }
    Ok(())
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    /// Consumes a text, if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }

    /// One item or more.
    fn items(&mut self) -> Option<Vec<AddressItem>> {
        let mut items = vec![self.item()?];
        while self.take(" ") {
            items.push(self.item()?);
        }
        Some(items)
    }

    fn item(&mut self) -> Option<AddressItem> {
        let offset = self.number()?;
        if self.take("*") {
            let count = self.number()?;
            let stride = self.take("+").then(|| self.number())??;
            return Some(AddressItem::Array { offset, count, stride, items: self.nested()? });
        }
        if self.take(":") {
            let size = self.number()?;
            let first = self.take("=").then(|| self.number())??;
            let last = if self.take("-") { self.number()? } else { first };
            return Some(AddressItem::Tagged { offset, size, first, last, items: self.nested()? });
        }
        let (read_only, uncertain) = (self.take("r"), self.take("?"));
        Some(AddressItem::Address(Address { offset, read_only, uncertain }))
    }

    fn nested(&mut self) -> Option<Vec<AddressItem>> {
        self.depth += 1;
        if self.depth > MAX_NESTING || !self.take("(") {
            return None;
        }
        let items = self.items()?;
        self.depth -= 1;
        self.take(")").then_some(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, bytes: &[u8]) -> Vec<u64> {
        let addresses = Addresses::parse(text, bytes.len() as u64).expect(text);
        let mut found = Vec::new();
        let tag = |offset: u64, size: u64| {
            let bytes = &bytes[offset as usize..(offset + size) as usize];
            bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
        };
        let all = addresses.for_each(tag, |address| {
            found.push(address.offset);
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(all, ControlFlow::Continue(()));
        found
    }

    #[test]
    fn tags_choose() {
        let mut bytes = [0_u8; 64];
        bytes[0] = 3;
        assert_eq!(found("0:1=3(8 17r)", &bytes), [8, 17]);
        assert_eq!(found("0:1=4(8)", &bytes), []);
        assert_eq!(found("0:1=0-3(8) 0:1=4-5(9)", &bytes), [8]);
        // Beyond the greatest comes 0.
        assert_eq!(found("0:1=255-3(8)", &bytes), [8]);
        assert_eq!(found("0:1=255-2(8)", &bytes), []);
        assert_eq!(found("0:1=4-2(8)", &bytes), []);
        assert_eq!(found("0:16=3(16)", &bytes), [16]);
        bytes[9] = 1;
        assert_eq!(found("1:8=1-18446744073709551615(1) 8:2=256(20?)", &bytes), [20]);
    }

    #[test]
    fn arrays_have_strides() {
        let mut bytes = [0_u8; 64];
        assert_eq!(found("4*3+16(1r)", &bytes), [5, 21, 37]);
        bytes[20] = 1;
        // The tag is that of the element.
        assert_eq!(found("4*3+16(0:1=1(8))", &bytes), [28]);
        assert_eq!(found("0*2+32(0*2+16(8))", &bytes), [8, 24, 40, 56]);
    }

    #[test]
    fn only_one_spelling_and_no_byte_beyond() {
        let parse = |text: &str| Addresses::parse(text, 64);
        for good in ["56", "0*8+8(0)", "0:16=340282366920938463463374607431768211455(0)", "0r?"] {
            assert_eq!(parse(good).expect(good).to_string(), good);
        }
        for bad in [
            "",
            " ",
            "0 ",
            " 0",
            "0  8",
            "00",
            "+1",
            "57",
            "-1",
            "0?r",
            "0rr",
            "0()",
            "0*2+8",
            "0*2+8()",
            "0*1+8(0)",
            "0*2+7(0)",
            "0*9+8(0)",
            "1*8+8(0)",
            "0*2(0)",
            "0:1=1",
            "0:1=1()",
            "0:3=1(0)",
            "0:1=256(0)",
            "0:1=1-256(0)",
            "0:1=1-1(0)",
            "64:1=1(0)",
            "0:1=1(57)",
            "0:1(0)",
            "0:1=1(0",
            "0)",
            "18446744073709551615",
            "18446744073709551616",
            "0*18446744073709551615+8(0)",
            "18446744073709551608*2+8(0)",
            "0:16=340282366920938463463374607431768211456(0)",
            "٣",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let deep = |depth: usize| "0:1=1(".repeat(depth) + "0" + &")".repeat(depth);
        assert!(parse(&deep(MAX_NESTING)).is_some());
        assert_eq!(parse(&deep(MAX_NESTING + 1)), None);
        assert_eq!(parse(&deep(100_000)), None);
    }
}
