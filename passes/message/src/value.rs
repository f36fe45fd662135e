//! Values: what a descriptor says is at an address, formatted by `core::fmt` as the type itself
//! would be. A message is one, and has some.

use core::cell::Cell;
use core::fmt::{self, Formatter, Write};
use core::ptr;

use crate::memory::{Memory, descriptor, number, part, word, word_at};
use crate::options::{Formats, Padded};
use crate::template::{Cursor, DAMAGED, Step, step};
use crate::{Descriptor, Kind, Trait};

/// How deep values are followed.
const DEPTH: u32 = 64;

/// The longest name that is shown.
const NAME: u64 = 1 << 12;

/// The word of a vtable that formats, for a trait of one method.
const VTABLE_METHOD: u64 = 3;

/// What all values of a message share.
pub(crate) struct Context<'a> {
    pub(crate) memory: &'a dyn Memory,
    /// Nothing more is written.
    pub(crate) full: Cell<bool>,
}

/// The message itself. `depth` counts messages within messages.
pub(crate) fn write_message(
    out: &mut dyn Write,
    context: &Context<'_>,
    template: u64,
    args: u64,
    depth: u32,
) -> fmt::Result {
    if args & 1 != 0 {
        let text = usize::try_from(args >> 1).ok();
        return match text.and_then(|len| context.memory.bytes(template, len)) {
            Some(text) => write_lossy(out, text),
            None => out.write_str(DAMAGED),
        };
    }
    let mut cursor = Cursor { memory: context.memory, at: template };
    let mut next = 0;
    loop {
        let Some(step) = step(&mut cursor, args, &mut next) else {
            return out.write_str(DAMAGED);
        };
        match step {
            Step::End => return Ok(()),
            Step::Text(text) => write_lossy(out, text)?,
            Step::Placeholder(value, descriptor, options) => {
                let value = Value::new(context, value, descriptor, depth + 1);
                let padded = value.innermost().padded(value.by);
                options.write(out, value.by, padded, &value)?;
            }
        }
    }
}

/// A value to format.
#[derive(Clone, Copy)]
struct Value<'a> {
    context: &'a Context<'a>,
    at: u64,
    /// The second word of the address: a length or a vtable.
    meta: u64,
    kind: Kind,
    by: Trait,
    descriptor: Descriptor,
    depth: u32,
}

const UNKNOWN: Descriptor =
    Descriptor { kind: 0, magic: 0, name: 0, name_len: 0, parts: 0, parts_len: 0 };

impl<'a> Value<'a> {
    fn new(context: &'a Context<'a>, at: u64, described: u64, depth: u32) -> Self {
        let (kind, by, descriptor) =
            descriptor(context.memory, described).unwrap_or((Kind::Opaque, Trait::Debug, UNKNOWN));
        Value { context, at, meta: 0, kind, by, descriptor, depth }
    }

