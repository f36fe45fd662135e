//! The table: each function, what it is in Rust, how it is called, what is right, and how far from
//! that it may be.

use crate::truth::{self, Big};

/// What is right in 64 bits.
pub enum Truth {
    /// What the host computes, bit for bit: the result is exact, or correctly rounded, on both.
    Host,
    /// This.
    Big(fn(&[Big]) -> Big),
}

/// A line.
pub struct Function {
    /// C's name for 64 bits.
    pub name: &'static str,
    /// The methods of `f32` and `f64` that come to it.
    pub rust: &'static str,
    /// How many numbers it takes.
    pub arguments: usize,
    /// Where most of the random numbers are from; the last range is for all further arguments.
    pub near: &'static [(f64, f64)],
    /// The library's function.
    pub single: fn(&[f32]) -> f32,
    /// The library's function.
    pub double: fn(&[f64]) -> f64,
    /// The host's function.
    pub host: fn(&[f64]) -> f64,
    /// What is right.
    pub truth: Truth,
    /// How far from that a result may be, in ULP, for 32 and 64 bits; 0 where results are exact.
    pub bounds: (f64, f64),
}

/// The host's library.
mod host {
    unsafe extern "C" {
        pub safe fn acos(x: f64) -> f64;
        pub safe fn acosh(x: f64) -> f64;
        pub safe fn asin(x: f64) -> f64;
        pub safe fn asinh(x: f64) -> f64;
        pub safe fn atan(x: f64) -> f64;
        pub safe fn atan2(x: f64, y: f64) -> f64;
        pub safe fn atanh(x: f64) -> f64;
        pub safe fn cbrt(x: f64) -> f64;
        pub safe fn ceil(x: f64) -> f64;
        pub safe fn cos(x: f64) -> f64;
        pub safe fn cosh(x: f64) -> f64;
        pub safe fn erf(x: f64) -> f64;
        pub safe fn erfc(x: f64) -> f64;
        pub safe fn exp(x: f64) -> f64;
        pub safe fn exp2(x: f64) -> f64;
        pub safe fn exp10(x: f64) -> f64;
        pub safe fn expm1(x: f64) -> f64;
        pub safe fn fdim(x: f64, y: f64) -> f64;
        pub safe fn floor(x: f64) -> f64;
        pub safe fn hypot(x: f64, y: f64) -> f64;
        pub safe fn ldexp(x: f64, n: i32) -> f64;
        pub safe fn lgamma(x: f64) -> f64;
        pub safe fn log(x: f64) -> f64;
        pub safe fn log10(x: f64) -> f64;
        pub safe fn log1p(x: f64) -> f64;
        pub safe fn log2(x: f64) -> f64;
        pub safe fn pow(x: f64, y: f64) -> f64;
        pub safe fn rint(x: f64) -> f64;
        pub safe fn round(x: f64) -> f64;
        pub safe fn sin(x: f64) -> f64;
        pub safe fn sinh(x: f64) -> f64;
        pub safe fn sqrt(x: f64) -> f64;
        pub safe fn tan(x: f64) -> f64;
        pub safe fn tanh(x: f64) -> f64;
        pub safe fn tgamma(x: f64) -> f64;
        pub safe fn trunc(x: f64) -> f64;
    }
}

fn lgamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: the variable is live.
    unsafe { schism_devicelib::lgamma_r(x, &mut sign) }
}

fn lgammaf(x: f32) -> f32 {
    let mut sign = 0;
    // SAFETY: the variable is live.
    unsafe { schism_devicelib::lgammaf_r(x, &mut sign) }
}

