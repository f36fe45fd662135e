//! The standard library's mathematics in kernels: the host's, or schism's own library.

use std::path::Path;

use schism_tests::lab::{Lab, clean_command, source, text};

/// How many numbers a row has, and how many of them are two numbers and functions of the library.
const COLUMNS: usize = 38;
const FUNCTIONS: usize = 31;

/// What the library has in those columns.
fn doubles(x: f64, y: f64) -> [f64; FUNCTIONS] {
    use schism_devicelib::*;
    let n = y as i32;
    [
        x,
        y,
        acos(x),
        asin(x),
        atan(x),
        atan2(x, y),
        cbrt(x),
        ceil(x),
        cos(x),
        cosh(x),
        exp(x),
        exp2(x),
        expm1(x),
        floor(x),
        fma(x, y, x),
        fmod(x, y),
        hypot(x, y),
        log(x),
        log10(x),
        log1p(x),
        log2(x),
        pow(x, y),
        round(x),
        sin(x),
        sinh(x),
        sqrt(x),
        tan(x),
        tanh(x),
        trunc(x),
        __powidf2(x, 7),
        __powidf2(x, n),
    ]
}

/// What the library has in those columns.
fn singles(x: f32, y: f32) -> [f32; FUNCTIONS] {
    use schism_devicelib::*;
    let n = y as i32;
    [
        x,
        y,
        acosf(x),
        asinf(x),
        atanf(x),
        atan2f(x, y),
        cbrtf(x),
        ceilf(x),
        cosf(x),
        coshf(x),
        expf(x),
        exp2f(x),
        expm1f(x),
        floorf(x),
        fmaf(x, y, x),
        fmodf(x, y),
        hypotf(x, y),
        logf(x),
        log10f(x),
        log1pf(x),
        log2f(x),
        powf(x, y),
        roundf(x),
        sinf(x),
        sinhf(x),
        sqrtf(x),
        tanf(x),
        tanhf(x),
        truncf(x),
        __powisf2(x, 7),
        __powisf2(x, n),
    ]
}

/// Runs the program with settings. What it says, and the results that it writes.
fn run(folder: &Path, device: &str, settings: &[(&str, &str)]) -> (String, Vec<(f64, f32)>) {
    let mut command = clean_command(folder.join("maths"));
    command.current_dir(folder).env("SCHISM_DEVICE", device);
    command.env_remove("SCHISM_CPU_LANES").envs(settings.iter().copied());
    let said = text(&mut command);
    let written = std::fs::read(folder.join("maths.out")).expect("the program writes it");
    let results = written
        .chunks_exact(12)
        .map(|bytes| {
            let (wide, small) = bytes.split_at(8);
            let wide = f64::from_le_bytes(wide.try_into().expect("eight bytes"));
            (wide, f32::from_le_bytes(small.try_into().expect("four bytes")))
        })
        .collect();
    (said, results)
}

#[test]
fn the_hosts_library_or_our_own() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    for level in ["0", "3"] {
        let folder = lab.folder(&format!("maths-{level}"));
        let mut rustc = lab.rustc_with_runtime(&folder);
        text(rustc.arg(format!("-Copt-level={level}")).arg(source("crates/maths.rs")));
        schism_tests::ptx::expect_of(&folder.join("maths"));
        let host = ("SCHISM_CPU_MATH", "host");
        let (said, native) = run(&folder, "native", &[]);
        assert_eq!(said, "native worst 0 other false\n");
        assert_eq!(native.len(), (1 + 13 + 1003) * COLUMNS);
        for settings in [&[host][..], &[host, ("SCHISM_CPU_LANES", "8")]] {
            let (said, results) = run(&folder, "cpu", settings);
            assert_eq!(said, "cpu worst 0 other false\n", "{settings:?}");
            assert_eq!(results.len(), native.len());
        }
        // Any number of lanes has the bits of the library's functions.
        let lanes = |lanes| ("SCHISM_CPU_LANES", lanes);
        for settings in [
            &[][..],
            &[("SCHISM_CPU_MATH", "")],
            &[("SCHISM_CPU_MATH", "portable")],
            &[lanes("off")],
            &[lanes("4")],
            &[lanes("8")],
            &[lanes("16")],
        ] {
            let (said, results) = run(&folder, "cpu", settings);
            let differs = said.starts_with("cpu worst ") && said.ends_with("other true\n");
            assert!(differs, "{settings:?}: {said}");
            check(&results, &native);
        }
    }
}

/// Compares results of the library with what its crate computes here, bit by bit; and the others,
/// which are made of such, with the host's.
fn check(results: &[(f64, f32)], native: &[(f64, f32)]) {
    assert_eq!(results.len(), native.len());
    for (row, (found, host)) in results.chunks(COLUMNS).zip(native.chunks(COLUMNS)).enumerate() {
        let [x, y] = [found[0], found[1]];
        let expected = doubles(x.0, y.0).into_iter().zip(singles(x.1, y.1));
        for (column, (found, expected)) in found.iter().zip(expected).enumerate() {
            let at = format!("row {row}, column {column}: {found:?}, not {expected:?}");
            let (wide, small) = (found.0.to_bits(), found.1.to_bits());
            assert!(
                wide == expected.0.to_bits() || found.0.is_nan() && expected.0.is_nan(),
                "{at}"
            );
            assert!(
                small == expected.1.to_bits() || found.1.is_nan() && expected.1.is_nan(),
                "{at}"
            );
        }
        for (found, host) in found.iter().zip(host).skip(FUNCTIONS) {
            let near = |found: f64, host: f64, epsilon: f64| {
                found == host
                    || (found.is_nan() && host.is_nan())
                    || (found - host).abs() <= host.abs().max(1.0) * 8.0 * epsilon
            };
            assert!(near(found.0, host.0, f64::EPSILON), "row {row}: {found:?}, not {host:?}");
            let (found, host) = (f64::from(found.1), f64::from(host.1));
            assert!(near(found, host, f64::from(f32::EPSILON)), "row {row}: {found}, not {host}");
        }
    }
}

#[test]
fn a_library_that_there_is_not() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("maths-unknown");
    text(lab.rustc_with_runtime(&folder).arg(source("crates/plugged.rs")));
    let mut command = clean_command(folder.join("plugged"));
    command.env("SCHISM_DEVICE", "cpu").env("SCHISM_CPU_MATH", "fast");
    let ended = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("CpuMath"), "{said}");
    command.env("SCHISM_DEVICE", "native");
    assert_eq!(text(&mut command), "native 9900\n");
}
