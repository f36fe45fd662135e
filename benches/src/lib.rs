//! Code shared by the programs that `cargo schism bench` measures: inputs, the clock, the output.

pub mod algorithms;
pub mod cpu;
pub mod directives;
pub mod gpu;
pub mod items;
pub mod opencl;

use schism_examples::blur::Blur;
use schism_examples::picture::Pixel;

/// Pixels of the image workload, across and down.
pub const IMAGE: (usize, usize) = (2048, 1536);

/// Work-items of a group in the workloads with groups, but for matrices.
pub const GROUP: usize = 256;

/// Elements that are summed and scanned in groups.
pub const SCANNED: usize = 1 << 20;

/// The side of the matrices that are transposed and multiplied.
pub const SIDE: usize = 512;

/// The side of a tile of them.
pub const TILE: usize = 16;

/// Numbers in no order.
#[must_use]
pub fn keys(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ i >> 7).collect()
}

/// Two square matrices.
#[must_use]
pub fn matrices() -> (Vec<f32>, Vec<f32>) {
    let matrix = |seed: usize| (0..SIDE * SIDE).map(move |i| (i * seed % 101) as f32 * 0.03 - 1.0);
    (matrix(7).collect(), matrix(13).collect())
}

/// A picture with edges in all directions.
#[must_use]
pub fn image() -> Vec<Pixel> {
    let (width, height) = IMAGE;
    (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let checks = ((x / 64 + y / 48) % 2 * 120) as u8;
            [(x * y % 256) as u8 / 4 + checks, checks, ((x + y) / 8 % 256) as u8]
        })
        .collect()
}

/// The blur of the image workload.
#[must_use]
pub fn blur() -> Blur {
    Blur::new(1.4)
}

/// The weights of that blur: the centre, then outwards.
#[must_use]
pub fn blur_weights() -> Vec<f32> {
    blur().weights().to_vec()
}

/// A checksum of a few elements from everywhere in the slice: cheap compared with any workload.
pub fn checksum<T>(elements: &[T], bits: impl Fn(&T) -> u64) -> u64 {
    let step = elements.len() / 61 + 1;
    elements
        .iter()
        .step_by(step)
        .fold(0, |sum: u64, element| sum.wrapping_mul(31).wrapping_add(bits(element)))
}
