//! The remainder of a division, `%` of Rust's floating-point numbers: exact, in few instructions.
//!
//! A number is an integer `m` times a power of two, and so is its remainder by another one. With `x
//! = m·2^e` and `y = d·2^f`, `e ≥ f`, the remainder is `(m·2^(e−f) mod d)·2^f`. The product has as
//! many bits as the exponents differ, so it is reduced step by step: a step handles as many bits of
//! `e − f` as a register has free. Numbers whose quotient is less than 256, or 2048 for `f64`, need
//! one step. Nothing is rounded: the remainder is below `d`, which has as many bits as a number.

use core::num::{NonZeroU32, NonZeroU64};
use core::ops::{Rem, Shl};

/// The remainder of an integer times `2^apart`, in steps of up to `free` bits, as many as the type
/// has beyond the modulus.
fn reduce<T, M>(mut rest: T, modulus: M, mut apart: u32, free: u32) -> T
where
    T: Shl<u32, Output = T> + Rem<M, Output = T>,
    M: Copy,
{
    loop {
        let step = apart.min(free);
        rest = (rest << step) % modulus;
        apart -= step;
        if apart == 0 {
            return rest;
        }
    }
}

/// C's `fmodf`.
#[unsafe(export_name = "schism.lib.fmodf")]
#[must_use]
pub extern "C" fn fmodf(x: f32, y: f32) -> f32 {
    /// Bits of the fraction.
    const FRACTION: u32 = 23;
    const INFINITE: u32 = 0xff << FRACTION;
    /// Bits that a register has beyond the integer's.
    const FREE: u32 = u32::BITS - (FRACTION + 1);

    /// The integer, and the biased exponent.
    const fn split(bits: u32) -> (u32, u32) {
        let exponent = bits >> FRACTION;
        let fraction = bits & !INFINITE;
        // Subnormal numbers have the same unit as the smallest normal ones.
        if exponent == 0 { (fraction, 1) } else { (fraction | 1 << FRACTION, exponent) }
    }

    let sign = x.to_bits() & 1 << 31;
    let (dividend, divisor) = (x.abs().to_bits(), y.abs().to_bits());
    if dividend < divisor && divisor <= INFINITE {
        return x;
    }
    let (whole, from) = split(dividend);
    let (modulus, unit) = split(divisor);
    let Some(modulus) =
        NonZeroU32::new(modulus).filter(|_| dividend < INFINITE && divisor < INFINITE)
    else {
        return f32::NAN;
    };
    let rest = reduce(whole, modulus, from - unit, FREE);
    // Both factors are normal numbers, and the product is exact: a multiple of the smallest number,
    // with no more bits than `y`.
    let value = rest as f32 * (1.0 / (1 << FRACTION) as f32) * f32::from_bits(unit << FRACTION);
    f32::from_bits(value.to_bits() | sign)
}

/// C's `fmod`.
#[unsafe(export_name = "schism.lib.fmod")]
#[must_use]
pub extern "C" fn fmod(x: f64, y: f64) -> f64 {
    /// As for [`fmodf`].
    const FRACTION: u32 = 52;
    const INFINITE: u64 = 0x7ff << FRACTION;
    const FREE: u32 = u64::BITS - (FRACTION + 1);

    const fn split(bits: u64) -> (u64, u32) {
        let exponent = (bits >> FRACTION) as u32;
        let fraction = bits & !INFINITE;
        if exponent == 0 { (fraction, 1) } else { (fraction | 1 << FRACTION, exponent) }
    }

    let sign = x.to_bits() & 1 << 63;
    let (dividend, divisor) = (x.abs().to_bits(), y.abs().to_bits());
    if dividend < divisor && divisor <= INFINITE {
        return x;
    }
    let (whole, from) = split(dividend);
    let (modulus, unit) = split(divisor);
    let Some(modulus) =
        NonZeroU64::new(modulus).filter(|_| dividend < INFINITE && divisor < INFINITE)
    else {
        return f64::NAN;
    };
    let rest = reduce(whole, modulus, from - unit, FREE);
    let scale = f64::from_bits(u64::from(unit) << FRACTION);
    let value = rest as f64 * (1.0 / (1_u64 << FRACTION) as f64) * scale;
    f64::from_bits(value.to_bits() | sign)
}
