//! The workloads as rayon loops.

mod groups;

use rayon::prelude::*;
use schism_bench::{IMAGE, MANDELBROT, blur, bodies, checksum, image, measure, vectors};
use schism_examples::blur::{Gray, luminance};
use schism_examples::fractal::Window;

fn main() {
    let (x, mut y) = vectors();
    let a = std::hint::black_box(0.5_f32);
    measure("saxpy", || {
        y.par_iter_mut().zip(&x).for_each(|(y, x)| *y += a * *x);
        checksum(&y, |v| u64::from(v.to_bits()))
    });
    drop((x, y));

    let (width, height) = MANDELBROT;
    let window = Window::new(width, height);
    let mut pixels = vec![[0_u8; 3]; width * height];
    measure("mandelbrot", || {
        pixels.par_iter_mut().enumerate().for_each(|(index, pixel)| {
            *pixel = window.pixel(index % width, index / width);
        });
        checksum(&pixels, |p| u64::from(p[0]) + u64::from(p[1]) * 256)
    });

    let (width, height) = IMAGE;
    let (pixels, blur) = (image(), blur());
    let mut gray = vec![0.0_f32; width * height];
    let mut smooth = gray.clone();
    let mut edges = vec![[0_u8; 3]; width * height];
    measure("image_filter", || {
        gray.par_iter_mut().zip(&pixels).for_each(|(gray, pixel)| *gray = luminance(*pixel));
        smooth.par_chunks_mut(width).enumerate().for_each(|(row, smooth)| {
            let gray = Gray { values: &gray, width, height };
            for (column, smooth) in smooth.iter_mut().enumerate() {
                *smooth = gray.blur_along_x(&blur, column, row);
            }
        });
        gray.par_chunks_mut(width).enumerate().for_each(|(row, gray)| {
            let smooth = Gray { values: &smooth, width, height };
            for (column, gray) in gray.iter_mut().enumerate() {
                *gray = smooth.blur_along_y(&blur, column, row);
            }
        });
        edges.par_chunks_mut(width).enumerate().for_each(|(row, edges)| {
            let gray = Gray { values: &gray, width, height };
            for (column, edge) in edges.iter_mut().enumerate() {
                *edge = gray.edge(column, row);
            }
        });
        checksum(&edges, |p| u64::from(p[0]) + u64::from(p[1]) * 256)
    });

    let now = bodies();
    let mut next = now.clone();
    measure("nbody", || {
        next.par_iter_mut().zip(&now).for_each(|(next, body)| *next = body.moved(&now));
        checksum(&next, |b| u64::from(b.position[0].to_bits()))
    });
    groups::run();
}
