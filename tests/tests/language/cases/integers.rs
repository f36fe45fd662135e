//! Integers.

use super::{Case, agrees, case};

pub const CASES: &[Case] = &[
    case("`u8` to `u64`, `i8` to `i64`, `usize`, `isize`: arithmetic, bits, shifts", widths),
    case("`u128` and `i128`", wide),
    case("wrapping arithmetic", wrapping),
    case("checked arithmetic", checked),
    case("saturating arithmetic", saturating),
    case("overflowing and carrying arithmetic", overflowing),
    case("division and remainder, also Euclidean, `div_ceil`, `next_multiple_of`", division),
    case("bits: counts, rotations, reversal, swaps of bytes", bits),
    case("powers, roots, logarithms", powers),
    case("conversions with `as`, `From`, `TryFrom`", conversions),
    case("`Wrapping`, `Saturating`, `NonZero`", wrappers),
    case("`abs_diff`, `signum`, `midpoint`, `is_power_of_two`, `next_power_of_two`", rest),
];

/// Operations on one type, folded into one number.
macro_rules! mixed {
    ($input:ident, $($type:ty)*) => {($({
        let (a, b) = ($input.bits() as $type, $input.bits() as $type | 1);
        let shift = $input.bits() as u32 % <$type>::BITS;
        let sum = a.wrapping_add(b) ^ a.wrapping_mul(b).wrapping_sub(b & !a);
        sum ^ (a << shift) ^ (b >> shift) ^ a.wrapping_div(b) ^ a.wrapping_rem(b) ^ (a | b)
    },)*)};
}

fn widths() {
    agrees(|mut input| mixed!(input, u8 u16 u32 u64 usize i8 i16 i32 i64 isize));
}

fn wide() {
    agrees(|mut input| {
        let (a, b) = mixed!(input, u128 i128);
        let x = (u128::from(input.bits()) << 64 | u128::from(input.bits())).rotate_left(17);
        let y = x as i128 / (1_i128 << 70 | 12345);
        (a, b, x % 1_000_000_007, y, (x as f64, y as f32, (x >> 3).leading_zeros()))
    });
}

fn wrapping() {
    agrees(|mut input| {
        let (a, b) = (input.bits() as i32, input.bits() as i32);
        (
            (a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(b), a.wrapping_neg()),
            (a.wrapping_shl(b as u32), a.wrapping_shr(b as u32), a.wrapping_abs()),
            (i32::MIN.wrapping_div(if a % 2 == 0 { -1 } else { 3 }), a.wrapping_pow(b as u32 % 9)),
            (a as u32).wrapping_add_signed(b),
        )
    });
}

fn checked() {
    agrees(|mut input| {
        let (a, b) = (input.bits() as i16, input.bits() as i16 % 200);
        (
            (a.checked_add(b), a.checked_sub(b), a.checked_mul(b), a.checked_div(b % 3)),
            (a.checked_rem(b % 3), a.checked_neg(), a.checked_shl(b as u32 % 20), b.checked_pow(2)),
            ((a as u16).checked_next_power_of_two(), (a as u16).checked_add_signed(b)),
            (a.checked_ilog2(), i16::MIN.checked_abs(), a.checked_rem_euclid(b)),
        )
    });
}

fn saturating() {
    agrees(|mut input| {
        let (a, b) = (input.bits() as i8, input.bits() as i8);
        let (c, d) = (input.bits(), input.bits());
        (
            (a.saturating_add(b), a.saturating_sub(b), a.saturating_mul(b), a.saturating_neg()),
            (a as u8).saturating_sub(b as u8),
            (c.saturating_mul(d >> 60), c.saturating_add(d), (c as i64).saturating_sub(d as i64)),
            (i128::from(c) << 60).saturating_mul(i128::from(d)),
        )
    });
}

fn overflowing() {
    agrees(|mut input| {
        let (a, b) = (input.bits(), input.bits());
        (
            (a.overflowing_add(b), a.overflowing_sub(b), a.overflowing_mul(b)),
            ((a as i8).overflowing_neg(), (a as i64).overflowing_add(b as i64)),
            (a as u8).overflowing_shl(b as u32),
            (u128::from(a) << 70).overflowing_mul(u128::from(b)),
            a.carrying_add(b, a % 2 == 0),
        )
    });
}

fn division() {
    agrees(|mut input| {
        let (a, b) = (input.bits() as i64, (input.bits() as i64 >> input.below(64)) | 1);
        let (c, d) = (a as u32, b as u32 % 100 + 1);
        (
            (
                a.wrapping_div(b),
                a.wrapping_rem(b),
                a.wrapping_div_euclid(b),
                a.wrapping_rem_euclid(b),
            ),
            (c / d, c % d, c.div_ceil(d), (c / 3).next_multiple_of(d), c.is_multiple_of(d)),
            (a / 7, a % -10, c / 1000, (a as u8) / 3),
        )
    });
}

fn bits() {
    agrees(|mut input| {
        let x = input.bits();
        let n = input.below(64) as u32;
        (
            (x.count_ones(), x.count_zeros(), x.leading_zeros(), x.trailing_ones()),
            (x.rotate_left(n), x.rotate_right(n), x.reverse_bits(), x.swap_bytes()),
            ((x as u8).leading_zeros(), (x as u16).trailing_zeros(), (x as u8).reverse_bits()),
            (x as u32).to_be(),
            (0_u32.leading_zeros(), 0_u8.trailing_zeros(), (x as i16).leading_ones()),
        )
    });
}

fn powers() {
    agrees(|mut input| {
        let x = input.bits();
        (
            (
                (x as u32 % 40).pow(5),
                3_u64.pow(input.below(40) as u32),
                (-2_i32).pow(x as u32 % 31),
            ),
            (x.isqrt(), (x as u8).isqrt(), (x as i64 >> 1).unsigned_abs().isqrt()),
            ((x | 1).ilog2(), (x | 1).ilog10(), (x | 1).ilog(7)),
            x.checked_ilog10(),
        )
    });
}

fn conversions() {
    agrees(|mut input| {
        let x = input.bits();
        let real = input.unit() * 1e12;
        (
            (x as u8, x as i16, x as i8 as u32, x as i32 as i64, x as u8 as char, (x as f32)),
            (real as u8, real as i32, real as u64, real as f32 as i64, f64::NAN as u32),
            (u8::try_from(x % 300).ok(), i32::try_from(x as i64).ok(), i128::from(x)),
            (char::from(x as u8), u32::from('ß'), f64::from(x as u32), u64::from(x % 2 == 0)),
        )
    });
}

fn wrappers() {
    use std::num::{NonZero, Saturating, Wrapping};
    agrees(|mut input| {
        let mut a = Wrapping(input.bits() as u16);
        a += Wrapping(60_000);
        a *= a;
        let b = Saturating(input.bits() as u8) + Saturating(100);
        let c = NonZero::new(input.bits() as u32 % 4);
        (a.0, b.0, c.map(|c| (c.get(), c.leading_zeros(), 100 / c)))
    });
}

fn rest() {
    agrees(|mut input| {
        let (a, b) = (input.bits() as i32, input.bits() as i32);
        let c = input.bits() as u16;
        (
            (a.abs_diff(b), a.signum(), a.is_negative(), a.unsigned_abs()),
            (c.midpoint(7), c.is_power_of_two(), (c / 2).next_power_of_two()),
            (a.min(b), a.max(b), a.clamp(-1000, 1000), u32::MAX.abs_diff(c.into())),
        )
    });
}
