//! What a request may ask for beside the kernel: the launch's offset, constants, relaxed
//! mathematics.

mod support;

use schism_jit_abi::*;
use support::{Source, words};

const OFFSET: &str = include_str!("kernels/offset.ll");
const SPECIAL: &str = include_str!("kernels/special.ll");

fn shifted(kernel: &str, dimensions: u32, flags: u32, offset: [usize; 3]) -> Vec<[u64; 3]> {
    let source = Source::new(OFFSET, kernel, words(&[PARAM_POINTER]));
    let kernel = source.dimensions(dimensions).flags(flags).build();
    let range = match dimensions {
        1 => [24, 1, 1],
        2 => [8, 3, 1],
        _ => [4, 3, 2],
    };
    let mut out = vec![[0_u64; 3]; 24];
    let closure = out.as_mut_ptr();
    let chunk = CpuChunk { begin: [0; 3], end: range, range, offset, group: std::ptr::null() };
    // SAFETY: the output has a place for each of the 24 work-items.
    unsafe { kernel.run(&closure, &chunk) }.expect("no panic");
    out
}

#[test]
fn ids_begin_at_the_offset() {
    for dimensions in 1..=3 {
        let plain = shifted("shifted", dimensions, 0, [5, 3, 1]);
        for offset in [[0; 3], [5, 3, 1], [1 << 40, usize::MAX - 100, 1 << 63]] {
            let variant = shifted("shifted_with_offset", dimensions, FLAG_OFFSET, offset);
            for (variant, plain) in variant.iter().zip(&plain) {
                for axis in 0..3 {
                    assert_eq!(variant[axis], plain[axis].wrapping_add(offset[axis] as u64));
                }
            }
        }
    }
}

#[test]
fn the_flag_and_the_parameters_agree() {
    let ask = |kernel: &str, flags| {
        Source::new(OFFSET, kernel, words(&[PARAM_POINTER])).flags(flags).error()
    };
    assert_eq!(ask("shifted", FLAG_OFFSET).0, SIGNATURE_MISMATCH);
    assert_eq!(ask("shifted_with_offset", 0).0, SIGNATURE_MISMATCH);
    let (code, text) = ask("wrong_with_offset", FLAG_OFFSET);
    assert!(code == SIGNATURE_MISMATCH && text.contains("no offset"), "{text}");
    assert_eq!(ask("shifted", 1 << 31).0, INVALID_REQUEST);
    assert_eq!(ask("shifted", FLAG_FINITE_MATH).0, INVALID_REQUEST);
}

fn special(change: impl FnOnce(Source) -> Source) -> Vec<[u64; 3]> {
    let kernel = change(Source::new(SPECIAL, "special", words(&[PARAM_POINTER]))).build();
    let mut out = vec![[0_u64; 3]; 5];
    let closure = out.as_mut_ptr();
    // SAFETY: the output has a place for each work-item.
    unsafe { kernel.run(&closure, &support::whole(&[5])) }.expect("no panic");
    out
}

#[test]
fn constants_have_the_images_value_or_the_requests() {
    assert_eq!(special(|source| source), [[16, 2, 1]; 5]);
    let tile = special(|source| source.constant("TILE", &32_u32.to_le_bytes()));
    assert_eq!(tile, [[32, 2, 1]; 5]);
    let large = special(|source| source.constant("TILE", &101_u32.to_le_bytes()));
    assert_eq!(large[3], [3 * 1_000_003, 2, 1]);
    let mut point = Vec::from(7.0_f32.to_le_bytes());
    point.extend([9, 0, 0, 0]);
    let both = special(|source| source.constant("POINT", &point).constant("TILE", &[1, 1, 0, 0]));
    assert_eq!(both[1], [1_000_003, 9, 7]);
}

