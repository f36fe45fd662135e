//! What it takes to run a pipeline at all: few items, with nothing to do.

use rayon::prelude::*;

use crate::measure::{Bench, checksum};

/// Items, and how often they make a repetition.
const SIZES: [(&str, usize, u32); 3] =
    [("launch_1", 1, 2_000), ("launch_1000", 1_000, 100), ("launch_1000000", 1_000_000, 1)];

/// Measures it.
pub fn run(bench: &Bench) {
    for (name, items, calls) in SIZES {
        if !bench.wants(&[name]) {
            continue;
        }
        let mut values: Vec<u32> = (0..items as u32).collect();
        bench.measure_calls(name, calls, || {
            for _ in 0..calls {
                values.par_iter_mut().for_each(|value| *value ^= 1);
                std::hint::black_box(&mut values);
            }
            // Twice is nothing.
            let odd = calls % 2 == 1;
            if odd {
                values.iter_mut().for_each(|value| *value ^= 1);
            }
            checksum(values.iter().step_by(101).map(|value| u64::from(*value)))
        });
    }
}
