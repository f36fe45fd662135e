//! The device library with kernels: it comes with PTX, and nothing of it is approximate; on the CPU
//! it gives what the crate gives.

mod support;

use std::fmt::LowerExp;

use schism_jit_abi::*;
use support::gpu::Gpu;
use support::{Source, ptxas, whole, words};

/// A kernel that calls a function of C's mathematics, which takes so many numbers, with what it
/// reads.
fn calls(name: &str, numbers: usize) -> Source {
    let number = if name.ends_with('f') && name != "erf" { "float" } else { "double" };
    let types = vec![number; numbers].join(", ");
    let values = vec![format!("{number} %v"); numbers].join(", ");
    let text = format!(
        "declare {number} @{name}({types})
        define void @maths(ptr %out, ptr %in) {{
          %i = call i64 @__schism_global_id_x()
          %from = getelementptr {number}, ptr %in, i64 %i
          %v = load {number}, ptr %from
          %r = call {number} @{name}({values})
          %to = getelementptr {number}, ptr %out, i64 %i
          store {number} %r, ptr %to
          ret void
        }}"
    );
    Source::new(&text, "maths", words(&[PARAM_POINTER; 2]))
}

#[test]
fn mathematics_comes_with_the_kernel() {
    let several = |name: &str| match name.trim_end_matches('f') {
        "atan2" | "fdim" | "fmod" | "hypot" | "pow" => 2,
        "fma" => 3,
        _ => 1,
    };
    let others = ["ldexp", "ldexpf", "lgamma_r", "lgammaf_r", "__powidf2", "__powisf2"];
    let assembler = ptxas::find();
    for name in schism_devicelib::NAMES {
        if others.contains(name) || name.starts_with("mem") || *name == "bcmp" {
            continue;
        }
        let ptx = Gpu::new(calls(name, several(name))).arch("sm_90").build();
        if let Some(assembler) = &assembler {
            ptxas::assemble(assembler, "sm_90", &ptx.text);
        }
        // What is not the entry is a function of the library that was too large to be inlined.
        assert_eq!(ptx.count(&[".extern"]), 0, "{name}: {}", ptx.text);
        // The same bits as on all devices: no approximation but those that a step corrects, each
        // with the precise instruction as its slow path.
        let mut begun = 0;
        for (near, precise) in [("rcp", "rcp.rn.f32"), ("rsqrt", "sqrt.rn.f32")] {
            let near = ptx.count(&[&format!("{near}.approx.ftz.f32")]);
            assert!(near <= ptx.count(&[precise]), "{name}: {}", ptx.text);
            begun += near;
        }
        for approximate in [".approx", ".ftz"] {
            assert_eq!(ptx.count(&[approximate]), begun, "{name}: {}", ptx.text);
        }
    }
    // What the GPU has is inlined.
    for (name, instruction) in [
        ("sqrt", "sqrt.rn.f64"),
        ("sqrtf", "sqrt.rn.f32"),
        ("fmaf", "fma.rn.f32"),
        ("floor", "cvt.rmi.f64.f64"),
        ("ceilf", "cvt.rpi.f32.f32"),
        ("trunc", "cvt.rzi.f64.f64"),
        ("rintf", "cvt.rni.f32.f32"),
        ("acos", "sqrt.rn.f64"),
        ("cbrt", "fma.rn.f64"),
    ] {
        let ptx = Gpu::new(calls(name, several(name))).build();
        assert!(ptx.count(&[instruction]) >= 1, "{name}: {}", ptx.text);
        assert_eq!(ptx.count(&["call"]), 0, "{name}: {}", ptx.text);
    }
    let maths = Source::new(include_str!("kernels/maths.ll"), "maths", words(&[PARAM_POINTER; 2]));
    let ptx = Gpu::new(maths).build();
    assert_eq!(ptx.count(&[".extern"]), 0, "{}", ptx.text);
}

/// A kernel that calls a function with the first, the first two, or the first two and again the
/// first of a pair of numbers.
fn of_pairs(name: &str, number: &str, numbers: usize) -> Source {
    let types = vec![number; numbers].join(", ");
    let values = ["%x", "%y", "%x"].map(|value| format!("{number} {value}"));
    let values = values[..numbers].join(", ");
    let text = format!(
        "declare {number} @{name}({types})
        define void @maths(ptr %out, ptr %in) {{
          %i = call i64 @__schism_global_id_x()
          %from = getelementptr [2 x {number}], ptr %in, i64 %i
          %x = load {number}, ptr %from
          %second = getelementptr {number}, ptr %from, i64 1
          %y = load {number}, ptr %second
          %r = call {number} @{name}({values})
          %to = getelementptr {number}, ptr %out, i64 %i
          store {number} %r, ptr %to
          ret void
        }}"
    );
    Source::new(&text, "maths", words(&[PARAM_POINTER; 2])).flags(FLAG_PORTABLE_MATH)
}

