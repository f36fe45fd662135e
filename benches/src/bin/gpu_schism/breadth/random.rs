//! Random numbers, and loops whose length nobody knows.

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

/// Measures `monte_carlo` and `collatz`.
pub fn run(bench: &Bench) -> Outcome {
    let points = bench.settings().size(1000, 50) as u32;
    let n = bench.settings().size(1 << 20, 1 << 10);
    measure(bench, "monte_carlo", n, move |i| inside(i, points))?;
    measure(bench, "collatz", bench.settings().size(1 << 22, 1 << 10), steps)
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
