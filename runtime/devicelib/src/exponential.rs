//! `exp`, `exp2`, `exp_m1` and the hyperbolic functions, for processors that run the same code for
//! many elements at once: no tables, and one path for nearly all arguments.
//!
//! An argument is `n ln 2 + r`, where `r` is between plus and minus half the logarithm of two, and
//! is kept in two numbers. Then `e^r = 1 + r + r² g(r)`, where the polynomial `g` is nearly minimax
//! (it interpolates at Chebyshev's nodes). The sum is kept in two numbers until it is scaled. See
//! J.-M. Muller, *Elementary Functions*, chapters 3 and 11.
//!
//! The hyperbolic functions are made of a quarter of `e^x - 1`, which is finite where their results
//! are.

use core::hint::select_unpredictable as choose;

use libm::{copysign, copysignf, fma, fmaf};

use crate::elementary::rare;

/// The functions for one type of numbers. `POWER` is a power of two whose exponent's lowest bits
/// are given.
macro_rules! exponential {
    ($module:ident, $float:ident, $bits:ident, $fma:ident, $copysign:ident, $mantissa:expr, $bias:expr, $round:expr,
     $ln_2_high:expr, $ln_2_low:expr, $series:expr, $quarter_limits:expr, $tiny:expr) => {
        pub mod $module {
            use super::*;

            /// Added to a number, it rounds that to an integer, which is then in the lowest bits.
            pub const ROUND: $float = $round;

            /// A power of two, of whose exponent the lowest bits are given.
            pub fn power(exponent: $bits) -> $float {
                $float::from_bits(exponent.wrapping_add($bias) << $mantissa)
            }

            /// A polynomial, from its highest coefficient to its lowest.
            pub fn polynomial<const N: usize>(x: $float, coefficients: [$float; N]) -> $float {
                let mut sum = coefficients[0];
                for coefficient in &coefficients[1..] {
                    sum = $fma(sum, x, *coefficient);
                }
                sum
            }

            /// `e` to the power of a sum of two numbers, without its scale.
            pub struct Parts {
                /// The exponent of the scale, in the lowest bits.
                pub exponent: $bits,
                /// One and these two are the power: the first is the larger one by far.
                pub first: $float,
                pub second: $float,
            }

            /// Of a sum of two numbers, the second of which is much smaller.
            pub fn parts(x: $float, low: $float) -> Parts {
                let shifted = $fma(x, core::$float::consts::LOG2_E, ROUND);
                let n = shifted - ROUND;
                let high = $fma(n, -$ln_2_high, x);
                let small = low - n * $ln_2_low;
                let first = high + small;
                let rest = (high - first) + small;
                let rest = $fma(rest, first, rest);
                let second = $fma(first * first, polynomial(first, $series), rest);
                Parts { exponent: shifted.to_bits(), first, second }
            }

            impl Parts {
                /// The power without its scale, between 2^-1/2 and 2^1/2.
                pub fn value(&self) -> $float {
                    let sum = 1.0 + self.first;
                    let lost = self.first - (sum - 1.0);
                    sum + (lost + self.second)
                }

                /// The power: a normal number if `is_normal`.
                pub fn scaled(&self, is_normal: bool) -> $float {
                    let value = self.value();
                    if is_normal {
                        let exponent = self.exponent << $mantissa;
                        return $float::from_bits(value.to_bits().wrapping_add(exponent));
                    }
                    rare();
                    // In two steps, each with a normal number: the first result is exact, the second
                    // is rounded where it is subnormal.
                    let half = self.exponent >> 1;
                    value * power(half) * power(self.exponent.wrapping_sub(half))
                }
            }

            /// A quarter of `e^x - 1`, for arguments within the limits of the hyperbolic functions'
            /// results, and for NaN.
            fn quarter(x: $float) -> $float {
                let (lowest, highest) = $quarter_limits;
                let x = choose(x > highest, highest, x);
                let x = choose(x < lowest, lowest, x);
                let Parts { exponent, first, second } = parts(x, 0.0);
                let scale = power(exponent.wrapping_sub(2));
                // The scale, and what is less than half of it.
                let whole = scale - 0.25;
                let part = scale * first;
                let sum = whole + part;
                let lost = part - (sum - whole);
                sum + (lost + scale * second)
            }

            /// What is as small as that is its own result: its quarter may not have all its bits.
            const TINY: $float = $tiny;

            /// `e^x - 1`.
            pub fn minus_one(x: $float) -> $float {
                choose(x.abs() < TINY, x, $copysign(quarter(x) * 4.0, x))
            }

            /// The hyperbolic sine.
            pub fn sinh(x: $float) -> $float {
                let quarter = quarter(x.abs());
                // For the largest results the divisor is infinite, and the quotient zero.
                let sum = quarter + quarter / $fma(quarter, 4.0, 1.0);
                choose(x.abs() < TINY, x, $copysign(sum * 2.0, x))
            }

            /// The hyperbolic cosine.
            pub fn cosh(x: $float) -> $float {
                let quarter = quarter(x.abs()) + 0.25;
                (quarter + 0.0625 / quarter) * 2.0
            }

            /// The hyperbolic tangent.
            pub fn tanh(x: $float) -> $float {
                // From there on it is one.
                let most: $float = 22.0;
                let size = x.abs();
                let quarter = quarter(choose(size > most, most, size) * 2.0);
                choose(size < TINY, x, $copysign(quarter / (quarter + 0.5), x))
            }
        }
    };
}

