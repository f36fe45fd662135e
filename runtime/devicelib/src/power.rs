//! `pow`, and logarithms of `f64`, for processors that run the same code for many elements at once: no tables, and one path
//! for nearly all arguments.
//!
//! `x^y = e^(y ln x)`, where the logarithm and its product with `y` are kept in two numbers each,
//! since the error of the exponent is that of the result. With `x = 2^k m`, where `m` is between
//! 2^-1/2 and 2^1/2, and `s = (m - 1) / (m + 1)`, it is `ln m = 2 s + s³ (2/3 + s² T(s²))`; the
//! polynomial `T` is nearly minimax. See J.-M. Muller, *Elementary Functions*, chapters 2 (sums
//! and products in two numbers) and 11.

use core::hint::select_unpredictable as choose;

use libm::{fma, fmaf, trunc, truncf};

use crate::elementary::rare;
use crate::exponential::{double, single};

/// The logarithm of `2^k` times a number, in the parts of which it is the sum: the logarithm of the
/// number in two numbers, and `k` times the logarithm of two.
struct Logarithm<F> {
    k: F,
    m: F,
    m_low: F,
}

/// The function for one type of numbers. Of the logarithm of two, the first part has trailing
/// zeros, so that its product with an exponent is exact. Exponents of the results are limited to
/// `$limit`, beyond which they are infinite or zero, and up to `$normal` results are normal.
macro_rules! power {
    ($name:ident, $log:ident, $symbol:literal, $float:ident, $bits:ident, $exp:ident, $fma:ident, $trunc:ident, $mantissa:expr,
     $ln_2:expr, $two_thirds:expr, $series:expr, $limit:expr, $normal:expr) => {
        /// Of a finite number above zero; for others, it is meaningless.
        fn $log(size: $float) -> Logarithm<$float> {
            const SQRT_HALF: $bits = core::$float::consts::FRAC_1_SQRT_2.to_bits();
            const MANTISSA: $bits = (1 << $mantissa) - 1;
            /// Makes normal numbers of subnormal ones.
            const UP: $float = (1_u64 << ($mantissa + 1)) as $float;

            let (number, down) = if size < $float::MIN_POSITIVE {
                rare();
                (size * UP, -(($mantissa + 1) as $float))
            } else {
                (size, 0.0)
            };
            let bits = number.to_bits();
            // Above 2^-1/2, in the bits of the exponent. Its upper half suffices.
            let above = bits.wrapping_sub(SQRT_HALF) & !MANTISSA;
            let upper = (above >> ($bits::BITS - 32)) as u32;
            let k = (upper.cast_signed() >> ($mantissa + 32 - $bits::BITS)) as $float + down;
            let f = $float::from_bits(bits.wrapping_sub(above)) - 1.0;

            // s, in two numbers.
            let d = f + 2.0;
            let d_low = f - (d - 2.0);
            let reciprocal = 1.0 / d;
            let s = f * reciprocal;
            let s_low = ($fma(-s, d, f) - s * d_low) * reciprocal;
            // Its square, and the factor of its cube.
            let z = s * s;
            let z_low = $fma(s, s, -z) + 2.0 * s * s_low;
            let more = z * $exp::polynomial(z, $series);
            let w = $two_thirds[0] + more;
            let w_low = (($two_thirds[0] - w) + more) + $two_thirds[1];
            let cube = s * z;
            let cube_low = $fma(s, z, -cube) + (s * z_low + s_low * z);
            let product = cube * w;
            let product_low = $fma(cube, w, -product) + (cube * w_low + cube_low * w);
            // The logarithm of m.
            let m = 2.0 * s + product;
            let m_low = ((2.0 * s - m) + product) + (product_low + 2.0 * s_low);
            Logarithm { k, m, m_low }
        }

        #[doc = concat!("C's `", $symbol, "`.")]
        #[unsafe(export_name = concat!("schism.lib.", $symbol))]
        #[must_use]
        pub extern "C" fn $name(x: $float, y: $float) -> $float {
            const INFINITY: $float = $float::INFINITY;

            let size = x.abs();
            let Logarithm { k, m, m_low } = $log(size);
            let of_k = k * $ln_2[0];
            let sum = of_k + m;
            let rest = ((of_k - sum) + m) + $fma(k, $ln_2[1], m_low);
            let log = sum + rest;
            let log_low = (sum - log) + rest;
            let log = choose(size < INFINITY, log, size);
            let log = choose(size == 0.0, -INFINITY, log);

            // The exponent. If it is too large, or there is none, it needs no second number.
            let exponent = y * log;
            let is_small = exponent.abs() < $limit;
            let low = choose(is_small, $fma(y, log, -exponent) + y * log_low, 0.0);
            let exponent = choose(exponent > $limit, $limit, exponent);
            let exponent = choose(exponent < -$limit, -$limit, exponent);
            let value = $exp::parts(exponent, low).scaled(exponent.abs() < $normal);

            // What C says of zeros, infinities and numbers below zero. No number is one number's
            // power but one's, and the zeroth power of all is one.
            let is_integer = $trunc(y) == y;
            let is_odd = is_integer && $trunc(y * 0.5) != y * 0.5;
            let sign = choose(is_odd, x.to_bits() & !(!0 >> 1), 0);
            let value = $float::from_bits(value.to_bits() ^ sign);
            let value = choose(x < 0.0 && size < INFINITY && !is_integer, $float::NAN, value);
            let is_one = y == 0.0 || x == 1.0 || (size == 1.0 && y.abs() == INFINITY);
            choose(is_one, 1.0, value)
        }
    };
}

