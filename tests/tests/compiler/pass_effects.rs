//! Passes that look for patterns in LLVM's output still find them: a kernel of Rust for each,
//! compiled with and without the pass.
//!
//! The files in `passes/` say what a pass makes of a pattern. The test here fails if a newer LLVM,
//! another rustc or another pass makes something else of the source, so that a pass finds nothing.

use schism_hcf::{KernelRef, RecordRef};
use schism_jit::{GpuOptions, Request, compile_ptx, compile_spirv};
use schism_jit_abi::{
    ASSUME_DIVISIBLE, ASSUME_GROUP_ON_THREAD, ASSUME_INDEX_32, PARAM_INTEGER, PARAM_POINTER, Param,
};
use schism_passes::registry;
use schism_passes::variables::DISABLE_PASSES;
use schism_tests::container::records_of;
use schism_tests::lab::{Lab, source, text};

/// What a pass does to code: how many lines have a text in them, with and without the pass.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// Some with the pass, none without.
    Appears(&'static str),
    /// None with the pass, some without.
    Disappears(&'static str),
    /// Fewer with the pass.
    Fewer(&'static str),
    /// More with the pass.
    More(&'static str),
}
use Effect::{Appears, Disappears, Fewer, More};

/// The passes, and their effects on the kernel in the function with their name in
/// `crates/pass_effects.rs`. One that looks for several patterns has a kernel for each, named behind
/// a slash.
const EFFECTS: &[(&str, &[Effect])] = &[
    ("narrow-integers/division", &[Disappears("div.u64")]),
    ("expand-mem-intrinsics", &[Disappears("st.local.b8")]),
    ("infer-alignment", &[Appears("ld.global.nc.v4")]),
    ("superblocks/rare-cases", &[Appears("and.pred")]),
    ("superblocks/loads", &[Appears("and.pred")]),
    ("narrow-integers/checks", &[Appears("setp.lt.u32")]),
    ("strip-mine", &[Appears("ld.global.nc.v4")]),
    ("merge-checks", &[Fewer("bra")]),
    ("loop-versioning", &[More("ld.global.nc")]),
    ("unroll-policy/private-arrays", &[Disappears("ld.local")]),
    ("select-elements", &[Disappears("ld.local"), Disappears("st.local")]),
    ("unroll-hints", &[Fewer("ld.global.nc.b8")]),
    (
        "nvptx-prepare/relaxed",
        &[Appears("ld.relaxed.gpu.shared.v2"), Appears("st.relaxed.gpu.shared.v2")],
    ),
    ("nvptx-prepare/bounds", &[Appears(".minnctapersm")]),
    ("nvptx-prepare/bytes", &[More("ld.global.nc.b8")]),
    ("clamped-checks", &[More("bra")]),
    ("thread-headers", &[More("ld.global.nc")]),
    ("nvptx-prepare/atomics", &[Appears("red.global.min.u32"), Disappears("atom.global.min.u32")]),
];

/// The same of passes for OpenCL's devices, whose SPIR-V has a line for each instruction ([`spirv`]).
const OPENCL_EFFECTS: &[(&str, &[Effect])] = &[
    // Of barriers.
    ("unroll-policy/barrier-nests", &[Fewer("op 224 ")]),
];

/// Compiles a kernel without a pass, to text.
type Compile = fn(&RecordRef<'_>, &KernelRef<'_>, &str) -> String;

#[test]
fn every_pass_still_finds_its_pattern() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("pass-effects");
    let mut rustc = lab.rustc_with_runtime(&folder);
    text(rustc.arg(source("crates/pass_effects.rs")).arg("-Copt-level=3"));
    let contents = std::fs::read(folder.join("pass_effects")).expect("the program");
    let records = records_of(&contents);
    let mut failures = Vec::new();
    let compilers: [(&[_], Compile); 2] = [(EFFECTS, ptx), (OPENCL_EFFECTS, spirv)];
    let rows =
        compilers.iter().flat_map(|(rows, compile)| rows.iter().map(move |row| (row, compile)));
    for (&(row, effects), compile) in rows {
        let pass = row.split('/').next().unwrap_or(row);
        assert!(registry::find(pass).is_ok_and(|pass| pass.optional), "{pass}");
        let function = row.replace(['-', '/'], "_");
        let mut kernels = records.iter().flat_map(|record| {
            let kernels = record.kernels().iter().map(move |kernel| (record, kernel));
            kernels.filter(|(_, kernel)| kernel.display_name.contains(&function))
        });
        let (record, kernel) = kernels.next().unwrap_or_else(|| panic!("no kernel `{function}`"));
        assert!(kernels.next().is_none(), "two kernels in `{function}`");
        let [with, without] = ["", pass].map(|disabled| compile(record, kernel, disabled));
        for effect in effects {
            let lines = |part: &str| (count(&with, part), count(&without, part));
            let (part, is_there) = match *effect {
                Appears(part) => (part, matches!(lines(part), (1.., 0))),
                Disappears(part) => (part, matches!(lines(part), (0, 1..))),
                Fewer(part) => (part, lines(part).0 < lines(part).1),
                More(part) => (part, lines(part).0 > lines(part).1),
            };
            if !is_there {
                let (with, without) = lines(part);
                failures.push(format!("{row}: {effect:?}: {with} with it, {without} without"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// How many lines of code have a text in them.
fn count(ptx: &str, part: &str) -> usize {
    ptx.lines().filter(|line| line.contains(part)).count()
}

/// A kernel's PTX without a pass, for launches of which much is known: addresses and numbers are
/// multiples of 16, numbers and ids are below 2³¹, blocks have a known size and fill the range.
fn ptx(record: &RecordRef<'_>, kernel: &KernelRef<'_>, disabled: &str) -> String {
    let (request, options) = launch(record, kernel, disabled);
    let code = compile_ptx(request, options).expect("PTX");
    String::from_utf8_lossy(code.bytes()).into_owned()
}

/// A kernel's SPIR-V without a pass, for such launches: of each instruction the number of the
/// operation, and what its operands are as text, such as a name.
fn spirv(record: &RecordRef<'_>, kernel: &KernelRef<'_>, disabled: &str) -> String {
    let (request, mut options) = launch(record, kernel, disabled);
    options.assumptions |= ASSUME_GROUP_ON_THREAD;
    let code = compile_spirv(request, options).expect("SPIR-V");
    let words: Vec<[u8; 4]> = code.bytes().as_chunks().0.to_vec();
    let (mut rest, mut lines) = (&words[5..], String::new());
    while let Some(first) = rest.first() {
        let [operation, size] =
            [[first[0], first[1]], [first[2], first[3]]].map(u16::from_le_bytes);
        let (one, behind) = rest.split_at(usize::from(size));
        let text = String::from_utf8_lossy(one[1..].as_flattened()).replace('\n', " ");
        lines += &format!("op {operation} {text}\n");
        rest = behind;
    }
    lines
}

/// What a launch of a kernel asks of stage 2, which leaves out a pass.
fn launch(record: &RecordRef<'_>, kernel: &KernelRef<'_>, disabled: &str) -> (Request, GpuOptions) {
    let image = kernel.images.first().and_then(|name| record.image(name));
    let params: Vec<Param> = kernel.parameters.iter().map(Param::from).collect();
    let of_kind = |kinds: &[u32]| {
        let bits = params.iter().enumerate();
        bits.filter(|(_, param)| param.size == 8 && kinds.contains(&param.kind))
            .map(|(at, _)| 1 << at)
            .sum()
    };
    let options = GpuOptions {
        arch: "sm_80".to_owned(),
        assumptions: ASSUME_INDEX_32 | ASSUME_DIVISIBLE,
        local_align: kernel.groups.map_or(0, |groups| groups.local_align),
        group: if kernel.dimensions == 2 { [16, 16, 1] } else { [256, 1, 1] },
        aligned: of_kind(&[PARAM_POINTER, PARAM_INTEGER]),
        narrow: of_kind(&[PARAM_INTEGER]),
        ..GpuOptions::default()
    };
    let request = Request {
        image: image.expect("a kernel is in an image").data.to_vec(),
        kernel: kernel.name.to_string(),
        params,
        closure_size: kernel.closure_size,
        closure_align: kernel.closure_align,
        dimensions: kernel.dimensions,
        settings: vec![(DISABLE_PASSES.to_owned(), disabled.into())],
        ..Request::default()
    };
    (request, options)
}
