//! Two substances that spread and react (the model of Gray and Scott), as an animation: many launches over data that
//! stays on the device.
//!
//! ```text
//! cargo schism run --release --example reaction_diffusion -- [OUT.png] [SIDE] [FRAMES] [--check]
//! ```

use std::path::Path;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::animation::Animation;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

/// Steps between two frames.
const STEPS: usize = 200;
/// How fast substances spread, how much of the first comes, and how much of the second goes.
const SPREAD: [f32; 2] = [0.16, 0.08];
const FEED: f32 = 0.035;
const KILL: f32 = 0.06;

/// The substances in a cell.
type Cell = [f32; 2];

/// The first substance, and a few drops of the second.
pub fn begin(side: usize) -> Vec<Cell> {
    let is_drop = |at: usize| {
        let (row, column) = (at / side, at % side);
        (0..9).any(|drop| {
            let middle = [drop * 37 % side, drop * 53 % side];
            row.abs_diff(middle[0]) < 4 && column.abs_diff(middle[1]) < 4
        })
    };
    (0..side * side).map(|at| if is_drop(at) { [0.5, 0.25] } else { [1.0, 0.0] }).collect()
}

/// A cell after one step. The field has no border: its ends meet.
fn step(cells: &[Cell], side: usize, row: usize, column: usize) -> Cell {
    let at = |row: usize, column: usize| cells[row % side * side + column % side];
    let own = at(row, column);
    let around = [
        at(row + side - 1, column),
        at(row + 1, column),
        at(row, column + side - 1),
        at(row, column + 1),
    ];
    let spread = |which: usize| {
        let sum: f32 = around.iter().map(|cell| cell[which]).sum();
        SPREAD[which] * (sum - 4.0 * own[which])
    };
    let [u, v] = own;
    let reacted = u * v * v;
    [u + spread(0) - reacted + FEED * (1.0 - u), v + spread(1) + reacted - (FEED + KILL) * v]
}

/// Frames of a field, each so many steps after the one before: the amount of the second substance.
pub fn run(
    queue: &Queue,
    side: usize,
    frames: usize,
    steps: usize,
) -> Result<Vec<Vec<f32>>, schism::Error> {
    let mut cells = Buffer::from_slice(queue, &begin(side))?;
    let mut next = Buffer::with_len(queue, side * side)?;
    let mut seen = Vec::new();
    for frame in 0..frames {
        for _ in 0..if frame == 0 { 0 } else { steps } {
            let now = cells.view();
            queue.for_each_in([side, side], &mut next, move |item, own| {
                let [row, column] = item.id();
                *own = step(&now, side, row, column);
            })?;
            std::mem::swap(&mut cells, &mut next);
        }
        seen.push(cells.to_vec().iter().map(|cell| cell[1]).collect());
    }
    Ok(seen)
}

/// The same by loops.
pub fn plain(side: usize, frames: usize, steps: usize) -> Vec<Vec<f32>> {
    let mut cells = begin(side);
    let second = |cells: &[Cell]| cells.iter().map(|cell| cell[1]).collect();
    let mut seen = vec![second(&cells)];
    while seen.len() < frames {
        for _ in 0..steps {
            let next = (0..side * side).map(|at| step(&cells, side, at / side, at % side));
            cells = next.collect();
        }
        seen.push(second(&cells));
    }
    seen
}

fn main() -> Result<(), Report> {
    let arguments =
        Arguments::read(0, 3, "reaction_diffusion [OUT.png] [SIDE] [FRAMES] [--check]")?;
    let path = arguments.word(0).unwrap_or("reaction_diffusion.png");
    let (side, frames) = (arguments.number(1, 128)?, arguments.number(2, 30)?);
    let queue = Queue::new()?;
    let start = Instant::now();
    let seen = run(&queue, side, frames, STEPS)?;
    println!("{} steps on {}: {:.2?}", (frames - 1) * STEPS, queue.device(), start.elapsed());
    if arguments.check() {
        compare("reaction_diffusion", &seen.concat(), &plain(side, frames, STEPS).concat())?;
    }
    let palette = (0..16_u8).map(|i| [8 * i, 4 + 15 * i, 60 + 12 * i]).collect();
    let colour = |amount: &f32| (amount * 40.0).clamp(0.0, 15.0) as u8;
    let frames = seen.iter().map(|frame| frame.iter().map(colour).collect()).collect();
    Animation { width: side, height: side, palette, frames }.write(Path::new(path), 80)?;
    Ok(())
}
