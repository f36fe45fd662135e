//! What the programs of `cargo schism bench algorithms` share: sizes, inputs, the clock, the
//! output. `benches/gpu/algorithms.cu` has the same.
//!
//! Each prints lines `name seconds checksum`, with names such as `sort_u32/2^20`.

use std::time::{Duration, Instant};

/// How often each algorithm runs; the fastest counts.
const REPEATS: usize = 9;

/// Logarithms of the numbers of elements, from the command line, or the default.
///
/// # Errors
/// A word that is no number from 0 to 30.
pub fn sizes() -> Result<Vec<u32>, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        return Ok(vec![16, 20, 24]);
    }
    let size = |word: &String| match word.parse() {
        Ok(size @ 0..=30) => Ok(size),
        _ => Err(format!("`{word}` is no logarithm of a size from 0 to 30")),
    };
    words.iter().map(size).collect()
}

/// Mixes the bits of a number.
#[must_use]
pub const fn mix(bits: u32) -> u32 {
    let bits = (bits ^ bits >> 16).wrapping_mul(0x85eb_ca6b);
    let bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
    bits ^ bits >> 16
}

/// Random bits of an element.
const fn bits(i: usize) -> u64 {
    (mix(i as u32) as u64) << 32 | mix(i as u32 ^ 0x5bd1_e995) as u64
}

/// Elements of the benchmarks.
pub trait Number: Copy + Default + Send + Sync + 'static {
    /// For types' names in the output.
    const NAME: &'static str;
    /// Any number, to be sorted.
    fn any(bits: u64) -> Self;
    /// A small whole number, for sums that are exact in any order.
    fn small(bits: u64) -> Self;
    /// The bits, for checksums.
    fn bits(self) -> u64;
}

macro_rules! numbers {
    ($($number:ident $name:literal |$bits:ident| $any:expr, $small:expr, |$own:ident| $own_bits:expr;)*) => {$(
        impl Number for $number {
            const NAME: &'static str = $name;

            fn any($bits: u64) -> Self {
                $any
            }

            fn small($bits: u64) -> Self {
                $small
            }

            fn bits(self) -> u64 {
                let $own = self;
                $own_bits
            }
        }
    )*};
}
numbers! {
    u32 "u32" |bits| (bits >> 32) as Self, (bits >> 52) as Self, |own| u64::from(own);
    u64 "u64" |bits| bits, bits >> 52, |own| own;
    f32 "f32" |bits| (bits >> 40) as Self / 16_777_216.0 - 0.5, (bits >> 62 & 1) as Self - (bits >> 63) as Self,
        |own| u64::from(own.to_bits());
    f64 "f64" |bits| (bits >> 11) as Self / 9_007_199_254_740_992.0 - 0.5, (bits >> 62 & 1) as Self - (bits >> 63) as Self,
        |own| own.to_bits();
}

/// `2^log2` numbers to be sorted.
#[must_use]
pub fn any<T: Number>(log2: u32) -> Vec<T> {
    (0..1_usize << log2).map(|i| T::any(bits(i))).collect()
}

/// `2^log2` numbers to be added.
#[must_use]
pub fn small<T: Number>(log2: u32) -> Vec<T> {
    (0..1_usize << log2).map(|i| T::small(bits(i))).collect()
}

/// A checksum of elements from everywhere.
#[must_use]
pub fn checksum<T: Number>(elements: &[T]) -> u64 {
    let step = elements.len() / 4099 + 1;
    let sampled = elements.iter().step_by(step);
    sampled.fold(0, |sum: u64, own| sum.wrapping_mul(31).wrapping_add(own.bits()))
}

/// Runs an algorithm on a state that `prepare`, which is not timed, makes ready each time, and prints
/// its line.
pub fn measure<S>(
    name: &str,
    log2: u32,
    mut state: S,
    prepare: impl Fn(&mut S),
    run: impl Fn(&mut S),
    checksum: impl Fn(&S) -> u64,
) {
    let mut best = Duration::MAX;
    for repeat in 0..=REPEATS {
        prepare(&mut state);
        let start = Instant::now();
        run(&mut state);
        // The first one does not count.
        if repeat != 0 {
            best = best.min(start.elapsed());
        }
    }
    println!("{name}/2^{log2} {} {:x}", best.as_secs_f64(), checksum(&state));
}

/// Values of the sorts of pairs: where each one was.
#[must_use]
pub fn places(log2: u32) -> Vec<u32> {
    (0..1_u32 << log2).collect()
}
