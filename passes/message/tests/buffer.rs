//! Message buffers: what does not fit, where panics stand, and bytes that are no message buffer.

use std::panic::Location;

use schism_message::buffer::{Message, MessageBuffer, empty};
use schism_message::recorder::{WorkItem, is_plain, panic, print};
use schism_message::{Descriptor, Kind, MAGIC, Recorded};

/// What a message has that was copied needs no other memory.
const NOTHING: Recorded<'static> = Recorded(&[]);

const WORK_ITEM: WorkItem = WorkItem { global_id: [7, 0, 0], local_id: [0; 3], in_group: false };

/// A buffer of so many bytes, aligned as it must be.
struct Room(Vec<u128>);

impl Room {
    fn new(bytes: usize, panic: u32) -> Self {
        let mut room = Self(vec![u128::MAX; bytes / 16]);
        empty(room.bytes(), panic).expect("it has room for a panic");
        room
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: bytes are a view of any integers.
        unsafe { self.0.align_to_mut::<u8>().1 }
    }

    /// The two words of a text.
    fn words(text: &str) -> (u64, u64) {
        (text.as_ptr().expose_provenance() as u64, (text.len() as u64) << 1 | 1)
    }

    fn panic(&mut self, text: &str, location: Option<&'static Location<'static>>) {
        let (template, args) = Self::words(text);
        let location =
            location.map_or(0, |location| (&raw const *location).expose_provenance() as u64);
        // SAFETY: the buffer is aligned and has the room that it says; text and location live.
        unsafe { panic::<false>(self.0.as_mut_ptr().cast(), template, args, location, &WORK_ITEM) };
    }

    fn print(&mut self, text: &str) {
        let (template, args) = Self::words(text);
        // SAFETY: as in `panic`.
        unsafe { print::<false>(self.0.as_mut_ptr().cast(), template, args, &WORK_ITEM) };
    }
}

fn text(message: Message<'_>) -> String {
    let mut out = String::new();
    message.write(&NOTHING, &mut out, 1 << 16).expect("a string takes everything");
    out
}

#[test]
fn plain_values_are_left_with_less() {
    let number = 7_u64;
    let fraction = 2.5_f32;
    let descriptor = |kind: Kind| Descriptor {
        kind: kind as u32,
        magic: MAGIC,
        name: 0,
        name_len: 0,
        parts: 0,
        parts_len: 0,
    };
    let (long, float) = (descriptor(Kind::U64), descriptor(Kind::F32));
    // The width is an argument: its number, behind a null.
    let args: [u64; 6] = [
        (&raw const number).expose_provenance() as u64,
        (&raw const long).expose_provenance() as u64,
        0,
        5,
        (&raw const fraction).expose_provenance() as u64,
        (&raw const float).expose_provenance() as u64,
    ];
    // `item {:1$} of {2}`
    let template = b"\x05item \xD2\x01\x00\x04 of \xC8\x02\x00\x00";
    let template = template.as_ptr().expose_provenance() as u64;
    let args = args.as_ptr().expose_provenance() as u64;
    let here = Location::caller();
    let location = (&raw const *here).expose_provenance() as u64;
    let [mut all, mut plain] = [(); 2].map(|()| Room::new(8192, 1024));
    // SAFETY: the records are aligned and have the room that they say; all that the message refers
    // to lives, and is plain.
    unsafe {
        panic::<false>(all.0.as_mut_ptr().cast(), template, args, location, &WORK_ITEM);
        panic::<true>(plain.0.as_mut_ptr().cast(), template, args, location, &WORK_ITEM);
        print::<true>(plain.0.as_mut_ptr().cast(), template, args, &WORK_ITEM);
    }
    let all = MessageBuffer::new(all.bytes()).unwrap();
    let plain = MessageBuffer::new(plain.bytes()).unwrap();
    let [all, panicked] = [all, plain].map(|buffer| buffer.panic().expect("it was left"));
    assert_eq!(text(all), "item     7 of 2.5");
    assert_eq!(text(panicked), text(all));
    assert_eq!(panicked.location(&NOTHING), all.location(&NOTHING));
    assert_eq!(panicked.location(&NOTHING).expect("it was given").line, here.line());
    let prints: Vec<String> = plain.prints().map(text).collect();
    assert_eq!(prints, [text(all)]);

    // What has parts, or is elsewhere, is not plain.
    let plain: Vec<Kind> = Kind::ALL.iter().copied().filter(|&kind| is_plain(kind)).collect();
    assert!(plain.contains(&Kind::Char) && plain.contains(&Kind::SliceIndex), "{plain:?}");
    for kind in [Kind::Str, Kind::Reference, Kind::Dyn, Kind::Struct, Kind::StrSlice, Kind::Opaque]
    {
        assert!(!plain.contains(&kind), "{kind:?}");
    }
}

