//! Exchange in local memory: sorting networks, Fourier transforms, rows that are normalised.

use schism::local_array;
use schism::prelude::*;

use crate::Outcome;
use crate::data::{between, mix};
use crate::measure::{Bench, Case, submit};

/// Elements that a group sorts, two for each work-item (Batcher, 1968).
const SORTED: usize = 512;

/// Points of a transform, two for each work-item.
const POINTS: usize = 256;

/// Elements of a row, four for each work-item.
const ROW: usize = 1024;

/// Measures `bitonic`, `fft` and `normalise`.
pub fn run(bench: &Bench) -> Outcome {
    bitonic(bench)?;
    fft(bench)?;
    normalise(bench)
}

fn bitonic(bench: &Bench) -> Outcome {
    if !bench.wants(&["bitonic"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 22, 1 << 11);
    let keys: Vec<u32> = (0..n as u32).map(mix).collect();
    let from = Buffer::from_slice(bench.queue(), &keys)?;
    let mut to = Buffer::<u32>::with_len(bench.queue(), n)?;
    let range = NdRange::new(n / 2, SORTED / 2)?;
    for run in bench.runs(Case { kernel: "bitonic", element: "u32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            let (from, to) = (from.view(), to.view_mut());
            submit(&run.queue, |scope| {
                scope.parallel_for(range, move |item| {
                    let tile = local_array!(item, u32; SORTED);
                    let (own, first) = (item.local_x(), item.group_x() * SORTED);
                    for half in [0, SORTED / 2] {
                        tile.set(own + half, from[first + own + half]);
                    }
                    let mut size = 2;
                    while size <= SORTED {
                        let mut distance = size / 2;
                        while distance > 0 {
                            item.barrier();
                            let low = 2 * own - own % distance;
                            let (a, b) = (tile.get(low), tile.get(low + distance));
                            let is_up = low & size == 0;
                            if (a > b) == is_up {
                                tile.set(low, b);
                                tile.set(low + distance, a);
                            }
                            distance /= 2;
                        }
                        size *= 2;
                    }
                    item.barrier();
                    for half in [0, SORTED / 2] {
                        // SAFETY: each work-item writes its own elements.
                        unsafe { to.set_unchecked(first + own + half, tile.get(own + half)) };
                    }
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || {
            let mut sorted = keys.clone();
            sorted.chunks_mut(SORTED).for_each(|part| part.sort_unstable());
            sorted
        });
    }
    Ok(())
}

/// Factors of the transforms: cosines, and then sines.
fn factors() -> Vec<f32> {
    let angle = |k: usize| -2.0 * std::f64::consts::PI * k as f64 / POINTS as f64;
    let half = || 0..POINTS / 2;
    half().map(|k| angle(k).cos() as f32).chain(half().map(|k| angle(k).sin() as f32)).collect()
}

/// The transform of one signal, with the same operations as the kernel's (Cooley and Tukey, 1965).
fn transformed(signal: &[f32], factors: &[f32]) -> Vec<f32> {
    let bits = POINTS.ilog2();
    let place = |i: usize| i.reverse_bits() >> (usize::BITS - bits);
    let mut re: Vec<f32> = (0..POINTS).map(|i| signal[place(i)]).collect();
    let mut im = vec![0.0_f32; POINTS];
    let mut half = 1;
    while half < POINTS {
        for own in 0..POINTS / 2 {
            let k = own % half;
            let (low, high) = (2 * own - k, 2 * own - k + half);
            let factor = k * (POINTS / 2 / half);
            let (cos, sin) = (factors[factor], factors[POINTS / 2 + factor]);
            let (x, y) = (re[high] * cos - im[high] * sin, re[high] * sin + im[high] * cos);
            (re[high], im[high]) = (re[low] - x, im[low] - y);
            (re[low], im[low]) = (re[low] + x, im[low] + y);
        }
        half *= 2;
    }
    re.iter().zip(&im).map(|(re, im)| re * re + im * im).collect()
}

fn fft(bench: &Bench) -> Outcome {
    if !bench.wants(&["fft"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 22, 1 << 11);
    let signal = between(67 << 20, n, -1.0, 1.0);
    let table = factors();
    let from = Buffer::from_slice(bench.queue(), &signal)?;
    let by = Buffer::from_slice(bench.queue(), &table)?;
    let mut to = Buffer::<f32>::with_len(bench.queue(), n)?;
    let range = NdRange::new(n / 2, POINTS / 2)?;
    for run in bench.runs(Case { kernel: "fft", element: "f32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            let (from, factors, to) = (from.view(), by.view(), to.view_mut());
            submit(&run.queue, |scope| {
                scope.parallel_for(range, move |item| {
                    let (re, im) =
                        (local_array!(item, f32; POINTS), local_array!(item, f32; POINTS));
                    let (own, first) = (item.local_x(), item.group_x() * POINTS);
                    for place in [own, own + POINTS / 2] {
                        let from_place = place.reverse_bits() >> (usize::BITS - POINTS.ilog2());
                        re.set(place, from[first + from_place]);
                        im.set(place, 0.0);
                    }
                    let mut half = 1;
                    while half < POINTS {
                        item.barrier();
                        let k = own % half;
                        let (low, high) = (2 * own - k, 2 * own - k + half);
                        let factor = k * (POINTS / 2 / half);
                        let (cos, sin) = (factors[factor], factors[POINTS / 2 + factor]);
                        let (a, b) = (re.get(high), im.get(high));
                        let (x, y) = (a * cos - b * sin, a * sin + b * cos);
                        let (a, b) = (re.get(low), im.get(low));
                        re.set(high, a - x);
                        im.set(high, b - y);
                        re.set(low, a + x);
                        im.set(low, b + y);
                        half *= 2;
                    }
                    item.barrier();
                    for place in [own, own + POINTS / 2] {
                        let (re, im) = (re.get(place), im.get(place));
                        // SAFETY: each work-item writes its own elements.
                        unsafe { to.set_unchecked(first + place, re * re + im * im) };
                    }
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-2, || {
            signal.chunks(POINTS).flat_map(|signal| transformed(signal, &table)).collect()
        });
    }
    Ok(())
}

fn normalise(bench: &Bench) -> Outcome {
    const GROUP: usize = ROW / 4;
    if !bench.wants(&["normalise"]) {
        return Ok(());
    }
    let rows = bench.settings().size(1 << 15, 8);
    let n = rows * ROW;
    let matrix = between(71 << 20, n, -3.0, 5.0);
    let from = Buffer::from_slice(bench.queue(), &matrix)?;
    let mut to = Buffer::<f32>::with_len(bench.queue(), n)?;
    let range = NdRange::new(n / 4, GROUP)?;
    for run in bench.runs(Case { kernel: "normalise", element: "f32", size: n, bytes: 8 * n }) {
        let times = run.time(|| {
            let (from, to) = (from.view(), to.view_mut());
            submit(&run.queue, |scope| {
                scope.parallel_for(range, move |item| {
                    let first = item.group_x() * ROW + item.local_x();
                    let own: [f32; 4] = std::array::from_fn(|k| from[first + k * GROUP]);
                    let largest = own.into_iter().fold(f32::NEG_INFINITY, f32::max);
                    let least = own.into_iter().fold(f32::INFINITY, f32::min);
                    let (largest, least) = (item.reduce_max(largest), item.reduce_min(least));
                    for (k, own) in own.into_iter().enumerate() {
                        let own = (own - least) / (largest - least);
                        // SAFETY: each work-item writes its own elements.
                        unsafe { to.set_unchecked(first + k * GROUP, own) };
                    }
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-4, || {
            let row = |row: &[f32]| {
                let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let least = row.iter().copied().fold(f32::INFINITY, f32::min);
                row.iter().map(|own| (own - least) / (largest - least)).collect::<Vec<_>>()
            };
            matrix.chunks(ROW).flat_map(row).collect()
        });
    }
    Ok(())
}
