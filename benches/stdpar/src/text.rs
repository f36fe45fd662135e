//! Counting in bytes and in strings.

use rayon::prelude::*;

use crate::measure::{Bench, checksum};
use crate::random::Random;

/// Measures it.
pub fn run(bench: &Bench) {
    let names = ["count_bytes", "count_vowels", "histogram", "line_lengths", "count_words"];
    if !bench.wants(&names) {
        return;
    }
    let mut random = Random::new(8);
    let letters = b"etaoin shrdlu cmfwyp vbgkqj xz\n ";
    let bytes = 0..bench.size(1 << 24, 20_011);
    let text: String = bytes.map(|_| char::from(letters[random.below(32) as usize])).collect();
    let bytes = text.as_bytes();
    bench.measure("count_bytes", || bytes.par_iter().filter(|byte| **byte == b'\n').count() as u64);
    bench.measure("count_vowels", || {
        bytes.par_iter().filter(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u')).count()
            as u64
    });
    bench.measure("histogram", || {
        let counts = bytes
            .par_chunks(1 << 14)
            .map(|part| {
                let mut counts = [0_u32; 256];
                for byte in part {
                    counts[usize::from(*byte)] += 1;
                }
                counts
            })
            .reduce(
                || [0; 256],
                |mut a, b| {
                    a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
                    a
                },
            );
        checksum(counts.iter().map(|count| u64::from(*count)))
    });
    let lines: Vec<&str> = text.lines().collect();
    bench.measure("line_lengths", || {
        lines.par_iter().map(|line| line.split(' ').map(str::len).max().unwrap_or(0) as u64).sum()
    });
    bench.measure("count_words", || {
        text.par_lines().map(|line| line.split_whitespace().count() as u64).sum()
    });
}
