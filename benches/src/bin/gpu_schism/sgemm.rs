//! The product of two square matrices: naive, and by tiles in local memory.

use schism::prelude::*;
use schism::{Specialized, local_array};

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, Run, Size, Times, submit};

/// The side of a tile, and of a group.
const TILE: usize = 32;

/// The product on the host, with the sums in the kernels' order.
fn product(side: usize, a: &[f32], b: &[f32]) -> Vec<f32> {
    let element = |place: usize| {
        let (row, column) = (place / side, place % side);
        (0..side).fold(0.0, |sum, k| sum + a[row * side + k] * b[k * side + column])
    };
    (0..side * side).map(element).collect()
}

fn time_naive<S: Size>(
    run: &Run,
    [a, b]: [&Buffer<f32>; 2],
    c: &mut Buffer<f32>,
    side: S,
) -> Outcome<Times> {
    run.time(|| {
        submit(&run.queue, |scope| {
            let sources = (&mut *c, whole(a), whole(b));
            let range = [side.get(), side.get()];
            scope.for_each_in(range, sources, move |item, (c, a, b)| {
                let side = side.get();
                let [row, column] = item.id();
                let mut sum = 0.0;
                for (k, a) in a[row * side..][..side].iter().enumerate() {
                    sum += a * b[k * side + column];
                }
                *c = sum;
            })
        })
    })
}

fn time_tiled<S: Size>(
    run: &Run,
    [a, b]: [&Buffer<f32>; 2],
    c: &mut Buffer<f32>,
    side: S,
) -> Outcome<Times> {
    let range = NdRange::new([side.get(), side.get()], [TILE, TILE])?;
    run.time(|| {
        let sources = (whole(a), whole(b), &mut *c);
        submit(&run.queue, |scope| {
            scope.for_each_in(range, sources, move |item, (a, b, c)| {
                let side = side.get();
                let a_tile = local_array!(item, f32; TILE * TILE);
                let b_tile = local_array!(item, f32; TILE * TILE);
                let ([row, column], [y, x]) = (item.global_id(), item.local_id());
                let mut sum = 0.0;
                for first in (0..side).step_by(TILE) {
                    a_tile.set(y * TILE + x, a[row * side + first + x]);
                    b_tile.set(y * TILE + x, b[(first + y) * side + column]);
                    item.barrier();
                    for k in 0..TILE {
                        sum += a_tile.get(y * TILE + k) * b_tile.get(k * TILE + x);
                    }
                    item.barrier();
                }
                *c = sum;
            })
        })
    })
}

/// Measures `sgemm_naive` and `sgemm_tiled`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["sgemm_naive", "sgemm_tiled"]) {
        return Ok(());
    }
    let side = bench.settings().size(4096, 96);
    let [host_a, host_b] = [13, 17].map(|seed| between(seed << 20, side * side, -1.0, 1.0));
    let a = Buffer::from_slice(bench.queue(), &host_a)?;
    let b = Buffer::from_slice(bench.queue(), &host_b)?;
    let mut c = Buffer::with_len(bench.queue(), side * side)?;
    let case = |kernel| Case { kernel, element: "f32", size: side, bytes: 0 };

    for run in bench.sized_runs(case("sgemm_naive")) {
        let times = match run.is_specialised() {
            true => time_naive(&run, [&a, &b], &mut c, Specialized::new(side)),
            false => time_naive(&run, [&a, &b], &mut c, side),
        }?;
        run.report(&times, &c)?;
        run.check(&c, 1e-4, || product(side, &host_a, &host_b));
    }

    for run in bench.sized_runs(case("sgemm_tiled")) {
        let times = match run.is_specialised() {
            true => time_tiled(&run, [&a, &b], &mut c, Specialized::new(side)),
            false => time_tiled(&run, [&a, &b], &mut c, side),
        }?;
        run.report(&times, &c)?;
        run.check(&c, 1e-4, || product(side, &host_a, &host_b));
    }
    Ok(())
}
