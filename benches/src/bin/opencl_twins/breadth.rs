//! The kernels of the suite `breadth`: what `gpu_schism` has under the same names, but those that need
//! numbers of 128 bits.

use schism_bench::gpu::data::{between, mix, unit};

use crate::Outcome;
use crate::measure::{Bench, Case, Element};

/// Elements of a row of a matrix.
const ROW: usize = 64;

/// Elements that a group sorts, and points of a transform: two for each work-item.
const SORTED: usize = 512;
const POINTS: usize = 256;

/// Letters of a word.
const WORD: usize = 32;

/// Numbers of a point, and centres.
const DIMENSIONS: usize = 8;
const CENTRES: usize = 16;

/// Measures all that are selected.
pub fn run(bench: &Bench) -> Outcome {
    hashing(bench)?;
    algebra(bench)?;
    filters(bench)?;
    chains(bench)?;
    random(bench)?;
    words(bench)?;
    kmeans(bench)?;
    exchange(bench)
}

fn case(kernel: &'static str, element: Element, size: usize, bytes: usize) -> Case {
    Case { kernel, element, size, bytes }
}

/// Numbers for each index.
fn made<T>(count: usize, number: impl Fn(u32) -> T) -> Vec<T> {
    (0..count).map(|place| number(place as u32)).collect()
}

fn hashing(bench: &Bench) -> Outcome {
    if bench.wants(&["sha256"]) {
        let n = bench.settings.size(1 << 21, 1 << 11);
        let (from, to) = (bench.words(&made(16 * n, mix))?, bench.zeros(4 * n)?);
        let stage = bench.items("sha256", &[&from, &to], &[], n)?;
        bench.measure(case("sha256", Element::U32, n, 0), &[stage], &to)?;
    }
    if bench.wants(&["fnv"]) {
        let n = bench.settings.size(1 << 20, 1 << 10);
        let mut ends = vec![0];
        for text in 0..n as u32 {
            ends.push(ends[text as usize] + 8 + mix(text) % 25);
        }
        let bytes = made(ends[n] as usize, |place| mix(place) as u8);
        let (bytes, ends) = (bench.device.buffer(&bytes)?, bench.words(&ends)?);
        let to = bench.zeros(4 * n)?;
        let stage = bench.items("fnv", &[&bytes, &ends, &to], &[], n)?;
        bench.measure(case("fnv", Element::U32, n, 0), &[stage], &to)?;
    }
    Ok(())
}

fn algebra(bench: &Bench) -> Outcome {
    if bench.wants(&["solve4"]) {
        let n = bench.settings.size(1 << 21, 1 << 10);
        let numbers = made(20 * n, |place| f64::from(unit(place)) - 0.5);
        let bytes: Vec<_> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        let (from, to) = (bench.device.buffer(&bytes)?, bench.zeros(8 * n)?);
        let stage = bench.items("solve4", &[&from, &to], &[], n)?;
        bench.measure(case("solve4", Element::F64, n, 168 * n), &[stage], &to)?;
    }
    if bench.wants(&["cholesky6"]) {
        let n = bench.settings.size(1 << 20, 1 << 10);
        let from = bench.floats(&made(36 * n, |place| unit(place ^ 0x1234_0000) - 0.5))?;
        let to = bench.zeros(4 * n)?;
        let stage = bench.items("cholesky6", &[&from, &to], &[], n)?;
        bench.measure(case("cholesky6", Element::F32, n, 148 * n), &[stage], &to)?;
    }
    Ok(())
}

fn filters(bench: &Bench) -> Outcome {
    if bench.wants(&["convolve"]) {
        let side = bench.settings.size(4096, 64);
        let from = bench.floats(&between(41 << 20, side * side, 0.0, 1.0))?;
        let taps = bench.floats(&between(43 << 20, 25, -1.0, 1.0))?;
        let to = bench.zeros(4 * side * side)?;
        let buffers = [&from, &to, &taps];
        let stage = bench.stage("convolve", &buffers, &[side], [side, side], None)?;
        bench.measure(case("convolve", Element::F32, side, 0), &[stage], &to)?;
    }
    if bench.wants(&["blur9"]) {
        let n = bench.settings.size(1 << 25, 1 << 12);
        let from = bench.floats(&between(47 << 20, n, 0.0, 1.0))?;
        let taps = bench.floats(&between(53 << 20, 9, 0.0, 0.2))?;
        let to = bench.zeros(4 * n)?;
        let stage = bench.items("blur9", &[&from, &to, &taps], &[n], n)?;
        bench.measure(case("blur9", Element::F32, n, 8 * n), &[stage], &to)?;
    }
    if bench.wants(&["sobel"]) {
        let side = bench.settings.size(8192, 64);
        let from = bench.device.buffer(&made(side * side, |place| mix(place) as u8))?;
        let to = bench.zeros(side * side)?;
        let stage = bench.stage("sobel", &[&from, &to], &[side], [side, side], None)?;
        bench.measure(case("sobel", Element::U8, side, 0), &[stage], &to)?;
    }
    Ok(())
}

