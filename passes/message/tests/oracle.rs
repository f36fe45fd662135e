//! Every option on every kind of value: the text is what `core::fmt` makes of the same template.

use std::fmt::{self, Debug, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;
use schism_message::buffer::{Message, MessageBuffer, empty};
use schism_message::{ARGUMENT_SIZE, Descriptor, Kind, MAGIC, Own, Part, Trait, format, recorder};

/// A descriptor that lives for ever.
fn described(kind: Kind, by: Trait, name: &'static str, parts: Vec<Part>) -> u64 {
    let parts = parts.leak();
    let descriptor = Descriptor {
        kind: kind as u32 | (by as u32) << 8,
        magic: MAGIC,
        name: name.as_ptr().addr() as u64,
        name_len: name.len() as u64,
        parts: parts.as_ptr().expose_provenance() as u64,
        parts_len: parts.len() as u64,
    };
    name.as_ptr().expose_provenance();
    (&raw const *Box::leak(Box::new(descriptor))).expose_provenance() as u64
}

fn part(value: usize, descriptor: u64, name: &'static str) -> Part {
    let at = name.as_ptr().expose_provenance() as u64;
    Part { value: value as u64, descriptor, name: at, name_len: name.len() as u64 }
}

/// The two words of a message.
fn words(arguments: fmt::Arguments<'_>) -> [u64; 2] {
    // SAFETY: `Arguments` is two words; the addresses in them are used only while what they point
    // to lives.
    unsafe { std::mem::transmute::<fmt::Arguments<'_>, [u64; 2]>(arguments) }
}

/// A message's arguments, each with a descriptor in the place of its formatter.
fn replaced(args: u64, descriptors: &[u64]) -> Vec<[u64; 2]> {
    assert_eq!(ARGUMENT_SIZE, 16);
    let args = std::ptr::with_exposed_provenance::<[u64; 2]>(args as usize);
    descriptors
        .iter()
        .zip(0..)
        // SAFETY: the message has as many arguments as the caller has descriptors.
        .map(|(&descriptor, index)| [unsafe { (*args.add(index))[0] }, descriptor])
        .collect()
}

fn ours(template: u64, args: u64) -> String {
    let mut out = String::new();
    // SAFETY: the tests' messages live while they are formatted.
    let own = unsafe { Own::new() };
    format(&mut out, &own, template, args, 1 << 20).expect("a string takes everything");
    // Slow, so not for each.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    if COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(16) {
        assert_eq!(recorded(template, args), out, "the text out of a record");
    }
    out
}

/// The same message, copied as a device would have, twice: as a panic's and as one that is printed.
fn recorded(template: u64, args: u64) -> String {
    let mut record = vec![0_u128; 1 << 13];
    // SAFETY: bytes are a view of any integers.
    let bytes = unsafe { record.align_to_mut::<u8>().1 };
    let (global_id, local_id) = ([1, 2, 3], [4, 5, 6]);
    let place = recorder::WorkItem { global_id, local_id, in_group: true };
    empty(bytes, 1 << 16).expect("there is room");
    let pointer = bytes.as_mut_ptr().cast();
    // SAFETY: the record is aligned and has the room that it says; the message lives while it is
    // copied.
    unsafe {
        recorder::panic::<false>(pointer, template, args, 0, &place);
        recorder::panic::<false>(pointer, template, 1, 0, &place);
        recorder::print::<false>(pointer, template, args, &place);
        recorder::print::<false>(pointer, template, args, &place);
    }
    let record = MessageBuffer::new(bytes).expect("it is whole");
    let text = |left: Message<'_>| {
        assert_eq!((left.global_id(), left.local_id()), ([1, 2, 3], Some([4, 5, 6])));
        assert!(!left.is_cut());
        let mut out = String::new();
        left.write(&schism_message::Recorded(&[]), &mut out, 1 << 20)
            .expect("a string takes everything");
        out
    };
    let prints: Vec<String> = record.prints().map(text).collect();
    let panic = text(record.panic().expect("it was left"));
    assert_eq!(prints, [panic.as_str(), panic.as_str()]);
    panic
}

