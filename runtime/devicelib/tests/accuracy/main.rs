//! How exact the library is: the table in `docs/math.md`, which `BLESS=1` writes.
//!
//! Each function is called with numbers that make trouble and with random ones, in both precisions.
//! What is right is computed with some hundred bits (`truth`), for 32 bits with the host's
//! functions for 64. A function that is further from that than its line of `functions` says fails
//! the test. `SCHISM_TEST_FULL=1` takes many more random numbers and prints the largest error of
//! each function: that is where the bounds are from.

mod functions;
mod inputs;
mod trigonometry;
mod truth;
mod ulp;

use std::fmt::Write;
use std::path::Path;

use functions::{FUNCTIONS, Function, Truth};
use truth::Big;

/// How many random numbers each function is called with, in 32 and 64 bits.
fn counts() -> (usize, usize) {
    if std::env::var_os("SCHISM_TEST_FULL").is_some() { (2_000_000, 20_000) } else { (4_000, 200) }
}

/// An error and the input that shows it.
#[derive(Clone, Debug, Default)]
struct Worst {
    error: f64,
    at: Vec<f64>,
}

impl Worst {
    fn see(&mut self, error: f64, at: &[f64]) {
        if error > self.error {
            *self = Self { error, at: at.to_vec() };
        }
    }
}

/// The largest error in 64 bits.
fn double(function: &Function, count: usize) -> Worst {
    let mut worst = Worst::default();
    for input in inputs::of(function, count) {
        let (found, host) = ((function.double)(&input), (function.host)(&input));
        worst.see(error(function, &input, found, host), &input);
    }
    worst
}

fn error(function: &Function, input: &[f64], found: f64, host: f64) -> f64 {
    if !host.is_finite() || host == 0.0 {
        // There is nothing to measure.
        return ulp::same(found, host);
    }
    let least = least(function, input);
    match function.truth {
        Truth::Host => ulp::same(found, host),
        // A limit, such as that of `atan`; and what depends on the sign of zero, which `Big` does
        // not have.
        _ if input.iter().any(|x| !x.is_finite())
            || (function.name == "atan2" && input[0] == 0.0) =>
        {
            ulp::double(found, &truth::big(host), least)
        }
        Truth::Big(truth) => {
            let arguments: Vec<Big> = input.iter().map(|&x| truth::big(x)).collect();
            ulp::double(found, &truth(&arguments), least)
        }
    }
}

/// The smallest truth whose unit errors are measured in. Between its poles the logarithm of the
/// gamma function goes through zero, and near there it is off by units of 1.
fn least(function: &Function, input: &[f64]) -> f64 {
    if function.name == "lgamma_r" && input[0] < 0.0 { 1.0 } else { 0.0 }
}

/// The largest error in 32 bits.
fn single(function: &Function, count: usize) -> Worst {
    let mut worst = Worst::default();
    for input in inputs::of(function, count) {
        let narrow: Vec<f32> = input.iter().map(|&x| x as f32).collect();
        let input: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
        let (found, right) = ((function.single)(&narrow), (function.host)(&input));
        worst.see(ulp::single(found, right, least(function, &input)), &input);
    }
    worst
}

