//! `exp` and `ln` of `f32`, for processors that run the same code for many elements at once.
//!
//! The crate `libm` divides in both, branches on the argument, and has a path for each kind of
//! argument. Here nearly all arguments take the same path, of fused multiply-adds (`fma`): an
//! argument is reduced to a short interval, in which a polynomial approximates the function. Only
//! results of `expf` that are subnormal, zero, infinite or NaN take a slow path, and arguments of
//! `logf` that are not positive normal numbers. See J.-M. Muller, *Elementary Functions*, chapters 3
//! (minimax polynomials) and 11 (range reduction).
//!
//! The coefficients are minimax in the relative error of the result, found by the Remez algorithm.
//! For 32 bits they were then adjusted by their last bits until the largest error of the rounded
//! results was least. Over all arguments, the error of `expf` is at most 0.890 ULP and that of
//! `logf` 0.941 ULP, compared with 64-bit results.

use core::f32::consts::{LN_2, LOG2_E};
use core::hint::select_unpredictable as choose;

use libm::fmaf;

/// Added to a number below 2^22, it rounds that to an integer, which is then in the lowest bits.
pub const ROUND: f32 = 12_582_912.0;

/// The logarithm of two in two parts: the first has trailing zeros, so that its product with an
/// exponent is exact.
const LN_2_HIGH: f32 = 0.693_145_75;
const LN_2_LOW: f32 = 1.428_606_8e-6;

/// Between this and its negative, the result of `expf` is a normal number.
const NORMAL: f32 = 87.0;

/// Marks a rarely taken path, which the compiler moves out of the common one.
#[cold]
pub fn rare() {}

/// A power of two; the lowest bits of `exponent` are the biased exponent of a normal number.
fn power(exponent: u32) -> f32 {
    f32::from_bits((exponent << 23).wrapping_add(1.0_f32.to_bits()))
}

/// A polynomial, from its highest coefficient to its lowest.
pub fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = fmaf(sum, x, *coefficient);
    }
    sum
}

/// C's `expf`: `e^x = 2^n e^r`, where `r` is between plus and minus half the logarithm of two.
#[unsafe(export_name = "schism.lib.expf")]
#[must_use]
pub extern "C" fn expf(x: f32) -> f32 {
    let shifted = fmaf(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    // The other bits of the rounded number are shifted out at the use.
    let exponent = shifted.to_bits();
    let r = fmaf(n, -LN_2_LOW, fmaf(n, -LN_2_HIGH, x));
    let value = polynomial(
        r,
        [0.001_381_454, 0.008_368_745, 0.041_668_307, 0.166_665_2, 0.499_999_94, 1.0, 1.0],
    );
    if x.abs() < NORMAL {
        // The result is a normal number: its exponent is the polynomial's and `n`.
        return f32::from_bits(value.to_bits().wrapping_add(exponent << 23));
    }
    rare();
    // In two steps, each with a normal number: the first result is exact, the second is rounded
    // once where it is subnormal.
    let half = exponent >> 1;
    let scaled = value * power(half) * power(exponent.wrapping_sub(half));
    // Beyond these bounds, the computation above is meaningless. A NaN is within neither, and has
    // made the result NaN.
    let scaled = choose(x > 89.0, f32::INFINITY, scaled);
    choose(x < -104.0, 0.0, scaled)
}

/// One in the exponent's bits.
const EXPONENT: f32 = 8_388_608.0;

/// C's `logf`: `ln x = e ln 2 + ln (1 + f)`, where `1 + f` is between 2/3 and 4/3.
#[unsafe(export_name = "schism.lib.logf")]
#[must_use]
pub extern "C" fn logf(x: f32) -> f32 {
    const NORMAL: u32 = f32::INFINITY.to_bits() - f32::MIN_POSITIVE.to_bits();
    if x.to_bits().wrapping_sub(f32::MIN_POSITIVE.to_bits()) < NORMAL {
        return logarithm(x, 0.0);
    }
    rare();
    // Subnormal, or zero, whose logarithm is the lowest.
    let logarithm = logarithm(x * EXPONENT, 23.0 * EXPONENT);
    let logarithm = choose(x == 0.0, f32::NEG_INFINITY, logarithm);
    // Infinity and NaN stay as they are, and negative numbers become NaN.
    let is_finite = (0.0..f32::INFINITY).contains(&x);
    choose(is_finite, logarithm, fmaf(x, f32::INFINITY, f32::INFINITY))
}

/// The logarithm of a positive normal number, divided by the power of two whose exponent is
/// `power / EXPONENT`.
#[inline(always)]
fn logarithm(x: f32, power: f32) -> f32 {
    const TWO_THIRDS: u32 = 0x3F2A_AAAB;
    let bits = x.to_bits();
    // The bits above 2/3 in the exponent.
    let above = bits.wrapping_sub(TWO_THIRDS) & 0xFF80_0000;
    let exponent = above.cast_signed() as f32 - power;
    let f = f32::from_bits(bits.wrapping_sub(above)) - 1.0;
    // Estrin's scheme (D. Knuth, *The Art of Computer Programming* 2, 4.6.4): sums of two terms do not
    // wait for each other.
    let square = f * f;
    let highest = fmaf(-0.133_113_47, square, fmaf(0.140_058_06, f, -0.120_788_87));
    let high = fmaf(highest, square, fmaf(0.139_998_75, f, -0.166_898_25));
    let low = fmaf(fmaf(0.200_107_3, f, -0.249_995_07), square, fmaf(0.333_332_24, f, -0.5));
    let quotient = fmaf(high, square * square, low);
    fmaf(exponent, LN_2 / EXPONENT, fmaf(square, quotient, f))
}