fn chains(bench: &Bench) -> Outcome {
    const ALL: [&str; 5] = ["chain", "windows", "chunks", "until", "pieces"];
    if !bench.wants(&ALL) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 20, 1 << 10);
    let matrix = bench.floats(&between(59 << 20, n * ROW, -1.0, 1.0))?;
    let weights = bench.floats(&between(61 << 20, ROW, -1.0, 1.0))?;
    let to = bench.zeros(4 * n)?;
    for kernel in ALL {
        let stage = bench.items(kernel, &[&matrix, &weights, &to], &[], n)?;
        bench.measure(case(kernel, Element::F32, n, 4 * ROW * n + 4 * n), &[stage], &to)?;
    }
    Ok(())
}

fn random(bench: &Bench) -> Outcome {
    if !bench.wants(&["monte_carlo", "collatz", "crc"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 20, 1 << 10);
    let points = bench.settings.size(1000, 50);
    let to = bench.zeros(4 * n)?;
    let stage = bench.items("monte_carlo", &[&to], &[points], n)?;
    bench.measure(case("monte_carlo", Element::U32, n, 0), &[stage], &to)?;
    let numbers = bench.settings.size(1 << 22, 1 << 10);
    let steps = bench.zeros(4 * numbers)?;
    let stage = bench.items("collatz", &[&steps], &[], numbers)?;
    bench.measure(case("collatz", Element::U32, numbers, 0), &[stage], &steps)?;
    let table = made(256, |byte| {
        (0..8).fold(byte, |rest, _| rest >> 1 ^ if rest & 1 == 1 { 0xEDB8_8320 } else { 0 })
    });
    let table = bench.words(&table)?;
    let stage = bench.items("crc", &[&table, &to], &[], n)?;
    bench.measure(case("crc", Element::U32, n, 0), &[stage], &to)
}

fn words(bench: &Bench) -> Outcome {
    if !bench.wants(&["edit_distance"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 18, 1 << 9);
    let words = |seed| bench.device.buffer(&made(WORD * n, |at| (mix(at ^ seed) % 4) as u8));
    let (a, b, to) = (words(0)?, words(0x0F0F_0000)?, bench.zeros(4 * n)?);
    let stage = bench.items("edit_distance", &[&a, &b, &to], &[], n)?;
    bench.measure(case("edit_distance", Element::U32, n, 0), &[stage], &to)
}

fn kmeans(bench: &Bench) -> Outcome {
    if !bench.wants(&["kmeans"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 22, 1 << 10);
    let points = |count, seed| bench.floats(&made(DIMENSIONS * count, |at| unit(at ^ seed)));
    let (from, centres) = (points(n, 0)?, points(CENTRES, 0x5050_0000)?);
    let to = bench.zeros(4 * n)?;
    let stage = bench.items("kmeans", &[&from, &centres, &to], &[CENTRES], n)?;
    bench.measure(case("kmeans", Element::U32, n, 36 * n), &[stage], &to)
}

fn exchange(bench: &Bench) -> Outcome {
    let n = bench.settings.size(1 << 22, 1 << 11);
    if bench.wants(&["bitonic"]) {
        let (from, to) = (bench.words(&made(n, mix))?, bench.zeros(4 * n)?);
        let local = Some([SORTED / 2, 1]);
        let stage = bench.stage("bitonic", &[&from, &to], &[], [n / 2, 1], local)?;
        bench.measure(case("bitonic", Element::U32, n, 0), &[stage], &to)?;
    }
    if bench.wants(&["fft"]) {
        let angle = |k: usize| -2.0 * std::f64::consts::PI * k as f64 / POINTS as f64;
        let half = || 0..POINTS / 2;
        let sines = half().map(|k| angle(k).sin() as f32);
        let factors: Vec<f32> = half().map(|k| angle(k).cos() as f32).chain(sines).collect();
        let from = bench.floats(&between(67 << 20, n, -1.0, 1.0))?;
        let (factors, to) = (bench.floats(&factors)?, bench.zeros(4 * n)?);
        let local = Some([POINTS / 2, 1]);
        let stage = bench.stage("fft", &[&from, &factors, &to], &[], [n / 2, 1], local)?;
        bench.measure(case("fft", Element::F32, n, 0), &[stage], &to)?;
    }
    Ok(())
}
