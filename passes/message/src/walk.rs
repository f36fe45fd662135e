//! Which memory a message is made of: the bytes that [`crate::format`] would read, found without
//! formatting anything.
//!
//! This is for devices, which copy a message for a host that cannot read their memory. So it is
//! small, calls nothing of `core` that may panic, and does not call itself: a work-item's stack is
//! short, and there are many of them.

use core::mem::size_of;
use core::ptr;

use crate::{ARGUMENT_SIZE, Descriptor, Kind, MAGIC, Part};

/// How deep values are followed.
const DEPTH: usize = 10;

/// The longest name that is read.
const NAME: u64 = 1 << 12;

/// The word of a vtable that formats, for a trait of one method.
const VTABLE_METHOD: u64 = 3;

/// Takes what is found.
pub(crate) trait Sink {
    /// The bytes belong to the message.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn bytes(&mut self, address: u64, len: u64);

    /// Whether there is code at the address of a descriptor, which cannot be read as memory can.
    fn is_code(&self, address: u64) -> bool;
}

/// Something whose parts are visited one after the other: a message's arguments (no descriptor), or
/// a value's parts.
#[derive(Clone, Copy)]
struct Frame {
    at: u64,
    /// Null for a message's arguments.
    descriptor: u64,
    next: u64,
    end: u64,
    /// The constants of the parts have been visited.
    known: bool,
}

/// A value, where its descriptor is, and the second word of its address.
#[derive(Clone, Copy)]
struct Item {
    at: u64,
    descriptor: u64,
    meta: u64,
    known: bool,
}

/// Reads a number.
///
/// # Safety
/// It is there; nothing is asked of its alignment.
unsafe fn read<T: Copy>(address: u64) -> T {
    // SAFETY: as promised by the caller.
    unsafe { ptr::with_exposed_provenance::<T>(address as usize).read_unaligned() }
}

/// # Safety
/// As for [`read`], of a word at an index.
unsafe fn word(address: u64, index: u64) -> u64 {
    // SAFETY: as promised by the caller.
    unsafe { read(address.wrapping_add(index.wrapping_mul(8))) }
}

/// Shows a sink all bytes of the message that `template` and `args` are the two words of.
///
/// # Safety
/// The two words are those of a message, with descriptors for formatters, and what it refers to can
/// be read.
pub(crate) unsafe fn walk(template: u64, args: u64, sink: &mut impl Sink) {
    let empty = Frame { at: 0, descriptor: 0, next: 0, end: 0, known: false };
    let mut stack = [empty; DEPTH];
    let mut depth = 0;
    // SAFETY: the caller promises all that is read here, and every index is below `DEPTH`.
    unsafe {
        if let Some(frame) = message(template, args, sink) {
            *stack.as_mut_ptr() = frame;
            depth = 1;
        }
        while depth > 0 {
            let frame = &mut *stack.as_mut_ptr().add(depth - 1);
            if frame.next >= frame.end {
                depth -= 1;
                continue;
            }
            let item = part_of(frame);
            frame.next += 1;
            let mut item = Some(item);
            while let Some(value) = item {
                match visit(value, sink) {
                    Next::Nothing => item = None,
                    Next::Value(inner) => item = Some(inner),
                    Next::Parts(frame) => {
                        if depth < DEPTH {
                            *stack.as_mut_ptr().add(depth) = frame;
                            depth += 1;
                        }
                        item = None;
                    }
                }
            }
        }
    }
}

/// As [`walk`], for messages all of whose values are numbers or the like, which have no parts
/// ([`is_plain`]). It needs little of a device: registers that are set aside for what copies
/// messages are missing in the kernel.
///
/// # Safety
/// As for [`walk`], and the values are such.
pub(crate) unsafe fn walk_plain(template: u64, args: u64, sink: &mut impl Sink) {
    // SAFETY: the caller promises a message, and such values.
    unsafe {
        let Some(Frame { mut at, end: mut left, .. }) = message(template, args, sink) else {
            return;
        };
        while left != 0 {
            let value = word(at, 0);
            let descriptor = word(at, 1);
            // A number that is a width has no address, and no descriptor.
            if value != 0 && !sink.is_code(descriptor) {
                sink.bytes(descriptor, size_of::<Descriptor>() as u64);
                let kind = Kind::from_number(read::<u8>(descriptor)).unwrap_or(Kind::Unit);
                sink.bytes(value, size_of_kind(kind));
            }
            at = at.wrapping_add(ARGUMENT_SIZE as u64);
            left -= 1;
        }
    }
}

