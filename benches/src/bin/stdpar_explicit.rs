//! What `cargo schism bench stdpar --explicit` puts beside an unchanged rayon program: the same
//! kernels by hand, over buffers whose data stay on the device.
//!
//! It prints lines as `benches/stdpar/src/measure.rs` does, and first how fast data come to the
//! device: `link BYTES_PER_SECOND`.

use std::time::{Duration, Instant};

use schism::algorithms;
use schism::prelude::*;

#[path = "../../stdpar/src/formulas.rs"]
mod formulas;
#[path = "../../stdpar/src/random.rs"]
#[expect(dead_code, reason = "the program that it is compared with uses the rest")]
mod random;

use formulas::{iterations, normal};
use random::Random;

const SCALAR: f64 = 0.5;
const STREAM: usize = 1 << 24;
const DOT: usize = 1 << 20;
const CONTRACTS: usize = 1 << 20;
const BODIES: usize = 3_000;

/// How long each one is measured.
const ENOUGH: Duration = Duration::from_millis(400);

/// Measures `repetition`, and prints its line.
fn measure(name: &str, mut repetition: impl FnMut() -> Result<(), schism::Error>) -> Done {
    for _ in 0..3 {
        repetition()?;
    }
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 7 || begin.elapsed() < ENOUGH {
        let start = Instant::now();
        repetition()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    println!("{name} {:.9} {mean:.9} - {:.9}", times[times.len() / 2], times[0]);
    Ok(())
}

type Done = Result<(), schism::Error>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::new()?;
    link(&queue)?;
    stream(&queue)?;
    mandelbrot(&queue, "mandelbrot", [800, 600], 200)?;
    mandelbrot(&queue, "mandelbrot_2048", [2048, 1024], 2000)?;
    black_scholes(&queue)?;
    nbody(&queue)?;
    Ok(())
}

/// The best copy of some, to the device.
fn link(queue: &Queue) -> Done {
    let data = vec![1.0_f64; STREAM];
    let mut buffer = Buffer::filled(queue, STREAM, 0.0_f64)?;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        buffer.write(&data)?;
        best = best.min(start.elapsed());
    }
    println!("link {:.0}", size_of_val(&data[..]) as f64 / best.as_secs_f64());
    Ok(())
}

fn stream(queue: &Queue) -> Done {
    let mut a = Buffer::filled(queue, STREAM, 0.125_f64)?;
    let mut b = Buffer::filled(queue, STREAM, 0.25_f64)?;
    let mut c = Buffer::filled(queue, STREAM, 0.0_f64)?;
    measure("stream_copy", || Ok(queue.for_each((&mut c, &a), |(c, a)| *c = *a)?))?;
    measure("stream_mul", || Ok(queue.for_each((&mut b, &c), |(b, c)| *b = SCALAR * *c)?))?;
    measure("stream_add", || Ok(queue.for_each((&mut c, &a, &b), |(c, a, b)| *c = *a + *b)?))?;
    measure("stream_triad", || {
        Ok(queue.for_each((&mut a, &b, &c), |(a, b, c)| *a = *b + SCALAR * *c)?)
    })?;
    measure("stream_dot", || {
        algorithms::transform_reduce_zip(queue, &a, &b, 0.0, |x, y| x + y, |x, y| x * y)?;
        Ok(())
    })?;
    let x = Buffer::filled(queue, DOT, 0.5_f32)?;
    let y = Buffer::filled(queue, DOT, 1.5_f32)?;
    measure("dot_f32", || {
        algorithms::transform_reduce_zip(queue, &x, &y, 0.0, |x, y| x + y, |x, y| x * y)?;
        Ok(())
    })
}

fn mandelbrot(queue: &Queue, name: &str, [width, height]: [usize; 2], most: u32) -> Done {
    let mut pixels = Buffer::filled(queue, width * height, 0_u32)?;
    measure(name, || {
        Ok(queue.for_each((0.., &mut pixels), move |(index, pixel)| {
            let (column, row) = (index % width, index / width);
            let x = -2.2 + 3.2 * column as f64 / width as f64;
            let y = -1.2 + 2.4 * row as f64 / height as f64;
            *pixel = iterations(x, y, most);
        })?)
    })
}

fn black_scholes(queue: &Queue) -> Done {
    // Price, strike, years: the same numbers, since work-items diverge by them.
    let mut random = Random::new(1);
    let contracts: Vec<[f64; 3]> = (0..CONTRACTS)
        .map(|_| {
            let price = 5.0 + 25.0 * random.unit();
            [price, 1.0 + 99.0 * random.unit(), 0.25 + 9.75 * random.unit()]
        })
        .collect();
    let contracts = Buffer::from_slice(queue, &contracts)?;
    let mut prices = Buffer::filled(queue, CONTRACTS, 0.0_f64)?;
    measure("black_scholes", || {
        Ok(queue.for_each((&contracts, &mut prices), |(&[price, strike, years], to)| {
            let (rate, volatility) = (0.02, 0.3);
            let deviation = volatility * years.sqrt();
            let d1 = ((price / strike).ln() + (rate + 0.5 * volatility * volatility) * years)
                / deviation;
            let d2 = d1 - deviation;
            *to = price * normal(d1) - strike * (-rate * years).exp() * normal(d2);
        })?)
    })
}

/// A body: position, velocity, mass.
type Body = ([f32; 3], [f32; 3], f32);

fn nbody(queue: &Queue) -> Done {
    const STEP: f32 = 1e-3;
    const SOFTENING: f32 = 1e-4;
    let bodies: Vec<Body> = (0..BODIES)
        .map(|i| {
            let part = |prime: usize| (i * prime % 10_007) as f32 / 10_007.0 - 0.5;
            let position = [part(7919), part(104_729), part(1_299_709)];
            (position, [part(15_485_863), part(7919), part(541)], part(1223) + 1.0)
        })
        .collect();
    let mut next = Buffer::from_slice(queue, &bodies)?;
    let bodies = Buffer::from_slice(queue, &bodies)?;
    let all = bodies.view();
    measure("nbody", || {
        Ok(queue.for_each((&mut next, &bodies), move |(next, body)| {
            let (position, mut velocity, mass) = *body;
            let mut force = [0.0_f32; 3];
            for other in &*all {
                let mut distance = [0.0_f32; 3];
                let mut squared = SOFTENING;
                for axis in 0..3 {
                    distance[axis] = other.0[axis] - position[axis];
                    squared += distance[axis] * distance[axis];
                }
                let factor = other.2 / (squared * squared.sqrt());
                for axis in 0..3 {
                    force[axis] += distance[axis] * factor;
                }
            }
            let mut moved = position;
            for axis in 0..3 {
                velocity[axis] += force[axis] * STEP;
                moved[axis] += velocity[axis] * STEP;
            }
            *next = (moved, velocity, mass);
        })?)
    })
}
