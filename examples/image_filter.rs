//! Edges of a picture: a separable Gaussian blur, then Sobel's operator.
//!
//! ```text
//! cargo schism run --release --example image_filter -- IN.png OUT.png [SIGMA] [--check]
//! ```
//!
//! Three kernels over rows: blur along x, blur along y, gradient. The hue of the result tells the
//! direction of an edge, its brightness the strength.

use std::path::Path;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::blur::{Blur, Gray, luminance};
use schism_examples::compare;
use schism_examples::picture::{Picture, Pixel};

fn main() -> Result<(), Report> {
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

/// The same as plain loops.
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
