//! `sin`, `cos` and `tan` of `f32`, without 64-bit floating point and nearly without branches.
//!
//! The crate `libm` computes in `f64`, which is slow on most GPUs, and reduces large angles with
//! loops over an array on the stack. Here an angle is reduced to `r` between plus and minus `π/4`,
//! and a quadrant, in one of two ways:
//!
//! * Angles below [`NEAR`]: the nearest multiple of `π/2` is subtracted, in three parts (W. J. Cody
//!   and W. Waite, *Software Manual for the Elementary Functions*, 1980). The rounding error is
//!   kept, as a second number.
//! * Larger ones are integers times powers of two. The integer is multiplied by the 96 relevant
//!   bits of `2/π`: of the product, bits above are full rotations, and bits below are too small.
//!   The two highest bits are the quadrant, the others a fraction of it (M. H. Payne and R. N.
//!   Hanek, *Radian reduction for trigonometric functions*, SIGNUM Newsletter 18, 1983).
//!
//! Sine and cosine of `r` are both computed, since that costs less than selecting the coefficients,
//! and the quadrant selects the result. See also J.-M. Muller, *Elementary Functions*, chapters 3
//! (minimax polynomials) and 11 (range reduction). The polynomials are minimax in the relative
//! error of the result, found by the Remez algorithm for angles up to `1.01 π/4`: where the
//! quotient is large, the multiple that is subtracted is not always the nearest.
//!
//! Zero keeps its sign: a positive zero is always subtracted from it. That is why lower parts are
//! stored negated.
//!
//! Over all arguments, the error of `sinf` is at most 0.794, of `cosf` 0.796 and of `tanf` 1.059
//! ULP, compared with 64-bit results.

use core::f32::consts::FRAC_2_PI;
use core::hint::select_unpredictable as choose;

use libm::fmaf;

use crate::elementary::{ROUND, polynomial, rare};

/// Angles below this are reduced by subtraction: the quotient has at most 17 bits.
const NEAR: f32 = 131_072.0;

/// `π/2` in three parts of up to 24 bits, each rounded down.
const HALF_PI: [f32; 3] = [f32::from_bits(0x3FC9_0FDA), 7.549_789_4e-8, 5.390_302_5e-15];

/// The bits of `2/π`, after a word of zeros. No angle needs the last three words: they keep any
/// index of three bits in bounds.
const TWO_OVER_PI: [u32; 11] = [
    0,
    0xA2F9_836E,
    0x4E44_1529,
    0xFC27_57D1,
    0xF534_DDC0,
    0xDB62_9599,
    0x3C43_9041,
    0xFE51_63AB,
    0,
    0,
    0,
];

/// An angle minus the nearest multiple of `π/2`.
struct Reduced {
    /// The multiple; only the two lowest bits are meaningful.
    quadrant: u32,
    /// The rest.
    high: f32,
    /// The amount to subtract from it: less than its last place or, where it is tiny, a part of it.
    minus_low: f32,
}

/// Reduces any angle. For infinities and NaN the rest is NaN.
fn reduce(x: f32) -> Reduced {
    if x.abs() < NEAR {
        return subtract(x);
    }
    rare();
    multiply(x)
}

