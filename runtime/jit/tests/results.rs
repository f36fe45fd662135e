//! Kernels compute what they say, over ranges of every shape.

mod support;

use schism_jit_abi::*;
use support::{Source, chunk, param, whole, words};

const IDS: &str = include_str!("kernels/ids.ll");
const KINDS: &str = include_str!("kernels/kinds.ll");
const MATHS: &str = include_str!("kernels/maths.ll");
const SAXPY: &str = include_str!("kernels/saxpy.ll");

#[repr(C)]
struct Saxpy {
    y: *mut f32,
    x: *const f32,
    a: f32,
}

fn saxpy(kernel: &str) -> Source {
    let params =
        vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
    Source::new(SAXPY, kernel, params)
}

/// Numbers that make rounding visible.
fn noise(len: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    (0..len).map(move |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64) / (1_u64 << 53) as f64 * 8.0 - 3.0
    })
}

#[test]
fn saxpy_equals_the_host_loop_bit_for_bit() {
    for name in ["saxpy", "saxpy_slice"] {
        let kernel = saxpy(name).build();
        for len in [0, 1, 7, 31, 32, 33, 1000, (1 << 20) + 7] {
            let x: Vec<f32> = noise(len, 1).map(|v| v as f32).collect();
            let y: Vec<f32> = noise(len, 2).map(|v| v as f32).collect();
            let a = 1.1_f32;
            let expected: Vec<u32> = x.iter().zip(&y).map(|(x, y)| (a * x + y).to_bits()).collect();
            let mut out = y.clone();
            let closure = Saxpy { y: out.as_mut_ptr(), x: x.as_ptr(), a };
            // SAFETY: both vectors have as many elements as the range.
            unsafe { kernel.run(&closure, &whole(&[len])) }.expect("no panic");
            assert!(out.iter().map(|v| v.to_bits()).eq(expected), "{name}, {len} elements");
        }
    }
}

#[test]
fn a_chunk_runs_its_own_ids_only() {
    let kernel = saxpy("saxpy").build();
    let x = vec![1.0_f32; 100];
    let mut y = vec![0.0_f32; 100];
    let closure = Saxpy { y: y.as_mut_ptr(), x: x.as_ptr(), a: 2.0 };
    for part in [(0, 0, 100), (100, 100, 100), (13, 13, 100), (17, 64, 100)] {
        // SAFETY: both vectors have as many elements as the range.
        unsafe { kernel.run(&closure, &chunk(&[part])) }.expect("no panic");
    }
    for (index, value) in y.into_iter().enumerate() {
        assert_eq!(value, if (17..64).contains(&index) { 2.0 } else { 0.0 }, "{index}");
    }
}

/// Runs `ids` over boxes and compares with what the same boxes mean here. Places outside are 0.
fn check_ids(dimensions: usize, range: [usize; 3], boxes: &[[(usize, usize); 3]]) {
    let kernel =
        Source::new(IDS, "ids", words(&[PARAM_POINTER])).dimensions(dimensions as u32).build();
    let total: usize = range[..dimensions].iter().product();
    let mut out = vec![[0_u64; 6]; total];
    let mut expected = out.clone();
    let closure = out.as_mut_ptr();
    for part in boxes {
        let parts: Vec<_> = (0..dimensions).map(|d| (part[d].0, part[d].1, range[d])).collect();
        // SAFETY: the output has a place for every id of the range.
        unsafe { kernel.run(&closure, &chunk(&parts)) }.expect("no panic");
        let axis = |d: usize| if d < dimensions { part[d].0..part[d].1 } else { 0..1 };
        let size = |d: usize| if d < dimensions { range[d] } else { 1 };
        for z in axis(2) {
            for y in axis(1) {
                for x in axis(0) {
                    let ids = [x, y, z, size(0), size(1), size(2)];
                    let place = &mut expected[(z * size(1) + y) * size(0) + x];
                    for (to, id) in place.iter_mut().zip(ids) {
                        *to += id as u64 + 1;
                    }
                }
            }
        }
    }
    assert_eq!(out, expected, "{dimensions} dimensions, {range:?}, {boxes:?}");
}

