//! C's mathematics for devices that have no C library.
//!
//! `f64::sin` and similar methods become calls of C's mathematics library in a device image: `sin`,
//! `sinf`, `pow`, … A GPU has none. This crate has them all, most of them from [`libm`], which is
//! pure Rust. Stage 2's build script compiles both to LLVM bitcode, which `libschism_jit.so`
//! carries; for a device that lacks a function, stage 2 links it into the kernel (`schism-jit`,
//! module `devicelib`). So a function gives the same bits on every device that uses it from here.
//! Tests measure the accuracy: docs/math.md.
//!
//! Each function is exported as `schism.lib.NAME`. Under C's own names they would replace the
//! host's functions in every program that links this crate; and LLVM would assume the semantics of
//! C's functions, such as their results for constants on the compiling machine.
//!
//! | module | what |
//! |---|---|
//! | this one | the functions, and their [`NAMES`] |
//! | `elementary` | `exp` and `ln` of `f32`, without branches |
//! | `exponential` | `exp`, `exp2`, `exp_m1` and the hyperbolic functions, without tables and branches |
//! | `logarithm` | `ln` of `f64`, without branches |
//! | `power` | `powf`, and `log2` and `log10` of `f64`, in the same way |
//! | `trigonometry` | `sin`, `cos` and `tan` of `f32`, without numbers of 64 bits |
//! | `trigonometry_double` | the same of `f64` |
//! | `powers` | integer powers, computed as compilers do |
//! | `remainder` | `fmod`, in integer steps |
//! | `division` | division of 128-bit integers |
//! | `wide` | conversions between 128-bit integers and floating-point numbers |
//! | `memory` | `memcpy` and similar functions |
//!
//! To add a function: a line below, if [`libm`] has it; its name in
//! `schism_passes::spec::builtins::is_library_function`, if kernels may call it by that name; its
//! inputs in `tests/accuracy.rs`.
#![no_std]

mod division;
mod elementary;
mod exponential;
mod logarithm;
mod memory;
mod power;
mod powers;
mod remainder;
mod trigonometry;
mod trigonometry_double;
mod wide;

pub use division::{__divti3, __udivti3};
pub use elementary::{expf, logf};
pub use exponential::{cosh, coshf, exp, exp2, exp2f, expm1, expm1f, sinh, sinhf, tanh, tanhf};
pub use logarithm::log;
pub use memory::{bcmp, memcmp, memcpy, memmove, memset};
pub use power::{log2, log10, pow, powf};
pub use powers::{__powidf2, __powisf2};
pub use remainder::{fmod, fmodf};
pub use trigonometry::{cosf, sinf, tanf};
pub use trigonometry_double::{cos, sin, tan};
pub use wide::{
    __fixdfti, __fixsfti, __fixunsdfti, __fixunssfti, __floattidf, __floattisf, __floatuntidf,
    __floatuntisf,
};

/// The prefix of a function's name in C, in the name of its symbol.
pub const PREFIX: &str = "schism.lib.";

/// Exports functions of `libm` under C's names, and lists the names.
macro_rules! export {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("C's `", stringify!($name), "`.")]
            #[unsafe(export_name = concat!("schism.lib.", stringify!($name)))]
            #[must_use]
            pub extern "C" fn $name($($argument: $type),*) -> $result {
                libm::$name($($argument),*)
            }
        )*

        /// The functions' names in C.
        pub const NAMES: &[&str] = &[
            $(stringify!($name),)*
            "acosh", "acoshf", "cos", "cosf", "cosh", "coshf", "exp", "expf", "exp2", "exp2f", "expm1", "expm1f", "log", "logf", "log2", "log10", "pow", "powf",
            "sin", "sinf", "sinh", "sinhf", "tan", "tanf", "tanh", "tanhf", "fmod", "fmodf", "lgamma_r", "lgammaf_r", "__powidf2", "__powisf2",
            "memcpy", "memmove", "memset", "memcmp", "bcmp",
        ];
    };
}

export! {
    acos(x: f64) -> f64;
    acosf(x: f32) -> f32;
    asin(x: f64) -> f64;
    asinf(x: f32) -> f32;
    asinh(x: f64) -> f64;
    asinhf(x: f32) -> f32;
    atan(x: f64) -> f64;
    atanf(x: f32) -> f32;
    atan2(y: f64, x: f64) -> f64;
    atan2f(y: f32, x: f32) -> f32;
    atanh(x: f64) -> f64;
    atanhf(x: f32) -> f32;
    cbrt(x: f64) -> f64;
    cbrtf(x: f32) -> f32;
    ceil(x: f64) -> f64;
    ceilf(x: f32) -> f32;
    erf(x: f64) -> f64;
    erff(x: f32) -> f32;
    erfc(x: f64) -> f64;
    erfcf(x: f32) -> f32;
    exp10(x: f64) -> f64;
    exp10f(x: f32) -> f32;
    fdim(x: f64, y: f64) -> f64;
    fdimf(x: f32, y: f32) -> f32;
    floor(x: f64) -> f64;
    floorf(x: f32) -> f32;
    fma(x: f64, y: f64, z: f64) -> f64;
    fmaf(x: f32, y: f32, z: f32) -> f32;
    hypot(x: f64, y: f64) -> f64;
    hypotf(x: f32, y: f32) -> f32;
    ldexp(x: f64, n: i32) -> f64;
    ldexpf(x: f32, n: i32) -> f32;
    log10f(x: f32) -> f32;
    log1p(x: f64) -> f64;
    log1pf(x: f32) -> f32;
    log2f(x: f32) -> f32;
    rint(x: f64) -> f64;
    rintf(x: f32) -> f32;
    round(x: f64) -> f64;
    roundf(x: f32) -> f32;
    sqrt(x: f64) -> f64;
    sqrtf(x: f32) -> f32;
    tgamma(x: f64) -> f64;
    tgammaf(x: f32) -> f32;
    trunc(x: f64) -> f64;
    truncf(x: f32) -> f32;
}

/// C's `acosh`. For arguments below 1 it is NaN; [`libm`] returns a number for some of them.
#[unsafe(export_name = "schism.lib.acosh")]
#[must_use]
pub extern "C" fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// C's `acoshf`. As for [`acosh`].
#[unsafe(export_name = "schism.lib.acoshf")]
#[must_use]
pub extern "C" fn acoshf(x: f32) -> f32 {
    if x < 1.0 { f32::NAN } else { libm::acoshf(x) }
}

/// C's `lgamma_r`: the logarithm of the gamma function's absolute value, and its sign.
///
/// # Safety
/// `sign` can be written.
#[unsafe(export_name = "schism.lib.lgamma_r")]
pub unsafe extern "C" fn lgamma_r(x: f64, sign: *mut i32) -> f64 {
    let (value, negative) = libm::lgamma_r(x);
    // SAFETY: the caller promises it.
    unsafe { sign.write(negative) };
    value
}

/// C's `lgammaf_r`: the logarithm of the gamma function's absolute value, and its sign.
///
/// # Safety
/// `sign` can be written.
#[unsafe(export_name = "schism.lib.lgammaf_r")]
pub unsafe extern "C" fn lgammaf_r(x: f32, sign: *mut i32) -> f32 {
    let (value, negative) = libm::lgammaf_r(x);
    // SAFETY: the caller promises it.
    unsafe { sign.write(negative) };
    value
}
