//! Sines, cosines and tangents of `f32`: their errors, for arguments from all over, or with
//! `SCHISM_TEST_FULL=1` for all that there are.

use schism_devicelib::{cosf, sinf, tanf};

use crate::functions::{FUNCTIONS, Function};
use crate::{Worst, ulp};

/// The functions, and whether a result has the argument's sign.
fn functions() -> impl Iterator<Item = (&'static Function, bool)> {
    [("sin", true), ("cos", false), ("tan", true)].into_iter().map(|(name, odd)| {
        let found = FUNCTIONS.iter().find(|function| function.name == name);
        (found.expect("it is in the table"), odd)
    })
}

/// The largest error among positive arguments, each of which is tried with both signs.
fn worst(function: &Function, odd: bool, arguments: impl Iterator<Item = u32>) -> Worst {
    let mut worst = Worst::default();
    for x in arguments.map(f32::from_bits) {
        let found = (function.single)(&[x]);
        let negative = (function.single)(&[-x]);
        let mirrored = if odd { -found } else { found };
        assert!(
            negative.to_bits() == mirrored.to_bits() || x.is_nan() || x.is_infinite(),
            "{}({:e}) is {negative:e}",
            function.name,
            -x
        );
        let wide = f64::from(x);
        worst.see(ulp::single(found, (function.host)(&[wide]), 0.0), &[wide]);
    }
    worst
}

/// Fails where one of the arguments gives a larger error than is allowed.
fn check(function: &Function, odd: bool, arguments: impl Iterator<Item = u32>) {
    let Worst { error, at } = worst(function, odd, arguments);
    println!("{} {error:.4} at {at:?}", function.name);
    assert!(error <= function.bounds.0, "{}({at:?}) is off by {error} ULP", function.name);
}

/// Calls all functions with one of so many positive arguments.
fn check_each(step: usize) {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for (function, odd) in functions() {
                    check(function, odd, (0..1 << 31).skip(half * step).step_by(2 * step));
                }
            });
        }
    });
}

#[test]
fn arguments_of_all_sizes() {
    check_each(if std::env::var_os("SCHISM_TEST_FULL").is_some() { 1 } else { 10_007 });
}

#[test]
fn what_is_no_angle() {
    for (function, _) in functions() {
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
            assert!((function.single)(&[x]).is_nan(), "{}({x})", function.name);
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

/// Numbers that are nearer to multiples of `π/2` than others of their size, the last one nearer
/// than any other.
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
    for (function, odd) in functions() {
        for middle in NEAR_MULTIPLES.map(f32::to_bits) {
            check(function, odd, middle - 10..middle + 10);
        }
    }
}