#[test]
fn ids_and_ranges_in_one_two_and_three_dimensions() {
    for n in [0, 1, 2, 31, 33, 100] {
        check_ids(1, [n, 9, 9], &[[(0, n), (0, 0), (0, 0)]]);
        check_ids(2, [n, 3, 9], &[[(0, n), (0, 3), (0, 0)]]);
        check_ids(2, [3, n, 9], &[[(0, 3), (0, n), (0, 0)]]);
        check_ids(3, [n, 3, 2], &[[(0, n), (0, 3), (0, 2)]]);
        check_ids(3, [2, 3, n], &[[(0, 2), (0, 3), (0, n)]]);
    }
    check_ids(1, [50, 0, 0], &[[(0, 10), (0, 0), (0, 0)], [(10, 50), (0, 0), (0, 0)]]);
    check_ids(2, [50, 20, 0], &[[(7, 41), (3, 19), (0, 0)], [(0, 50), (19, 20), (0, 0)]]);
    check_ids(3, [20, 10, 5], &[[(3, 17), (2, 9), (1, 4)], [(3, 3), (0, 10), (0, 5)]]);
}

#[test]
fn a_builtin_in_a_recursive_function_is_the_work_items() {
    let kernel = Source::new(IDS, "deep_ids", words(&[PARAM_POINTER])).build();
    let len = 1234_u64;
    let mut out = vec![0_u64; len as usize];
    let closure = out.as_mut_ptr();
    // SAFETY: the output has a place for every id.
    unsafe { kernel.run(&closure, &whole(&[len as usize])) }.expect("no panic");
    for (id, value) in out.into_iter().zip(0..).map(|(value, id): (u64, u64)| (id, value)) {
        let digits: u64 = id.to_string().bytes().map(|b| u64::from(b - b'0')).sum();
        assert_eq!(value, digits + id * 1000 + len * 1_000_000, "{id}");
    }
}

#[test]
fn a_kernel_without_parameters() {
    let kernel = Source::new(IDS, "nothing", Vec::new()).dimensions(3).build();
    // SAFETY: the kernel takes nothing.
    unsafe { kernel.run(&(), &whole(&[3, 4, 5])) }.expect("no panic");
}

#[test]
fn every_kind_of_parameter_arrives() {
    #[repr(C, align(16))]
    struct Closure {
        wide: i128,
        out: *mut u8,
        long: u64,
        bytes: [u64; 3],
        d: f64,
        f: f32,
        int: i32,
        short: i16,
        half: u16,
        flag: bool,
    }
    use std::mem::offset_of;
    let at = |offset: usize, size: u64, kind: u32| Param {
        offset: offset as u64,
        size,
        align: if kind == PARAM_BYTES { 8 } else { size },
        kind,
    };
    let params = vec![
        at(offset_of!(Closure, out), 8, PARAM_POINTER),
        at(offset_of!(Closure, flag), 1, PARAM_INTEGER),
        at(offset_of!(Closure, short), 2, PARAM_INTEGER),
        at(offset_of!(Closure, int), 4, PARAM_INTEGER),
        at(offset_of!(Closure, long), 8, PARAM_INTEGER),
        at(offset_of!(Closure, wide), 16, PARAM_INTEGER),
        at(offset_of!(Closure, half), 2, PARAM_FLOAT),
        at(offset_of!(Closure, f), 4, PARAM_FLOAT),
        at(offset_of!(Closure, d), 8, PARAM_FLOAT),
        at(offset_of!(Closure, bytes), 24, PARAM_BYTES),
    ];
    let source = Source::new(KINDS, "kinds", params.clone()).align(16);
    let kernel = source.build();
    let mut out = [0_u8; 72];
    let closure = Closure {
        wide: -0x0123_4567_89ab_cdef_0011_2233_4455_6677,
        out: out.as_mut_ptr(),
        long: 0xdead_beef_0bad_f00d,
        bytes: [1, u64::MAX, 0x1234_5678],
        d: -0.1,
        f: 1.0e-40,
        int: -77,
        short: 0x7abc,
        half: 0x3c01,
        flag: true,
    };
    // SAFETY: the output has the 72 bytes that the kernel writes.
    unsafe { kernel.run(&closure, &whole(&[1])) }.expect("no panic");
    assert_eq!(out[0], 1);
    assert_eq!(out[2..4], closure.short.to_le_bytes());
    assert_eq!(out[4..8], closure.int.to_le_bytes());
    assert_eq!(out[8..16], closure.long.to_le_bytes());
    assert_eq!(out[16..32], closure.wide.to_le_bytes());
    assert_eq!(out[32..34], closure.half.to_le_bytes());
    assert_eq!(out[36..40], closure.f.to_le_bytes());
    assert_eq!(out[40..48], closure.d.to_le_bytes());
    let bytes: Vec<u8> = closure.bytes.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(out[48..72], bytes);

    // The same values, known beforehand: then what the closure holds is not looked at.
    // SAFETY: plain bytes; those between the fields are not looked at.
    let whole_closure = unsafe {
        std::slice::from_raw_parts((&raw const closure).cast::<u8>(), size_of::<Closure>())
    };
    let known = params.iter().zip(0..).skip(1).fold(source, |source, (param, index)| {
        let begin = param.offset as usize;
        source.value(index, &whole_closure[begin..begin + param.size as usize])
    });
    let mut again = [0_u8; 72];
    let other = Closure {
        wide: 0,
        out: again.as_mut_ptr(),
        long: 0,
        bytes: [0; 3],
        d: 0.0,
        f: 0.0,
        int: 0,
        short: 0,
        half: 0,
        flag: false,
    };
    // SAFETY: as above.
    unsafe { known.build().run(&other, &whole(&[1])) }.expect("no panic");
    assert_eq!(again, out);
}

