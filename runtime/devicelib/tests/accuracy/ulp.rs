//! Distances in units in the last place (ULP): in the distance between the two neighbouring numbers
//! around the truth. They are numbers, or infinite.

use crate::truth::{self, Big};

/// The error of a number of 64 bits, in units of the truth, or of `least` if that is larger.
pub fn double(found: f64, truth: &Big, least: f64) -> f64 {
    let rounded = truth::near(truth);
    if !found.is_finite() || !rounded.is_finite() {
        return if found == rounded { 0.0 } else { f64::INFINITY };
    }
    // Zero takes the unit of the numbers next to it, which is the smallest.
    let exponent = exponent(rounded).max(exponent(least)).max(f64::MIN_EXP - 1);
    let unit = exponent - (f64::MANTISSA_DIGITS as i32 - 1);
    let difference = truth::big(found) - truth;
    // The difference is small enough, and large enough, to be scaled in its own format.
    (difference * truth::power_of_two(-unit)).to_f64().value().abs()
}

/// The error of a number of 32 bits, against a truth that is rounded to 64.
pub fn single(found: f32, truth: f64, least: f64) -> f64 {
    let rounded = truth as f32;
    if !found.is_finite() || !rounded.is_finite() || rounded == 0.0 && truth == 0.0 {
        return same(f64::from(found), f64::from(rounded));
    }
    let exponent = exponent(truth).max(exponent(least)).max(f32::MIN_EXP - 1);
    let unit = exponent - (f32::MANTISSA_DIGITS as i32 - 1);
    ((f64::from(found) - truth) * 2.0_f64.powi(-unit)).abs()
}

/// The exponent of a finite number; that of zero is very small.
fn exponent(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    let stored = (bits >> 52) as i32;
    match (stored, bits) {
        (0, 0) => i32::MIN / 2,
        (0, bits) => -1011 - bits.leading_zeros() as i32,
        _ => stored - 1023,
    }
}

/// No error if the two are the same number, zeros with their signs; all NaNs are.
pub fn same(found: f64, right: f64) -> f64 {
    let same = found.to_bits() == right.to_bits() || (found.is_nan() && right.is_nan());
    if same { 0.0 } else { f64::INFINITY }
}

#[test]
fn distances() {
    let one = truth::big(1.0);
    assert_eq!(double(1.0, &one, 0.0), 0.0);
    assert_eq!(double(1.0 + f64::EPSILON, &one, 0.0), 1.0);
    assert_eq!(double(1.0 - f64::EPSILON, &one, 0.0), 1.0);
    assert_eq!(double(f64::INFINITY, &one, 0.0), f64::INFINITY);
    assert_eq!(double(f64::NAN, &one, 0.0), f64::INFINITY);
    let small = f64::from_bits(5);
    assert_eq!(double(f64::from_bits(3), &truth::big(small), 0.0), 2.0);
    assert_eq!(single(f32::from_bits(3), f64::from(f32::from_bits(5)), 0.0), 2.0);
    assert_eq!(single(1.0, 1.0 + f64::from(f32::EPSILON) / 4.0, 0.0), 0.25);
    assert_eq!(double(0.25 + f64::EPSILON, &truth::big(0.25), 1.0), 1.0);
    assert_eq!(exponent(small), -1072);
    assert_eq!((exponent(1.0), exponent(-0.75), exponent(f64::MIN_POSITIVE)), (0, -1, -1022));
}
