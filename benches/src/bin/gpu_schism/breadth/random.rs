//! Random numbers, what is computed of them, and loops of unknown length.

use schism::prelude::*;

use crate::Outcome;
use crate::measure::{Bench, Case, submit};

/// How many of some random points are in the circle: xorshift64* (Vigna, 2016).
fn inside(seed: usize, points: u32) -> u32 {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let mut count = 0;
    for _ in 0..points {
        let bits = next();
        let (x, y) = ((bits >> 40) as f32 / 16_777_216.0, (bits & 0xff_ffff) as f32 / 16_777_216.0);
        if x * x + y * y < 1.0 {
            count += 1;
        }
    }
    count
}

/// The steps from a number to 1 (Collatz).
fn steps(number: usize) -> u32 {
    let (mut number, mut count) = (number as u64 + 1, 0);
    while number != 1 {
        number = if number % 2 == 0 { number / 2 } else { 3 * number + 1 };
        count += 1;
    }
    count
}

/// Quotients and remainders of random numbers of 128 bits, by divisors of 1 to 128 bits.
fn quotients(seed: usize) -> u32 {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u128::from(state)
    };
    let mut sum = 0;
    for round in 0..16 {
        let number = next() << 64 | next();
        let divisor = (next() << 64 | next()) >> (8 * round) | 1;
        sum ^= (number / divisor) ^ (number % divisor);
    }
    (sum ^ sum >> 32 ^ sum >> 64 ^ sum >> 96) as u32
}

/// The remainders of CRC-32 (ISO 3309) by which a byte is taken at a time.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = rest >> 1 ^ if rest & 1 != 0 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

/// The check of 256 random bytes.
fn crc(seed: usize) -> u32 {
    let (mut state, mut rest) = (seed as u32 | 1, u32::MAX);
    for _ in 0..64 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        for byte in state.to_le_bytes() {
            rest = rest >> 8 ^ CRC[((rest ^ u32::from(byte)) & 0xff) as usize];
        }
    }
    !rest
}

/// Measures `monte_carlo`, `collatz`, `quotients` and `crc`.
pub fn run(bench: &Bench) -> Outcome {
    let points = bench.settings().size(1000, 50) as u32;
    let n = bench.settings().size(1 << 20, 1 << 10);
    measure(bench, "monte_carlo", n, move |i| inside(i, points))?;
    measure(bench, "collatz", bench.settings().size(1 << 22, 1 << 10), steps)?;
    measure(bench, "quotients", n, quotients)?;
    measure(bench, "crc", n, crc)
}

fn measure<F>(bench: &Bench, kernel: &'static str, n: usize, of: F) -> Outcome
where
    F: Fn(usize) -> u32 + Capture + Copy + Send + Sync + 'static,
{
    if !bench.wants(&[kernel]) {
        return Ok(());
    }
    let mut to = Buffer::<u32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel, element: "u32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| scope.for_each((0.., &mut to), move |(i, to)| *to = of(i)))
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || (0..n).map(of).collect());
    }
    Ok(())
}
