//! A five-point stencil over a plane; the border stays as it is.

use schism::prelude::*;

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, submit};

/// The new value at a place of the plane.
#[inline(always)]
fn relaxed(from: &[f32], side: usize, [y, x]: [usize; 2]) -> f32 {
    let at = y * side + x;
    if y == 0 || x == 0 || y == side - 1 || x == side - 1 {
        from[at]
    } else {
        0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - side] + from[at + side])
    }
}

/// Measures `stencil`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["stencil"]) {
        return Ok(());
    }
    let side = bench.settings().size(8192, 128);
    let plane = between(19 << 20, side * side, 0.0, 1.0);
    let from = Buffer::from_slice(bench.queue(), &plane)?;
    let mut to = Buffer::with_len(bench.queue(), side * side)?;
    let case = Case { kernel: "stencil", element: "f32", size: side, bytes: 8 * side * side };
    for run in bench.runs(case) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                let sources = (&mut to, whole(&from));
                scope.for_each_in([side, side], sources, move |item, (to, from)| {
                    *to = relaxed(from, side, item.id());
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-5, || {
            (0..side * side).map(|at| relaxed(&plane, side, [at / side, at % side])).collect()
        });
    }
    Ok(())
}
