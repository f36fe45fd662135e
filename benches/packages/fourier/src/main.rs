//! Lets heat spread in a periodic plane, as a spectral solver does: transforms along both axes,
//! forth and back.

#![forbid(unsafe_code)]

use ndarray::Array2;
use ndrustfft::{Complex, FftHandler, ndfft_par, ndifft_par};
use workload::{Checksum, Random};

const SIZE: usize = 1024;
const STEPS: usize = 72;

fn main() {
    let mut random = Random::new(11);
    let mut field = Array2::from_shape_fn((SIZE, SIZE), |_| Complex::new(random.unit(), 0.0));
    let (mut half, mut modes) = (field.clone(), field.clone());
    let handler: FftHandler<f64> = FftHandler::new(SIZE);
    let wave = |index: usize| index.min(SIZE - index) as f64;
    for _ in 0..STEPS {
        ndfft_par(&field, &mut half, &handler, 1);
        ndfft_par(&half, &mut modes, &handler, 0);
        for ((row, column), mode) in modes.indexed_iter_mut() {
            *mode *= (-1e-4 * (wave(row).powi(2) + wave(column).powi(2))).exp();
        }
        ndifft_par(&modes, &mut half, &handler, 0);
        ndifft_par(&half, &mut field, &handler, 1);
    }
    let mut checksum = Checksum::default();
    field.iter().for_each(|value| checksum.exact(value.re));
    checksum.print();
}
