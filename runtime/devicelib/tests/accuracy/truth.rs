//! What is right, with many bits.
//!
//! The elementary functions are those of `dashu-float`, which rounds them correctly. The error
//! function and the gamma function are series here.

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

/// A number with many bits.
pub type Big = FBig<HalfEven, 2>;

/// How many bits results have at least.
const BITS: usize = 160;

/// A finite number, exactly, whose functions have [`BITS`] bits.
pub fn big(x: f64) -> Big {
    with(x, BITS)
}

fn with(x: f64, bits: usize) -> Big {
    Big::try_from(x).expect("a finite number").with_precision(bits).value()
}

fn int(x: i32, bits: usize) -> Big {
    with(f64::from(x), bits)
}

/// An exact power.
pub fn power_of_two(n: i32) -> Big {
    let one = big(1.0);
    if n >= 0 { one << n as isize } else { one >> n.unsigned_abs() as isize }
}

/// The number of 64 bits that is nearest.
pub fn near(x: &Big) -> f64 {
    let near = x.to_f64().value();
    // What is above the largest number, and nearer to it than to what would follow, is that; the
    // conversion finds infinity.
    let limit = power_of_two(1024) - power_of_two(970);
    if near == f64::INFINITY && *x < limit {
        f64::MAX
    } else if near == f64::NEG_INFINITY && *x > -limit {
        f64::MIN
    } else {
        near
    }
}

/// A power. That of a negative number has an integral exponent.
pub fn pow(x: &Big, y: &Big) -> Big {
    if *x >= Big::ZERO {
        return x.powf(y);
    }
    let absolute = (-x.clone()).powf(y);
    // Integers of 2^53 and more are even.
    if near(y) % 2.0 == 0.0 { absolute } else { -absolute }
}

/// A power of 2.
pub fn exp2(x: &Big) -> Big {
    int(2, BITS).powf(x)
}

/// A power of 10.
pub fn exp10(x: &Big) -> Big {
    int(10, BITS).powf(x)
}

/// Whether a term is large enough to change a sum of so many bits.
fn matters(term: &Big, sum: &Big, bits: usize) -> bool {
    let absolute = |x: &Big| if *x < Big::ZERO { -x.clone() } else { x.clone() };
    absolute(term) << bits as isize > absolute(sum)
}

/// The error function of a number, with `bits` correct behind the point where it is small: a series
/// of positive terms, `2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·…·(2n+1))`.
fn erf_with(x: &Big, bits: usize) -> Big {
    if near(x) == 0.0 {
        return int(0, bits);
    }
    let x = x.clone().with_precision(bits).value();
    let square = x.sqr();
    let (mut term, mut sum, mut n) = (x.clone(), x.clone(), 0);
    while matters(&term, &sum, bits) {
        n += 1;
        term = term * &square * int(2, bits) / int(2 * n + 1, bits);
        sum += &term;
    }
    int(2, bits) / Big::pi(bits).sqrt() * (-square).exp() * sum
}

/// The error function.
pub fn erf(x: &Big) -> Big {
    match near(x) {
        // What is missing to 1 is below 2⁻¹²⁰⁰.
        size if size.abs() > 30.0 => big(size.signum()),
        _ => erf_with(x, BITS),
    }
}

/// One minus the error function.
pub fn erfc(x: &Big) -> Big {
    // As many bits cancel as the result is small; for more than 28 it is zero.
    let size = near(x);
    if size < -30.0 {
        return big(2.0);
    }
    let lost = if size > 0.0 { (size * size * 1.45) as usize + 16 } else { 0 };
    int(1, BITS + lost) - erf_with(x, BITS + lost)
}

/// How many bits the gamma function is computed with: some are lost where its logarithm is near
/// zero.
const GAMMA: usize = 400;

/// The gamma function, for 1 to 2: `Σ Nˣ⁺ᵏ exp(-N) / (x (x+1) … (x+k))`, which lacks less than
/// `N exp(-N)`.
fn gamma_reduced(x: &Big) -> Big {
    const N: i32 = 300;
    let n = int(N, GAMMA);
    let (mut term, mut sum, mut k) = (int(1, GAMMA) / x, int(0, GAMMA), 0);
    while k < N || matters(&term, &sum, GAMMA) {
        sum += &term;
        k += 1;
        term = term * &n / (x + int(k, GAMMA));
    }
    sum * (x * n.ln() - n).exp()
}

/// The gamma function of a positive number up to some thousands.
fn gamma_positive(x: &Big) -> Big {
    let one = int(1, GAMMA);
    let (mut x, mut factor) = (x.clone().with_precision(GAMMA).value(), one.clone());
    while near(&x) > 2.0 {
        x -= &one;
        factor *= &x;
    }
    while near(&x) < 1.0 {
        factor /= &x;
        x += &one;
    }
    factor * gamma_reduced(&x)
}

/// `π / sin(πx)`, for a number that is no integer.
fn reflection(x: f64) -> Big {
    let pi = Big::pi(GAMMA);
    // The difference is exact.
    let sine = (with(x - x.round(), GAMMA) * &pi).sin();
    let odd = (x.round() / 2.0).fract() != 0.0;
    pi / if odd { -sine } else { sine }
}

/// The gamma function.
pub fn gamma(x: &Big) -> Big {
    let size = near(x);
    if size < 0.5 {
        // 1 - x is exact with so many bits, unless x is far smaller than what matters.
        reflection(size) / gamma_positive(&(int(1, 1200) - with(size, 1200)))
    } else {
        gamma_positive(x)
    }
}

/// The logarithm of the gamma function of a positive number.
fn ln_gamma_positive(x: &Big) -> Big {
    if near(x) < 1000.0 {
        return gamma_positive(x).ln();
    }
    // Stirling's series; what is left out is below 1000⁻¹⁵.
    let x = x.clone().with_precision(GAMMA).value();
    let of = |a: i32, b: i32| int(a, GAMMA) / int(b, GAMMA);
    let coefficients =
        [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360_360), (1, 156)];
    let (mut power, square) = (x.clone(), x.sqr());
    let mut sum = (&x - of(1, 2)) * x.ln() - &x + (Big::pi(GAMMA) * int(2, GAMMA)).ln() * of(1, 2);
    for (a, b) in coefficients {
        sum += of(a, b) / &power;
        power *= &square;
    }
    sum
}

/// The logarithm of the gamma function's absolute value.
pub fn ln_gamma(x: &Big) -> Big {
    let size = near(x);
    if size >= 0.5 {
        return ln_gamma_positive(x);
    }
    let reflected = reflection(size);
    let absolute = if near(&reflected) < 0.0 { -reflected } else { reflected };
    absolute.ln() - ln_gamma_positive(&(int(1, 1200) - with(size, 1200)))
}

#[test]
fn known_values() {
    assert_eq!(near(&erf(&big(1.0))), 0.842_700_792_949_714_9);
    assert_eq!(near(&erfc(&big(1.0))), 0.157_299_207_050_285_13);
    assert_eq!(near(&erfc(&big(10.0))), 2.088_487_583_762_545e-45);
    assert_eq!(near(&gamma(&big(0.5))), 1.772_453_850_905_516);
    assert_eq!(near(&gamma(&big(6.0))), 120.0);
    assert_eq!(near(&gamma(&big(-0.5))), -3.544_907_701_811_032);
    assert_eq!(near(&ln_gamma(&big(11.0))), 3_628_800.0_f64.ln());
    assert_eq!(near(&ln_gamma(&big(2000.0))), 13_198.923_448_054_265);
    assert_eq!(near(&ln_gamma(&big(-0.5))), 1.265_512_123_484_645_4);
}