/// Compares a function in a kernel with the crate's, for pairs of numbers. `bits` tells numbers
/// apart, and all NaNs are one.
fn compare<T: Copy + Default + LowerExp>(
    source: Source,
    input: &[[T; 2]],
    bits: impl Fn(T) -> u64,
    name: &str,
    expected: impl Fn(T, T) -> T,
) {
    let kernel = source.build();
    let mut out = vec![T::default(); input.len()];
    let closure = (out.as_mut_ptr(), input.as_ptr());
    // SAFETY: both vectors have a place for every id.
    unsafe { kernel.run(&closure, &whole(&[input.len()])) }.expect("no panic");
    for (&[x, y], found) in input.iter().zip(out) {
        let expected = expected(x, y);
        let same = bits(found) == bits(expected);
        assert!(same, "{name} of {x:e}, {y:e}: {found:e} instead of {expected:e}");
    }
}

/// The crate's functions of one, of two and of three numbers.
struct Functions<'a, T> {
    one: &'a [(&'a str, extern "C" fn(T) -> T)],
    two: &'a [(&'a str, extern "C" fn(T, T) -> T)],
    three: (&'a str, extern "C" fn(T, T, T) -> T),
}

/// Compares all functions in kernels with the crate's.
fn compare_all<T: Copy + Default + LowerExp>(
    number: &str,
    pairs: &[[T; 2]],
    bits: impl Fn(T) -> u64,
    Functions { one, two, three }: Functions<'_, T>,
) {
    for (name, function) in one {
        compare(of_pairs(name, number, 1), pairs, &bits, name, |x, _| function(x));
    }
    for (name, function) in two {
        compare(of_pairs(name, number, 2), pairs, &bits, name, |x, y| function(x, y));
    }
    let (name, function) = three;
    compare(of_pairs(name, number, 3), pairs, &bits, name, |x, y| function(x, y, x));
}

/// Random bits.
fn noise() -> impl Iterator<Item = u64> {
    let step = |state: &u64| {
        Some(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F))
    };
    std::iter::successors(Some(7), step).map(|state| state ^ state >> 29)
}

/// Numbers of all sizes and kinds, and those that functions are mostly called with.
fn pairs() -> Vec<[f64; 2]> {
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e9, 1e-40, 1e-310, 1e300];
    let special = [&special[..], &[f64::INFINITY, f64::NEG_INFINITY, f64::NAN]].concat();
    let mut pairs: Vec<[f64; 2]> =
        special.iter().flat_map(|&x| special.iter().map(move |&y| [x, y])).collect();
    let numbers: Vec<u64> = noise().take(4000).collect();
    for pair in numbers.chunks_exact(2) {
        pairs.push([pair[0], pair[1]].map(f64::from_bits));
        pairs.push([pair[0], pair[1]].map(|bits| bits.cast_signed() as f64 / 2.0_f64.powi(58)));
    }
    pairs
}

/// Functions by their names.
macro_rules! named {
    ($($name:ident)*) => { [$((stringify!($name), schism_devicelib::$name as _),)*] };
}

#[test]
fn doubles_are_the_crates() {
    let one: [(&str, extern "C" fn(f64) -> f64); 30] = named![
        acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 exp10 expm1 floor log log10 log1p log2 rint round sin sinh
        sqrt tan tanh tgamma trunc
    ];
    let two: [(&str, extern "C" fn(f64, f64) -> f64); 5] = named![atan2 fdim fmod hypot pow];
    let pairs = pairs();
    let bits = |number: f64| if number.is_nan() { u64::MAX } else { number.to_bits() };
    let three = ("fma", schism_devicelib::fma as _);
    compare_all("double", &pairs, bits, Functions { one: &one, two: &two, three });
}

#[test]
fn singles_are_the_crates() {
    let one: [(&str, extern "C" fn(f32) -> f32); 30] = named![
        acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf erff erfcf expf exp2f exp10f expm1f floorf logf log10f log1pf log2f
        rintf roundf sinf sinhf sqrtf tanf tanhf tgammaf truncf
    ];
    let two: [(&str, extern "C" fn(f32, f32) -> f32); 5] = named![atan2f fdimf fmodf hypotf powf];
    let narrow = |[x, y]: [f64; 2]| [x as f32, y as f32];
    let any = noise()
        .zip(noise().skip(1))
        .map(|(x, y)| [x, y].map(|bits| f32::from_bits((bits >> 32) as u32)));
    let pairs: Vec<[f32; 2]> = pairs().into_iter().map(narrow).chain(any.take(2000)).collect();
    let bits = |number: f32| if number.is_nan() { u64::MAX } else { number.to_bits().into() };
    let three = ("fmaf", schism_devicelib::fmaf as _);
    compare_all("float", &pairs, bits, Functions { one: &one, two: &two, three });
}