/// Reduces an angle below [`NEAR`].
fn subtract(x: f32) -> Reduced {
    let shifted = fmaf(x, FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    // Exact: it is the angle, or a multiple of 2^-24 below 1.
    let first = fmaf(n, -HALF_PI[0], x);
    // The second product in two parts, and the rounding error of the difference: all of this is
    // exact, too. Of the third product only a part is needed.
    let product = n * HALF_PI[1];
    let high = first - product;
    let lost = (high - first) + product;
    let below = fmaf(n, HALF_PI[2], fmaf(n, HALF_PI[1], -product));
    Reduced { quadrant: shifted.to_bits(), high, minus_low: lost + below }
}

/// Reduces an angle that is not below [`NEAR`].
fn multiply(x: f32) -> Reduced {
    /// `π/2`, in units of the last of 63 bits, in two parts.
    const UNIT: [f32; 2] = [1.703_060_8e-19, -4.739_198_2e-27];

    let bits = x.to_bits();
    let whole = u64::from(bits & 0x007F_FFFF | 0x0080_0000);
    // The integer is shifted by the exponent minus 150; bits of 2/π above 4 are not needed. There
    // are 32 zeros before the first.
    let skipped = (bits >> 23 & 0xFF).wrapping_sub(150 + 2 - 32);
    let first = (skipped >> 5 & 7) as usize;
    let shift = skipped & 31;
    let word = |index: usize| {
        let (high, low) = (TWO_OVER_PI[first + index], TWO_OVER_PI[first + index + 1]);
        u64::from(high << shift | low >> 1 >> (shift ^ 31))
    };
    let product = ((whole * word(0)) << 32)
        .wrapping_add(whole * word(1))
        .wrapping_add((whole * word(2)) >> 32);
    let product = choose(x < 0.0, product.wrapping_neg(), product);
    let quadrant = ((product >> 32) as u32).wrapping_add(1 << 29) >> 30;
    // Between plus and minus 2^62.
    let fraction = (product << 2).cast_signed() >> 1;
    let leading = fraction as f32;
    // SAFETY: the number is finite, and an integer between plus and minus 2^62, so it fits in
    // `i64`.
    let trailing = fraction - unsafe { leading.to_int_unchecked::<i64>() };
    let most = leading * UNIT[0];
    let rest = fmaf(leading, UNIT[0], -most);
    let rest = fmaf(leading, UNIT[1], fmaf(trailing as f32, UNIT[0], rest));
    // For infinities this is NaN.
    let most = fmaf(x, 0.0, most);
    let high = most + rest;
    Reduced { quadrant, high, minus_low: (high - most) - rest }
}

/// The sine or the cosine of the rest, in a quadrant of the sine.
fn sine_in(quadrant: u32, high: f32, minus_low: f32) -> f32 {
    let square = high * high;
    // The derivative of the cube times a small part is three times it.
    let cube = square * fmaf(minus_low, -3.0, high);
    let sine = polynomial(square, [0.000_195_087_42, -0.008_332_113, 0.166_666_54]);
    let sine = high - fmaf(cube, sine, minus_low);
    let cosine = polynomial(square, [2.442_568_2e-5, -0.001_388_725_2, 0.041_666_646]);
    let cosine = fmaf(high, fmaf(high, -0.5, fmaf(cube, cosine, minus_low)), 1.0);
    let value = choose(quadrant & 1 == 0, sine, cosine);
    f32::from_bits(value.to_bits() ^ (quadrant << 30 & 0x8000_0000))
}

/// C's `sinf`.
#[unsafe(export_name = "schism.lib.sinf")]
#[must_use]
pub extern "C" fn sinf(x: f32) -> f32 {
    let Reduced { quadrant, high, minus_low } = reduce(x);
    sine_in(quadrant, high, minus_low)
}

/// C's `cosf`.
#[unsafe(export_name = "schism.lib.cosf")]
#[must_use]
pub extern "C" fn cosf(x: f32) -> f32 {
    let Reduced { quadrant, high, minus_low } = reduce(x);
    sine_in(quadrant.wrapping_add(1), high, minus_low)
}

/// C's `tanf`: a polynomial, or in every other quadrant the negative of its reciprocal.
#[unsafe(export_name = "schism.lib.tanf")]
#[must_use]
pub extern "C" fn tanf(x: f32) -> f32 {
    let Reduced { quadrant, high, minus_low } = reduce(x);
    let square = high * high;
    let cube = square * high;
    let sum = polynomial(
        square,
        [
            0.004_287_825_4,
            0.000_321_551_05,
            0.010_600_097,
            0.021_399_958,
            0.054_029_852,
            0.133_330_26,
        ],
    );
    // The slope is one plus the square of the tangent; an approximation suffices for the lower
    // part.
    let slope = fmaf(square, 1.5, 1.0);
    let sum = fmaf(cube * -square, sum, slope * minus_low);
    let sum = fmaf(cube, -1.0 / 3.0, sum);
    let tangent = high - sum;
    let minus_low = (tangent - high) + sum;
    let odd = quadrant & 1 != 0;
    // For zero this is infinite, and not used.
    let reciprocal = 1.0 / tangent;
    // The difference between one and the reciprocal times the tangent.
    let lacks = fmaf(minus_low, reciprocal, fmaf(-tangent, reciprocal, 1.0));
    let value = choose(odd, fmaf(reciprocal, lacks, reciprocal), tangent);
    f32::from_bits(value.to_bits() ^ (quadrant << 31))
}
