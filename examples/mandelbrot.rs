//! The Mandelbrot set as a PNG: work-items of very different length.
//!
//! ```text
//! cargo schism run --release --example mandelbrot -- [OUT.png] [WIDTH] [HEIGHT] [--check]
//! ```

use std::path::Path;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::fractal::Window;
use schism_examples::picture::{Picture, Pixel};

fn main() -> Result<(), Report> {
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
