//! `sin`, `cos` and `tan` of `f64`, nearly without branches. See [`trigonometry`](super::trigonometry),
//! whose functions of `f32` these are, with longer polynomials.
//!
//! Angles below [`NEAR`] are reduced by subtraction. Few programs have larger ones, and these are left
//! to the crate `libm`, which reduces them with loops over arrays: in functions of their own, which
//! keep that code out of the way of others.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2};
use core::hint::select_unpredictable as choose;

use libm::fma;

use crate::exponential::double::{ROUND, polynomial};

/// Angles below this are reduced by subtraction: the quotient has at most 27 bits.
const NEAR: f64 = 134_217_728.0;

/// `π/2` in three parts of 53 bits, each rounded down.
const HALF_PI: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_765e-17, 1.082_856_673_921_914e-32];

/// An angle minus the nearest multiple of `π/2`.
struct Reduced {
    /// The multiple; only the two lowest bits are meaningful.
    quadrant: u64,
    /// The rest.
    high: f64,
    /// The amount to subtract from it.
    minus_low: f64,
}

/// Reduces an angle below [`NEAR`].
fn reduce(x: f64) -> Reduced {
    let shifted = fma(x, FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    // Exact: it is the angle, or a multiple of 2^-53 below 1.
    let first = fma(n, -HALF_PI[0], x);
    let product = n * HALF_PI[1];
    let high = first - product;
    let lost = (high - first) + product;
    let below = fma(n, HALF_PI[2], fma(n, HALF_PI[1], -product));
    Reduced { quadrant: shifted.to_bits(), high, minus_low: lost + below }
}

/// The sine or the cosine of the rest, in a quadrant of the sine.
fn sine_in(quadrant: u64, high: f64, minus_low: f64) -> f64 {
    let square = high * high;
    let cube = square * fma(minus_low, -3.0, high);
    let sine = polynomial(
        square,
        [
            7.585_486_485_235_938e-13,
            -1.605_851_087_531_919_5e-10,
            2.505_210_610_025_599e-8,
            -2.755_731_921_895_476_2e-6,
            0.000_198_412_698_412_645_67,
            -0.008_333_333_333_333_331,
            0.166_666_666_666_666_66,
        ],
    );
    let sine = high - fma(cube, sine, minus_low);
    let cosine = polynomial(
        square,
        [
            -1.138_086_817_144_991_4e-11,
            2.087_612_153_460_845_4e-9,
            -2.755_731_715_185_189e-7,
            2.480_158_729_853_226e-5,
            -0.001_388_888_888_888_724_1,
            0.041_666_666_666_666_664,
        ],
    );
    let cosine = fma(high, fma(high, -0.5, fma(cube, cosine, minus_low)), 1.0);
    let value = choose(quadrant & 1 == 0, sine, cosine);
    f64::from_bits(value.to_bits() ^ (quadrant << 62 & 1 << 63))
}

/// The functions of large angles.
macro_rules! large {
    ($($name:ident: $function:ident;)*) => {$(
        #[cold]
        #[inline(never)]
        fn $name(x: f64) -> f64 {
            libm::$function(x)
        }
    )*};
}

large! {
    large_sin: sin;
    large_cos: cos;
    large_tan: tan;
}

/// C's `sin`.
#[unsafe(export_name = "schism.lib.sin")]
#[must_use]
pub extern "C" fn sin(x: f64) -> f64 {
    if x.abs() < NEAR {
        let Reduced { quadrant, high, minus_low } = reduce(x);
        return sine_in(quadrant, high, minus_low);
    }
    large_sin(x)
}

/// C's `cos`.
#[unsafe(export_name = "schism.lib.cos")]
#[must_use]
pub extern "C" fn cos(x: f64) -> f64 {
    if x.abs() < NEAR {
        let Reduced { quadrant, high, minus_low } = reduce(x);
        return sine_in(quadrant.wrapping_add(1), high, minus_low);
    }
    large_cos(x)
}

/// C's `tan`: a polynomial, or in every other quadrant the negative of its reciprocal.
#[unsafe(export_name = "schism.lib.tan")]
#[must_use]
pub extern "C" fn tan(x: f64) -> f64 {
    if x.abs() >= NEAR || x.is_nan() {
        return large_tan(x);
    }
    let Reduced { quadrant, high, minus_low } = reduce(x);
    let square = high * high;
    let cube = square * high;
    let sum = polynomial(
        square,
        [
            3.602_747_336_508_397e-6,
            -8.113_265_018_934_098e-6,
            1.609_018_840_573_512_2e-5,
            -5.882_242_367_548_275e-6,
            2.354_651_653_206_315_2e-5,
            3.596_941_169_504_141_4e-5,
            9.793_748_728_975_947e-5,
            0.000_238_904_377_062_072_63,
            0.000_590_062_134_365_768_5,
            0.001_455_830_732_621_011_4,
            0.003_592_128_286_832_878,
            0.008_863_235_519_614_87,
            0.021_869_488_536_376_04,
            0.053_968_253_968_252_104,
            0.133_333_333_333_333_33,
        ],
    );
    // The slope is one plus the square of the tangent; an approximation suffices for the lower
    // part.
    let slope = fma(square, 1.5, 1.0);
    let sum = fma(cube * -square, sum, slope * minus_low);
    let sum = fma(cube, -1.0 / 3.0, sum);
    let tangent = high - sum;
    let minus_low = (tangent - high) + sum;
    let odd = quadrant & 1 != 0;
    // For zero this is infinite, and not used.
    let reciprocal = 1.0 / tangent;
    // The difference between one and the reciprocal times the tangent.
    let lacks = fma(minus_low, reciprocal, fma(-tangent, reciprocal, 1.0));
    let value = choose(odd, fma(reciprocal, lacks, reciprocal), tangent);
    f64::from_bits(value.to_bits() ^ (quadrant << 63))
}
