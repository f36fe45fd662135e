//! Jacobi's iteration for the heat in a plate: ordinary loops, of which directives make kernels. The
//! region around the steps copies the plate to the device once, and back once.
//!
//! ```text
//! cargo schism run --release --example jacobi -- [WIDTH] [--check]
//! ```

#![forbid(unsafe_code)]

use std::time::Instant;

use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

const STEPS: usize = 100;

/// Heats a plate of `n` times `n` points for so many steps; the largest change of the last one.
#[acc]
fn heat(plate: &mut [f32], next: &mut [f32], n: usize) -> f32 {
    let mut change = 0.0_f32;
    #[acc(data, copy(plate), create(next))]
    for _ in 0..STEPS {
        change = 0.0;
        #[acc(parallel, loop, collapse(2), reduction(max: change))]
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                let at = y * n + x;
                let around = plate[at - n] + plate[at + n] + plate[at - 1] + plate[at + 1];
                next[at] = 0.25 * around;
                change = change.max((next[at] - plate[at]).abs());
            }
        }
        #[acc(parallel, loop, collapse(2))]
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                plate[y * n + x] = next[y * n + x];
            }
        }
    }
    change
}

/// The same without directives.
fn plain_heat(plate: &mut [f32], n: usize) {
    let mut next = plate.to_vec();
    for _ in 0..STEPS {
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                let at = y * n + x;
                let around = plate[at - n] + plate[at + n] + plate[at - 1] + plate[at + 1];
                next[at] = 0.25 * around;
            }
        }
        plate.copy_from_slice(&next);
    }
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 1, "jacobi [WIDTH] [--check]")?;
    let n = arguments.number(0, 1000)?.max(3);
    let mut plate: Vec<f32> = (0..n * n).map(|at| if at < n { 100.0 } else { 0.0 }).collect();
    let mut expected = plate.clone();
    let mut next = vec![0.0; n * n];

    let queue = Queue::new()?;
    let start = Instant::now();
    let (change, reports) =
        queue.report(|queue| with_queue(queue, || heat(&mut plate, &mut next, n)));
    let copied: u64 = reports.iter().map(|report| report.bytes_to + report.bytes_from).sum();
    println!(
        "{STEPS} steps on {} in {:.2?}: the last one changed no point by more than {change}; its {} launches copied {copied} bytes",
        queue.device(),
        start.elapsed(),
        reports.len(),
    );

    if arguments.check() {
        plain_heat(&mut expected, n);
        compare("jacobi", &plate, &expected)?;
    }
    Ok(())
}
