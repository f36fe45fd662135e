//! `ln` of `f64`, for processors that run the same code for many elements at once: as in
//! [`elementary`](crate::elementary), with a longer polynomial.

use core::hint::select_unpredictable as choose;

use crate::elementary::rare;
use crate::exponential::double::polynomial;

/// C's `log`: `ln x = k ln 2 + ln (1 + f)`, where `1 + f` is between 2^-1/2 and 2^1/2, and with
/// `s = f / (2 + f)` the latter is `f - f²/2 + s (f²/2 + s² R(s²))`.
#[unsafe(export_name = "schism.lib.log")]
#[must_use]
pub extern "C" fn log(x: f64) -> f64 {
    const SQRT_HALF: u64 = core::f64::consts::FRAC_1_SQRT_2.to_bits();
    const MANTISSA: u64 = (1 << 52) - 1;
    /// The first part has trailing zeros, so that its product with an exponent is exact.
    const LN_2: [f64; 2] = [0.693_147_180_559_663, 2.823_529_056_303_157_7e-13];

    // Subnormal, zero or below zero.
    let (number, down) = if x < f64::MIN_POSITIVE {
        rare();
        (x * 18_014_398_509_481_984.0, -54.0)
    } else {
        (x, 0.0)
    };
    let bits = number.to_bits();
    // Above 2^-1/2, in the bits of the exponent.
    let above = bits.wrapping_sub(SQRT_HALF) & !MANTISSA;
    let k = (((above >> 32) as u32).cast_signed() >> 20) as f64 + down;
    let f = f64::from_bits(bits.wrapping_sub(above)) - 1.0;
    let s = f / (f + 2.0);
    let z = s * s;
    let quotient = polynomial(
        z,
        [
            0.146_191_647_771_864_2,
            0.153_315_017_212_074_2,
            0.181_828_957_468_014_28,
            0.222_222_110_438_224_87,
            0.285_714_286_265_333_35,
            0.399_999_999_998_982_7,
            0.666_666_666_666_667,
        ],
    );
    let half = 0.5 * f * f;
    let below = s * (half + z * quotient) + k * LN_2[1];
    let logarithm = k * LN_2[0] - ((half - below) - f);
    let logarithm = choose(x < f64::INFINITY, logarithm, x);
    let logarithm = choose(x == 0.0, f64::NEG_INFINITY, logarithm);
    choose(x < 0.0, f64::NAN, logarithm)
}