/// A template of up to three placeholders for argument 0, with random options; width and precision
/// may be argument 1.
fn template(random: &mut Rng, spaces: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..=random.u64(..3) {
        if random.u64(..2) == 0 {
            let text = ["a", "é: ", "{}", "a longer piece of text, for a change, with ≠"]
                [random.u64(..4) as usize];
            out.push(text.len() as u8);
            out.extend(text.as_bytes());
        }
        if random.u64(..8) == 0 {
            let text = "x".repeat(300);
            out.push(0x80);
            out.extend((text.len() as u16).to_le_bytes());
            out.extend(text.as_bytes());
        }
        let width = random.u64(..4) != 0;
        let precision = random.u64(..2) == 0;
        let (indirect_width, indirect_precision) = (random.u64(..4) == 0, random.u64(..4) == 0);
        let fill = if spaces { ' ' } else { [' ', '*', 'é', '0'][random.u64(..4) as usize] };
        let mut flags = fill as u32 | (random.u64(..4) as u32) << 29;
        for bit in [21, 22, 23, 24] {
            flags |= u32::from(random.u64(..3) == 0) << bit;
        }
        flags |= [0, 1 << 25, 1 << 26][random.u64(..3) as usize];
        flags |= u32::from(width) << 27 | u32::from(precision) << 28;
        let mut first = 0xC0 | 1 | 8;
        first |= u8::from(width) * (2 + u8::from(indirect_width) * 16);
        first |= u8::from(precision) * (4 + u8::from(indirect_precision) * 32);
        out.push(first);
        out.extend(flags.to_le_bytes());
        if width {
            out.extend((if indirect_width { 1 } else { random.u64(..24) as u16 }).to_le_bytes());
        }
        if precision {
            out.extend(
                (if indirect_precision { 1 } else { random.u64(..12) as u16 }).to_le_bytes(),
            );
        }
        out.extend(0_u16.to_le_bytes());
    }
    out.push(0);
    out
}

