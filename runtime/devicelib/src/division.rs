//! Division of 128-bit integers, for devices without a division of more than 64 bits.
//!
//! Where the divisor has 64 bits at most, two steps divide three words by one; where it has more,
//! the quotient has 64 bits at most, and one step on the leading words gives it but for one (Warren,
//! Hacker's Delight, 2nd edition, section 9-5). A step divides two words by one by a multiplication
//! with the divisor's reciprocal (Möller and Granlund, Improved division by invariant integers, IEEE
//! Transactions on Computers 60 (2), 2011), so there is no loop, and no division but one of 19 bits.
//! With a constant divisor the reciprocal becomes a constant.
//!
//! Remainders are computed from quotients by the pass that inserts the calls. A quotient by zero is
//! any number, as for `udiv`.

/// The low word.
const fn low(x: u128) -> u64 {
    x as u64
}

/// The high word.
const fn high(x: u128) -> u64 {
    (x >> 64) as u64
}

/// The product's words as one number.
const fn product(a: u64, b: u64) -> u128 {
    a as u128 * b as u128
}

/// A divisor whose highest bit is set, with its reciprocal `(2¹²⁸ − 1) / d − 2⁶⁴`.
struct Divisor {
    d: u64,
    reciprocal: u64,
}

impl Divisor {
    /// Algorithm 3 of Möller and Granlund: 8 bits by a division, then 21, 34 and 65 by Newton's
    /// iteration.
    const fn new(d: u64) -> Self {
        // The highest bit is set anyway; this way the compiler knows that it is not zero.
        let d9 = (d >> 55) as u32 | 1 << 8;
        let d40 = (d >> 24) + 1;
        let d63 = d.wrapping_sub(d >> 1);
        let v0 = (((1 << 19) - 3 * (1 << 8)) / d9) as u64;
        let v1 = (v0 << 11).wrapping_sub((v0 * v0).wrapping_mul(d40) >> 40).wrapping_sub(1);
        let rest = (1_u64 << 60).wrapping_sub(v1.wrapping_mul(d40));
        let v2 = (v1 << 13).wrapping_add(v1.wrapping_mul(rest) >> 47);
        let odd = (v2 >> 1) & (d & 1).wrapping_neg();
        let e = odd.wrapping_sub(v2.wrapping_mul(d63));
        let v3 = (v2 << 31).wrapping_add(high(product(v2, e)) >> 1);
        let above = high(product(v3, d).wrapping_add(d as u128)).wrapping_add(d);
        Self { d, reciprocal: v3.wrapping_sub(above) }
    }

    /// Algorithm 4: the quotient and the remainder of two words by the divisor, if the high word is
    /// less than it.
    const fn divide(&self, high_word: u64, low_word: u64) -> (u64, u64) {
        let words = (high_word as u128) << 64 | low_word as u128;
        let estimate = product(self.reciprocal, high_word).wrapping_add(words);
        let mut quotient = high(estimate).wrapping_add(1);
        let mut rest = low_word.wrapping_sub(quotient.wrapping_mul(self.d));
        if rest > low(estimate) {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(self.d);
        }
        if rest >= self.d {
            quotient = quotient.wrapping_add(1);
            rest = rest.wrapping_sub(self.d);
        }
        (quotient, rest)
    }
}

/// `x / y`.
#[unsafe(export_name = "schism.lib.__udivti3")]
#[must_use]
pub extern "C" fn __udivti3(x: u128, y: u128) -> u128 {
    // The leading word without leading zeros; of both cases, so that work-items that differ in the
    // case share the reciprocal.
    let is_short = high(y) == 0;
    let leading = if is_short { y << 64 } else { y };
    let zeros = high(leading).leading_zeros();
    let divisor = Divisor::new(high(leading.wrapping_shl(zeros)));
    if is_short {
        // The third word is what the others' shift pushes out of them.
        let third = (high(x) >> 1).wrapping_shr(63_u32.wrapping_sub(zeros));
        let shifted = x.wrapping_shl(zeros);
        let (first, rest) = divisor.divide(third, high(shifted));
        let (second, _) = divisor.divide(rest, low(shifted));
        return u128::from(first) << 64 | u128::from(second);
    }
    // Halved, so that the high word is less than the divisor.
    let half = x >> 1;
    let (estimate, _) = divisor.divide(high(half), low(half));
    // At most one more than the quotient; so this is at most one less.
    let quotient = estimate.wrapping_shr(63_u32.wrapping_sub(zeros)).saturating_sub(1);
    let rest = x.wrapping_sub(u128::from(quotient).wrapping_mul(y));
    u128::from(quotient) + u128::from(rest >= y)
}

/// `x / y`; where the quotient is too large, it wraps.
#[unsafe(export_name = "schism.lib.__divti3")]
#[must_use]
pub extern "C" fn __divti3(x: i128, y: i128) -> i128 {
    let quotient = __udivti3(x.unsigned_abs(), y.unsigned_abs()) as i128;
    if (x < 0) == (y < 0) { quotient } else { quotient.wrapping_neg() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_the_host() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut random = || rng.u64(..);
        // Around powers of two.
        let edge = |index: u32| {
            let (bit, near) = (index / 10, i128::from(index % 5) - 2);
            let power = if index % 10 < 5 { 1 << bit } else { u128::MAX >> bit };
            power.wrapping_add_signed(near)
        };
        let check = |x: u128, y: u128| {
            if y == 0 {
                return;
            }
            assert_eq!(__udivti3(x, y), x / y, "{x} / {y}");
            let (x, y) = (x as i128, y as i128);
            assert_eq!(__divti3(x, y), x.wrapping_div(y), "{x} / {y}");
        };
        for x in 0..1280 {
            (0..1280).for_each(|y| check(edge(x), edge(y)));
        }
        for _ in 0..400_000 {
            let mut number = || {
                let wide = u128::from(random()) << 64 | u128::from(random());
                wide >> (random() % 128)
            };
            let (x, y, small) = (number(), number(), number());
            check(x, y);
            // Quotients next to a multiple, where an estimate is most likely to be wrong.
            for near in [-1, 0, 1] {
                check(y.wrapping_mul(small).wrapping_add_signed(near), y);
            }
        }
    }

    #[test]
    fn a_quotient_by_zero_is_some_number() {
        // What a work-item computes whose result is not used.
        let _ = (__udivti3(5, 0), __udivti3(u128::MAX, 0), __divti3(i128::MIN, 0));
    }
}
