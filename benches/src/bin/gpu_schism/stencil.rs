//! A five-point stencil over a plane; the border is not changed.

use schism::Specialized;
use schism::prelude::*;

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, Run, Size, Times, submit};

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

fn time<S: Size>(run: &Run, to: &mut Buffer<f32>, from: &Buffer<f32>, side: S) -> Outcome<Times> {
    run.time(|| {
        submit(&run.queue, |scope| {
            let sources = (&mut *to, whole(from));
            let range = [side.get(), side.get()];
            scope.for_each_in(range, sources, move |item, (to, from)| {
                *to = relaxed(from, side.get(), item.id());
            })
        })
    })
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
    for run in bench.sized_runs(case) {
        let times = match run.is_specialised() {
            true => time(&run, &mut to, &from, Specialized::new(side)),
            false => time(&run, &mut to, &from, side),
        }?;
        run.report(&times, &to)?;
        run.check(&to, 1e-5, || {
            (0..side * side).map(|at| relaxed(&plane, side, [at / side, at % side])).collect()
        });
    }
    Ok(())
}
