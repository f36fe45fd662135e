//! Damaged records: every read stays inside of what was recorded, and every message ends.

use std::cell::Cell;

use schism_message::{Kind, MAGIC, Memory, Recorded, format};

/// Memory at address 4096 that checks what it gives, and counts.
struct Watched<'a> {
    memory: Recorded<'a>,
    reads: Cell<usize>,
}

impl Memory for Watched<'_> {
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.reads.set(self.reads.get() + 1);
        self.memory.bytes(address, len)
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn random_bytes() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut shown = 0;
    for round in 0..20_000 {
        // Words that make sense by chance: addresses inside, descriptors' first words, small
        // numbers.
        let mut memory = Vec::new();
        for _ in 0..64 {
            let choice = random.next();
            let word = match choice % 6 {
                0 => random.next(),
                1 => random.next() % 9,
                2 => {
                    let kind = Kind::ALL[(choice >> 8) as usize % Kind::ALL.len()] as u64;
                    kind | (choice >> 32 & 1) << 8 | u64::from(MAGIC) << 32
                }
                3 => random.next() & 0xff00_0000_00ff | 0xC0,
                _ => 4096 + random.next() % 64 * 8,
            };
            memory.extend(word.to_le_bytes());
        }
        let pieces = [(4096, memory.as_slice())];
        let watched = Watched { memory: Recorded(&pieces), reads: Cell::new(0) };
        let mut out = String::new();
        let (template, args) =
            (4096 + random.next() % 512, 4096 + random.next() % 64 * 8 + round % 2);
        format(&mut out, &watched, template, args, 2000).expect("a string takes everything");
        assert!(out.len() <= 2000 + '…'.len_utf8());
        assert!(watched.reads.get() < 2_000_000, "{} reads", watched.reads.get());
        shown += usize::from(out.len() > 20);
    }
    assert!(shown > 1000, "only {shown} of the messages had anything in them");
}

#[test]
fn addresses_at_the_end_of_everything() {
    let nothing = Recorded(&[(u64::MAX - 7, &[0xC0; 8])]);
    for template in [0, 1, u64::MAX, u64::MAX - 7, u64::MAX - 1] {
        for args in [0, 2, u64::MAX - 1, u64::MAX, 1 << 63] {
            let mut out = String::new();
            format(&mut out, &nothing, template, args, 100).expect("a string takes everything");
            assert!(out.ends_with('…'), "{template:x} {args:x} {out}");
        }
    }
}
