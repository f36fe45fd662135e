//! Conversions between 128-bit integers and floating-point numbers, like Rust's `as`: to the
//! nearest number, ties to even; and to integers, truncated and saturated, NaN to 0.
//!
//! They use integer operations only: a conversion in here would become a call of itself.

/// To `f64`, without the sign.
fn to_f64(x: u128) -> u64 {
    if x == 0 {
        return 0;
    }
    let zeros = x.leading_zeros();
    let x = x << zeros;
    let (mantissa, rest) = ((x >> 75) as u64, x << 53);
    let exponent = u64::from(127 - zeros) + 1023;
    (exponent << 52) + (mantissa - (1 << 52)) + up(mantissa, rest)
}

/// To `f32`, without the sign. The largest of all round to infinity.
fn to_f32(x: u128) -> u32 {
    if x == 0 {
        return 0;
    }
    let zeros = x.leading_zeros();
    let x = x << zeros;
    let (mantissa, rest) = ((x >> 104) as u32, x << 24);
    let exponent = 127 - zeros + 127;
    (exponent << 23) + (mantissa - (1 << 23)) + up(mantissa.into(), rest) as u32
}

/// Whether a mantissa is rounded up, depending on the bits behind it.
fn up(mantissa: u64, rest: u128) -> u64 {
    let half = 1 << 127;
    u64::from(rest > half || (rest == half && mantissa & 1 == 1))
}

/// The absolute value of a number as an integer, if it is below 2¹²⁸.
fn amount(x: f64) -> Option<u128> {
    let bits = x.to_bits() & !(1 << 63);
    let exponent = (bits >> 52) as u32;
    if exponent < 1023 {
        return Some(0);
    }
    let power = exponent - 1023;
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    match power {
        0..=52 => Some(mantissa >> (52 - power)),
        53..=127 => Some(mantissa << (power - 52)),
        _ => None,
    }
}

/// `x as f64`.
#[unsafe(export_name = "schism.lib.__floatuntidf")]
#[must_use]
pub extern "C" fn __floatuntidf(x: u128) -> f64 {
    f64::from_bits(to_f64(x))
}

/// `x as f64`.
#[unsafe(export_name = "schism.lib.__floattidf")]
#[must_use]
pub extern "C" fn __floattidf(x: i128) -> f64 {
    f64::from_bits(to_f64(x.unsigned_abs()) | u64::from(x < 0) << 63)
}

/// `x as f32`.
#[unsafe(export_name = "schism.lib.__floatuntisf")]
#[must_use]
pub extern "C" fn __floatuntisf(x: u128) -> f32 {
    f32::from_bits(to_f32(x))
}

/// `x as f32`.
#[unsafe(export_name = "schism.lib.__floattisf")]
#[must_use]
pub extern "C" fn __floattisf(x: i128) -> f32 {
    f32::from_bits(to_f32(x.unsigned_abs()) | u32::from(x < 0) << 31)
}

/// `x as u128`.
#[unsafe(export_name = "schism.lib.__fixunsdfti")]
#[must_use]
pub extern "C" fn __fixunsdfti(x: f64) -> u128 {
    if x.is_nan() || x < 0.0 {
        return 0;
    }
    amount(x).unwrap_or(u128::MAX)
}

/// `x as i128`.
#[unsafe(export_name = "schism.lib.__fixdfti")]
#[must_use]
pub extern "C" fn __fixdfti(x: f64) -> i128 {
    if x.is_nan() {
        return 0;
    }
    let (least, most) = (1 << 127, (1 << 127) - 1);
    let amount = amount(x);
    if x < 0.0 {
        0_i128.wrapping_sub_unsigned(amount.map_or(least, |amount| amount.min(least)))
    } else {
        amount.map_or(most, |amount| amount.min(most)) as i128
    }
}

/// `x as u128`.
#[unsafe(export_name = "schism.lib.__fixunssfti")]
#[must_use]
pub extern "C" fn __fixunssfti(x: f32) -> u128 {
    __fixunsdfti(x.into())
}

/// `x as i128`.
#[unsafe(export_name = "schism.lib.__fixsfti")]
#[must_use]
pub extern "C" fn __fixsfti(x: f32) -> i128 {
    __fixdfti(x.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_as() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut random = || rng.u64(..);
        let mut integers = [0, 1, u128::MAX, 1 << 127, (1 << 127) - 1, 1 << 126].to_vec();
        let mut floats =
            [0.0, -0.0, 0.5, -0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].to_vec();
        for bit in 20..128 {
            // Ties, and their neighbours.
            for more in [0, 1, 2, 3] {
                let tie = 1_u128 << bit | 1_u128 << (bit - 20) >> more;
                integers.extend([tie, tie - 1, tie + 1]);
            }
        }
        for _ in 0..20_000 {
            let wide = u128::from(random()) << 64 | u128::from(random());
            integers.push(wide >> (random() % 128));
            floats.push(f64::from_bits(random()));
            let sign = if random() % 2 == 0 { 1.0 } else { -1.0 };
            floats.push(sign * (random() as f64) * 2_f64.powi((random() % 80) as i32));
        }
        for x in integers {
            assert_eq!(__floatuntidf(x).to_bits(), (x as f64).to_bits(), "{x}");
            assert_eq!(__floatuntisf(x).to_bits(), (x as f32).to_bits(), "{x}");
            for x in [x as i128, (x as i128).wrapping_neg()] {
                assert_eq!(__floattidf(x).to_bits(), (x as f64).to_bits(), "{x}");
                assert_eq!(__floattisf(x).to_bits(), (x as f32).to_bits(), "{x}");
            }
        }
        for x in floats {
            assert_eq!(__fixunsdfti(x), x as u128, "{x}");
            assert_eq!(__fixdfti(x), x as i128, "{x}");
            let x = x as f32;
            assert_eq!(__fixunssfti(x), x as u128, "{x}");
            assert_eq!(__fixsfti(x), x as i128, "{x}");
        }
    }
}