fn check(measure: impl Fn(&Function) -> Worst + Sync, bound: impl Fn(&Function) -> f64) {
    let measure = &measure;
    let found: Vec<(&Function, Worst)> = std::thread::scope(|scope| {
        let threads: Vec<_> = FUNCTIONS
            .chunks(FUNCTIONS.len().div_ceil(4))
            .map(|part| {
                scope.spawn(move || {
                    let measured = part.iter().map(|function| {
                        let worst = measure(function);
                        println!("{:10} {:.3} at {:?}", function.name, worst.error, worst.at);
                        (function, worst)
                    });
                    measured.collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut failures = String::new();
    for (function, Worst { error, at }) in found {
        if error > bound(function) {
            writeln!(failures, "{}: {error} ULP at {at:?}", function.name).expect("a string");
        }
    }
    assert!(failures.is_empty(), "further from the truth than promised:\n{failures}");
}

#[test]
fn numbers_of_32_bits() {
    // The truth is rounded to 64 bits, so it is wrong by up to that.
    check(|function| single(function, counts().0), |function| function.bounds.0 + 1e-6);
}

#[test]
fn numbers_of_64_bits() {
    check(|function| double(function, counts().1), |function| function.bounds.1);
}

#[test]
fn integral_powers_are_the_hosts() {
    let random = || fastrand::f64() * 4.0 - 2.0;
    let exponents = [0, 1, 2, 3, -1, -2, 7, 64, -63, 1000, i32::MAX, i32::MIN, i32::MIN + 1];
    for n in exponents.into_iter().chain((0..1000).map(|_| fastrand::i32(-400..400))) {
        for x in [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, random(), random()] {
            // Nothing is known of either when this is compiled.
            let (n, x) = (std::hint::black_box(n), std::hint::black_box(x));
            let (found, host) = (schism_devicelib::__powidf2(x, n), x.powi(n));
            assert_eq!(ulp::same(found, host), 0.0, "{x} to the {n}: {found} and {host}");
            let (found, host) = (schism_devicelib::__powisf2(x as f32, n), (x as f32).powi(n));
            let (found, host) = (f64::from(found), f64::from(host));
            assert_eq!(ulp::same(found, host), 0.0, "{x} to the {n}: {found} and {host}");
        }
    }
}

#[test]
fn memory() {
    let bytes: Vec<u8> = (0..=255).collect();
    for (from, to, n) in [(0, 100, 50), (0, 10, 100), (10, 0, 100), (3, 3, 9), (0, 200, 0)] {
        let (mut ours, mut hosts) = (bytes.clone(), bytes.clone());
        let start = ours.as_mut_ptr();
        // SAFETY: both pieces are in the 256 bytes.
        unsafe { schism_devicelib::memmove(start.add(to).cast(), start.add(from).cast(), n) };
        hosts.copy_within(from..from + n, to);
        assert_eq!(ours, hosts);
        let (a, b) = (&bytes[from..from + n], &ours[to..to + n]);
        // SAFETY: both have so many bytes.
        let order = unsafe { schism_devicelib::memcmp(a.as_ptr().cast(), b.as_ptr().cast(), n) };
        assert_eq!(order.signum(), a.cmp(b) as i32);
    }
    let mut filled = [7_u8; 9];
    let start = filled.as_mut_ptr();
    // SAFETY: the array has 9 bytes, and the string 4.
    unsafe {
        schism_devicelib::memset(start.add(2).cast(), 0x1ff, 5);
        schism_devicelib::memcpy(start.cast(), c"abc".as_ptr().cast(), 2);
    }
    assert_eq!(filled, [97, 98, 255, 255, 255, 255, 255, 7, 7]);
    let unlike = [[1_u8, 2, 200], [1, 2, 3]];
    // SAFETY: both have 3 bytes.
    let order =
        unsafe { schism_devicelib::bcmp(unlike[0].as_ptr().cast(), unlike[1].as_ptr().cast(), 3) };
    assert_ne!(order, 0);
}

#[test]
fn the_sign_of_a_gamma_function() {
    for x in [0.5, 3.0, -0.5, -1.5, -2.5, 100.0, -100.25] {
        let (mut double, mut single) = (0, 0);
        // SAFETY: both are live variables.
        unsafe {
            schism_devicelib::lgamma_r(x, &mut double);
            schism_devicelib::lgammaf_r(x as f32, &mut single);
        }
        let sign = if schism_devicelib::tgamma(x) < 0.0 { -1 } else { 1 };
        assert_eq!((double, single), (sign, sign), "{x}");
    }
}

#[test]
fn every_function_has_a_line() {
    let elsewhere = ["__powidf2", "__powisf2", "memcpy", "memmove", "memset", "memcmp", "bcmp"];
    for name in schism_devicelib::NAMES {
        let listed = FUNCTIONS.iter().any(|function| {
            let single = match function.name {
                "lgamma_r" => "lgammaf_r".to_owned(),
                name => format!("{name}f"),
            };
            *name == function.name || *name == single
        });
        assert!(listed || elsewhere.contains(name), "`{name}` is not in the table");
    }
}

/// `docs/math.md`.
fn document() -> String {
    let mut text = include_str!("math.md").to_owned();
    text += "| function | in Rust | `f32` | `f64` |\n|---|---|---|---|\n";
    for Function { name, rust, bounds, truth, .. } in FUNCTIONS {
        let say = |bound: f64| match (bound, truth) {
            (0.0, _) => "exact".to_owned(),
            (0.5, _) => "0.5 (correctly rounded)".to_owned(),
            (bound, _) => format!("{bound}"),
        };
        writeln!(text, "| `{name}` | {rust} | {} | {} |", say(bounds.0), say(bounds.1))
            .expect("a string");
    }
    text
}

#[test]
fn the_document_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/math.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, document()).expect("a document that can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, document(), "docs/math.md is out of date: run this test with BLESS=1");
}
