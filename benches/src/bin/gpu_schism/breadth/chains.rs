//! Chains of iterators over a row of a matrix.

use schism::prelude::*;

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, submit};

/// Elements of a row.
const ROW: usize = 64;

/// A dot product with the reversed weights, without the first three elements, of every second one.
fn chain(row: &[f32], weights: &[f32]) -> f32 {
    row.iter().zip(weights.iter().rev()).skip(3).step_by(2).map(|(a, b)| a * b).sum()
}

/// The largest second difference.
fn windows(row: &[f32], _: &[f32]) -> f32 {
    row.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs()).fold(0.0, f32::max)
}

/// The sum of the products of four neighbours each, and of their weights' sums.
fn chunks(row: &[f32], weights: &[f32]) -> f32 {
    let pairs = row.chunks_exact(4).zip(weights.chunks_exact(4));
    pairs.map(|(a, b)| a.iter().product::<f32>() * b.iter().sum::<f32>()).sum()
}

/// The dot product with the weights, up to the first large element.
fn until(row: &[f32], weights: &[f32]) -> f32 {
    row.iter().take_while(|a| **a < 0.95).zip(weights).map(|(a, b)| a * b).sum()
}

/// The dot product of the last three of each eight elements, the last one first, with the weights.
fn pieces(row: &[f32], weights: &[f32]) -> f32 {
    let last = row.chunks_exact(8).flat_map(|piece| piece.iter().rev().take(3));
    last.zip(weights).map(|(a, b)| a * b).sum()
}

/// Measures `chain`, `windows`, `chunks`, `until` and `pieces`.
pub fn run(bench: &Bench) -> Outcome {
    measure(bench, "chain", chain)?;
    measure(bench, "windows", windows)?;
    measure(bench, "chunks", chunks)?;
    measure(bench, "until", until)?;
    measure(bench, "pieces", pieces)
}

fn measure<F>(bench: &Bench, kernel: &'static str, of_row: F) -> Outcome
where
    F: Fn(&[f32], &[f32]) -> f32 + Capture + Copy + Send + Sync + 'static,
{
    if !bench.wants(&[kernel]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 20, 1 << 10);
    let matrix = between(59 << 20, n * ROW, -1.0, 1.0);
    let weights = between(61 << 20, ROW, -1.0, 1.0);
    let from = Buffer::from_slice(bench.queue(), &matrix)?;
    let by = Buffer::from_slice(bench.queue(), &weights)?;
    let mut to = Buffer::<f32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel, element: "f32", size: n, bytes: 4 * ROW * n + 4 * n }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each(
                    (0.., &mut to, whole(&from), whole(&by)),
                    move |(row, to, matrix, weights)| {
                        *to = of_row(&matrix[row * ROW..(row + 1) * ROW], weights);
                    },
                )
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-3, || matrix.chunks(ROW).map(|row| of_row(row, &weights)).collect());
    }
    Ok(())
}