/// All functions.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "acos",
        rust: "`acos`",
        arguments: 1,
        near: &[(-1.0, 1.0)],
        single: |x| schism_devicelib::acosf(x[0]),
        double: |x| schism_devicelib::acos(x[0]),
        host: |x| host::acos(x[0]),
        truth: Truth::Big(|x| x[0].acos()),
        bounds: (1.0, 0.9),
    },
    Function {
        name: "acosh",
        rust: "",
        arguments: 1,
        near: &[(1.0, 100.0)],
        single: |x| schism_devicelib::acoshf(x[0]),
        double: |x| schism_devicelib::acosh(x[0]),
        host: |x| host::acosh(x[0]),
        truth: Truth::Big(|x| x[0].acosh()),
        bounds: (2.2, 1.4),
    },
    Function {
        name: "asin",
        rust: "`asin`",
        arguments: 1,
        near: &[(-1.0, 1.0)],
        single: |x| schism_devicelib::asinf(x[0]),
        double: |x| schism_devicelib::asin(x[0]),
        host: |x| host::asin(x[0]),
        truth: Truth::Big(|x| x[0].asin()),
        bounds: (0.8, 0.9),
    },
    Function {
        name: "asinh",
        rust: "",
        arguments: 1,
        near: &[(-100.0, 100.0)],
        single: |x| schism_devicelib::asinhf(x[0]),
        double: |x| schism_devicelib::asinh(x[0]),
        host: |x| host::asinh(x[0]),
        truth: Truth::Big(|x| x[0].asinh()),
        bounds: (1.7, 1.4),
    },
    Function {
        name: "atan",
        rust: "`atan`",
        arguments: 1,
        near: &[(-10.0, 10.0)],
        single: |x| schism_devicelib::atanf(x[0]),
        double: |x| schism_devicelib::atan(x[0]),
        host: |x| host::atan(x[0]),
        truth: Truth::Big(|x| x[0].atan()),
        bounds: (0.9, 0.8),
    },
    Function {
        name: "atan2",
        rust: "`atan2`",
        arguments: 2,
        near: &[(-10.0, 10.0)],
        single: |x| schism_devicelib::atan2f(x[0], x[1]),
        double: |x| schism_devicelib::atan2(x[0], x[1]),
        host: |x| host::atan2(x[0], x[1]),
        truth: Truth::Big(|x| x[0].atan2(&x[1])),
        bounds: (1.6, 1.5),
    },
    Function {
        name: "atanh",
        rust: "",
        arguments: 1,
        near: &[(-1.0, 1.0)],
        single: |x| schism_devicelib::atanhf(x[0]),
        double: |x| schism_devicelib::atanh(x[0]),
        host: |x| host::atanh(x[0]),
        truth: Truth::Big(|x| x[0].atanh()),
        bounds: (1.8, 1.5),
    },
    Function {
        name: "cbrt",
        rust: "`cbrt`",
        arguments: 1,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::cbrtf(x[0]),
        double: |x| schism_devicelib::cbrt(x[0]),
        host: |x| host::cbrt(x[0]),
        truth: Truth::Big(|x| x[0].nth_root(3)),
        bounds: (0.51, 0.51),
    },
    Function {
        name: "ceil",
        rust: "`ceil`",
        arguments: 1,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::ceilf(x[0]),
        double: |x| schism_devicelib::ceil(x[0]),
        host: |x| host::ceil(x[0]),
        truth: Truth::Host,
        bounds: (0.0, 0.0),
    },
    Function {
        name: "cos",
        rust: "`cos`, `sin_cos`",
        arguments: 1,
        near: &[(-100.0, 100.0)],
        single: |x| schism_devicelib::cosf(x[0]),
        double: |x| schism_devicelib::cos(x[0]),
        host: |x| host::cos(x[0]),
        truth: Truth::Big(|x| x[0].cos()),
        bounds: (0.8, 0.8),
    },
    Function {
        name: "cosh",
        rust: "`cosh`",
        arguments: 1,
        near: &[(-700.0, 700.0)],
        single: |x| schism_devicelib::coshf(x[0]),
        double: |x| schism_devicelib::cosh(x[0]),
        host: |x| host::cosh(x[0]),
        truth: Truth::Big(|x| x[0].cosh()),
        bounds: (1.4, 1.2),
    },
    Function {
        name: "erf",
        rust: "`erf` (unstable)",
        arguments: 1,
        near: &[(-6.0, 6.0)],
        single: |x| schism_devicelib::erff(x[0]),
        double: |x| schism_devicelib::erf(x[0]),
        host: |x| host::erf(x[0]),
        truth: Truth::Big(|x| truth::erf(&x[0])),
        bounds: (0.9, 1.0),
    },
    Function {
        name: "erfc",
        rust: "`erfc` (unstable)",
        arguments: 1,
        near: &[(-6.0, 27.0)],
        single: |x| schism_devicelib::erfcf(x[0]),
        double: |x| schism_devicelib::erfc(x[0]),
        host: |x| host::erfc(x[0]),
        truth: Truth::Big(|x| truth::erfc(&x[0])),
        bounds: (2.9, 2.6),
    },
    Function {
        name: "exp",
        rust: "`exp`",
        arguments: 1,
        near: &[(-745.0, 709.0)],
        single: |x| schism_devicelib::expf(x[0]),
        double: |x| schism_devicelib::exp(x[0]),
        host: |x| host::exp(x[0]),
        truth: Truth::Big(|x| x[0].exp()),
        bounds: (0.9, 0.6),
    },
    Function {
        name: "exp2",
        rust: "`exp2`",
        arguments: 1,
        near: &[(-1074.0, 1024.0)],
        single: |x| schism_devicelib::exp2f(x[0]),
        double: |x| schism_devicelib::exp2(x[0]),
        host: |x| host::exp2(x[0]),
        truth: Truth::Big(|x| truth::exp2(&x[0])),
        bounds: (0.6, 0.6),
    },
    Function {
        name: "exp10",
        rust: "",
        arguments: 1,
        near: &[(-323.0, 308.0)],
        single: |x| schism_devicelib::exp10f(x[0]),
        double: |x| schism_devicelib::exp10(x[0]),
        host: |x| host::exp10(x[0]),
        truth: Truth::Big(|x| truth::exp10(&x[0])),
        bounds: (3.5, 3.1),
    },
    Function {
        name: "expm1",
        rust: "`exp_m1`",
        arguments: 1,
        near: &[(-40.0, 709.0)],
        single: |x| schism_devicelib::expm1f(x[0]),
        double: |x| schism_devicelib::expm1(x[0]),
        host: |x| host::expm1(x[0]),
        truth: Truth::Big(|x| x[0].exp_m1()),
        bounds: (0.8, 0.9),
    },
    Function {
        name: "fdim",
        rust: "`abs_sub` (deprecated)",
        arguments: 2,
        near: &[(-10.0, 10.0)],
        single: |x| schism_devicelib::fdimf(x[0], x[1]),
        double: |x| schism_devicelib::fdim(x[0], x[1]),
        host: |x| host::fdim(x[0], x[1]),
        truth: Truth::Host,
        bounds: (0.5, 0.5),
    },
    Function {
        name: "floor",
        rust: "`floor`",
        arguments: 1,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::floorf(x[0]),
        double: |x| schism_devicelib::floor(x[0]),
        host: |x| host::floor(x[0]),
        truth: Truth::Host,
        bounds: (0.0, 0.0),
    },
    Function {
        name: "fma",
        rust: "`mul_add`",
        arguments: 3,
        near: &[(-10.0, 10.0)],
        single: |x| schism_devicelib::fmaf(x[0], x[1], x[2]),
        double: |x| schism_devicelib::fma(x[0], x[1], x[2]),
        host: |x| x[0].mul_add(x[1], x[2]),
        truth: Truth::Host,
        bounds: (0.5, 0.5),
    },
    Function {
        name: "fmod",
        rust: "`%`",
        arguments: 2,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::fmodf(x[0], x[1]),
        double: |x| schism_devicelib::fmod(x[0], x[1]),
        host: |x| x[0] % x[1],
        truth: Truth::Host,
        bounds: (0.0, 0.0),
    },
    Function {
        name: "hypot",
        rust: "`hypot`",
        arguments: 2,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::hypotf(x[0], x[1]),
        double: |x| schism_devicelib::hypot(x[0], x[1]),
        host: |x| host::hypot(x[0], x[1]),
        truth: Truth::Big(|x| x[0].hypot(&x[1])),
        bounds: (1.0, 1.0),
    },
    Function {
        name: "ldexp",
        rust: "",
        arguments: 2,
        near: &[(-10.0, 10.0), (-1100.0, 1100.0)],
        single: |x| schism_devicelib::ldexpf(x[0], x[1] as i32),
        double: |x| schism_devicelib::ldexp(x[0], x[1] as i32),
        host: |x| host::ldexp(x[0], x[1] as i32),
        truth: Truth::Host,
        bounds: (0.5, 0.5),
    },
    Function {
        name: "lgamma_r",
        rust: "`ln_gamma` (unstable)",
        arguments: 1,
        near: &[(0.0, 200.0)],
        single: |x| lgammaf(x[0]),
        double: |x| lgamma(x[0]),
        host: |x| host::lgamma(x[0]),
        truth: Truth::Big(|x| truth::ln_gamma(&x[0])),
        bounds: (4.8, 2.2),
    },
    Function {
        name: "log",
        rust: "`ln`, `log`",
        arguments: 1,
        near: &[(0.0, 1000.0)],
        single: |x| schism_devicelib::logf(x[0]),
        double: |x| schism_devicelib::log(x[0]),
        host: |x| host::log(x[0]),
        truth: Truth::Big(|x| x[0].ln()),
        bounds: (0.96, 0.8),
    },
    Function {
        name: "log10",
        rust: "`log10`",
        arguments: 1,
        near: &[(0.0, 1000.0)],
        single: |x| schism_devicelib::log10f(x[0]),
        double: |x| schism_devicelib::log10(x[0]),
        host: |x| host::log10(x[0]),
        truth: Truth::Big(|x| x[0].log10()),
        bounds: (0.9, 0.6),
    },
    Function {
        name: "log1p",
        rust: "`ln_1p`",
        arguments: 1,
        near: &[(-1.0, 1000.0)],
        single: |x| schism_devicelib::log1pf(x[0]),
        double: |x| schism_devicelib::log1p(x[0]),
        host: |x| host::log1p(x[0]),
        truth: Truth::Big(|x| x[0].ln_1p()),
        bounds: (0.8, 0.7),
    },
    Function {
        name: "log2",
        rust: "`log2`",
        arguments: 1,
        near: &[(0.0, 1000.0)],
        single: |x| schism_devicelib::log2f(x[0]),
        double: |x| schism_devicelib::log2(x[0]),
        host: |x| host::log2(x[0]),
        truth: Truth::Big(|x| x[0].log2()),
        bounds: (0.9, 0.6),
    },
    Function {
        name: "pow",
        rust: "`powf`",
        arguments: 2,
        near: &[(0.0, 100.0), (-150.0, 150.0)],
        single: |x| schism_devicelib::powf(x[0], x[1]),
        double: |x| schism_devicelib::pow(x[0], x[1]),
        host: |x| host::pow(x[0], x[1]),
        truth: Truth::Big(|x| truth::pow(&x[0], &x[1])),
        bounds: (0.8, 0.7),
    },
    Function {
        name: "rint",
        rust: "`round_ties_even`",
        arguments: 1,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::rintf(x[0]),
        double: |x| schism_devicelib::rint(x[0]),
        host: |x| host::rint(x[0]),
        truth: Truth::Host,
        bounds: (0.0, 0.0),
    },
    Function {
        name: "round",
        rust: "`round`",
        arguments: 1,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::roundf(x[0]),
        double: |x| schism_devicelib::round(x[0]),
        host: |x| host::round(x[0]),
        truth: Truth::Host,
        bounds: (0.0, 0.0),
    },
    Function {
        name: "sin",
        rust: "`sin`, `sin_cos`",
        arguments: 1,
        near: &[(-100.0, 100.0)],
        single: |x| schism_devicelib::sinf(x[0]),
        double: |x| schism_devicelib::sin(x[0]),
        host: |x| host::sin(x[0]),
        truth: Truth::Big(|x| x[0].sin()),
        bounds: (0.8, 0.8),
    },
    Function {
        name: "sinh",
        rust: "`sinh`",
        arguments: 1,
        near: &[(-700.0, 700.0)],
        single: |x| schism_devicelib::sinhf(x[0]),
        double: |x| schism_devicelib::sinh(x[0]),
        host: |x| host::sinh(x[0]),
        truth: Truth::Big(|x| x[0].sinh()),
        bounds: (1.8, 1.7),
    },
    Function {
        name: "sqrt",
        rust: "`sqrt`",
        arguments: 1,
        near: &[(0.0, 1000.0)],
        single: |x| schism_devicelib::sqrtf(x[0]),
        double: |x| schism_devicelib::sqrt(x[0]),
        host: |x| host::sqrt(x[0]),
        truth: Truth::Host,
        bounds: (0.5, 0.5),
    },
    Function {
        name: "tan",
        rust: "`tan`",
        arguments: 1,
        near: &[(-100.0, 100.0)],
        single: |x| schism_devicelib::tanf(x[0]),
        double: |x| schism_devicelib::tan(x[0]),
        host: |x| host::tan(x[0]),
        truth: Truth::Big(|x| x[0].tan()),
        bounds: (1.06, 0.8),
    },
    Function {
        name: "tanh",
        rust: "`tanh`",
        arguments: 1,
        near: &[(-20.0, 20.0)],
        single: |x| schism_devicelib::tanhf(x[0]),
        double: |x| schism_devicelib::tanh(x[0]),
        host: |x| host::tanh(x[0]),
        truth: Truth::Big(|x| x[0].tanh()),
        bounds: (2.2, 1.8),
    },
    Function {
        name: "tgamma",
        rust: "`gamma` (unstable)",
        arguments: 1,
        near: &[(-170.0, 171.0)],
        single: |x| schism_devicelib::tgammaf(x[0]),
        double: |x| schism_devicelib::tgamma(x[0]),
        host: |x| host::tgamma(x[0]),
        truth: Truth::Big(|x| truth::gamma(&x[0])),
        bounds: (0.51, 8.0),
    },
    Function {
        name: "trunc",
        rust: "`trunc`",
        arguments: 1,
        near: &[(-1000.0, 1000.0)],
        single: |x| schism_devicelib::truncf(x[0]),
        double: |x| schism_devicelib::trunc(x[0]),
        host: |x| host::trunc(x[0]),
        truth: Truth::Host,
        bounds: (0.0, 0.0),
    },
];
