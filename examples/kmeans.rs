//! The colours of a picture, reduced to a few by k-means: each pixel looks for its nearest colour, atomics sum them up.
//!
//! ```text
//! cargo schism run --release --example kmeans -- [IN.png] [OUT.png] [COLOURS] [--check]
//! ```

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::fractal::Window;
use schism_examples::picture::{Picture, Pixel};

/// Rounds, if colours still change.
const ROUNDS: usize = 30;
/// Pixels that a work-item sums by itself before it adds to the common sums.
const CHUNK: usize = 512;
/// Most colours.
const MOST: usize = 16;

/// The index of the nearest colour.
fn nearest(pixel: Pixel, colours: &[Pixel]) -> usize {
    let mut best = (u32::MAX, 0);
    for (index, colour) in colours.iter().enumerate() {
        let square = |channel: usize| u32::from(pixel[channel].abs_diff(colour[channel])).pow(2);
        let distance = square(0) + square(1) + square(2);
        if distance < best.0 {
            best = (distance, index);
        }
    }
    best.1
}

/// The mean of each colour's pixels, by their number and their sums. A colour without pixels stays.
fn means(colours: &[Pixel], sums: &[u64]) -> Vec<Pixel> {
    let own = colours.iter().zip(sums.chunks(4));
    own.map(|(old, sum)| match sum[3] {
        0 => *old,
        count => [0, 1, 2].map(|channel| ((sum[channel] + count / 2) / count) as u8),
    })
    .collect()
}

/// The first colours: pixels at even distances.
fn first(pixels: &[Pixel], count: usize) -> Vec<Pixel> {
    (0..count).map(|i| pixels[(2 * i + 1) * pixels.len() / (2 * count)]).collect()
}

/// The colours of a picture.
pub fn colours(queue: &Queue, pixels: &[Pixel], count: usize) -> Result<Vec<Pixel>, schism::Error> {
    let mut colours = first(pixels, count);
    let pixels = Buffer::from_slice(queue, pixels)?;
    for _ in 0..ROUNDS {
        let mut sums = vec![0_u64; 4 * count];
        let sources = (pixels.chunks(CHUNK), atomics(&mut sums), whole(&colours));
        queue.for_each(sources, |(pixels, sums, colours)| {
            let mut own = [[0_u32; 4]; MOST];
            for &pixel in pixels {
                let own = &mut own[nearest(pixel, colours)];
                for channel in 0..3 {
                    own[channel] += u32::from(pixel[channel]);
                }
                own[3] += 1;
            }
            for (sum, own) in sums.iter().zip(own.as_flattened()) {
                if *own > 0 {
                    sum.fetch_add(u64::from(*own), Relaxed);
                }
            }
        })?;
        let next = means(&colours, &sums);
        if next == colours {
            break;
        }
        colours = next;
    }
    Ok(colours)
}

/// The same by loops.
pub fn plain(pixels: &[Pixel], count: usize) -> Vec<Pixel> {
    let mut colours = first(pixels, count);
    for _ in 0..ROUNDS {
        let mut sums = vec![0_u64; 4 * count];
        for pixel in pixels {
            let at = 4 * nearest(*pixel, &colours);
            (0..3).for_each(|channel| sums[at + channel] += u64::from(pixel[channel]));
            sums[at + 3] += 1;
        }
        let next = means(&colours, &sums);
        if next == colours {
            break;
        }
        colours = next;
    }
    colours
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 3, "kmeans [IN.png] [OUT.png] [COLOURS] [--check]")?;
    let mut picture = match arguments.word(0) {
        Some(path) => Picture::read(Path::new(path))?,
        None => {
            let (width, height) = (480, 360);
            let window = Window::new(width, height);
            let pixel = |at| window.pixel(at % width, at / width);
            Picture { width, height, pixels: (0..width * height).map(pixel).collect() }
        }
    };
    let path = arguments.word(1).unwrap_or("kmeans.png");
    let count: usize = arguments.number(2, 8)?;
    if count == 0 || count > MOST || picture.pixels.len() < count {
        return Err(format!("1 to {MOST} colours, and no more than there are pixels").into());
    }
    let queue = Queue::new()?;
    let start = Instant::now();
    let found = colours(&queue, &picture.pixels, count)?;
    println!("{count} colours on {}: {:.2?}", queue.device(), start.elapsed());
    if arguments.check() {
        compare("kmeans", &found, &plain(&picture.pixels, count))?;
    }
    queue.for_each((&mut picture.pixels, whole(&found)), |(pixel, colours)| {
        *pixel = colours[nearest(*pixel, colours)];
    })?;
    picture.write(Path::new(path))?;
    Ok(())
}
