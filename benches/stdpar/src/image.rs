//! A Gaussian blur, along rows and then along columns.

use rayon::prelude::*;

use crate::measure::{Bench, sample};
use crate::random::Random;

const WEIGHTS: [f32; 7] = [0.03, 0.11, 0.22, 0.28, 0.22, 0.11, 0.03];
const RADIUS: usize = WEIGHTS.len() / 2;

/// Measures it.
pub fn run(bench: &Bench) {
    if !bench.wants(&["blur"]) {
        return;
    }
    let (width, height) = (bench.size(1920, 37), bench.size(1080, 29));
    let mut random = Random::new(5);
    let input: Vec<f32> = (0..width * height).map(|_| random.unit() as f32).collect();
    let mut rows = vec![0.0_f32; width * height];
    let mut output = rows.clone();
    bench.measure("blur", || {
        rows.par_chunks_mut(width).zip(input.par_chunks(width)).for_each(|(to, from)| {
            for (column, to) in to.iter_mut().enumerate() {
                *to = WEIGHTS
                    .iter()
                    .enumerate()
                    .map(|(tap, weight)| {
                        let at = (column + tap).saturating_sub(RADIUS).min(width - 1);
                        weight * from[at]
                    })
                    .sum();
            }
        });
        output.par_chunks_mut(width).enumerate().for_each(|(row, to)| {
            for (column, to) in to.iter_mut().enumerate() {
                *to = WEIGHTS
                    .iter()
                    .enumerate()
                    .map(|(tap, weight)| {
                        let at = (row + tap).saturating_sub(RADIUS).min(height - 1);
                        weight * rows[at * width + column]
                    })
                    .sum();
            }
        });
        sample(&output, |value| u64::from(value.to_bits()))
    });
}
