//! First launches: the time until a kernel has run for the first time in a process.
//!
//! Prints a line `name seconds checksum` for the queue, and for each kernel of the examples over a
//! range so small that only the overhead takes time. `slices` in its place measures launches that
//! follow one another, over buffers and over slices of the host; `choice` that of a device.

use std::time::Instant;

use schism::prelude::*;
use schism_bench::{blur, checksum};
use schism_examples::blur::{Gray, luminance};
use schism_examples::fractal::Window;
use schism_examples::gravity::disc;

fn main() -> Result<(), schism::Report> {
    match std::env::args().nth(1).as_deref() {
        Some("choice") => return choice(),
        Some("slices") => return slices(),
        _ => {}
    }
    let start = Instant::now();
    let queue = Queue::new()?;
    println!("queue {} 0", start.elapsed().as_secs_f64());

    let a = std::hint::black_box(0.5_f32);
    let x = Buffer::filled(&queue, 64, 1.0_f32)?;
    let mut y = Buffer::filled(&queue, 64, 2.0_f32)?;
    first("saxpy", || queue.for_each((&mut y, &x), move |(y, x)| *y += a * *x))?;
    println!(" {}", checksum(&y.to_vec(), |v| u64::from(v.to_bits())));

    let (width, height) = (8, 8);
    let window = Window::new(width, height);
    let mut pixels = Buffer::filled(&queue, width * height, [0_u8; 3])?;
    first("mandelbrot", || {
        queue.for_each((0.., &mut pixels), move |(index, pixel)| {
            *pixel = window.pixel(index % width, index / width);
        })
    })?;
    println!(" {}", checksum(&pixels.to_vec(), |p| u64::from(p[0])));

    let blur = blur();
    let mut gray = Buffer::filled(&queue, width * height, 0.0_f32)?;
    first("luminance", || {
        queue.for_each((&mut gray, &pixels), |(gray, pixel)| *gray = luminance(*pixel))
    })?;
    println!(" {}", checksum(&gray.to_vec(), |v| u64::from(v.to_bits())));
    let mut smooth = Buffer::filled(&queue, width * height, 0.0_f32)?;
    first("blur", || {
        queue.for_each(
            (0.., smooth.chunks_mut(width), whole(&gray)),
            move |(row, smooth, values)| {
                let gray = Gray { values, width, height };
                for (column, smooth) in smooth.iter_mut().enumerate() {
                    *smooth = gray.blur_along_x(&blur, column, row);
                }
            },
        )
    })?;
    println!(" {}", checksum(&smooth.to_vec(), |v| u64::from(v.to_bits())));
    let mut edges = Buffer::filled(&queue, width * height, [0_u8; 3])?;
    first("edges", || {
        queue.for_each(
            (0.., edges.chunks_mut(width), whole(&smooth)),
            move |(row, edges, values)| {
                let gray = Gray { values, width, height };
                for (column, edge) in edges.iter_mut().enumerate() {
                    *edge = gray.edge(column, row);
                }
            },
        )
    })?;
    println!(" {}", checksum(&edges.to_vec(), |p| u64::from(p[0])));

    let now = Buffer::from_slice(&queue, &disc(64))?;
    let mut next = Buffer::from_slice(&queue, &disc(64))?;
    first("nbody", || {
        queue.for_each((&mut next, &now, whole(&now)), |(next, body, all)| *next = body.moved(all))
    })?;
    println!(" {}", checksum(&next.to_vec(), |b| u64::from(b.position[0].to_bits())));
    Ok(())
}

/// Prints how long a launch takes over buffers, over vectors of the host, over the parts of such that
/// begin at an address as those of buffers do, and over vectors that stay on the device, of several
/// lengths.
fn slices() -> Result<(), schism::Report> {
    /// Of each, in turn.
    const ROUNDS: usize = 101;
    /// Elements of a round, at least.
    const ELEMENTS: usize = 1 << 20;
    /// Bytes of a cache line, at which buffers begin. As many elements hold one, wherever they begin.
    const LINE: usize = 64;
    let queue = Queue::new()?;
    for len in [64, 1 << 10, 1 << 14, 1 << 17] {
        let (host_x, mut host_y) = (vec![1.0_f32; len], vec![2.0_f32; len]);
        let (x, mut y) =
            (Buffer::from_slice(&queue, &host_x)?, Buffer::from_slice(&queue, &host_y)?);
        let launches = (ELEMENTS / len).clamp(16, 1024);
        let (wide_x, mut wide_y) = (vec![1.0_f32; len + LINE], vec![2.0_f32; len + LINE]);
        let wide_x = &wide_x[wide_x.as_ptr().align_offset(LINE)..][..len];
        let begin = wide_y.as_ptr().align_offset(LINE);
        let wide_y = &mut wide_y[begin..][..len];
        let (kept_x, mut kept_y) = (host_x.clone(), host_y.clone());
        let [mut buffers, mut slices, mut aligned, mut resident] = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            buffers
                .push(timed(launches, || queue.for_each((&mut y, &x), |(y, x)| *y += 0.5 * *x))?);
            slices.push(timed(launches, || {
                queue.for_each((&mut host_y, &host_x), |(y, x)| *y += 0.5 * *x)
            })?);
            aligned.push(timed(launches, || {
                queue.for_each((&mut *wide_y, wide_x), |(y, x)| *y += 0.5 * *x)
            })?);
            resident.push(queue.resident((&mut kept_y, &kept_x), |(mut y, x)| {
                Ok(timed(launches, || queue.for_each((&mut y, x), |(y, x)| *y += 0.5 * *x))?)
            })?);
        }
        let rows = [
            ("buffers", buffers, y.to_vec()),
            ("slices", slices, host_y),
            ("aligned", aligned, wide_y.to_vec()),
            ("resident", resident, kept_y),
        ];
        for (name, mut times, y) in rows {
            times.sort_unstable_by(f64::total_cmp);
            let sum = checksum(&y, |v| u64::from(v.to_bits()));
            println!("{name}-{len} {} {sum}", times[ROUNDS / 2]);
        }
    }
    Ok(())
}

/// Seconds of a launch, of so many.
fn timed(
    launches: usize,
    mut launch: impl FnMut() -> Result<(), schism::LaunchError>,
) -> Result<f64, schism::LaunchError> {
    let start = Instant::now();
    for _ in 0..launches {
        launch()?;
    }
    Ok(start.elapsed().as_secs_f64() / launches as f64)
}

/// Prints how long the choice of a device takes, after the compiler is known, and which it is.
fn choice() -> Result<(), schism::Report> {
    Device::by_name("cpu")?;
    let start = Instant::now();
    let device = Device::default_device()?;
    println!(
        "choice {} {}",
        start.elapsed().as_secs_f64(),
        checksum(device.name().as_bytes(), |b| u64::from(*b))
    );
    eprintln!("{device}");
    Ok(())
}

/// Launches, and begins a line with the time.
fn first(
    name: &str,
    launch: impl FnOnce() -> Result<(), schism::LaunchError>,
) -> Result<(), schism::LaunchError> {
    let start = Instant::now();
    launch()?;
    print!("{name} {}", start.elapsed().as_secs_f64());
    Ok(())
}