#[test]
fn constants_that_are_none() {
    let ask = |symbol: &str, value: &[u8]| {
        Source::new(SPECIAL, "special", words(&[PARAM_POINTER])).constant(symbol, value).error()
    };
    for (symbol, size, text) in [
        ("other", 4, "no specialization constant `other`"),
        ("nowhere", 4, "no specialization constant `nowhere`"),
        ("special", 4, "no specialization constant `special`"),
        ("TILE", 9, "has 8 bytes, and its value has 9"),
    ] {
        let (code, found) = ask(symbol, &vec![0; size]);
        assert!(code == INVALID_REQUEST && found.contains(text), "{found}");
    }
}

#[test]
fn open_constants_get_their_values_when_code_is_loaded() {
    let mut point = Vec::from(7.0_f32.to_le_bytes());
    point.extend([9, 0, 0, 0]);
    let open = |tile: u32, point: &[u8]| {
        special(|source| {
            let source = source.flags(FLAG_OPEN_CONSTANTS).constant("TILE", &tile.to_le_bytes());
            source.constant("elsewhere", &[1, 2, 3]).constant("POINT", point)
        })
    };
    assert_eq!(open(32, &[]), [[32, 2, 1]; 5]);
    assert_eq!(open(101, &point)[3], [3 * 1_000_003, 9, 7]);
    // The same object for all values, and no room beyond a constant's end.
    let large = Source::new(SPECIAL, "special", words(&[PARAM_POINTER]));
    let large = large.flags(FLAG_OPEN_CONSTANTS).constant("TILE", &[0; 9]).error();
    assert!(large.1.contains("`schism_constant_0` has no room for 9 bytes"), "{}", large.1);
}

#[test]
fn code_for_lesser_processors_runs_here_with_the_same_results() {
    let input: Vec<f32> = (0..1003).map(|i| (i % 1000) as f32 * 0.37 + 0.1).collect();
    let here = sums(0, &input);
    for cpu in ["x86-64", "x86-64-v2"] {
        let params = words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]);
        let kernel = Source::new(SPECIAL, "sums", params).cpu(cpu).build();
        let mut out = 0.0_f32;
        let closure = [(&raw mut out) as usize, input.as_ptr() as usize, input.len()];
        // SAFETY: there is one work-item, which writes one number and reads as many as there are.
        unsafe { kernel.run(&closure, &support::whole(&[1])) }.expect("no panic");
        assert_eq!(out.to_bits(), here.to_bits(), "{cpu}");
    }
    let params = words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]);
    let (code, text) = Source::new(SPECIAL, "sums", params).cpu("banana").error();
    assert!(code == INVALID_REQUEST && text.contains("known are x86-64, x86-64-v2"), "{text}");
}

fn sums(flags: u32, input: &[f32]) -> f32 {
    let params = words(&[PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER]);
    let kernel = Source::new(SPECIAL, "sums", params).flags(flags).build();
    let mut out = 0.0_f32;
    let closure = [(&raw mut out) as usize, input.as_ptr() as usize, input.len()];
    // SAFETY: there is one work-item, which writes one number and reads as many as there are.
    unsafe { kernel.run(&closure, &support::whole(&[1])) }.expect("no panic");
    out
}

#[test]
fn sums_are_precise_unless_they_need_not_be() {
    let input: Vec<f32> = (0..100_003).map(|i| (i % 1000) as f32 * 0.37 + 0.1).collect();
    let host = input.iter().fold(0.0_f32, |sum, value| sum + value * value);
    let truth: f64 = input.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    assert_eq!(sums(0, &input).to_bits(), host.to_bits());
    for flags in [FLAG_RELAXED_MATH, FLAG_RELAXED_MATH | FLAG_FINITE_MATH] {
        let relaxed = sums(flags, &input);
        assert!((f64::from(relaxed) / truth - 1.0).abs() < 1e-3, "{relaxed} for {truth}");
        // Many partial sums round less than one long one: the order did change.
        assert_ne!(relaxed.to_bits(), host.to_bits());
    }
    // What is no number stays so.
    assert!(sums(FLAG_RELAXED_MATH, &[1.0, f32::NAN, 2.0]).is_nan());
    assert_eq!(sums(FLAG_RELAXED_MATH, &[1.0, f32::INFINITY, 2.0]), f32::INFINITY);
}
