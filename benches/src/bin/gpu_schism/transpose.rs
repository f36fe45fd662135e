//! The transpose of a matrix, tile by tile: both reads and writes access neighbouring elements.

use schism::prelude::*;
use schism::{Specialized, local_array};

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, Run, Size, Times, submit};

/// The side of a tile.
const TILE: usize = 32;

/// Rows of a group; a work-item handles an element of every `ROWS`th row of its tile.
const ROWS: usize = 8;

/// The pitch of a tile in local memory. One more than its elements, so that those of a column are
/// in different banks.
const PITCH: usize = TILE + 1;

fn time<S: Size>(run: &Run, to: &mut Buffer<f32>, from: &Buffer<f32>, side: S) -> Outcome<Times> {
    let range = NdRange::new([side.get() / TILE * ROWS, side.get()], [ROWS, TILE])?;
    run.time(|| {
        let (from, to) = (from.view(), to.view_mut());
        submit(&run.queue, |scope| {
            scope.parallel_for(range, move |item| {
                let side = side.get();
                let tile = local_array!(item, f32; TILE * PITCH);
                let ([y, x], [row, column]) = (item.group_id(), item.local_id());
                for step in 0..TILE / ROWS {
                    let row = row + step * ROWS;
                    let place = (y * TILE + row) * side + x * TILE + column;
                    tile.set(row * PITCH + column, from[place]);
                }
                item.barrier();
                for step in 0..TILE / ROWS {
                    let row = row + step * ROWS;
                    let place = (x * TILE + row) * side + y * TILE + column;
                    // SAFETY: the tiles fill the matrix; this element is the work-item's own.
                    unsafe { to.set_unchecked(place, tile.get(column * PITCH + row)) }
                }
            })
        })
    })
}

/// Measures `transpose`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["transpose"]) {
        return Ok(());
    }
    let side = bench.settings().size(8192, 128);
    let matrix = between(2, side * side, 0.0, 1.0);
    let from = Buffer::from_slice(bench.queue(), &matrix)?;
    let mut to = Buffer::with_len(bench.queue(), side * side)?;
    let case = Case { kernel: "transpose", element: "f32", size: side, bytes: 8 * side * side };
    for run in bench.sized_runs(case) {
        let times = match run.is_specialised() {
            true => time(&run, &mut to, &from, Specialized::new(side)),
            false => time(&run, &mut to, &from, side),
        }?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || {
            (0..side * side).map(|place| matrix[place % side * side + place / side]).collect()
        });
    }
    Ok(())
}
