//! The kernels of the suite `tuned`: what `gpu_schism` has under the same names.

use schism_bench::gpu::data::{between, mix, unit};
use schism_bench::opencl::Buffer;

use crate::Outcome;
use crate::measure::{Bench, Case, Element, Stage};

/// Work-items of a group.
const GROUP: usize = 256;

/// Elements that a group scans.
const SCANNED: usize = 4 * GROUP;

/// The side of a tile of a matrix, and the rows of a group that transposes one.
const TILE: usize = 32;
const ROWS: usize = 8;

/// Work-items that share a row of a sparse matrix.
const LANES: usize = 32;

/// Measures all that are selected.
pub fn run(bench: &Bench) -> Outcome {
    stream(bench, "float", Element::F32)?;
    stream(bench, "double", Element::F64)?;
    reduction(bench)?;
    scan(bench)?;
    transpose(bench)?;
    nbody(bench)?;
    sgemm(bench)?;
    stencil(bench)?;
    histogram(bench)?;
    mandelbrot(bench)?;
    black_scholes(bench)?;
    spmv(bench)
}

/// The groups that sum a vector, or count its elements.
fn groups(bench: &Bench) -> usize {
    bench.settings.size(8 * 132, 8)
}

impl Bench {
    /// A launch of work-items in a line, with the runtime's groups.
    pub fn items(
        &self,
        kernel: &str,
        buffers: &[&Buffer],
        numbers: &[usize],
        count: usize,
    ) -> Outcome<Stage> {
        self.stage(kernel, buffers, numbers, [count, 1], None)
    }

    pub fn stage(
        &self,
        kernel: &str,
        buffers: &[&Buffer],
        numbers: &[usize],
        global: [usize; 2],
        local: Option<[usize; 2]>,
    ) -> Outcome<Stage> {
        let numbers: Vec<i32> =
            numbers.iter().map(|&it| it.try_into()).collect::<Result<_, _>>()?;
        let kernel = self.device.kernel(kernel, buffers.iter().copied(), &numbers)?;
        Ok(Stage { kernel, global, local })
    }

    /// A launch of groups in a line.
    pub fn groups(
        &self,
        kernel: &str,
        buffers: &[&Buffer],
        numbers: &[usize],
        groups: usize,
    ) -> Outcome<Stage> {
        self.stage(kernel, buffers, numbers, [groups * GROUP, 1], Some([GROUP, 1]))
    }
}

fn stream(bench: &Bench, name: &str, element: Element) -> Outcome {
    if !bench.wants(&["copy", "mul", "add", "triad", "dot"]) {
        return Ok(());
    }
    let n = bench.settings.elements();
    let filled = |value: f64| match element {
        Element::F64 => bench.device.buffer(&value.to_le_bytes().repeat(n)),
        _ => bench.device.buffer(&(value as f32).to_le_bytes().repeat(n)),
    };
    let bytes = if matches!(element, Element::F64) { 8 } else { 4 };
    let (a, b, c) = (filled(0.1)?, filled(0.2)?, filled(0.0)?);
    let case = |kernel, vectors| Case { kernel, element, size: n, bytes: vectors * n * bytes };
    let item = |kernel: &str, buffers: &[&Buffer]| {
        bench.items(&format!("{kernel}_{name}"), buffers, &[], n)
    };
    bench.measure(case("copy", 2), &[item("copy", &[&a, &c])?], &c)?;
    bench.measure(case("mul", 2), &[item("mul", &[&b, &c])?], &b)?;
    bench.measure(case("add", 3), &[item("add", &[&a, &b, &c])?], &c)?;
    bench.measure(case("triad", 3), &[item("triad", &[&a, &b, &c])?], &a)?;
    let groups = groups(bench);
    let sums = bench.zeros(groups * bytes)?;
    let dot = bench.groups(&format!("dot_{name}"), &[&a, &b, &sums], &[n], groups)?;
    // The host adds the sums of the groups.
    bench.measure_sum(case("dot", 2), &[dot], &sums, |sums| match element {
        Element::F64 => {
            let sums = sums.as_chunks().0.iter().map(|it| f64::from_le_bytes(*it));
            sums.fold(0.0, |sum, it| sum + it).to_le_bytes().to_vec()
        }
        _ => {
            let sums = sums.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it));
            sums.fold(0.0, |sum, it| sum + it).to_le_bytes().to_vec()
        }
    })
}

