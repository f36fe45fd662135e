//! What the machine can do: the bandwidth of its memory, and its floating-point operations.

use std::hint::black_box;

use rayon::prelude::*;
use schism_bench::cpu::{STREAM, processor_time, units};

/// Lanes of a vector, and vectors that are computed at once: more than any processor's latency.
const LANES: usize = 16;
const CHAINS: usize = 12;
/// Operations of a chain.
const STEPS: usize = 1 << 20;
/// How often each runs; the fastest counts.
const REPEATS: usize = 9;

/// Prints bytes and floating-point operations per second, of all threads.
pub(crate) fn print() {
    let (b, c) = (units(STREAM, 0), units(STREAM, 1));
    let mut a = vec![0.0_f32; STREAM];
    let triad = fastest(|| {
        a.par_iter_mut().zip(&b).zip(&c).for_each(|((a, b), c)| *a = b + 3.0 * c);
    });
    let threads = rayon::current_num_threads();
    // Other programs may run: the fastest thread, and as many of them.
    let multiply = fastest(chains);
    let operations = 2 * LANES * CHAINS * STEPS;
    let [triad, multiply] = [triad, multiply].map(|time| threads as f64 / time);
    println!("{} {}", (12 * STREAM) as f64 * triad, operations as f64 * multiply);
}

/// Products and sums that do not wait for each other.
fn chains() {
    let (factor, more) = (black_box([0.999_f32; LANES]), black_box([0.001_f32; LANES]));
    // Each chain is a separate value, so that all stay in registers.
    macro_rules! chains {
        ($($name:ident)*) => {
            $(let mut $name = black_box([1.0_f32; LANES]);)*
            for _ in 0..STEPS {
                $($name = std::array::from_fn(|at| $name[at].mul_add(factor[at], more[at]));)*
            }
            black_box([$($name),*]);
        };
    }
    chains!(a b c d e f g h i j k l);
}

/// The least processor time of a few.
fn fastest(mut work: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..REPEATS {
        let start = processor_time();
        work();
        least = least.min(processor_time() - start);
    }
    least
}
