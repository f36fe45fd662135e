//! Work-items in the lanes of vectors: the machine code has packed instructions of the processor's
//! width, and results, panics and stores are those of one work-item after the other.

mod support;

use std::path::Path;

use schism_jit_abi::*;
use support::{Kernel, Source, chunk, param, words};

const LANES: &str = include_str!("kernels/lanes.ll");

/// What stage 2 reads.
const VARIABLE: &str = "SCHISM_CPU_LANES";
const DUMP: &str = "SCHISM_DUMP_DIR";

fn source(kernel: &str) -> Source {
    let last = match kernel {
        "mandelbrot" => param(16, 4, PARAM_FLOAT),
        _ => param(16, 8, PARAM_INTEGER),
    };
    let params = vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), last];
    Source::new(LANES, kernel, params)
}

/// A kernel for a number of lanes, and its assembly.
fn build(folder: &Path, source: &Source, lanes: &str) -> (Kernel, String) {
    let folder = folder.join(format!("{}-{}-{lanes}", source.kernel, source.cpu));
    // SAFETY: this file has one test, so no other thread looks at the environment meanwhile but the
    // compile thread, which begins after this and has ended before the next.
    unsafe {
        std::env::set_var(VARIABLE, lanes);
        std::env::set_var(DUMP, &folder);
    }
    let kernel = source.build();
    let files = std::fs::read_dir(&folder).expect("it was made");
    let path = files
        .map(|entry| entry.expect("it can be read").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "s"));
    let text = std::fs::read_to_string(path.expect("assembly")).expect("text");
    (kernel, text)
}

/// Functions of the library that kernels call most, and how many numbers they take.
const FUNCTIONS: [(&str, usize); 24] = [
    ("acos", 1),
    ("asin", 1),
    ("atan", 1),
    ("atan2", 2),
    ("cbrt", 1),
    ("cos", 1),
    ("cosh", 1),
    ("exp", 1),
    ("exp2", 1),
    ("expm1", 1),
    ("fmod", 2),
    ("hypot", 2),
    ("log", 1),
    ("log10", 1),
    ("log1p", 1),
    ("log2", 1),
    ("pow", 2),
    ("round", 1),
    ("sin", 1),
    ("sinh", 1),
    ("sqrt", 1),
    ("tan", 1),
    ("tanh", 1),
    ("floor", 1),
];

/// A kernel that calls one of them.
fn function(name: &str, number: &str, numbers: usize) -> Source {
    let types = vec![number; numbers].join(", ");
    let values = vec![format!("{number} %v"); numbers].join(", ");
    let text = format!(
        "declare {number} @{name}({types})
        define void @maths(ptr noalias %out, ptr noalias %in) {{
          %i = call i64 @__schism_global_id_x()
          %from = getelementptr {number}, ptr %in, i64 %i
          %v = load {number}, ptr %from
          %r = call {number} @{name}({values})
          %to = getelementptr {number}, ptr %out, i64 %i
          store {number} %r, ptr %to
          ret void
        }}"
    );
    let mut source = Source::new(&text, "maths", words(&[PARAM_POINTER; 2]));
    source.flags = FLAG_PORTABLE_MATH;
    source.cpu("x86-64-v3")
}

/// The file of a kernel's steps that ends in this.
fn step(folder: &Path, end: &str) -> String {
    let files = std::fs::read_dir(folder).expect("it was made");
    let path = files
        .map(|entry| entry.expect("it can be read").path())
        .find(|path| path.extension().is_some_and(|extension| extension == end));
    std::fs::read_to_string(path.expect("a step")).expect("text")
}

/// All of them are packed arithmetic of the processor's width.
fn functions_are_in_lanes(folder: &Path) {
    for (name, numbers) in FUNCTIONS {
        for (number, suffix, ending) in [("float", "f", "ps"), ("double", "", "pd")] {
            let name = format!("{name}{suffix}");
            let folder = folder.join(&name);
            // SAFETY: as in `build`.
            unsafe {
                std::env::set_var(VARIABLE, "auto");
                std::env::set_var(DUMP, &folder);
            }
            function(&name, number, numbers).build();
            let (text, remarks) = (step(&folder, "s"), step(&folder, "remarks"));
            let in_lanes = remarks.contains(": vectorised: ") || remarks.contains("left to LLVM");
            assert!(in_lanes, "{name}: {remarks}");
            // The only calls of each lane are those of huge angles.
            let called = remarks.lines().find(|line| line.contains("once for each lane"));
            assert!(called.is_none_or(|line| line.contains("large_")), "{name}: {remarks}");
            // Some remainders are computed in integers.
            let packed = |line: &str| {
                let operation = line.split_whitespace().next().unwrap_or_default();
                line.contains("%ymm") && (operation.ends_with(ending) || name.contains("fmod"))
            };
            assert!(text.lines().any(packed), "{name}: {text}");
        }
    }
}

#[repr(C)]
struct Closure<L> {
    out: *mut u32,
    input: *const u32,
    last: L,
}