power!(
    pow,
    logarithm,
    "pow",
    f64,
    u64,
    double,
    fma,
    trunc,
    52,
    [0.693_147_180_559_663_f64, 2.823_529_056_303_157_7e-13],
    [0.666_666_666_666_666_6_f64, 3.700_743_415_417_188e-17],
    [
        0.107_649_518_047_945_95,
        0.104_560_481_073_127_56,
        0.117_668_255_912_037_43,
        0.133_332_962_458_783_84,
        0.153_846_157_648_468_43,
        0.181_818_181_796_316_65,
        0.222_222_222_222_285_13,
        0.285_714_285_714_285_64,
        0.4,
    ],
    800.0,
    708.0
);

power!(
    powf,
    logarithm_single,
    "powf",
    f32,
    u32,
    single,
    fmaf,
    truncf,
    23,
    [0.693_145_75_f32, 1.428_606_8e-6],
    [0.666_666_7_f32, -1.986_821_6e-8],
    [0.191_223_02, 0.222_046_94, 0.285_715_3, 0.4],
    120.0,
    87.0
);

/// A logarithm to a base, by the reciprocal of the base's natural logarithm and the base's logarithm
/// of two, in two numbers each. Of the latter the first has trailing zeros, so that its product with
/// an exponent is exact.
fn to_base(x: f64, reciprocal: [f64; 2], of_two: [f64; 2]) -> f64 {
    let Logarithm { k, m, m_low } = logarithm(x);
    let product = m * reciprocal[0];
    let low = fma(m, reciprocal[0], -product) + fma(m, reciprocal[1], m_low * reciprocal[0]);
    let whole = k * of_two[0];
    let sum = whole + product;
    let logarithm = sum + (((whole - sum) + product) + fma(k, of_two[1], low));
    let logarithm = choose(x < f64::INFINITY, logarithm, x);
    let logarithm = choose(x == 0.0, f64::NEG_INFINITY, logarithm);
    choose(x < 0.0, f64::NAN, logarithm)
}

/// What the reciprocals of logarithms are above their first numbers.
const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
const LOG10_E_LOW: f64 = 1.098319650216765e-17;

/// The decimal logarithm of two.
const LOG10_2: [f64; 2] = [0.30102999566361177, 3.694239077158931e-13];

/// C's `log2`.
#[unsafe(export_name = "schism.lib.log2")]
#[must_use]
pub extern "C" fn log2(x: f64) -> f64 {
    to_base(x, [core::f64::consts::LOG2_E, LOG2_E_LOW], [1.0, 0.0])
}

/// C's `log10`.
#[unsafe(export_name = "schism.lib.log10")]
#[must_use]
pub extern "C" fn log10(x: f64) -> f64 {
    to_base(x, [core::f64::consts::LOG10_E, LOG10_E_LOW], LOG10_2)
}
