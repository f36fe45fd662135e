//! What the programs of `cargo schism bench directives` share: inputs, the clock, the output.
//! `benches/gpu/directives.cu` has the same.
//!
//! Each prints lines `name/form seconds checksum`.

use std::time::{Duration, Instant};

/// How often each loop is measured; the fastest counts.
const REPEATS: usize = 15;

/// Elements of `saxpy` and `dot`.
pub const LENGTH: usize = 1 << 22;

/// The side of Jacobi's plate.
pub const SIDE: usize = 1024;

/// Rows of the sparse matrix.
pub const ROWS: usize = 14_000;

/// Cells of the air, upwards and across.
pub const AIR: [usize; 2] = [200, 400];

/// Cells around the air, on each side.
pub const HALO: usize = 2;

/// What the flux of heat is computed with: see the example `weather`.
pub const C0: f64 = 27.562_941_092_972_594;
/// As above.
pub const GAMMA: f64 = 1.400_278_940_027_894;

/// The least time of a run, after one that does not count.
pub fn timed(mut run: impl FnMut()) -> f64 {
    run();
    let mut best = Duration::MAX;
    for _ in 0..REPEATS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best.as_secs_f64()
}

/// Prints a line. The checksum is a mean of elements from everywhere.
pub fn print<T: Copy + Into<f64>>(name: &str, form: &str, seconds: f64, elements: &[T]) {
    let step = elements.len() / 4099 + 1;
    let sampled: Vec<f64> = elements.iter().step_by(step).map(|own| (*own).into()).collect();
    println!("{name}/{form} {seconds} {:e}", sampled.iter().sum::<f64>() / sampled.len() as f64);
}

/// Numbers from 0 to 1 in no order.
#[must_use]
pub fn numbers(count: usize) -> Vec<f64> {
    (0..count as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> 7 & 1023) as f64 / 1024.0).collect()
}

/// As [`numbers`].
#[must_use]
pub fn floats(count: usize) -> Vec<f32> {
    numbers(count).into_iter().map(|own| own as f32).collect()
}

/// A sparse matrix by rows: where their entries begin, columns, values.
#[must_use]
pub fn matrix() -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let (mut begins, mut columns) = (vec![0], Vec::new());
    for row in 0..ROWS {
        let entries = 60 + row * 7919 % 140;
        columns.extend((0..entries).map(|k| ((row * 37 + k * (k + 7919)) % ROWS) as u32));
        begins.push(columns.len());
    }
    let values = numbers(columns.len());
    (begins, columns, values)
}

/// The air: the state of four quantities, and density and heat of the air at rest by rows.
#[must_use]
pub fn air() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let [nz, nx] = AIR;
    let (rows, row) = (nz + 2 * HALO, nx + 2 * HALO);
    let state = numbers(4 * rows * row).into_iter().map(|own| own * 1e-3).collect();
    let density: Vec<f64> = (0..rows).map(|k| 1.2 - 0.002 * k as f64).collect();
    let heat = density.iter().map(|own| own * 300.0).collect();
    (state, density, heat)
}
