//! Mandelbrot's set, option prices, prefix sums.

use rayon::prelude::*;

use crate::formulas::{iterations, normal};
use crate::measure::{Bench, sample};
use crate::random::Random;

/// Measures them.
pub fn run(bench: &Bench) {
    mandelbrot(bench);
    black_scholes(bench);
    prefix_sums(bench);
}

/// A picture of the set, as large as its benchmark says.
#[derive(Clone, Copy)]
struct Picture {
    width: usize,
    height: usize,
    most: u32,
}

impl Picture {
    fn pixel(self, index: usize) -> u32 {
        let (column, row) = (index % self.width, index / self.width);
        let x = -2.2 + 3.2 * column as f64 / self.width as f64;
        let y = -1.2 + 2.4 * row as f64 / self.height as f64;
        iterations(x, y, self.most)
    }

    /// Measures it by pixels, and by rows, which is how it is often written: uneven, and few.
    fn measure(self, bench: &Bench, name: &str) {
        let by_rows = format!("{name}_rows");
        if !bench.wants(&[name, &by_rows]) {
            return;
        }
        let mut pixels = vec![0_u32; self.width * self.height];
        bench.measure(name, || {
            pixels.par_iter_mut().enumerate().for_each(|(index, pixel)| *pixel = self.pixel(index));
            sample(&pixels, u64::from)
        });
        bench.measure(&by_rows, || {
            pixels.par_chunks_mut(self.width).enumerate().for_each(|(row, pixels)| {
                for (column, pixel) in pixels.iter_mut().enumerate() {
                    *pixel = self.pixel(row * self.width + column);
                }
            });
            sample(&pixels, u64::from)
        });
    }
}

fn mandelbrot(bench: &Bench) {
    let (width, height) = (bench.size(800, 61), bench.size(600, 43));
    Picture { width, height, most: 200 }.measure(bench, "mandelbrot");
    let (width, height) = (bench.size(2048, 97), bench.size(1024, 31));
    Picture { width, height, most: 2000 }.measure(bench, "mandelbrot_2048");
}

/// An option.
#[derive(Clone, Copy)]
struct Contract {
    price: f64,
    strike: f64,
    years: f64,
}

fn call_price(contract: &Contract) -> f64 {
    let (rate, volatility) = (0.02, 0.3);
    let deviation = volatility * contract.years.sqrt();
    let d1 = ((contract.price / contract.strike).ln()
        + (rate + 0.5 * volatility * volatility) * contract.years)
        / deviation;
    let d2 = d1 - deviation;
    contract.price * normal(d1) - contract.strike * (-rate * contract.years).exp() * normal(d2)
}

fn black_scholes(bench: &Bench) {
    if !bench.wants(&["black_scholes"]) {
        return;
    }
    let mut random = Random::new(1);
    let contracts: Vec<Contract> = (0..bench.size(1 << 20, 1_013))
        .map(|_| Contract {
            price: 5.0 + 25.0 * random.unit(),
            strike: 1.0 + 99.0 * random.unit(),
            years: 0.25 + 9.75 * random.unit(),
        })
        .collect();
    bench.measure("black_scholes", || {
        let prices: Vec<f64> = contracts.par_iter().map(call_price).collect();
        // Libraries of mathematics differ in the last digits.
        sample(&prices, |price| (price * 1e6).round() as u64)
    });
}

fn prefix_sums(bench: &Bench) {
    if !bench.wants(&["prefix_sums"]) {
        return;
    }
    let mut random = Random::new(2);
    let input: Vec<u64> = (0..bench.size(1 << 23, 10_009)).map(|_| random.below(1 << 20)).collect();
    let mut output = vec![0_u64; input.len()];
    let chunk = bench.size(1 << 16, 100);
    bench.measure("prefix_sums", || {
        let sums: Vec<u64> = input.par_chunks(chunk).map(|part| part.iter().sum()).collect();
        let offsets: Vec<u64> = sums
            .iter()
            .scan(0, |sum, part| {
                let before = *sum;
                *sum += part;
                Some(before)
            })
            .collect();
        output.par_chunks_mut(chunk).zip(input.par_chunks(chunk)).zip(offsets).for_each(
            |((output, input), mut sum)| {
                for (output, input) in output.iter_mut().zip(input) {
                    sum += input;
                    *output = sum;
                }
            },
        );
        sample(&output, |sum| sum)
    });
}