exponential!(
    double,
    f64,
    u64,
    fma,
    copysign,
    52,
    1023,
    6_755_399_441_055_744.0,
    core::f64::consts::LN_2,
    2.319_046_813_846_299_6e-17,
    [
        2.091_483_135_138_041e-9,
        2.510_541_919_201_633_7e-8,
        2.755_727_329_553_972_4e-7,
        2.755_725_491_348_67e-6,
        2.480_158_732_582_228_3e-5,
        0.000_198_412_698_752_050_77,
        0.001_388_888_888_888_367,
        0.008_333_333_333_326_025,
        0.041_666_666_666_666_67,
        0.166_666_666_666_666_7,
        0.5,
    ],
    (-40.0, 710.7),
    1e-17
);

exponential!(
    single,
    f32,
    u32,
    fmaf,
    copysignf,
    23,
    127,
    crate::elementary::ROUND,
    0.693_145_75,
    1.428_606_8e-6,
    [0.000_198_911_8, 0.001_393_382_1, 0.008_333_31, 0.041_666_463, 0.166_666_67, 0.5,],
    (-20.0, 89.6),
    1e-9
);

/// C's `exp`.
#[unsafe(export_name = "schism.lib.exp")]
#[must_use]
pub extern "C" fn exp(x: f64) -> f64 {
    let scaled = double::parts(x, 0.0).scaled(x.abs() < 708.0);
    // Beyond these bounds, the computation above is meaningless. A NaN is within neither.
    let scaled = choose(x > 710.0, f64::INFINITY, scaled);
    choose(x < -746.0, 0.0, scaled)
}

/// C's `exp2`: the rest of an argument without its integer is exact, and its product with the
/// logarithm of two is kept in two numbers.
#[unsafe(export_name = "schism.lib.exp2")]
#[must_use]
pub extern "C" fn exp2(x: f64) -> f64 {
    const LN_2: [f64; 2] = [core::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
    let shifted = x + double::ROUND;
    let rest = x - (shifted - double::ROUND);
    let high = rest * LN_2[0];
    let low = fma(rest, LN_2[1], fma(rest, LN_2[0], -high));
    // The rest is too small for its own scale, but at its ends, where it may have one.
    let parts = double::parts(high, low);
    let exponent = parts.exponent.wrapping_add(shifted.to_bits());
    let parts = double::Parts { exponent, ..parts };
    let scaled = parts.scaled(x.abs() < 1021.0);
    let scaled = choose(x >= 1024.0, f64::INFINITY, scaled);
    choose(x < -1076.0, 0.0, scaled)
}

/// C's `exp2f`: a polynomial of the rest of an argument without its integer.
#[unsafe(export_name = "schism.lib.exp2f")]
#[must_use]
pub extern "C" fn exp2f(x: f32) -> f32 {
    let shifted = x + single::ROUND;
    let rest = x - (shifted - single::ROUND);
    let high = rest * core::f32::consts::LN_2;
    let low = fmaf(rest, -1.904_654_3e-9, fmaf(rest, core::f32::consts::LN_2, -high));
    let parts = single::parts(high, low);
    let exponent = parts.exponent.wrapping_add(shifted.to_bits());
    let parts = single::Parts { exponent, ..parts };
    let scaled = parts.scaled(x.abs() < 125.0);
    let scaled = choose(x >= 128.0, f32::INFINITY, scaled);
    choose(x < -151.0, 0.0, scaled)
}

/// C's functions of one number.
macro_rules! export {
    ($($name:ident $single:ident: $function:ident;)*) => {$(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        #[unsafe(export_name = concat!("schism.lib.", stringify!($name)))]
        #[must_use]
        pub extern "C" fn $name(x: f64) -> f64 {
            double::$function(x)
        }

        #[doc = concat!("C's `", stringify!($single), "`.")]
        #[unsafe(export_name = concat!("schism.lib.", stringify!($single)))]
        #[must_use]
        pub extern "C" fn $single(x: f32) -> f32 {
            single::$function(x)
        }
    )*};
}

export! {
    expm1 expm1f: minus_one;
    sinh sinhf: sinh;
    cosh coshf: cosh;
    tanh tanhf: tanh;
}
