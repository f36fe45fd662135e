//! The standard library's mathematics in kernels: compares with the host, and writes what came out
//! to the file `maths.out`.

use std::error::Error;

use schism::prelude::*;

/// How many results there are of each pair of numbers, with the numbers.
const COLUMNS: usize = 38;

/// All methods, for one of the types.
macro_rules! methods {
    ($name:ident, $number:ty) => {
        fn $name(x: $number, y: $number) -> [$number; COLUMNS] {
            let (sin, cos) = x.sin_cos();
            [
                x,
                y,
                // Those that the library has a function for.
                x.acos(),
                x.asin(),
                x.atan(),
                x.atan2(y),
                x.cbrt(),
                x.ceil(),
                x.cos(),
                x.cosh(),
                x.exp(),
                x.exp2(),
                x.exp_m1(),
                x.floor(),
                x.mul_add(y, x),
                x % y,
                x.hypot(y),
                x.ln(),
                x.log10(),
                x.ln_1p(),
                x.log2(),
                x.powf(y),
                x.round(),
                x.sin(),
                x.sinh(),
                x.sqrt(),
                x.tan(),
                x.tanh(),
                x.trunc(),
                x.powi(7),
                x.powi(y as i32),
                // Those that are made of others.
                sin + cos,
                x.acosh(),
                x.asinh(),
                x.atanh(),
                x.log(y),
                x.rem_euclid(y),
                x.round_ties_even() + x.fract() + x.to_degrees().copysign(y) + x.abs().signum(),
            ]
        }
    };
}

methods!(singles, f32);
methods!(doubles, f64);

/// How many numbers lie between two, at most, and whether one is NaN only.
macro_rules! distance {
    ($name:ident, $number:ty, $bits:ty) => {
        fn $name(a: $number, b: $number) -> u64 {
            // In the order of the numbers, with both zeros at one place.
            let place = |x: $number| {
                let bits = x.to_bits() as $bits;
                i128::from(if bits < 0 { <$bits>::MIN - bits } else { bits })
            };
            match (a.is_nan(), b.is_nan()) {
                (true, true) => 0,
                (false, false) => (place(a) - place(b)).unsigned_abs() as u64,
                _ => u64::MAX,
            }
        }
    };
}

distance!(distance_single, f32, i32);
distance!(distance_double, f64, i64);

/// Numbers of many sizes, the special ones among them.
fn numbers(count: usize, mut seed: u64) -> Vec<f64> {
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e300];
    let random = std::iter::from_fn(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (seed >> 11) as f64 / (1_u64 << 53) as f64;
        let range = [2.0, 20.0, 200.0, 2e5][(seed >> 4) as usize % 4];
        Some((unit - 0.5) * range)
    });
    special.into_iter().chain(random).take(count).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let queue = Queue::new()?;
    let (mut bytes, mut worst, mut other) = (Vec::new(), 0, 0);
    for count in [0, 1, 13, 1003] {
        let (x, mut y) = (numbers(count, 1), numbers(count, 2));
        y.reverse();
        let narrow = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let (narrow_x, narrow_y) = (narrow(&x), narrow(&y));

        let mut wide = Buffer::filled(&queue, count, [0.0; COLUMNS])?;
        let inputs = (Buffer::from_slice(&queue, &x)?, Buffer::from_slice(&queue, &y)?);
        queue.for_each((&mut wide, &inputs.0, &inputs.1), |(out, x, y)| *out = doubles(*x, *y))?;
        let mut small = Buffer::filled(&queue, count, [0.0; COLUMNS])?;
        let inputs = (Buffer::from_slice(&queue, &narrow_x)?, Buffer::from_slice(&queue, &narrow_y)?);
        queue.for_each((&mut small, &inputs.0, &inputs.1), |(out, x, y)| *out = singles(*x, *y))?;

        for (row, (wide, small)) in wide.to_vec().iter().zip(small.to_vec()).enumerate() {
            let host = (doubles(x[row], y[row]), singles(narrow_x[row], narrow_y[row]));
            for column in 0..COLUMNS {
                let of = [
                    distance_double(wide[column], host.0[column]),
                    distance_single(small[column], host.1[column]),
                ];
                for far in of {
                    other += u32::from(far != 0);
                    worst = worst.max(far);
                }
                bytes.extend(wide[column].to_bits().to_le_bytes());
                bytes.extend(small[column].to_bits().to_le_bytes());
            }
        }
    }
    std::fs::write("maths.out", bytes)?;
    println!("{} worst {worst} other {}", queue.device(), other > 0);
    Ok(())
}
