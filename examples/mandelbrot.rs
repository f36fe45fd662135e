//! The Mandelbrot set as a PNG: work-items of very different length.
//!
//! ```text
//! cargo schism run --release --example mandelbrot -- [OUT.png] [WIDTH] [HEIGHT] [--check]
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::picture::{Picture, Pixel};

/// Steps after which a point counts as one of the set.
const LIMIT: u32 = 1000;

/// The part of the plane that the picture shows.
#[derive(Clone, Copy)]
struct Window {
    left: f64,
    top: f64,
    step: f64,
}

impl Window {
    /// The whole set, in the middle of the picture.
    fn new(width: usize, height: usize) -> Self {
        let step = (3.2 / width as f64).max(2.4 / height as f64);
        Self { left: -0.7 - step * width as f64 / 2.0, top: -step * height as f64 / 2.0, step }
    }

    /// The colour of one pixel.
    fn pixel(self, column: usize, row: usize) -> Pixel {
        let (x, y) = (self.left + self.step * column as f64, self.top + self.step * row as f64);
        let (mut re, mut im) = (0.0, 0.0);
        let mut steps = 0;
        while steps < LIMIT && re * re + im * im <= 16.0 {
            (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
            steps += 1;
        }
        if steps == LIMIT { [0, 0, 0] } else { colour(steps) }
    }
}

/// From dark blue over white and orange back to dark, again and again.
fn colour(steps: u32) -> Pixel {
    const STOPS: [[f32; 3]; 5] = [
        [0.0, 7.0, 100.0],
        [32.0, 107.0, 203.0],
        [237.0, 255.0, 255.0],
        [255.0, 170.0, 0.0],
        [0.0, 2.0, 20.0],
    ];
    let position = (steps as f32).sqrt() * 0.7 % STOPS.len() as f32;
    let index = position as usize % STOPS.len();
    let (from, to) = (STOPS[index], STOPS[(index + 1) % STOPS.len()]);
    let part = position - index as f32;
    [0, 1, 2].map(|channel| (from[channel] + (to[channel] - from[channel]) * part) as u8)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(0, 3, "mandelbrot [OUT.png] [WIDTH] [HEIGHT] [--check]")?;
    let out = arguments.word(0).unwrap_or("mandelbrot.png");
    let (width, height) = (arguments.number(1, 1280)?, arguments.number(2, 960)?);
    let window = Window::new(width, height);

    let queue = Queue::new()?;
    let mut pixels = Buffer::filled(&queue, width * height, [0_u8; 3])?;
    let start = Instant::now();
    queue.for_each((0.., &mut pixels), move |(index, pixel)| {
        *pixel = window.pixel(index % width, index / width);
    })?;
    println!("{width} x {height} points on {}: {:.2?}", queue.device(), start.elapsed());

    let picture = Picture { width, height, pixels: pixels.to_vec() };
    picture.write(Path::new(out))?;
    println!("wrote {out}");
    if arguments.check() {
        let host: Vec<Pixel> =
            (0..width * height).map(|i| window.pixel(i % width, i / width)).collect();
        compare("mandelbrot", &picture.pixels, &host)?;
    }
    Ok(())
}
