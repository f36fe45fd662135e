//! Pipelines over the rows of matrices, of which there are fewer than a GPU runs work-items.

use rayon::prelude::*;

use crate::measure::{Bench, sample};
use crate::random::Random;

/// Measures them.
pub fn run(bench: &Bench) {
    transpose(bench);
    product(bench);
    blur(bench);
    normalize(bench);
}

fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.unit()).collect()
}

fn transpose(bench: &Bench) {
    if !bench.wants(&["transpose"]) {
        return;
    }
    let order = bench.size(8192, 61);
    let from = numbers(11, order * order);
    let mut to = vec![0.0; order * order];
    bench.measure("transpose", || {
        to.par_chunks_mut(order).enumerate().for_each(|(row, to)| {
            for (column, to) in to.iter_mut().enumerate() {
                *to = from[column * order + row];
            }
        });
        sample(&to, f64::to_bits)
    });
}

fn product(bench: &Bench) {
    if !bench.wants(&["dgemm"]) {
        return;
    }
    let order = bench.size(2048, 45);
    let (a, b) = (numbers(12, order * order), numbers(13, order * order));
    let mut c = vec![0.0; order * order];
    bench.measure("dgemm", || {
        c.par_chunks_mut(order).zip(a.par_chunks(order)).for_each(|(c, a)| {
            for c in c.iter_mut() {
                *c = 0.0;
            }
            for (a, b) in a.iter().zip(b.chunks_exact(order)) {
                for (c, b) in c.iter_mut().zip(b) {
                    *c += a * b;
                }
            }
        });
        sample(&c, f64::to_bits)
    });
}

fn blur(bench: &Bench) {
    if !bench.wants(&["row_blur"]) {
        return;
    }
    let (width, height) = (bench.size(3840, 53), bench.size(2160, 31));
    let mut random = Random::new(14);
    let from: Vec<f32> = (0..width * height).map(|_| random.unit() as f32).collect();
    let mut to = vec![0.0_f32; width * height];
    bench.measure("row_blur", || {
        to.par_chunks_exact_mut(width).zip(from.par_chunks_exact(width)).for_each(|(to, from)| {
            for x in 2..width - 2 {
                let outer = from[x - 2] + from[x + 2];
                let inner = from[x - 1] + from[x + 1];
                to[x] = 0.1 * outer + 0.2 * inner + 0.4 * from[x];
            }
        });
        sample(&to, |value| u64::from(value.to_bits()))
    });
}

/// Exponentials by the sum of their row: the sum is in order, and the rest of each element by itself.
fn normalize(bench: &Bench) {
    if !bench.wants(&["softmax"]) {
        return;
    }
    let (width, height) = (bench.size(4096, 77), bench.size(1024, 19));
    let from = numbers(15, width * height);
    let mut to = vec![0.0; width * height];
    bench.measure("softmax", || {
        to.par_chunks_mut(width).zip(from.par_chunks(width)).for_each(|(to, from)| {
            // No function of mathematics, whose last bits are the device's.
            for (to, &from) in to.iter_mut().zip(from) {
                *to = 1.0 + from * (1.0 + from * (0.5 + from * (1.0 / 6.0 + from / 24.0)));
            }
            let sum: f64 = to.iter().sum();
            for to in to.iter_mut() {
                *to /= sum;
            }
        });
        sample(&to, f64::to_bits)
    });
}