/// Compares random templates over one message `{…} {:w$}`, whose first argument is described.
fn compare(what: &str, arguments: fmt::Arguments<'_>, descriptor: u64, spaces: bool) {
    let [_, args] = words(arguments);
    let with_count = std::ptr::with_exposed_provenance::<[u64; 2]>(args as usize);
    // SAFETY: the message has two arguments, a value and a width.
    let count = unsafe { *with_count.add(1) };
    let mut theirs_args = replaced(args, &[descriptor]);
    theirs_args.push(count);
    let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    for _ in 0..400 {
        let template = template(&mut random, spaces);
        let at = template.as_ptr().expose_provenance() as u64;
        // SAFETY: a template as the compiler makes them, whose placeholders refer to the two
        // arguments that there are.
        let theirs = unsafe { std::mem::transmute::<[u64; 2], fmt::Arguments<'_>>([at, args]) };
        let expected = theirs.to_string();
        let found = ours(at, theirs_args.as_ptr().expose_provenance() as u64);
        assert_eq!(found, expected, "{what} by {template:?}");
    }
}

macro_rules! numbers {
    ($($type:ident $kind:ident [$($value:expr),*] [$($trait:ident $spec:literal)*];)*) => {
        $(for value in [$($value),*] {
            let value: $type = std::hint::black_box(value);
            $(compare(
                concat!(stringify!($type), " ", $spec),
                format_args!(concat!("{0:", $spec, "}{0:1$", $spec, "}"), value, std::hint::black_box(7)),
                described(Kind::$kind, Trait::$trait, stringify!($type), vec![]),
                false,
            );)*
        })*
    };
}

#[test]
fn scalars() {
    numbers! {
        u8 U8 [0, 7, 255] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        u16 U16 [0, 65535] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        u32 U32 [1_000_000] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        u64 U64 [u64::MAX] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        usize U64 [12345] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        u128 U128 [0, u128::MAX] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        i8 I8 [0, -128] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        i16 I16 [-300] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        i32 I32 [i32::MIN, 5] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        i64 I64 [i64::MIN, 12345] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        i128 I128 [i128::MIN] [Display "" Debug "?" LowerHex "x" UpperHex "X" Binary "b" Octal "o" LowerExp "e" UpperExp "E"];
        f32 F32 [0.0, -0.0, 1.5, f32::MAX, f32::MIN_POSITIVE, f32::NAN, f32::NEG_INFINITY, 0.1, 1e16, 12345.678]
            [Display "" Debug "?" LowerExp "e" UpperExp "E"];
        f64 F64 [0.0, -2.5, f64::MAX, 5e-324, f64::NAN, f64::INFINITY, 0.1, 1e16, 1e15, 12345.678]
            [Display "" Debug "?" LowerExp "e" UpperExp "E"];
        bool Bool [true, false] [Display "" Debug "?"];
        char Char ['a', '\'', '\n', '€', '🦀'] [Display "" Debug "?"];
    }
}

#[test]
fn texts_references_and_pointers() {
    let text = ["", "plain", "a\"b\n", "äöü€"];
    for by in [Trait::Display, Trait::Debug] {
        let inner = described(Kind::Str, by, "str", vec![]);
        let one = described(Kind::Reference, by, "&str", vec![part(0, inner, "")]);
        let two = described(Kind::Reference, by, "&&str", vec![part(0, one, "")]);
        for value in &text {
            let width = std::hint::black_box(9);
            match by {
                Trait::Display => {
                    compare("str", format_args!("{0}{0:1$}", *value, width), one, false);
                    compare("&str", format_args!("{0}{0:1$}", value, width), two, false);
                }
                _ => {
                    compare("str", format_args!("{0:?}{0:1$?}", *value, width), one, false);
                    compare("&str", format_args!("{0:?}{0:1$?}", value, width), two, false);
                }
            }
        }
    }
    let number = described(Kind::I32, Trait::Display, "i32", vec![]);
    let reference = described(Kind::Reference, Trait::Display, "&i32", vec![part(0, number, "")]);
    let value = std::hint::black_box(-42);
    compare("&i32", format_args!("{0}{0:1$}", &&value, 3), reference_to(reference), false);
    let pointer = described(Kind::Pointer, Trait::Pointer, "*const i32", vec![]);
    let address = &raw const value;
    compare(
        "*const",
        format_args!("{0:p}{0:1$p}", address, std::hint::black_box(5)),
        pointer,
        false,
    );
    let unit = described(Kind::Unit, Trait::Debug, "()", vec![]);
    compare("()", format_args!("{0:?}{0:1$?}", std::hint::black_box(()), 5), unit, false);
}

fn reference_to(descriptor: u64) -> u64 {
    described(Kind::Reference, Trait::Display, "&", vec![part(0, descriptor, "")])
}

#[derive(Debug)]
struct Point {
    x: i32,
    name: &'static str,
    inner: (u8, [f32; 2]),
}

#[derive(Debug)]
struct Pair(u8, ());

#[derive(Debug)]
struct Nothing;

#[derive(Debug)]
#[repr(C, u16)]
enum Choice {
    None = 7,
    Tuple(#[expect(dead_code, reason = "read by Debug")] u32),
    #[expect(dead_code, reason = "read by Debug")]
    Named {
        a: i8,
    },
}

fn debug(kind: Kind, name: &'static str, parts: Vec<Part>) -> u64 {
    described(kind, Trait::Debug, name, parts)
}

fn compare_debug<T: Debug>(value: &T, descriptor: u64) {
    let width = std::hint::black_box(4);
    compare(
        std::any::type_name::<T>(),
        format_args!("{0:?}{0:1$?}", *value, width),
        descriptor,
        true,
    );
}

#[test]
fn derived_debug() {
    use std::mem::offset_of;
    let [u8_, i8_, i32_, u32_, f32_] = [Kind::U8, Kind::I8, Kind::I32, Kind::U32, Kind::F32]
        .map(|kind| debug(kind, "number", vec![]));
    let unit = debug(Kind::Unit, "()", vec![]);
    let text = debug(Kind::Reference, "&str", vec![part(0, debug(Kind::Str, "str", vec![]), "")]);
    let array = debug(Kind::Array, "[f32; 2]", vec![part(2, f32_, ""), part(4, 0, "")]);
    type Inner = (u8, [f32; 2]);
    let inner = vec![part(offset_of!(Inner, 0), u8_, ""), part(offset_of!(Inner, 1), array, "")];
    let point = debug(
        Kind::Struct,
        "Point",
        vec![
            part(offset_of!(Point, x), i32_, "x"),
            part(offset_of!(Point, name), text, "name"),
            part(offset_of!(Point, inner), debug(Kind::Tuple, "", inner), "inner"),
        ],
    );
    let value = Point { x: -3, name: "p", inner: (9, [0.5, f32::NAN]) };
    assert_eq!((value.x, value.name, value.inner.0), (-3, "p", 9));
    compare_debug(&value, point);
    let pair = vec![part(offset_of!(Pair, 0), u8_, ""), part(offset_of!(Pair, 1), unit, "")];
    compare_debug(&Pair(5, ()), debug(Kind::Tuple, "Pair", pair));
    compare_debug(&Nothing, debug(Kind::Tuple, "Nothing", vec![]));
    compare_debug(&(1_u8,), debug(Kind::Tuple, "", vec![part(0, u8_, "")]));
    let (none, tuple) =
        (debug(Kind::Tuple, "None", vec![]), debug(Kind::Tuple, "Tuple", vec![part(4, u32_, "")]));
    let named = debug(Kind::Struct, "Named", vec![part(4, i8_, "a")]);
    let size = Part { name_len: 2, ..part(0, named, "") };
    let choice = debug(Kind::Enum, "Choice", vec![size, part(7, none, ""), part(8, tuple, "")]);
    for value in [Choice::None, Choice::Tuple(77), Choice::Named { a: -1 }] {
        compare_debug(&value, choice);
    }
    let slice = debug(Kind::Slice, "[u8]", vec![part(0, u8_, ""), part(1, 0, "")]);
    let slice = debug(Kind::Reference, "&[u8]", vec![part(0, slice, "")]);
    for value in [&[][..], &[1, 2, 250]] {
        compare_debug::<&[u8]>(&value, slice);
    }
    let range = vec![
        part(offset_of!(std::ops::Range<u32>, start), u32_, ""),
        part(offset_of!(std::ops::Range<u32>, end), u32_, ""),
    ];
    compare_debug(&(3..5_u32), debug(Kind::Range, "Range<u32>", range));
}

#[test]
fn messages_in_messages_and_behind_vtables() {
    let number = described(Kind::I32, Trait::Display, "i32", vec![]);
    let nested = described(Kind::Arguments, Trait::Display, "Arguments", vec![]);
    let value = std::hint::black_box(-42);
    let inner = format_args!("<{}>", value);
    let inner_args = replaced(words(inner)[1], &[number]);
    let inner_words = [words(inner)[0], inner_args.as_ptr().expose_provenance() as u64];
    let outer = format_args!("outer {} end", inner);
    let mut outer_args = replaced(words(outer)[1], &[nested]);
    outer_args[0][0] = inner_words.as_ptr().expose_provenance() as u64;
    let found = ours(words(outer)[0], outer_args.as_ptr().expose_provenance() as u64);
    assert_eq!(found, "outer <-42> end");
    assert_eq!(
        ours(words(format_args!("only text"))[0], words(format_args!("only text"))[1]),
        "only text"
    );

    let of_dyn = described(Kind::Dyn, Trait::Debug, "dyn Debug", vec![]);
    let reference =
        described(Kind::Reference, Trait::Debug, "&dyn Debug", vec![part(0, of_dyn, "")]);
    let vtable = [0, 4, 4, described(Kind::U32, Trait::Debug, "u32", vec![])];
    let number = 99_u32;
    let wide = [
        (&raw const number).expose_provenance() as u64,
        vtable.as_ptr().expose_provenance() as u64,
    ];
    let args = [[wide.as_ptr().expose_provenance() as u64, reference]];
    let template = b"\xC1\x20\x00\x80\x60\xC0\x00";
    let at = template.as_ptr().expose_provenance() as u64;
    // The second placeholder is one too many: its argument is not a descriptor's.
    let args: Vec<[u64; 2]> =
        args.iter().copied().chain([[1, vtable.as_ptr().expose_provenance() as u64]]).collect();
    assert_eq!(ours(at, args.as_ptr().expose_provenance() as u64), "99<value>");
}

#[test]
fn what_the_standard_library_says_of_ranges() {
    let show = |kind: Kind, value: &[u64]| {
        let args = [[
            value.as_ptr().expose_provenance() as u64,
            described(kind, Trait::Display, "", vec![]),
        ]];
        ours(
            [0xC0_u8, 0].as_ptr().expose_provenance() as u64,
            args.as_ptr().expose_provenance() as u64,
        )
    };
    let said = |f: Box<dyn FnOnce() + std::panic::UnwindSafe>| {
        let payload = std::panic::catch_unwind(f).expect_err("it panics");
        payload.downcast_ref::<String>().cloned().expect("a text")
    };
    for (start, end, len) in [(5, 6, 4), (2, 9, 4), (3, 2, 4), (5, 2, 4), (5, 4, 4), (9, 8, 4)] {
        let expected = said(Box::new(move || {
            std::hint::black_box(&std::hint::black_box(&[0_u8; 16][..len])[start..end]);
        }));
        assert_eq!(show(Kind::SliceIndex, &[start as u64, end as u64, len as u64]), expected);
    }
    let long = "long é".repeat(60);
    for text in ["", "plain", "aé€🦀z", &long] {
        text.as_ptr().expose_provenance();
        for begin in 0..text.len().min(20) + 3 {
            for end in (0..text.len().min(20) + 3).chain([text.len() + 1]) {
                if text.get(begin..end).is_some() {
                    continue;
                }
                let owned = text.to_owned();
                let expected = said(Box::new(move || {
                    std::hint::black_box(&std::hint::black_box(&*owned)[begin..end]);
                }));
                let words =
                    [text.as_ptr().addr() as u64, text.len() as u64, begin as u64, end as u64];
                assert_eq!(show(Kind::StrSlice, &words), expected, "{text:?}[{begin}..{end}]");
            }
        }
    }
}

#[test]
fn a_limit_cuts_at_a_character() {
    let mut out = String::new();
    let text = "aé€";
    let (at, len) = (text.as_ptr().expose_provenance() as u64, text.len() as u64);
    for (limit, expected) in [(0, "…"), (1, "a…"), (2, "a…"), (3, "aé…"), (5, "aé…"), (6, "aé€")]
    {
        out.clear();
        // SAFETY: the text is there.
        let own = unsafe { Own::new() };
        format(&mut out, &own, at, len << 1 | 1, limit).expect("a string takes everything");
        assert_eq!(out, expected);
    }
    struct Refuses;
    impl Write for Refuses {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    // SAFETY: as above.
    assert!(format(&mut Refuses, &unsafe { Own::new() }, at, len << 1 | 1, 10).is_err());
}