    fn memory(&self) -> &'a dyn Memory {
        self.context.memory
    }

    /// Another value, described by a part of this one's descriptor.
    fn other(&self, described: u64, at: u64, meta: u64) -> Option<Self> {
        if self.depth >= DEPTH {
            return None;
        }
        let value = Value::new(self.context, at, described, self.depth + 1);
        Some(Value { meta, by: self.by, ..value })
    }

    /// The part of this value that a part of its descriptor describes.
    fn part(&self, index: u64) -> Option<Self> {
        let part = part(self.memory(), &self.descriptor, index)?;
        self.other(part.descriptor, self.at.checked_add(part.value)?, 0)
    }

    /// What a reference, a trait object or a wrapper formats as.
    fn inner(&self) -> Option<Self> {
        match self.kind {
            Kind::Reference => {
                let to = part(self.memory(), &self.descriptor, 0)?.descriptor;
                let inner = self.other(to, word(self.memory(), self.at)?, 0)?;
                let wide = matches!(inner.kind, Kind::Str | Kind::Slice | Kind::Dyn);
                let meta = if wide { word_at(self.memory(), self.at, 1)? } else { 0 };
                Some(Value { meta, ..inner })
            }
            Kind::Dyn => {
                let described = word_at(self.memory(), self.meta, VTABLE_METHOD)?;
                self.other(described, self.at, 0)
            }
            Kind::Wrapper => self.part(0),
            _ => None,
        }
    }

    /// What it formats as in the end.
    fn innermost(self) -> Self {
        let mut value = self;
        while let Some(inner) = value.inner() {
            value = inner;
        }
        value
    }

    fn padded(&self, by: Trait) -> Padded {
        match self.kind {
            Kind::Bool | Kind::Unit => Padded::Text,
            Kind::Char | Kind::Str if by == Trait::Display => Padded::Text,
            Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 | Kind::I128 => Padded::Number,
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::U128 => Padded::Number,
            Kind::F32 | Kind::F64 | Kind::Pointer => Padded::Number,
            _ => Padded::No,
        }
    }

    fn name(&self) -> Option<&'a str> {
        name(self.memory(), self.descriptor.name, self.descriptor.name_len)
    }

    fn words<const N: usize>(&self) -> Option<[u64; N]> {
        let mut words = [0; N];
        for (word, index) in words.iter_mut().zip(0..) {
            *word = word_at(self.memory(), self.at, index)?;
        }
        Some(words)
    }

    /// Formats the value; `None` if something of it is not there.
    fn show(&self, f: &mut Formatter<'_>, by: Trait) -> Option<fmt::Result> {
        macro_rules! integer {
            ($type:ident) => {{
                let value = $type::from_le_bytes(number(self.memory(), self.at)?);
                match by {
                    Trait::Display => fmt::Display::fmt(&value, f),
                    Trait::Debug => fmt::Debug::fmt(&value, f),
                    Trait::LowerHex => fmt::LowerHex::fmt(&value, f),
                    Trait::UpperHex => fmt::UpperHex::fmt(&value, f),
                    Trait::Binary => fmt::Binary::fmt(&value, f),
                    Trait::Octal => fmt::Octal::fmt(&value, f),
                    Trait::LowerExp => fmt::LowerExp::fmt(&value, f),
                    Trait::UpperExp => fmt::UpperExp::fmt(&value, f),
                    Trait::Pointer => return None,
                }
            }};
        }
        macro_rules! float {
            ($type:ident) => {{
                let value = $type::from_le_bytes(number(self.memory(), self.at)?);
                match by {
                    Trait::Display => fmt::Display::fmt(&value, f),
                    Trait::Debug => fmt::Debug::fmt(&value, f),
                    Trait::LowerExp => fmt::LowerExp::fmt(&value, f),
                    Trait::UpperExp => fmt::UpperExp::fmt(&value, f),
                    _ => return None,
                }
            }};
        }
        let text = |value: &dyn DisplayAndDebug, f: &mut Formatter<'_>| match by {
            Trait::Display => Some(fmt::Display::fmt(value, f)),
            Trait::Debug => Some(fmt::Debug::fmt(value, f)),
            _ => None,
        };
        Some(match self.kind {
            Kind::Opaque => {
                let name = self.name().filter(|name| !name.is_empty());
                write!(f, "<{}>", name.unwrap_or("value"))
            }
            Kind::Bool => {
                let [byte] = number(self.memory(), self.at)?;
                text(&(byte != 0), f)?
            }
            Kind::Char => {
                let number = u32::from_le_bytes(number(self.memory(), self.at)?);
                text(&char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER), f)?
            }
            Kind::Str => {
                let bytes = self.memory().bytes(self.at, usize::try_from(self.meta).ok()?)?;
                match core::str::from_utf8(bytes) {
                    Ok(value) => text(&value, f)?,
                    Err(_) => write_lossy(f, bytes),
                }
            }
            Kind::Unit => fmt::Debug::fmt(&(), f),
            Kind::I8 => integer!(i8),
            Kind::I16 => integer!(i16),
            Kind::I32 => integer!(i32),
            Kind::I64 => integer!(i64),
            Kind::I128 => integer!(i128),
            Kind::U8 => integer!(u8),
            Kind::U16 => integer!(u16),
            Kind::U32 => integer!(u32),
            Kind::U64 => integer!(u64),
            Kind::U128 => integer!(u128),
            Kind::F32 => float!(f32),
            Kind::F64 => float!(f64),
            Kind::Pointer => {
                let address = usize::try_from(word(self.memory(), self.at)?).ok()?;
                fmt::Pointer::fmt(&ptr::without_provenance::<u8>(address), f)
            }
            Kind::Reference | Kind::Dyn | Kind::Wrapper => self.inner()?.by(by).show(f, by)?,
            Kind::Arguments => {
                if self.depth >= DEPTH {
                    return None;
                }
                let [template, args] = self.words()?;
                write_message(f, self.context, template, args, self.depth + 1)
            }
            Kind::Struct => self.show_struct(f)?,
            Kind::Tuple => self.show_tuple(f)?,
            Kind::Enum => self.variant()?.show(f, by)?,
            Kind::Array => {
                let len = part(self.memory(), &self.descriptor, 0)?.value;
                self.show_list(f, len)?
            }
            Kind::Slice => self.show_list(f, self.meta)?,
            Kind::Range => {
                let (start, end) = (self.part(0)?, self.part(1)?);
                fmt::Debug::fmt(&start, f)
                    .and_then(|()| f.write_str(".."))
                    .and_then(|()| fmt::Debug::fmt(&end, f))
            }
            Kind::AssertKind => {
                let operators: [&str; 3] = ["==", "!=", "matches"];
                let [kind] = number(self.memory(), self.at)?;
                f.write_str(operators.get(usize::from(kind))?)
            }
            Kind::SliceIndex => slice_index(f, self.words()?),
            Kind::StrSlice => {
                let [text, len, begin, end] = self.words()?;
                let text = self.memory().bytes(text, usize::try_from(len).ok()?)?;
                str_slice(f, core::str::from_utf8(text).ok()?, begin, end)?
            }
        })
    }

    fn by(self, by: Trait) -> Self {
        Self { by, ..self }
    }

    fn show_struct(&self, f: &mut Formatter<'_>) -> Option<fmt::Result> {
        let name_of_struct = self.name()?;
        let mut shown = f.debug_struct(name_of_struct);
        for index in 0..self.descriptor.parts_len {
            if self.context.full.get() {
                break;
            }
            let field = part(self.memory(), &self.descriptor, index)?;
            let name = name(self.memory(), field.name, field.name_len)?;
            shown.field(name, &self.part(index)?);
        }
        Some(shown.finish())
    }

    fn show_tuple(&self, f: &mut Formatter<'_>) -> Option<fmt::Result> {
        let name = self.name()?;
        let mut shown = f.debug_tuple(name);
        for index in 0..self.descriptor.parts_len {
            if self.context.full.get() {
                break;
            }
            shown.field(&self.part(index)?);
        }
        Some(shown.finish())
    }

    fn show_list(&self, f: &mut Formatter<'_>, len: u64) -> Option<fmt::Result> {
        let element = part(self.memory(), &self.descriptor, 0)?.descriptor;
        let stride = part(self.memory(), &self.descriptor, 1)?.value;
        let mut shown = f.debug_list();
        for index in 0..len {
            if self.context.full.get() {
                break;
            }
            let at = self.at.checked_add(index.checked_mul(stride)?)?;
            shown.entry(&self.other(element, at, 0)?);
        }
        Some(shown.finish())
    }

    /// The variant that an enum's tag names.
    fn variant(&self) -> Option<Self> {
        let first = part(self.memory(), &self.descriptor, 0)?;
        let at = self.at.checked_add(first.value)?;
        let mut tag = [0; 8];
        let size = usize::try_from(first.name_len).ok()?;
        tag.get_mut(..size)?.copy_from_slice(self.memory().bytes(at, size)?);
        let tag = u64::from_le_bytes(tag);
        let mut described = first.descriptor;
        for index in 1..self.descriptor.parts_len {
            let variant = part(self.memory(), &self.descriptor, index)?;
            if variant.value == tag {
                described = variant.descriptor;
                break;
            }
        }
        self.other(described, self.at, 0)
    }
}

