//! Scores a photograph that has lost detail, as who tunes an encoder does.

#![forbid(unsafe_code)]

use ssimulacra2::{ColorPrimaries, Rgb, TransferCharacteristic, compute_frame_ssimulacra2};
use workload::{Checksum, Random};

const WIDTH: usize = 1280;
const HEIGHT: usize = 720;
const COPIES: u64 = 6;

fn rgb(pixels: &[[u8; 3]]) -> Result<Rgb, Box<dyn std::error::Error>> {
    let data = pixels.iter().map(|pixel| pixel.map(|value| f32::from(value) / 255.0)).collect();
    let (transfer, primaries) = (TransferCharacteristic::SRGB, ColorPrimaries::BT709);
    Ok(Rgb::new(data, WIDTH, HEIGHT, transfer, primaries)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(4);
    let original = workload::picture(WIDTH, HEIGHT, 4, &mut random);
    let mut checksum = Checksum::default();
    for copy in 0..COPIES {
        let coarse: Vec<[u8; 3]> = original
            .iter()
            .map(|pixel| pixel.map(|value| value >> (2 + copy) << (2 + copy)))
            .collect();
        checksum.exact(compute_frame_ssimulacra2(rgb(&original)?, rgb(&coarse)?)?);
    }
    checksum.print();
    Ok(())
}
