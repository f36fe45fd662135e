//! BabelStream's five, and a dot product of single precision. All values are such that sums are
//! exact, whatever their order.

use std::time::Instant;

use rayon::prelude::*;

use crate::measure::{Bench, sample};

const SCALAR: f64 = 0.5;

/// Measures them.
pub fn run(bench: &Bench) {
    let names = ["stream_copy", "stream_mul", "stream_add", "stream_triad", "stream_dot"];
    if bench.wants(&names) {
        let size = bench.size(1 << 24, 10_007);
        let (mut a, mut b, mut c) = (vec![0.125_f64; size], vec![0.25_f64; size], vec![0.0; size]);
        bench.measure("stream_copy", || {
            c.par_iter_mut().zip(&a).for_each(|(c, a)| *c = *a);
            sample(&c, f64::to_bits)
        });
        bench.measure("stream_mul", || {
            b.par_iter_mut().zip(&c).for_each(|(b, c)| *b = SCALAR * *c);
            sample(&b, f64::to_bits)
        });
        bench.measure("stream_add", || {
            c.par_iter_mut().zip(&a).zip(&b).for_each(|((c, a), b)| *c = *a + *b);
            sample(&c, f64::to_bits)
        });
        bench.measure("stream_triad", || {
            a.par_iter_mut().zip(&b).zip(&c).for_each(|((a, b), c)| *a = *b + SCALAR * *c);
            sample(&a, f64::to_bits)
        });
        bench.measure("stream_dot", || {
            a.par_iter().zip(&b).map(|(a, b)| *a * *b).sum::<f64>().to_bits()
        });
    }
    bench.measure_fresh("stream_fresh", || {
        // The host has all pages of both.
        let size = bench.size(1 << 24, 10_007);
        let (a, mut c) = (vec![0.125_f64; size], vec![0.25_f64; size]);
        let start = Instant::now();
        c.par_iter_mut().zip(&a).for_each(|(c, a)| *c = *a);
        let time = start.elapsed();
        assert_eq!(c[size - 1], 0.125);
        time
    });
    if bench.wants(&["dot_f32"]) {
        let size = bench.size(1 << 20, 1_009);
        // Products are multiples of 1/4 and below 4, and there are 2^20 of them: below 2^24 in all.
        let a: Vec<f32> = (0..size).map(|index| (index % 4) as f32 / 2.0).collect();
        let b: Vec<f32> = (0..size).map(|index| (index % 5) as f32 / 2.0).collect();
        bench.measure("dot_f32", || {
            u64::from(a.par_iter().zip(&b).map(|(a, b)| a * b).sum::<f32>().to_bits())
        });
    }
}
