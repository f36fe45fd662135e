//! Messages of which only the words are in the record: all else is in the device's memory.

use std::mem::{offset_of, size_of};

use schism_jit_abi::{
    GPU_MESSAGE_COMPLETE, GPU_MESSAGE_SHAPED, GPU_STATE_COMPLETE, GpuMessage, GpuMessageBuffer,
};
use schism_message::buffer::{MessageBuffer, empty};
use schism_message::shape::{
    MOST_PARTS, MOST_WORDS, PART_CONSTANT, PART_ROOM, PART_WORD, ROOM, ROOM_ADDRESS,
};
use schism_message::{Kind, MAGIC, Recorded};

/// Where the constants are.
const DEVICE: u64 = 0x7f00_0000_0000;
const SHAPE: u64 = DEVICE + 512;
const DESCRIPTOR: u64 = DEVICE + 64;
const LOCATION: u64 = DEVICE + 128;
const FILE: u64 = DEVICE + 160;

/// A shape: its parts are kind, bytes, place and value.
fn shape(words: u32, parts: &[(u8, u8, u32, u64)]) -> Vec<u8> {
    let mut bytes = [words.to_le_bytes(), (parts.len() as u32).to_le_bytes()].concat();
    for &(kind, size, offset, value) in parts {
        bytes.extend([kind, size, 0, 0]);
        bytes.extend(offset.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

/// `{} of {}`, with two words of 64 bits, as stage 2 lays it out.
fn two_numbers() -> Vec<u8> {
    shape(
        2,
        &[
            (PART_CONSTANT, 8, 0, DEVICE),
            (PART_ROOM, 8, 8, 16),
            (PART_ROOM, 8, 16, 48),
            (PART_CONSTANT, 8, 24, DESCRIPTOR),
            (PART_ROOM, 8, 32, 64),
            (PART_CONSTANT, 8, 40, DESCRIPTOR),
            (PART_WORD, 8, 48, 0),
            (PART_WORD, 8, 64, 1),
        ],
    )
}

/// The device's memory with a shape in it.
fn memory(shape: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[..8].copy_from_slice(b"\xC0\x04 of \xC0\x00");
    bytes[64..68].copy_from_slice(&(Kind::I16 as u32).to_le_bytes());
    bytes[68..72].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[128..136].copy_from_slice(&FILE.to_le_bytes());
    bytes[136..144].copy_from_slice(&6_u64.to_le_bytes());
    bytes[144..148].copy_from_slice(&12_u32.to_le_bytes());
    bytes[148..152].copy_from_slice(&5_u32.to_le_bytes());
    bytes[160..166].copy_from_slice(b"lib.rs");
    bytes.extend(shape);
    bytes
}

/// A record with such a message.
fn left(words: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    empty(&mut bytes, 1024).expect("it has room");
    bytes[offset_of!(GpuMessageBuffer, state)..][..4]
        .copy_from_slice(&GPU_STATE_COMPLETE.to_le_bytes());
    let head = size_of::<GpuMessageBuffer>();
    let size = (size_of::<GpuMessage>() + 8 * words.len()).next_multiple_of(16) as u32;
    let flags = GPU_MESSAGE_COMPLETE | GPU_MESSAGE_SHAPED;
    for (offset, number) in
        [(offset_of!(GpuMessage, size), size), (offset_of!(GpuMessage, flags), flags)]
    {
        bytes[head + offset..][..4].copy_from_slice(&number.to_le_bytes());
    }
    let fields = [
        (offset_of!(GpuMessage, global_id), 9),
        (offset_of!(GpuMessage, template), SHAPE),
        (offset_of!(GpuMessage, location), LOCATION),
    ];
    let words = words.iter().enumerate().map(|(i, word)| (size_of::<GpuMessage>() + 8 * i, *word));
    for (offset, number) in fields.into_iter().chain(words) {
        bytes[head + offset..][..8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn text(record: &[u8], device: &[u8]) -> String {
    let pieces = [(DEVICE, device)];
    let record = MessageBuffer::new(record).expect("it is whole");
    let mut out = String::new();
    let left = record.panic().expect("it was left");
    left.write(&Recorded(&pieces), &mut out, 1 << 12).expect("a string takes everything");
    out
}

#[test]
fn a_shape_and_words_are_a_message() {
    let device = memory(&two_numbers());
    let record = left(&[u64::from_le_bytes([0xFE, 0xFF, 1, 1, 1, 1, 1, 1]), 300]);
    assert_eq!(text(&record, &device), "-2 of 300");
    let pieces = [(DEVICE, &device[..])];
    let device = Recorded(&pieces);
    let record = MessageBuffer::new(&record).unwrap();
    let left = record.panic().unwrap();
    let location = left.location(&device).expect("the device has it");
    assert_eq!((location.file, location.line, location.column), ("lib.rs", 12, 5));
    assert_eq!(left.global_id(), [9, 0, 0]);
    assert_eq!(left.location(&Recorded(&[])), None);
}

#[test]
fn a_text_needs_no_words() {
    let shape = shape(0, &[(PART_CONSTANT, 8, 0, FILE), (PART_CONSTANT, 8, 8, 6 << 1 | 1)]);
    assert_eq!(text(&left(&[]), &memory(&shape)), "lib.rs");
}

#[test]
fn what_the_device_refuses_is_shown_as_such() {
    let device = memory(&two_numbers());
    assert_eq!(text(&left(&[1, 2]), &[]), "…");
    assert_eq!(text(&left(&[1, 2]), &device[..512 + 16]), "…");
    // The template and what is left of the constants.
    assert_eq!(text(&left(&[1, 2]), &device), "1 of 2");
    let mut damaged = device;
    damaged[64..72].fill(0);
    assert!(!text(&left(&[1, 2]), &damaged).contains('1'));
}

#[test]
fn shapes_that_are_none_are_refused() {
    let part = (PART_CONSTANT, 8, 0, FILE);
    let most = ROOM as u32;
    for wrong in [
        shape(0, &[(PART_WORD, 8, 0, 0)]),
        shape(1, &[(PART_WORD, 8, 0, 1)]),
        shape(1, &[(PART_WORD, 8, 0, u64::MAX)]),
        shape(MOST_WORDS as u32 + 1, &[part]),
        shape(0, &[part; MOST_PARTS + 1]),
        shape(0, &[(PART_CONSTANT, 9, 0, 0)]),
        shape(0, &[(PART_CONSTANT, 8, most - 7, 0)]),
        shape(0, &[(PART_CONSTANT, 8, u32::MAX, 0)]),
        shape(0, &[(PART_ROOM, 8, 0, most.into())]),
        shape(0, &[(7, 8, 0, 0)]),
    ] {
        assert_eq!(text(&left(&[1, 2]), &memory(&wrong)), "…", "{wrong:?}");
    }
    // As many as there may be, at the room's end.
    let last = (PART_CONSTANT, 1, most - 1, 0);
    let mut parts = vec![last; MOST_PARTS];
    parts[..2].copy_from_slice(&[part, (PART_CONSTANT, 8, 8, 6 << 1 | 1)]);
    assert_eq!(text(&left(&[]), &memory(&shape(MOST_WORDS as u32, &parts))), "lib.rs");
}

#[test]
fn damaged_messages_end() {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut shown = 0;
    for _ in 0..20_000 {
        let mut device = memory(&two_numbers());
        let mut record = left(&[1, 2]);
        for _ in 0..=random() % 6 {
            let of_record = random() % 3 == 0;
            let bytes = if of_record { &mut record } else { &mut device };
            // The heads, the words; or all constants.
            let at =
                if of_record { random() % 180 } else { random() % bytes.len() as u64 } as usize;
            let value =
                [random(), 0, u64::MAX, ROOM_ADDRESS, ROOM_ADDRESS + random() % 600, DEVICE]
                    [random() as usize % 6];
            let len = [1, 8][random() as usize % 2].min(bytes.len() - at);
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        let pieces = [(DEVICE, &device[..])];
        let Some(left) = MessageBuffer::new(&record).and_then(|record| record.panic()) else {
            continue;
        };
        let mut out = String::new();
        left.write(&Recorded(&pieces), &mut out, 500).expect("a string takes everything");
        assert!(out.len() <= 500 + '…'.len_utf8());
        let _ = left.location(&Recorded(&pieces));
        shown += usize::from(out.contains(" of "));
    }
    assert!(shown > 1000, "{shown}");
}