fn run<L>(
    kernel: &Kernel,
    input: &[u32],
    last: L,
    part: (usize, usize, usize),
) -> (Option<[usize; 3]>, Vec<u32>) {
    let mut out = vec![7; input.len()];
    let closure = Closure { out: out.as_mut_ptr(), input: input.as_ptr(), last };
    // SAFETY: both vectors have as many elements as the range.
    let panicked = unsafe { kernel.run(&closure, &chunk(&[part])) };
    (panicked.err().map(|panic| panic.global_id), out)
}

#[test]
fn lanes() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let packed = |text: &str, register: &str| {
        let has =
            |name: &&str| text.lines().any(|line| line.contains(name) && line.contains(register));
        ["mulps", "addps", "subps"].iter().all(has)
    };

    // Packed instructions of the width that each processor has, and none without lanes.
    for kernel in ["mandelbrot", "forces"] {
        for (cpu, register) in [("x86-64-v2", "%xmm"), ("x86-64-v3", "%ymm")] {
            let (_, text) = build(folder, &source(kernel).cpu(cpu), "auto");
            assert!(packed(&text, register), "{kernel} on {cpu}:\n{text}");
        }
        let (_, text) = build(folder, &source(kernel), "auto");
        let wide = match () {
            () if is_x86_feature_detected!("avx512bw") => "%zmm",
            () if is_x86_feature_detected!("avx2") => "%ymm",
            () => "%xmm",
        };
        assert!(packed(&text, wide), "{kernel} has no {wide}:\n{text}");
    }
    let (_, text) = build(folder, &source("mandelbrot"), "off");
    assert!(!packed(&text, "mm"), "{text}");

    functions_are_in_lanes(folder);

    // The same bits with any number of lanes, for ranges with and without a rest.
    let real: Vec<u32> = (0..1000).map(|i| (i as f32 / 400.0 - 1.9).to_bits()).collect();
    let index: Vec<u32> = (0..1000_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 23).collect();
    for parts in [(0, 1000, 1000), (3, 3, 1000), (17, 40, 1000), (1, 999, 1000)] {
        let mut all = Vec::new();
        for lanes in ["off", "4", "8", "16", "auto"] {
            let [escape, forces, gather] = ["mandelbrot", "forces", "gather"]
                .map(|kernel| build(folder, &source(kernel), lanes).0);
            all.push((
                run(&escape, &real, 0.3_f32, parts),
                run(&forces, &real, 1000_usize, parts),
                run(&gather, &index, 1000_usize, parts),
            ));
        }
        assert!(all.iter().all(|one| *one == all[0]), "{parts:?}");
        assert_eq!(all[0].2.0, None, "no index is outside");
    }

    // The first work-item whose index is outside panics, and those before it have stored.
    for lanes in ["off", "4", "8", "16", "auto"] {
        let (gather, _) = build(folder, &source("gather"), lanes);
        for first in [0, 1, 77, 999] {
            let mut index = index.clone();
            index[first] = 5000;
            index[999] = 5001;
            let (panicked, out) = run(&gather, &index, 1000_usize, (0, 1000, 1000));
            assert_eq!(panicked, Some([first, 0, 0]), "{lanes} lanes");
            for (item, &place) in index[..first].iter().enumerate() {
                let value = index[place as usize];
                let expected = if value % 2 == 1 { value } else { 7 };
                assert_eq!(out[item], expected, "item {item}, {lanes} lanes");
            }
        }
    }
    // Quotients by one divisor, at the ends of its multiples and of the range.
    let (quotients, text) = build(folder, &source("quotients"), "8");
    assert!(text.contains("mulpd"), "{text}");
    let (one_by_one, _) = build(folder, &source("quotients"), "off");
    let near = |x: u64| [x.wrapping_sub(1), x, x + 1];
    let divisors = [1, 2, 3, 7, 10, 255, 641, 0x7FFF, 0xFFFF, 0x1_0001, 6_700_417, 0x5555_5555];
    let divisors = divisors.into_iter().chain((20..32).map(|bit| 1 << bit)).flat_map(near);
    let divisors = divisors.chain([0xFFFF_FFFE, 0xFFFF_FFFF]).filter(|by| *by as u32 != 0);
    for by in divisors {
        let mut input: Vec<u32> =
            (0..1000_u64).map(|i| (i * 4_294_967).wrapping_mul(by) as u32).collect();
        for (at, to) in input.iter_mut().enumerate() {
            *to = to.wrapping_add([u32::MAX, 0, 1][at % 3]);
        }
        input.extend([0, 1, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF, 2]);
        let part = (0, input.len(), input.len());
        let [found, expected] =
            [&quotients, &one_by_one].map(|kernel| run(kernel, &input, by as usize, part));
        assert_eq!(found, expected, "by {by}");
    }
    // SAFETY: as above.
    unsafe { std::env::set_var(VARIABLE, "3") };
    let (code, text) = source("gather").error();
    assert_eq!(code, INVALID_REQUEST);
    assert!(text.contains("SCHISM_CPU_LANES is `3`"), "{text}");
}
