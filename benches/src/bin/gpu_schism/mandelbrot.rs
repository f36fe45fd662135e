//! The Mandelbrot set: how many steps each point takes to leave.

use schism::prelude::*;

use crate::Outcome;
use crate::measure::{Bench, Case, submit};

/// Steps after which a point counts as one that stays.
const STEPS: u32 = 512;

/// Steps of the point at a place of the picture.
#[inline(always)]
fn steps(side: usize, [row, column]: [usize; 2]) -> u32 {
    let scale = 3.0 / side as f32;
    let (cx, cy) = (column as f32 * scale - 2.25, row as f32 * scale - 1.5);
    let (mut x, mut y) = (0.0_f32, 0.0_f32);
    let mut steps = 0;
    while steps < STEPS {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 {
            break;
        }
        y = 2.0 * x * y + cy;
        x = xx - yy + cx;
        steps += 1;
    }
    steps
}

/// Measures `mandelbrot`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["mandelbrot"]) {
        return Ok(());
    }
    let side = bench.settings().size(4096, 128);
    let mut picture = Buffer::with_len(bench.queue(), side * side)?;
    for run in bench.runs(Case { kernel: "mandelbrot", element: "u32", size: side, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each_in([side, side], &mut picture, move |item, pixel| {
                    *pixel = steps(side, item.id());
                })
            })
        })?;
        run.report(&times, &picture)?;
        if run.is_precise() {
            run.check(&picture, 0.0, || {
                (0..side * side).map(|at| steps(side, [at / side, at % side])).collect()
            });
        } else {
            // Near the set a rounding decides how many steps a point takes. Most points are not near it.
            let sum =
                |steps: &[u32]| vec![steps.iter().map(|&steps| f64::from(steps)).sum::<f64>()];
            run.check_near(&sum(&picture.to_vec()), 1e-2, || {
                let all = (0..side * side).map(|at| steps(side, [at / side, at % side]));
                sum(&all.collect::<Vec<_>>())
            });
        }
    }
    Ok(())
}
