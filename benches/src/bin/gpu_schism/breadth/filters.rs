//! Filters whose indices are clamped at the border, with captured coefficients.

use schism::prelude::*;

use crate::Outcome;
use crate::data::{between, mix};
use crate::measure::{Bench, Case, submit};

const TAPS: usize = 5;

/// A place of the filtered plane.
fn convolved(from: &[f32], side: usize, [y, x]: [usize; 2], weights: &[[f32; TAPS]; TAPS]) -> f32 {
    let mut sum = 0.0;
    for (dy, weights) in weights.iter().enumerate() {
        let y = (y + dy).saturating_sub(TAPS / 2).min(side - 1);
        for (dx, weight) in weights.iter().enumerate() {
            let x = (x + dx).saturating_sub(TAPS / 2).min(side - 1);
            sum += weight * from[y * side + x];
        }
    }
    sum
}

/// A place of the filtered signal.
fn blurred(from: &[f32], place: usize, weights: &[f32; 9]) -> f32 {
    let last = from.len() - 1;
    let tap =
        |(tap, weight): (usize, &f32)| weight * from[(place + tap).saturating_sub(4).min(last)];
    weights.iter().enumerate().map(tap).sum()
}

/// The strength of the edge at a place of a picture.
fn edge(from: &[u8], side: usize, [y, x]: [usize; 2]) -> u8 {
    let at = |dy: isize, dx: isize| {
        let y = y.saturating_add_signed(dy).min(side - 1);
        let x = x.saturating_add_signed(dx).min(side - 1);
        i32::from(from[y * side + x])
    };
    let across = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    let down = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    ((across * across + down * down) as f32).sqrt() as u8
}

/// Measures `convolve`, `blur9` and `sobel`.
pub fn run(bench: &Bench) -> Outcome {
    convolve(bench)?;
    blur(bench)?;
    sobel(bench)
}

fn convolve(bench: &Bench) -> Outcome {
    if !bench.wants(&["convolve"]) {
        return Ok(());
    }
    let side = bench.settings().size(4096, 64);
    let plane = between(41 << 20, side * side, 0.0, 1.0);
    let taps = between(43 << 20, TAPS * TAPS, -1.0, 1.0);
    let weights: [[f32; TAPS]; TAPS] =
        std::array::from_fn(|y| std::array::from_fn(|x| taps[y * TAPS + x]));
    let from = Buffer::from_slice(bench.queue(), &plane)?;
    let mut to = Buffer::<f32>::with_len(bench.queue(), side * side)?;
    for run in bench.runs(Case { kernel: "convolve", element: "f32", size: side, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each_in([side, side], (&mut to, whole(&from)), move |item, (to, from)| {
                    *to = convolved(from, side, item.id(), &weights);
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-4, || {
            let place = |at| convolved(&plane, side, [at / side, at % side], &weights);
            (0..side * side).map(place).collect()
        });
    }
    Ok(())
}

fn blur(bench: &Bench) -> Outcome {
    if !bench.wants(&["blur9"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 25, 1 << 12);
    let signal = between(47 << 20, n, 0.0, 1.0);
    let weights: [f32; 9] = between(53 << 20, 9, 0.0, 0.2).try_into().expect("nine");
    let from = Buffer::from_slice(bench.queue(), &signal)?;
    let mut to = Buffer::<f32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "blur9", element: "f32", size: n, bytes: 8 * n }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((0.., &mut to, whole(&from)), move |(place, to, from)| {
                    *to = blurred(from, place, &weights);
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-4, || (0..n).map(|place| blurred(&signal, place, &weights)).collect());
    }
    Ok(())
}

fn sobel(bench: &Bench) -> Outcome {
    if !bench.wants(&["sobel"]) {
        return Ok(());
    }
    let side = bench.settings().size(8192, 64);
    let picture: Vec<u8> = (0..side * side).map(|place| mix(place as u32) as u8).collect();
    let from = Buffer::from_slice(bench.queue(), &picture)?;
    let mut to = Buffer::<u8>::with_len(bench.queue(), side * side)?;
    for run in bench.runs(Case { kernel: "sobel", element: "u8", size: side, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each_in([side, side], (&mut to, whole(&from)), move |item, (to, from)| {
                    *to = edge(from, side, item.id());
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1.0, || {
            (0..side * side).map(|at| edge(&picture, side, [at / side, at % side])).collect()
        });
    }
    Ok(())
}
