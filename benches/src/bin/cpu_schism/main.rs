//! The workloads as kernels, and the cost of a launch.

mod groups;

use std::time::Instant;

use schism::prelude::*;
use schism_bench::{IMAGE, MANDELBROT, blur, bodies, checksum, image, measure, vectors};
use schism_examples::blur::{Gray, luminance};
use schism_examples::fractal::Window;

fn main() -> Result<(), schism::Report> {
    let queue = Queue::new()?;
    first_launch(&queue)?;
    launch_overhead(&queue)?;

    let (x, y) = vectors();
    let a = std::hint::black_box(0.5_f32);
    let (x, mut y) = (Buffer::from_slice(&queue, &x)?, Buffer::from_slice(&queue, &y)?);
    measure("saxpy", || {
        expect(queue.for_each((&mut y, &x), move |(y, x)| *y += a * *x));
        checksum(&peek(&y), |v| u64::from(v.to_bits()))
    });
    drop((x, y));

    let (width, height) = MANDELBROT;
    let window = Window::new(width, height);
    let mut pixels = Buffer::filled(&queue, width * height, [0_u8; 3])?;
    measure("mandelbrot", || {
        expect(queue.for_each((0.., &mut pixels), move |(index, pixel)| {
            *pixel = window.pixel(index % width, index / width);
        }));
        checksum(&peek(&pixels), |p| u64::from(p[0]) + u64::from(p[1]) * 256)
    });

    let (width, height) = IMAGE;
    let (pixels, blur) = (Buffer::from_slice(&queue, &image())?, blur());
    let mut gray = Buffer::filled(&queue, width * height, 0.0_f32)?;
    let mut smooth = Buffer::filled(&queue, width * height, 0.0_f32)?;
    let mut edges = Buffer::filled(&queue, width * height, [0_u8; 3])?;
    measure("image_filter", || {
        expect(queue.for_each((&mut gray, &pixels), |(gray, pixel)| *gray = luminance(*pixel)));
        expect(queue.for_each(
            (0.., smooth.chunks_mut(width), whole(&gray)),
            move |(row, smooth, values)| {
                let gray = Gray { values, width, height };
                for (column, smooth) in smooth.iter_mut().enumerate() {
                    *smooth = gray.blur_along_x(&blur, column, row);
                }
            },
        ));
        expect(queue.for_each(
            (0.., gray.chunks_mut(width), whole(&smooth)),
            move |(row, gray, values)| {
                let smooth = Gray { values, width, height };
                for (column, gray) in gray.iter_mut().enumerate() {
                    *gray = smooth.blur_along_y(&blur, column, row);
                }
            },
        ));
        expect(queue.for_each(
            (0.., edges.chunks_mut(width), whole(&gray)),
            move |(row, edges, values)| {
                let gray = Gray { values, width, height };
                for (column, edge) in edges.iter_mut().enumerate() {
                    *edge = gray.edge(column, row);
                }
            },
        ));
        checksum(&peek(&edges), |p| u64::from(p[0]) + u64::from(p[1]) * 256)
    });

    let now = Buffer::from_slice(&queue, &bodies())?;
    let mut next = Buffer::from_slice(&queue, &bodies())?;
    measure("nbody", || {
        expect(queue.for_each((&mut next, &now, whole(&now)), |(next, body, all)| {
            *next = body.moved(all);
        }));
        checksum(&peek(&next), |b| u64::from(b.position[0].to_bits()))
    });
    groups::run(&queue)
}

/// Prints the time of a kernel's first launch, in which it is compiled.
fn first_launch(queue: &Queue) -> Result<(), schism::Error> {
    let mut buffer = Buffer::filled(queue, 1, 0_u32)?;
    let start = Instant::now();
    queue.for_each(&mut buffer, |v| *v += 1)?;
    println!("first_launch {} 0", start.elapsed().as_secs_f64());
    Ok(())
}

/// Prints the time of a nearly empty launch.
fn launch_overhead(queue: &Queue) -> Result<(), schism::Error> {
    const LAUNCHES: u32 = 10_000;
    let mut buffer = Buffer::filled(queue, 1, 0_u32)?;
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        queue.for_each(&mut buffer, |v| *v += 2)?;
    }
    println!("launch {} 0", (start.elapsed() / LAUNCHES).as_secs_f64());
    Ok(())
}

/// The elements of a buffer, for the checksum.
fn peek<T: Element>(buffer: &Buffer<T>) -> View<'_, T> {
    buffer.view()
}

fn expect(result: Result<(), schism::LaunchError>) {
    if let Err(error) = result {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