/// Visits a message's template and arguments, and gives the arguments.
///
/// # Safety
/// As for [`walk`].
unsafe fn message(template: u64, args: u64, sink: &mut impl Sink) -> Option<Frame> {
    // SAFETY: the caller promises a message: a text, or a template that ends, and as many arguments
    // as it names.
    unsafe {
        if args & 1 != 0 {
            sink.bytes(template, args >> 1);
            return None;
        }
        let (mut at, mut next, mut count) = (template, 0_u32, 0_u32);
        loop {
            let first = u32::from(read::<u8>(at));
            at = at.wrapping_add(1);
            if first == 0 || (0x81..0xC0).contains(&first) {
                break;
            }
            if first < 0x80 {
                at = at.wrapping_add(first.into());
                continue;
            }
            if first == 0x80 {
                at = at.wrapping_add(2 + u64::from(read::<u16>(at)));
                continue;
            }
            if first & 1 != 0 {
                at = at.wrapping_add(4);
            }
            // A width, a precision, and the argument's own index. The first two are indices if
            // another bit says so.
            let mut bit = 2;
            while bit <= 8 {
                if first & bit != 0 {
                    let number = u32::from(read::<u16>(at));
                    at = at.wrapping_add(2);
                    if bit == 8 {
                        next = number;
                    } else if first & (bit << 3) != 0 {
                        count = count.max(number + 1);
                    }
                }
                bit <<= 1;
            }
            next += 1;
            count = count.max(next);
        }
        let count = u64::from(count);
        sink.bytes(template, at.wrapping_sub(template));
        sink.bytes(args, count.wrapping_mul(ARGUMENT_SIZE as u64));
        Some(Frame { at: args, descriptor: 0, next: 0, end: count, known: false })
    }
}

/// The part that a frame is at.
///
/// # Safety
/// The frame is one that was made of a message, and there is such a part.
unsafe fn part_of(frame: &Frame) -> Item {
    let index = frame.next;
    // SAFETY: as promised by the caller.
    unsafe {
        if frame.descriptor == 0 {
            let at = frame.at.wrapping_add(index.wrapping_mul(ARGUMENT_SIZE as u64));
            let (value, descriptor) = (word(at, 0), word(at, 1));
            // A number that is a width has no address, and no descriptor.
            let descriptor = if value == 0 { 0 } else { descriptor };
            return Item { at: value, descriptor, meta: 0, known: false };
        }
        let of: Descriptor = read(frame.descriptor);
        if matches!(kind_of(&of), Some(Kind::Array | Kind::Slice)) {
            let (element, stride) = (part(&of, 0).descriptor, part(&of, 1).value);
            let at = frame.at.wrapping_add(index.wrapping_mul(stride));
            return Item { at, descriptor: element, meta: 0, known: frame.known || index > 0 };
        }
        let part = part(&of, index);
        Item {
            at: frame.at.wrapping_add(part.value),
            descriptor: part.descriptor,
            meta: 0,
            known: frame.known,
        }
    }
}

/// # Safety
/// The descriptor has so many parts, and they can be read.
unsafe fn part(of: &Descriptor, index: u64) -> Part {
    // SAFETY: as promised by the caller.
    unsafe { read(of.parts.wrapping_add(index.wrapping_mul(size_of::<Part>() as u64))) }
}

fn kind_of(descriptor: &Descriptor) -> Option<Kind> {
    Kind::from_number(descriptor.kind as u8).filter(|_| descriptor.magic == MAGIC)
}

/// Whether a value of this kind is but its own bytes, so that [`walk_plain`] finds all of it.
pub(crate) const fn is_plain(kind: Kind) -> bool {
    matches!(kind, Kind::Unit) || size_of_kind(kind) != 0 && !matches!(kind, Kind::StrSlice)
}

/// The bytes of a value of this kind, if it has no parts.
const fn size_of_kind(kind: Kind) -> u64 {
    match kind {
        Kind::Bool | Kind::I8 | Kind::U8 | Kind::AssertKind => 1,
        Kind::I16 | Kind::U16 => 2,
        Kind::Char | Kind::I32 | Kind::U32 | Kind::F32 => 4,
        Kind::I64 | Kind::U64 | Kind::F64 | Kind::Pointer => 8,
        Kind::I128 | Kind::U128 => 16,
        Kind::SliceIndex => 24,
        Kind::StrSlice => 32,
        _ => 0,
    }
}