macro_rules! formats {
    ($($trait:ident)*) => {
        $(impl fmt::$trait for Value<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                self.show(f, Trait::$trait).unwrap_or_else(|| f.write_str("<unreadable>"))
            }
        })*
    };
}

impl Formats for Value<'_> {}

formats! { Display Debug LowerHex UpperHex Binary Octal LowerExp UpperExp Pointer }

/// What can be shown as text in both ways.
trait DisplayAndDebug: fmt::Display + fmt::Debug {}
impl<T: fmt::Display + fmt::Debug> DisplayAndDebug for T {}

fn name(memory: &dyn Memory, at: u64, len: u64) -> Option<&str> {
    core::str::from_utf8(memory.bytes(at, usize::try_from(len.min(NAME)).ok()?)?).ok()
}

/// Writes bytes that should be text.
fn write_lossy(out: &mut dyn Write, bytes: &[u8]) -> fmt::Result {
    bytes.utf8_chunks().try_for_each(|chunk| {
        out.write_str(chunk.valid())?;
        if chunk.invalid().is_empty() {
            Ok(())
        } else {
            out.write_char(char::REPLACEMENT_CHARACTER)
        }
    })
}

/// What indexing a slice by a wrong range says.
fn slice_index(f: &mut Formatter<'_>, [start, end, len]: [u64; 3]) -> fmt::Result {
    if start > len {
        write!(f, "range start index {start} out of range for slice of length {len}")
    } else if end <= len && start > end {
        write!(f, "slice index starts at {start} but ends at {end}")
    } else {
        write!(f, "range end index {end} out of range for slice of length {len}")
    }
}

/// What indexing a text by a wrong range says.
fn str_slice(f: &mut Formatter<'_>, text: &str, begin: u64, end: u64) -> Option<fmt::Result> {
    const SHOWN: usize = 256;
    let shown = &text[..text.floor_char_boundary(SHOWN)];
    let more = if shown.len() < text.len() { "[...]" } else { "" };
    let len = text.len() as u64;
    if begin <= len && end <= len && begin > end {
        return Some(write!(f, "begin > end ({begin} > {end}) when slicing `{shown}`{more}"));
    }
    for (which, index) in [("start", begin), ("end", end)] {
        // A range that ends after its text is worse than one that starts inside a character.
        let within = index <= len && (which == "end" || end <= len);
        if index > len {
            return Some(write!(
                f,
                "{which} byte index {index} is out of bounds of `{shown}`{more}"
            ));
        }
        let at = usize::try_from(index).ok()?;
        if within && !text.is_char_boundary(at) {
            let range = text.floor_char_boundary(at)..text.ceil_char_boundary(at);
            let inside = text[range.clone()].chars().next()?;
            return Some(write!(
                f,
                "{which} byte index {index} is not a char boundary; it is inside {inside:?} (bytes {range:?}) of `{shown}`{more}"
            ));
        }
    }
    Some(write!(f, "end byte index {end} is out of bounds of `{shown}`{more}"))
}
