//! Floating point: every function of the standard library, against the host, bit by bit.

use super::{Case, Input, agrees, agrees_with_the_library, case};

pub const CASES: &[Case] = &[
    case("`f64`: arithmetic, comparison, remainder", arithmetic64),
    case("`f32`: arithmetic, comparison, remainder", arithmetic32),
    case("`f64`: rounding, sign, `mul_add`, `clamp`, Euclid, `to_bits`", shape64),
    case("`f32`: rounding, sign, `mul_add`, `clamp`, Euclid, `to_bits`", shape32),
    case("`f64`: roots, powers, exponentials, logarithms", powers64),
    case("`f32`: roots, powers, exponentials, logarithms", powers32),
    case("`f64`: trigonometric and hyperbolic functions", angles64),
    case("`f32`: trigonometric and hyperbolic functions", angles32),
    case("infinities, NaN, subnormal numbers, negative zero", special),
    case("`total_cmp`, `classify`, `next_up`, `next_down`, `midpoint`, `recip`", rest),
    case("sums in the order of the source", order),
];

/// The bits of results: equal also where both are no number.
macro_rules! bits {
    ($($value:expr),* $(,)?) => {[$($value.to_bits()),*]};
}

/// Numbers of many sizes, and sometimes special ones.
fn any(input: &mut Input) -> f64 {
    match input.below(16) {
        0 => [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE]
            [input.below(7)],
        1..4 => input.unit() * 1e30,
        4..7 => input.unit() * 1e-30,
        7..12 => input.unit() * 100.0,
        _ => input.unit(),
    }
}

macro_rules! width {
    ($type:ident $arithmetic:ident $shape:ident $powers:ident $angles:ident) => {
        fn $arithmetic() {
            agrees(|mut input| {
                let (a, b) = (any(&mut input) as $type, any(&mut input) as $type);
                let mut c = a;
                c += 1.5;
                c *= b;
                // Of two zeros, either may be the smaller one.
                let least = (number(a.min(b) + 0.0), number(a.max(b) + 0.0));
                (
                    [number(a + b), number(a - b), number(a * b), number(c)],
                    (a < b, a == b, a >= b, least),
                    number(a / b),
                    number(a % b),
                )
            });
        }

        fn $shape() {
            agrees(|mut input| {
                let (a, b) = (any(&mut input) as $type, any(&mut input) as $type);
                let c = (input.unit() * 1000.0).round() as $type / 2.0;
                (
                    bits![
                        a.floor(),
                        a.ceil(),
                        a.round(),
                        a.trunc(),
                        c.round_ties_even(),
                        c.round()
                    ],
                    bits![a.abs(), a.signum(), a.copysign(b), c.fract(), a.clamp(-3.0, 3.0)],
                    (number(a.mul_add(b, c)), number(c.div_euclid(b)), number(c.rem_euclid(7.5))),
                    (a.is_sign_negative(), a.is_finite(), c.floor() as i32, a as i8),
                    <$type>::from_bits(a.to_bits()) == a,
                )
            });
        }

        fn $powers() {
            agrees_with_the_library(|mut input| {
                let (a, b) = (any(&mut input) as $type, any(&mut input) as $type);
                let p = a.abs();
                (
                    [number(p.sqrt()), number(a.sqrt()), number(a.cbrt()), number(a.hypot(b))],
                    [number(a.powi(5)), number(a.powi(-3)), number(p.powf(b)), number(a.powf(2.0))],
                    [number(a.exp()), number(a.exp2()), number(a.exp_m1()), number(p.ln_1p())],
                    [number(p.ln()), number(p.log2()), number(p.log10()), number(p.log(3.0))],
                )
            });
        }

        fn $angles() {
            agrees_with_the_library(|mut input| {
                let (a, b) = (any(&mut input) as $type, any(&mut input) as $type);
                let u = input.unit() as $type;
                let (sin, cos) = a.sin_cos();
                (
                    [number(a.sin()), number(a.cos()), number(a.tan()), number(sin), number(cos)],
                    [number(u.asin()), number(u.acos()), number(a.atan()), number(a.atan2(b))],
                    [number(a.sinh()), number(a.cosh()), number(a.tanh())],
                    [number(a.asinh()), number((1.0 + a.abs()).acosh()), number(u.atanh())],
                    [number(a.to_degrees()), number(a.to_radians())],
                )
            });
        }
    };
}

/// A result as bits; of what is no number, only that it is none: its sign and payload are not
/// Rust's to promise.
fn number(value: impl Into<f64>) -> u64 {
    let value = value.into();
    if value.is_nan() { 1 } else { value.to_bits() }
}

width!(f64 arithmetic64 shape64 powers64 angles64);
width!(f32 arithmetic32 shape32 powers32 angles32);

fn special() {
    const VALUES: [f64; 10] = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        f64::MIN,
        1.0,
    ];
    agrees(|mut input| {
        let (a, b) = (VALUES[input.below(10)], VALUES[input.below(10)]);
        let small = a as f32;
        // Of functions that are not rounded correctly everywhere, what all libraries agree on.
        (
            [number(a + b), number(a - b), number(a * b), number(a / b), number(a % b)],
            [
                number(a.min(b) + 0.0),
                number(a.max(b) + 0.0),
                number(a.sqrt()),
                number(a.powf(b) as f32),
                number(a.atan2(b) as f32),
            ],
            (a == b, a < b, a.is_nan(), a.is_subnormal(), a.is_normal(), a.is_sign_positive()),
            (
                number(small),
                number(small * 0.5),
                a as u8,
                a as i64,
                number(a.round()),
                number(a.exp() as f32),
            ),
        )
    });
}

fn rest() {
    agrees(|mut input| {
        let (a, b) = (any(&mut input), any(&mut input));
        (
            (a.total_cmp(&b) as i8, a.classify() == std::num::FpCategory::Normal),
            bits![a.next_up(), a.next_down(), a.recip(), (a * 0.5).midpoint(b * 0.5)],
            (number(a as f32), (a as f32).next_up().to_bits(), a.abs_sub_like(b).to_bits()),
        )
    });
}

trait AbsSubLike {
    fn abs_sub_like(self, other: f64) -> f64;
}
impl AbsSubLike for f64 {
    fn abs_sub_like(self, other: f64) -> f64 {
        if self > other { self - other } else { 0.0 }
    }
}

fn order() {
    agrees(|mut input| {
        let mut sum = 0.0_f32;
        for _ in 0..50 {
            sum += input.unit() as f32 * 1e3;
        }
        let terms: [f64; 20] = std::array::from_fn(|_| input.unit());
        let dot: f64 = terms.iter().zip(terms.iter().rev()).map(|(a, b)| a * b).sum();
        (sum, dot, terms.iter().product::<f64>())
    });
}
