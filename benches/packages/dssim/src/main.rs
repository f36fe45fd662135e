//! Compares photographs with copies that have noise, as who chooses the quality of a JPEG does.

#![forbid(unsafe_code)]

use dssim_core::Dssim;
use rgb::RGB;
use workload::{Checksum, Random};

const WIDTH: usize = 1600;
const HEIGHT: usize = 1200;
const COPIES: u64 = 12;

fn main() {
    let mut random = Random::new(1);
    let original = workload::picture(WIDTH, HEIGHT, 4, &mut random);
    let bitmap = |pixels: &[[u8; 3]]| pixels.iter().copied().map(RGB::from).collect::<Vec<_>>();
    let dssim = Dssim::new();
    let Some(reference) = dssim.create_image_rgb(&bitmap(&original), WIDTH, HEIGHT) else {
        return;
    };
    let mut checksum = Checksum::default();
    for copy in 0..COPIES {
        let noisy: Vec<[u8; 3]> = original
            .iter()
            .map(|pixel| pixel.map(|value| value.saturating_add(random.below(8 + 4 * copy) as u8)))
            .collect();
        let Some(noisy) = dssim.create_image_rgb(&bitmap(&noisy), WIDTH, HEIGHT) else { return };
        let (difference, _) = dssim.compare(&reference, noisy);
        checksum.exact(difference.into());
    }
    checksum.print();
}
