//! Kernels with loops, branches and index checks, beside rayon with the same functions: for each
//! the times of the device `cpu` and of rayon, and whether all bits are the same.
//!
//! ```text
//! export SCHISM_DEVICE=cpu SCHISM_CPU_LANES=off
//! cargo schism run --release -p schism-bench --bin cpu_lanes
//! ```

use std::time::{Duration, Instant};

use rayon::prelude::*;
use schism::prelude::*;
use schism_bench::items::{
    black_scholes, escape, operation, search, sha256, smooth, sparse_row, trace,
};
use schism_bench::{REPEATS, bodies};

fn main() -> Result<(), schism::Report> {
    let queue = Queue::new()?;
    println!("{:16} {:>10} {:>10} {:>8}", "kernel", "schism µs", "rayon µs", "ratio");

    let (width, height) = (1024, 768);
    compare(
        "mandelbrot",
        &queue,
        width * height,
        0_u32,
        |queue, out| {
            queue.for_each((0.., out), move |(index, out)| {
                let (x, y) = ((index % width) as f32, (index / width) as f32);
                *out = escape(x / width as f32 * 3.0 - 2.0, y / height as f32 * 2.0 - 1.0);
            })
        },
        |index| {
            let (x, y) = ((index % width) as f32, (index / width) as f32);
            escape(x / width as f32 * 3.0 - 2.0, y / height as f32 * 2.0 - 1.0)
        },
    )?;

    let bodies = &bodies()[..4096];
    let now = Buffer::from_slice(&queue, bodies)?;
    compare(
        "nbody",
        &queue,
        bodies.len(),
        bodies[0],
        |queue, out| {
            queue.for_each((out, &now, whole(&now)), |(out, body, all)| *out = body.moved(all))
        },
        |index| bodies[index].moved(bodies),
    )?;

    let count = 1 << 20;
    let random = |index: usize| (index as u32).wrapping_mul(2_654_435_761);
    let unit = |index: usize| random(index) as f32 / u32::MAX as f32;
    let prices: Vec<f32> = (0..count).map(|i| 5.0 + 25.0 * unit(i)).collect();
    let strikes: Vec<f32> = (0..count).map(|i| 1.0 + 99.0 * unit(i + 7)).collect();
    let years: Vec<f32> = (0..count).map(|i| 0.25 + 9.75 * unit(i + 13)).collect();
    let (p, s, t) = (
        Buffer::from_slice(&queue, &prices)?,
        Buffer::from_slice(&queue, &strikes)?,
        Buffer::from_slice(&queue, &years)?,
    );
    compare(
        "black_scholes",
        &queue,
        count,
        [0.0_f32; 2],
        |queue, out| {
            queue.for_each((out, &p, &s, &t), |(out, p, s, t)| *out = black_scholes(*p, *s, *t))
        },
        |index| black_scholes(prices[index], strikes[index], years[index]),
    )?;

    let spheres: Vec<[f32; 4]> = (0..32)
        .map(|i| [unit(i) * 4.0 - 2.0, unit(i + 50) * 3.0 - 1.5, 3.0 + unit(i + 99) * 5.0, 0.3])
        .collect();
    let around = Buffer::from_slice(&queue, &spheres)?;
    let ray = move |index: usize| {
        let (x, y) = ((index % width) as f32, (index / width) as f32);
        (x / width as f32 - 0.5, y / height as f32 - 0.5)
    };
    compare(
        "ray_spheres",
        &queue,
        width * height,
        0.0_f32,
        |queue, out| {
            queue.for_each((0.., out, whole(&around)), move |(index, out, spheres)| {
                let (x, y) = ray(index);
                *out = trace(x, y, spheres);
            })
        },
        |index| {
            let (x, y) = ray(index);
            trace(x, y, &spheres)
        },
    )?;

    compare(
        "sha256",
        &queue,
        1 << 16,
        0_u32,
        |queue, out| queue.for_each((0.., out), |(index, out)| *out = sha256(index as u32)),
        |index| sha256(index as u32),
    )?;

    let table: Vec<u32> = (0..count as u32).map(|i| i * 4000).collect();
    let keys: Vec<u32> = (0..count).map(random).collect();
    let (sorted, wanted) =
        (Buffer::from_slice(&queue, &table)?, Buffer::from_slice(&queue, &keys)?);
    compare(
        "binary_search",
        &queue,
        count,
        0_u32,
        |queue, out| {
            queue.for_each((out, &wanted, whole(&sorted)), |(out, key, table)| {
                *out = search(table, *key)
            })
        },
        |index| search(&table, keys[index]),
    )?;

    let rows = 1 << 17;
    let mut starts = vec![0_u32];
    for row in 0..rows {
        starts.push(starts[row] + 8 + random(row) % 17);
    }
    let entries = starts[rows] as usize;
    let columns: Vec<u32> = (0..entries).map(|i| random(i) % rows as u32).collect();
    let values: Vec<f32> = (0..entries).map(unit).collect();
    let x: Vec<f32> = (0..rows).map(unit).collect();
    let on_device = (
        Buffer::from_slice(&queue, &starts)?,
        Buffer::from_slice(&queue, &columns)?,
        Buffer::from_slice(&queue, &values)?,
        Buffer::from_slice(&queue, &x)?,
    );
    let (a, b, c, d) = &on_device;
    compare(
        "spmv",
        &queue,
        rows,
        0.0_f32,
        |queue, out| {
            let inputs = (0.., out, whole(a), whole(b), whole(c), whole(d));
            queue.for_each(inputs, |(row, out, starts, columns, values, x)| {
                *out = sparse_row(row, starts, columns, values, x);
            })
        },
        |row| sparse_row(row, &starts, &columns, &values, &x),
    )?;

    let kinds: Vec<u8> = (0..count).map(|i| (random(i) >> 30) as u8).collect();
    let chosen = Buffer::from_slice(&queue, &kinds)?;
    compare(
        "match",
        &queue,
        count,
        0.0_f32,
        |queue, out| {
            queue.for_each((out, &chosen, &p), |(out, kind, a)| *out = operation(*kind, *a))
        },
        |index| operation(kinds[index], prices[index]),
    )?;

    let picture: Vec<f32> = (0..width * height).map(unit).collect();
    let weights: [f32; 25] = std::array::from_fn(|i| unit(i) / 12.0);
    let seen = Buffer::from_slice(&queue, &picture)?;
    compare(
        "convolution",
        &queue,
        width * height,
        0.0_f32,
        |queue, out| {
            queue.for_each((0.., out, whole(&seen)), move |(index, out, picture)| {
                *out = smooth(index, width, height, picture, &weights);
            })
        },
        |index| smooth(index, width, height, &picture, &weights),
    )?;

    compare(
        "checked_index",
        &queue,
        count,
        0_u32,
        |queue, out| {
            queue.for_each((0.., out, whole(&wanted)), move |(index, out, keys)| {
                *out = keys[index] ^ keys[index / 2 + 1];
            })
        },
        |index| keys[index] ^ keys[index / 2 + 1],
    )?;
    Ok(())
}

/// Runs a kernel and a rayon loop, in turns, and prints the least time of each.
fn compare<T: Element + PartialEq + Send + Sync>(
    name: &str,
    queue: &Queue,
    count: usize,
    nothing: T,
    kernel: impl Fn(&Queue, &mut Buffer<T>) -> Result<(), LaunchError>,
    item: impl Fn(usize) -> T + Sync,
) -> Result<(), schism::Report> {
    let mut device = Buffer::filled(queue, count, nothing)?;
    let mut host = vec![nothing; count];
    kernel(queue, &mut device)?;
    let mut best = [Duration::MAX; 2];
    for _ in 0..REPEATS {
        let start = Instant::now();
        kernel(queue, &mut device)?;
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        host.par_iter_mut().enumerate().for_each(|(index, out)| *out = item(index));
        best[1] = best[1].min(start.elapsed());
    }
    let [schism, rayon] = best.map(|time| time.as_secs_f64() * 1e6);
    let same = if device.view()[..] == host[..] { "" } else { "  DIFFERENT" };
    println!("{name:16} {schism:10.0} {rayon:10.0} {:8.2}{same}", rayon / schism);
    Ok(())
}
