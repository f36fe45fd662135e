//! A Julia set by rayon. The program knows nothing of schism; its parallel iterator is a kernel with `--stdpar`.
//!
//! ```text
//! cargo schism run --release --stdpar --example julia -- [OUT.png] [WIDTH] [HEIGHT] [--check]
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::picture::{Picture, Pixel};

/// The number that is added in each step.
const C: (f64, f64) = (-0.8, 0.156);
/// Steps after which a point counts as a member of the set.
const LIMIT: u32 = 600;

/// The colour of one pixel.
pub fn pixel(at: usize, width: usize, height: usize) -> Pixel {
    let step = 3.2 / width as f64;
    let mut re = step * ((at % width) as f64 - 0.5 * width as f64);
    let mut im = step * ((at / width) as f64 - 0.5 * height as f64);
    let mut steps = 0;
    while steps < LIMIT && re * re + im * im <= 4.0 {
        (re, im) = (re * re - im * im + C.0, 2.0 * re * im + C.1);
        steps += 1;
    }
    let bright = f64::from(steps) / f64::from(LIMIT);
    [bright.sqrt().sqrt(), bright.sqrt(), 0.15 + 0.85 * bright].map(|part| (255.0 * part) as u8)
}

/// The picture, by a parallel iterator.
pub fn render(width: usize, height: usize) -> Vec<Pixel> {
    (0..width * height).into_par_iter().map(|at| pixel(at, width, height)).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(0, 3, "julia [OUT.png] [WIDTH] [HEIGHT] [--check]")?;
    let out = arguments.word(0).unwrap_or("julia.png");
    let (width, height) = (arguments.number(1, 480)?, arguments.number(2, 270)?);
    let start = Instant::now();
    let pixels = render(width, height);
    println!("{width} x {height} pixels: {:.2?}", start.elapsed());
    if arguments.check() {
        let host: Vec<Pixel> = (0..width * height).map(|at| pixel(at, width, height)).collect();
        compare("julia", &pixels, &host)?;
    }
    Picture { width, height, pixels }.write(Path::new(out))
}
