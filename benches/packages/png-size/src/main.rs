//! Makes small PNG files of photographs and of a drawing.

#![forbid(unsafe_code)]

use oxipng::{BitDepth, ColorType, Options, RawImage};
use workload::{Checksum, Random};

const WIDTH: usize = 1024;
const HEIGHT: usize = 768;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(15);
    let mut checksum = Checksum::default();
    for noise in [3, 0, 8, 1] {
        let pixels = workload::picture(WIDTH, HEIGHT, noise, &mut random).concat();
        let color = ColorType::RGB { transparent_color: None };
        let image = RawImage::new(WIDTH as u32, HEIGHT as u32, color, BitDepth::Eight, pixels)?;
        checksum.bytes(&image.create_optimized_png(&Options::from_preset(2))?);
    }
    checksum.print();
    Ok(())
}