fn reduction(bench: &Bench) -> Outcome {
    if !bench.wants(&["reduction"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 27, 1 << 16);
    let groups = groups(bench);
    let from = bench.floats(&between(1, n, 0.0, 1.0))?;
    let (sums, all) = (bench.zeros(4 * groups)?, bench.zeros(4)?);
    let stages = [
        bench.groups("reduction", &[&from, &sums], &[n], groups)?,
        bench.groups("reduction", &[&sums, &all], &[groups], 1)?,
    ];
    let case = Case { kernel: "reduction", element: Element::F32, size: n, bytes: 4 * n };
    bench.measure(case, &stages, &all)
}

fn scan(bench: &Bench) -> Outcome {
    if !bench.wants(&["scan"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 26, 1 << 15);
    let from = bench.words(&(0..n).map(|place| mix(place as u32) >> 20).collect::<Vec<_>>())?;
    // Levels: what is scanned, and the sums of its tiles.
    let lengths = [n, n.div_ceil(SCANNED), n.div_ceil(SCANNED).div_ceil(SCANNED)];
    let level = |n: usize| -> Outcome<_> {
        Ok((bench.zeros(4 * n)?, bench.zeros(4 * n.div_ceil(SCANNED))?))
    };
    let levels: Vec<_> = lengths.iter().map(|&n| level(n)).collect::<Outcome<_>>()?;
    let mut stages = Vec::new();
    for (at, ((scanned, sums), n)) in levels.iter().zip(lengths).enumerate() {
        let from = at.checked_sub(1).map_or(&from, |before| &levels[before].1);
        let groups = n.div_ceil(SCANNED);
        stages.push(bench.groups("scan_tiles", &[from, scanned, sums], &[n], groups)?);
    }
    for at in [1, 0] {
        let (scanned, sums) = (&levels[at].0, &levels[at + 1].0);
        stages.push(bench.items("scan_add", &[scanned, sums], &[], lengths[at])?);
    }
    let case = Case { kernel: "scan", element: Element::U32, size: n, bytes: 8 * n };
    bench.measure(case, &stages, &levels[0].0)
}

fn transpose(bench: &Bench) -> Outcome {
    if !bench.wants(&["transpose"]) {
        return Ok(());
    }
    let side = bench.settings.size(8192, 128);
    let from = bench.floats(&between(2, side * side, 0.0, 1.0))?;
    let to = bench.zeros(4 * side * side)?;
    let (global, local) = ([side, side / TILE * ROWS], [TILE, ROWS]);
    let stage = bench.stage("transpose", &[&from, &to], &[side], global, Some(local))?;
    let bytes = 8 * side * side;
    let case = Case { kernel: "transpose", element: Element::F32, size: side, bytes };
    bench.measure(case, &[stage], &to)
}

fn nbody(bench: &Bench) -> Outcome {
    if !bench.wants(&["nbody"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 16, 1 << 10);
    let [x, y, z, mass] = [3, 5, 7, 11].map(|seed| between(seed << 20, n, -1.0, 1.0));
    let body = |i: usize| [x[i], y[i], z[i], mass[i].abs() / n as f32];
    let from = bench.floats(&(0..n).flat_map(body).collect::<Vec<_>>())?;
    let to = bench.zeros(16 * n)?;
    let stage = bench.groups("nbody", &[&from, &to], &[n], n / GROUP)?;
    let case = Case { kernel: "nbody", element: Element::F32x4, size: n, bytes: 0 };
    bench.measure(case, &[stage], &to)
}

fn sgemm(bench: &Bench) -> Outcome {
    if !bench.wants(&["sgemm_naive", "sgemm_tiled"]) {
        return Ok(());
    }
    let side = bench.settings.size(4096, 96);
    let [a, b] = [13, 17].map(|seed| bench.floats(&between(seed << 20, side * side, -1.0, 1.0)));
    let (a, b, c) = (a?, b?, bench.zeros(4 * side * side)?);
    let stage =
        |kernel: &str, local| bench.stage(kernel, &[&a, &b, &c], &[side], [side, side], local);
    let case = |kernel| Case { kernel, element: Element::F32, size: side, bytes: 0 };
    bench.measure(case("sgemm_naive"), &[stage("sgemm_naive", None)?], &c)?;
    bench.measure(case("sgemm_tiled"), &[stage("sgemm_tiled", Some([TILE, TILE]))?], &c)
}

fn stencil(bench: &Bench) -> Outcome {
    if !bench.wants(&["stencil"]) {
        return Ok(());
    }
    let side = bench.settings.size(8192, 128);
    let from = bench.floats(&between(19 << 20, side * side, 0.0, 1.0))?;
    let to = bench.zeros(4 * side * side)?;
    let stage = bench.stage("stencil", &[&from, &to], &[side], [side, side], None)?;
    let bytes = 8 * side * side;
    let case = Case { kernel: "stencil", element: Element::F32, size: side, bytes };
    bench.measure(case, &[stage], &to)
}

fn histogram(bench: &Bench) -> Outcome {
    if !bench.wants(&["histogram"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 26, 1 << 15);
    let from = bench.words(&(0..n).map(|place| mix(place as u32)).collect::<Vec<_>>())?;
    let counts = bench.zeros(4 * GROUP)?;
    let stages = [
        bench.items("histogram_clear", &[&counts], &[], GROUP)?,
        bench.groups("histogram", &[&from, &counts], &[n], groups(bench))?,
    ];
    let case = Case { kernel: "histogram", element: Element::U32, size: n, bytes: 4 * n };
    bench.measure(case, &stages, &counts)
}

fn mandelbrot(bench: &Bench) -> Outcome {
    if !bench.wants(&["mandelbrot"]) {
        return Ok(());
    }
    let side = bench.settings.size(4096, 128);
    let picture = bench.zeros(4 * side * side)?;
    let stage = bench.stage("mandelbrot", &[&picture], &[side], [side, side], None)?;
    let case = Case { kernel: "mandelbrot", element: Element::U32, size: side, bytes: 0 };
    bench.measure(case, &[stage], &picture)
}

fn black_scholes(bench: &Bench) -> Outcome {
    if !bench.wants(&["black_scholes"]) {
        return Ok(());
    }
    let n = bench.settings.size(1 << 25, 1 << 14);
    let input = |seed: u32, low, high| bench.floats(&between(seed << 20, n, low, high));
    let (price, strike) = (input(23, 5.0, 30.0)?, input(29, 1.0, 100.0)?);
    let years = input(31, 0.25, 10.0)?;
    let (call, put) = (bench.zeros(4 * n)?, bench.zeros(4 * n)?);
    let buffers = [&call, &put, &price, &strike, &years];
    let stage = bench.items("black_scholes", &buffers, &[], n)?;
    let case = Case { kernel: "black_scholes", element: Element::F32, size: n, bytes: 20 * n };
    bench.measure(case, &[stage], &call)
}

fn spmv(bench: &Bench) -> Outcome {
    if !bench.wants(&["spmv_scalar", "spmv_vector"]) {
        return Ok(());
    }
    let side = bench.settings.size(1 << 20, 1 << 11);
    let mut rows = vec![0];
    for row in 0..side as u32 {
        rows.push(rows[row as usize] + 16 + mix(row) % 33);
    }
    let elements = rows[side];
    let columns: Vec<_> =
        (0..elements).map(|place| mix(place ^ 0x5555_0000) % side as u32).collect();
    let values: Vec<_> = (0..elements).map(|place| unit(place ^ 0x3333_0000)).collect();
    let bytes = 8 * values.len() + 12 * side;
    let (rows, columns) = (bench.words(&rows)?, bench.words(&columns)?);
    let (values, x) = (bench.floats(&values)?, bench.floats(&between(37 << 20, side, -1.0, 1.0))?);
    let y = bench.zeros(4 * side)?;
    let buffers = [&rows, &columns, &values, &x, &y];
    let case = |kernel| Case { kernel, element: Element::F32, size: side, bytes };
    let scalar = bench.items("spmv_scalar", &buffers, &[], side)?;
    bench.measure(case("spmv_scalar"), &[scalar], &y)?;
    let vector = bench.groups("spmv_vector", &buffers, &[], side * LANES / GROUP)?;
    bench.measure(case("spmv_vector"), &[vector], &y)
}