/// What is to be visited after a value's own bytes.
enum Next {
    Nothing,
    Value(Item),
    Parts(Frame),
}

/// Visits a value and its descriptor.
///
/// # Safety
/// The value is one of a message.
unsafe fn visit(value: Item, sink: &mut impl Sink) -> Next {
    let Item { at, descriptor, meta, known } = value;
    if descriptor == 0 || sink.is_code(descriptor) {
        return Next::Nothing;
    }
    // SAFETY: the caller promises a value of a message, so what its descriptor says of it is so.
    unsafe {
        // The code of a formatter in a descriptor's place shows in its second word.
        if !known {
            sink.bytes(descriptor, size_of::<Descriptor>() as u64);
        }
        let of: Descriptor = read(descriptor);
        let Some(kind) = kind_of(&of) else { return Next::Nothing };
        if !known {
            sink.bytes(of.name, of.name_len.min(NAME));
            sink.bytes(of.parts, of.parts_len.wrapping_mul(size_of::<Part>() as u64));
            if kind == Kind::Struct {
                let mut index = 0;
                while index < of.parts_len {
                    let field = part(&of, index);
                    sink.bytes(field.name, field.name_len.min(NAME));
                    index += 1;
                }
            }
        }
        let parts = |end| Next::Parts(Frame { at, descriptor, next: 0, end, known });
        match kind {
            Kind::Opaque | Kind::Unit => Next::Nothing,
            Kind::Str => {
                sink.bytes(at, meta);
                Next::Nothing
            }
            Kind::Reference => {
                let to = part(&of, 0).descriptor;
                let wide = to != 0
                    && matches!(kind_of(&read(to)), Some(Kind::Str | Kind::Slice | Kind::Dyn));
                sink.bytes(at, if wide { 16 } else { 8 });
                let meta = if wide { word(at, 1) } else { 0 };
                Next::Value(Item { at: word(at, 0), descriptor: to, meta, known })
            }
            Kind::Dyn => {
                sink.bytes(meta.wrapping_add(8 * VTABLE_METHOD), 8);
                let descriptor = word(meta, VTABLE_METHOD);
                Next::Value(Item { at, descriptor, meta: 0, known: false })
            }
            Kind::Arguments => {
                sink.bytes(at, 16);
                match message(word(at, 0), word(at, 1), sink) {
                    Some(frame) => Next::Parts(frame),
                    None => Next::Nothing,
                }
            }
            Kind::Wrapper => parts(of.parts_len.min(1)),
            Kind::Struct | Kind::Tuple | Kind::Range => parts(of.parts_len),
            Kind::Enum => {
                let first = part(&of, 0);
                let tag_at = at.wrapping_add(first.value);
                sink.bytes(tag_at, first.name_len.min(8));
                let mut tag = 0_u64;
                let mut byte = 0;
                while byte < first.name_len.min(8) {
                    tag |= u64::from(read::<u8>(tag_at.wrapping_add(byte))) << (8 * byte);
                    byte += 1;
                }
                let (mut to, mut index) = (first.descriptor, 1);
                while index < of.parts_len {
                    let variant = part(&of, index);
                    if variant.value == tag {
                        to = variant.descriptor;
                        break;
                    }
                    index += 1;
                }
                // Other elements of a list may have been other variants.
                Next::Value(Item { at, descriptor: to, meta: 0, known: false })
            }
            Kind::Array | Kind::Slice => {
                let len = if kind == Kind::Array { part(&of, 0).value } else { meta };
                let (element, stride) = (part(&of, 0).descriptor, part(&of, 1).value);
                let plain = element != 0
                    && kind_of(&read(element)).is_some_and(|kind| {
                        let size = size_of_kind(kind);
                        size != 0 && !matches!(kind, Kind::StrSlice) && size <= stride
                    });
                if !plain || len == 0 {
                    return parts(len);
                }
                // Numbers lie side by side: one piece, and one descriptor.
                if !known {
                    sink.bytes(element, size_of::<Descriptor>() as u64);
                }
                sink.bytes(at, len.wrapping_mul(stride));
                Next::Nothing
            }
            Kind::StrSlice => {
                sink.bytes(at, size_of_kind(kind));
                sink.bytes(word(at, 0), word(at, 1));
                Next::Nothing
            }
            _ => {
                sink.bytes(at, size_of_kind(kind));
                Next::Nothing
            }
        }
    }
}
