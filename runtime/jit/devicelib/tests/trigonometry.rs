//! Sines, cosines and tangents of `f32`: their errors, for arguments from all over, or with `SCHISM_TEST_FULL=1` for all that there are.

use schism_devicelib::{cosf, sinf, tanf};

/// The host's functions for 64 bits, whose own errors are too small to be seen here.
mod host {
    unsafe extern "C" {
        pub safe fn sin(x: f64) -> f64;
        pub safe fn cos(x: f64) -> f64;
        pub safe fn tan(x: f64) -> f64;
    }
}

/// A function: its name, itself, the host's, whether the result has the argument's sign, and what its error may be in ULP.
type Function = (&'static str, extern "C" fn(f32) -> f32, extern "C" fn(f64) -> f64, bool, f64);

const FUNCTIONS: [Function; 3] = [
    ("sinf", sinf, host::sin, true, 0.8),
    ("cosf", cosf, host::cos, false, 0.8),
    ("tanf", tanf, host::tan, true, 1.06),
];

/// An error in units of the last place of what is right.
fn error(found: f32, right: f64) -> f64 {
    let rounded = right as f32;
    if rounded == 0.0 || rounded.is_nan() {
        let same = found.to_bits() == rounded.to_bits() || (found.is_nan() && rounded.is_nan());
        return if same { 0.0 } else { f64::INFINITY };
    }
    let exponent = (right.to_bits() >> 52 & 0x7ff).cast_signed() - 1023;
    let unit = 2.0_f64.powi(exponent.max(-126) as i32 - 23);
    ((f64::from(found) - right) / unit).abs()
}

/// The largest error among positive arguments, each of which is tried with both signs.
fn worst(function: &Function, arguments: impl Iterator<Item = u32>) -> (f64, f32) {
    let (name, ours, theirs, odd, _) = function;
    let mut worst = (0.0, 0.0);
    for x in arguments.map(f32::from_bits) {
        let found = ours(x);
        let negative = ours(-x);
        let mirrored = if *odd { -found } else { found };
        assert!(
            negative.to_bits() == mirrored.to_bits() || x.is_nan() || x.is_infinite(),
            "{name}({:e}) is {negative:e}",
            -x
        );
        let error = error(found, theirs(f64::from(x)));
        // An error that is no number is the worst.
        if error > worst.0 || error.is_nan() {
            worst = (error, x);
        }
    }
    worst
}

/// Calls all functions with one of so many positive arguments.
fn check(step: usize) {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for function in &FUNCTIONS {
                    let arguments = (0..1 << 31).skip(half * step).step_by(2 * step);
                    let (error, x) = worst(function, arguments);
                    println!("{} {error:.4} at {x:e}", function.0);
                    assert!(error <= function.4, "{}({x:e}) is off by {error} ULP", function.0);
                }
            });
        }
    });
}

#[test]
fn arguments_of_all_sizes() {
    check(if std::env::var_os("SCHISM_TEST_FULL").is_some() { 1 } else { 10_007 });
}

#[test]
fn what_is_no_angle() {
    for (name, function, ..) in FUNCTIONS {
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
            assert!(function(x).is_nan(), "{name}({x})");
        }
    }
}

#[test]
fn zeros_have_signs() {
    for function in [sinf, tanf] {
        assert_eq!(function(0.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(function(-0.0).to_bits(), (-0.0_f32).to_bits());
    }
    assert_eq!((cosf(0.0), cosf(-0.0)), (1.0, 1.0));
}

/// Numbers that are nearer to multiples of `π/2` than others of their size, the last one nearer than any other.
const NEAR_MULTIPLES: [f32; 8] = [
    1.570_796_4,
    4.712_389,
    252.898_21,
    2_238.384_8,
    52_516.434,
    105_032.87,
    131_072.0,
    7.729_179e28,
];

#[test]
fn near_multiples_and_where_the_way_changes() {
    for function in &FUNCTIONS {
        for middle in NEAR_MULTIPLES.map(f32::to_bits) {
            let (error, x) = worst(function, middle - 10..middle + 10);
            assert!(error <= function.4, "{}({x:e}) is off by {error} ULP", function.0);
        }
    }
}