#[test]
fn the_first_panic_is_kept_with_its_place() {
    let mut room = Room::new(4096, 1024);
    assert!(!MessageBuffer::new(room.bytes()).unwrap().is_used());
    let here = Location::caller();
    room.panic("first", Some(here));
    room.panic("second", None);
    let buffer = MessageBuffer::new(room.bytes()).unwrap();
    let message = buffer.panic().expect("it was left");
    assert!(buffer.is_used() && !message.is_cut());
    assert_eq!(text(message), "first");
    assert_eq!((message.global_id(), message.local_id()), ([7, 0, 0], None));
    let location = message.location(&NOTHING).expect("it was given");
    assert_eq!(
        (location.file, location.line, location.column),
        (file!(), here.line(), here.column())
    );

    let mut room = Room::new(4096, 1024);
    room.panic("nowhere", None);
    let buffer = MessageBuffer::new(room.bytes()).unwrap();
    assert_eq!(buffer.panic().expect("it was left").location(&NOTHING), None);
}

#[test]
fn a_panic_that_is_too_long_is_cut_and_keeps_its_place() {
    let mut room = Room::new(4096, 1024);
    room.panic(&"x".repeat(2000), Some(Location::caller()));
    let buffer = MessageBuffer::new(room.bytes()).unwrap();
    let message = buffer.panic().expect("it was left");
    assert!(message.is_cut());
    assert_eq!(text(message), "…");
    assert_eq!(message.location(&NOTHING).expect("it had room").file, file!());
}

#[test]
fn what_is_printed_and_has_no_room_is_counted() {
    let mut room = Room::new(4096, 1024);
    // 80 + 16 + 112 bytes each, of some 3000.
    for index in 0..20 {
        room.print(&format!("{index:0100}"));
    }
    let buffer = MessageBuffer::new(room.bytes()).unwrap();
    let prints: Vec<String> = buffer.prints().map(text).collect();
    assert!(prints.len() >= 12, "{}", prints.len());
    for (print, index) in prints.iter().zip(0..) {
        assert_eq!(*print, format!("{index:0100}"));
    }
    assert_eq!(buffer.lost() + prints.len() as u64, 20);
    assert!(buffer.is_used() && buffer.panic().is_none());
}

#[test]
fn bytes_that_are_no_record_are_read_without_harm() {
    let mut random = fastrand::Rng::with_seed(0x9E37_79B9_7F4A_7C15);
    let mut whole = 0;
    for _ in 0..20_000 {
        let mut room = Room::new(2048, 1024);
        room.panic("a message", Some(Location::caller()));
        room.print("another one");
        let bytes = room.bytes();
        for _ in 0..=random.usize(..8) {
            // Mostly in the heads, where the numbers are.
            let at = if random.bool() { random.usize(..200) } else { random.usize(..2048) };
            bytes[at] = [0, 1, 0xFF, random.u8(..)][random.usize(..4)];
        }
        let len = if random.usize(..4) == 0 { random.usize(..2048) } else { 2048 };
        let Some(buffer) = MessageBuffer::new(&bytes[..len]) else { continue };
        whole += 1;
        for message in buffer.panic().into_iter().chain(buffer.prints()) {
            let _ = (
                text(message),
                message.location(&NOTHING),
                message.global_id(),
                message.local_id(),
            );
        }
    }
    assert!(whole > 1000, "{whole}");
}
