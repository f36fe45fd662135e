//! Sorting, with the copy of the input that it takes.

use rayon::prelude::*;

use crate::measure::{Bench, sample};
use crate::random::Random;

/// Measures it.
pub fn run(bench: &Bench) {
    if !bench.wants(&["sort_stable", "sort_unstable"]) {
        return;
    }
    let mut random = Random::new(7);
    let input: Vec<u64> = (0..bench.size(400_000, 5_003)).map(|_| random.bits()).collect();
    let mut values = input.clone();
    bench.measure("sort_stable", || {
        values.copy_from_slice(&input);
        values.par_sort();
        sample(&values, |value| value)
    });
    bench.measure("sort_unstable", || {
        values.copy_from_slice(&input);
        values.par_sort_unstable();
        sample(&values, |value| value)
    });
}