#[test]
fn an_aggregate_is_each_work_items_own() {
    #[repr(C)]
    struct Closure {
        out: *mut u64,
        pair: [u64; 2],
    }
    let params = vec![
        param(0, 8, PARAM_POINTER),
        Param { offset: 8, size: 16, align: 8, kind: PARAM_BYTES },
    ];
    let kernel = Source::new(KINDS, "scribble", params.clone()).build();
    let mut out = vec![0_u64; 1000];
    let closure = Closure { out: out.as_mut_ptr(), pair: [100, 3] };
    // SAFETY: the output has a place for every id.
    unsafe { kernel.run(&closure, &whole(&[1000])) }.expect("no panic");
    assert!(out.into_iter().eq((0..1000).map(|i| 100 + i)));
    assert_eq!(closure.pair, [100, 3]);
    let known: Vec<u8> = [200_u64, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    let kernel = Source::new(KINDS, "scribble", params).value(1, &known).build();
    let mut out = vec![0_u64; 1000];
    let closure = Closure { out: out.as_mut_ptr(), ..closure };
    // SAFETY: as above.
    unsafe { kernel.run(&closure, &whole(&[1000])) }.expect("no panic");
    assert!(out.into_iter().eq((0..1000).map(|i| 200 + i)));
}

#[test]
fn locals_in_memory_are_each_work_items_own() {
    let kernel = Source::new(KINDS, "locals", words(&[PARAM_POINTER; 2])).build();
    let len = 10_000;
    let input: Vec<u32> = noise(len, 9).map(|v| (v * 1000.0) as i32 as u32).collect();
    let mut out = vec![7_u32; len];
    let closure = (out.as_mut_ptr(), input.as_ptr());
    // SAFETY: both vectors have a place for every id.
    unsafe { kernel.run(&closure, &whole(&[len])) }.expect("no panic");
    for (value, found) in input.into_iter().zip(out) {
        let expected = if value & 7 == (value >> 3) & 7 { value } else { 0 };
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn atomics_count_over_many_threads() {
    let kernel = Source::new(KINDS, "histogram", words(&[PARAM_POINTER; 2])).build();
    let input: Vec<u8> = noise(100_000, 3).map(|v| (v * 50.0) as i64 as u8).collect();
    let bins: Vec<std::sync::atomic::AtomicU32> = (0..256).map(|_| 0.into()).collect();
    let closure = (bins.as_ptr() as usize, input.as_ptr() as usize);
    std::thread::scope(|scope| {
        for quarter in 0..4 {
            let (kernel, closure, len) = (&kernel, &closure, input.len());
            scope.spawn(move || {
                let part = chunk(&[(quarter * len / 4, (quarter + 1) * len / 4, len)]);
                // SAFETY: there are 256 bins and as many bytes as the range.
                unsafe { kernel.run(closure, &part) }.expect("no panic");
            });
        }
    });
    for (value, bin) in (0..=255_u8).zip(bins) {
        let expected = input.iter().filter(|&&byte| byte == value).count();
        assert_eq!(bin.into_inner() as usize, expected, "{value}");
    }
}

#[test]
fn constants_tables_of_functions_and_variables() {
    let kernel = Source::new(KINDS, "tables", words(&[PARAM_POINTER])).build();
    let mut out = vec![0_u64; 100];
    let closure = out.as_mut_ptr();
    // SAFETY: the output has a place for every id.
    unsafe { kernel.run(&closure, &whole(&[100])) }.expect("no panic");
    for (i, value) in (0_u64..).zip(out) {
        let operation = if i % 2 == 0 { i + i } else { i * i };
        assert_eq!(value, operation + (i % 4) * (i % 4) + 5, "{i}");
    }
}

/// Runs `maths` on numbers, and compares with what is expected of each.
fn maths(flags: u32, input: &[f64], expected: impl Fn(f64) -> [f64; 5]) {
    let kernel = Source::new(MATHS, "maths", words(&[PARAM_POINTER; 2])).flags(flags).build();
    let mut out = vec![[0.0_f64; 5]; input.len()];
    let closure = (out.as_mut_ptr(), input.as_ptr());
    // SAFETY: both have a place for every id.
    unsafe { kernel.run(&closure, &whole(&[input.len()])) }.expect("no panic");
    for (&v, found) in input.iter().zip(out) {
        for (found, expected) in found.into_iter().zip(expected(v)) {
            let same =
                found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            assert!(same, "{v}: {found} instead of {expected}");
        }
    }
}

#[test]
fn the_maths_library_is_the_hosts() {
    let input: Vec<f64> = noise(1000, 4).collect();
    maths(0, &input, |v| {
        [f64::from((v as f32).sin()), v.powf(1.5), v.exp(), v % 0.75, v.mul_add(v, 0.1)]
    });
}

#[test]
fn the_maths_library_is_our_own_if_asked_for() {
    let special = [0.0, -0.0, 1.0, 1e-310, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let input: Vec<f64> = noise(1000, 4).chain(special).collect();
    for count in [0, 1, 7, input.len()] {
        maths(FLAG_PORTABLE_MATH, &input[..count], |v| {
            [
                f64::from(schism_devicelib::sinf(v as f32)),
                schism_devicelib::pow(v, 1.5),
                schism_devicelib::exp(v),
                schism_devicelib::fmod(v, 0.75),
                v.mul_add(v, 0.1),
            ]
        });
    }
}

#[test]
fn a_product_and_a_sum_stay_two_operations() {
    let kernel = Source::new(MATHS, "unfused", words(&[PARAM_POINTER; 2])).build();
    let values: Vec<f64> = noise(3000, 5).collect();
    let input: Vec<[f64; 3]> = values.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
    let fused = |[a, b, c]: [f64; 3]| a.mul_add(b, c);
    assert!(input.iter().any(|&[a, b, c]| a * b + c != fused([a, b, c])), "the input shows it");
    let mut out = vec![[0.0_f64; 2]; input.len()];
    let closure = (out.as_mut_ptr(), input.as_ptr());
    // SAFETY: both vectors have a place for every id.
    unsafe { kernel.run(&closure, &whole(&[input.len()])) }.expect("no panic");
    for ([a, b, c], found) in input.into_iter().zip(out) {
        assert_eq!(found, [a * b + c; 2], "{a} * {b} + {c}");
    }
}

#[test]
fn arithmetic_that_the_processor_does_not_have() {
    #[repr(C, align(16))]
    struct Closure {
        a: i128,
        b: i128,
        out: *mut u8,
    }
    let params = vec![
        Param { offset: 32, size: 8, align: 8, kind: PARAM_POINTER },
        Param { offset: 0, size: 16, align: 16, kind: PARAM_INTEGER },
        Param { offset: 16, size: 16, align: 16, kind: PARAM_INTEGER },
    ];
    let kernel = Source::new(MATHS, "wide", params).align(16).build();
    for (a, b) in [(-(1_i128 << 100) + 12345, 987_654_321), (i128::MAX, -3), (5, i128::MAX)] {
        let mut out = [0_u8; 56];
        let closure = Closure { a, b, out: out.as_mut_ptr() };
        // SAFETY: the output has the 56 bytes that the kernel writes.
        unsafe { kernel.run(&closure, &whole(&[1])) }.expect("no panic");
        assert_eq!(out[0..16], (a / b).to_le_bytes());
        assert_eq!(out[16..32], (a as u128 % b as u128).to_le_bytes());
        assert_eq!(out[32..40], (a as f64).to_le_bytes());
        if a != i128::MAX {
            assert_eq!(out[40..56], (a as f64 as i128).to_le_bytes());
        }
    }
    let params = vec![param(0, 8, PARAM_POINTER), param(8, 2, PARAM_FLOAT)];
    let kernel = Source::new(MATHS, "half", params).build();
    let mut out = 0_u16;
    let closure = (&raw mut out, 0x3e00_u64);
    // SAFETY: the output has the two bytes that the kernel writes; 1.5 is the half.
    unsafe { kernel.run(&closure, &whole(&[1])) }.expect("no panic");
    assert_eq!(out, 0x4480, "4.5");
}

#[test]
fn a_large_copy_is_the_c_librarys() {
    let kinds = [PARAM_POINTER, PARAM_POINTER, PARAM_INTEGER];
    let kernel = Source::new(MATHS, "copy", words(&kinds)).build();
    let from: Vec<u8> = (0..100_000).map(|i| (i * 7) as u8).collect();
    let mut to = vec![0_u8; from.len()];
    let closure = (to.as_mut_ptr(), from.as_ptr(), from.len());
    // SAFETY: both vectors have that many bytes.
    unsafe { kernel.run(&closure, &whole(&[1])) }.expect("no panic");
    assert_eq!(to, from);
}
