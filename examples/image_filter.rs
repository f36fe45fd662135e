//! Edges of a picture: a separable Gaussian blur, then Sobel's operator.
//!
//! ```text
//! cargo schism run --release --example image_filter -- IN.png OUT.png [SIGMA] [--check]
//! ```
//!
//! Three kernels over rows: blur along x, blur along y, gradient. The hue of the result tells the
//! direction of an edge, its brightness the strength.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::picture::{Picture, Pixel};

/// Most taps to either side of a blur's centre.
const REACH: usize = 12;

/// The weights of a blur: the centre, then outwards.
#[derive(Clone, Copy)]
struct Blur {
    weights: [f32; REACH + 1],
    reach: usize,
}

impl Blur {
    fn new(sigma: f32) -> Self {
        let reach = ((3.0 * sigma).ceil() as usize).min(REACH);
        let mut weights = [0.0; REACH + 1];
        for (distance, weight) in weights.iter_mut().enumerate().take(reach + 1) {
            *weight = (-((distance * distance) as f32) / (2.0 * sigma * sigma)).exp();
        }
        let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f32>();
        Self { weights: weights.map(|weight| weight / sum), reach }
    }

    /// One blurred value; `at` reads a neighbour at a signed distance.
    fn apply(&self, at: impl Fn(isize) -> f32) -> f32 {
        let mut sum = self.weights[0] * at(0);
        for (distance, weight) in self.weights.iter().enumerate().take(self.reach + 1).skip(1) {
            let distance = distance as isize;
            sum += weight * (at(distance) + at(-distance));
        }
        sum
    }
}

/// How bright a pixel looks (ITU-R BT.709).
fn luminance(pixel: Pixel) -> f32 {
    let [red, green, blue] = pixel.map(f32::from);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A gray picture; what lies outside repeats the nearest edge.
#[derive(Clone, Copy)]
struct Gray<'a> {
    values: &'a [f32],
    width: usize,
    height: usize,
}

impl Gray<'_> {
    fn at(&self, column: isize, row: isize) -> f32 {
        let column = column.clamp(0, self.width as isize - 1) as usize;
        let row = row.clamp(0, self.height as isize - 1) as usize;
        self.values[row * self.width + column]
    }

    fn blur_along_x(&self, blur: &Blur, column: usize, row: usize) -> f32 {
        blur.apply(|distance| self.at(column as isize + distance, row as isize))
    }

    fn blur_along_y(&self, blur: &Blur, column: usize, row: usize) -> f32 {
        blur.apply(|distance| self.at(column as isize, row as isize + distance))
    }

    /// The gradient by Sobel's operator, as a colour.
    fn edge(&self, column: usize, row: usize) -> Pixel {
        let (column, row) = (column as isize, row as isize);
        let at = |dx, dy| self.at(column + dx, row + dy);
        let gx =
            (at(1, -1) + 2.0 * at(1, 0) + at(1, 1)) - (at(-1, -1) + 2.0 * at(-1, 0) + at(-1, 1));
        let gy =
            (at(-1, 1) + 2.0 * at(0, 1) + at(1, 1)) - (at(-1, -1) + 2.0 * at(0, -1) + at(1, -1));
        let strength = (gx * gx + gy * gy).sqrt();
        if strength == 0.0 {
            return [0, 0, 0];
        }
        // Three axes at 120 degrees: the edge's direction decides how much of each colour.
        let (x, y) = (gx / strength, gy / strength);
        let along = [x, -0.5 * x + 0.866 * y, -0.5 * x - 0.866 * y];
        along.map(|part| (strength * (0.55 + 0.45 * part)).min(255.0) as u8)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(2, 3, "image_filter IN.png OUT.png [SIGMA] [--check]")?;
    let (input, output) = (arguments.word(0).unwrap_or(""), arguments.word(1).unwrap_or(""));
    let sigma: f32 = arguments.number(2, 1.4)?;
    if !(0.1..=4.0).contains(&sigma) {
        return Err(format!("SIGMA is {sigma}; it must lie between 0.1 and 4").into());
    }
    let picture = Picture::read(Path::new(input))?;
    let (width, height) = (picture.width, picture.height);
    let blur = Blur::new(sigma);

    let queue = Queue::new()?;
    let start = Instant::now();
    let pixels = Buffer::from_slice(&queue, &picture.pixels)?;
    let mut gray = Buffer::filled(&queue, pixels.len(), 0.0_f32)?;
    let mut smooth = Buffer::filled(&queue, pixels.len(), 0.0_f32)?;
    let mut edges = Buffer::filled(&queue, pixels.len(), [0_u8; 3])?;
    queue.for_each((&mut gray, &pixels), |(gray, pixel)| *gray = luminance(*pixel))?;
    let each_row = 0..;
    queue.for_each(
        (each_row.clone(), smooth.chunks_mut(width), whole(&gray)),
        move |(row, smooth, values)| {
            let gray = Gray { values, width, height };
            for (column, smooth) in smooth.iter_mut().enumerate() {
                *smooth = gray.blur_along_x(&blur, column, row);
            }
        },
    )?;
    queue.for_each(
        (each_row.clone(), gray.chunks_mut(width), whole(&smooth)),
        move |(row, gray, values)| {
            let smooth = Gray { values, width, height };
            for (column, gray) in gray.iter_mut().enumerate() {
                *gray = smooth.blur_along_y(&blur, column, row);
            }
        },
    )?;
    queue.for_each(
        (each_row, edges.chunks_mut(width), whole(&gray)),
        move |(row, edges, values)| {
            let gray = Gray { values, width, height };
            for (column, edge) in edges.iter_mut().enumerate() {
                *edge = gray.edge(column, row);
            }
        },
    )?;
    let filtered = Picture { width, height, pixels: edges.to_vec() };
    println!("{width} x {height} pixels on {}: {:.2?}", queue.device(), start.elapsed());

    filtered.write(Path::new(output))?;
    println!("wrote {output}");
    if arguments.check() {
        compare("image_filter", &filtered.pixels, &on_host(&picture, &blur))?;
    }
    Ok(())
}

/// The same in plain loops.
fn on_host(picture: &Picture, blur: &Blur) -> Vec<Pixel> {
    let (width, height) = (picture.width, picture.height);
    let values: Vec<f32> = picture.pixels.iter().copied().map(luminance).collect();
    let gray = Gray { values: &values, width, height };
    let places = || (0..width * height).map(|i| (i % width, i / width));
    let values: Vec<f32> =
        places().map(|(column, row)| gray.blur_along_x(blur, column, row)).collect();
    let smooth = Gray { values: &values, width, height };
    let values: Vec<f32> =
        places().map(|(column, row)| smooth.blur_along_y(blur, column, row)).collect();
    let gray = Gray { values: &values, width, height };
    places().map(|(column, row)| gray.edge(column, row)).collect()
}
