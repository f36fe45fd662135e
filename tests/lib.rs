//! What the tests share. The tests themselves are in `tests/`, one file a subject:
//!
//! | file | tests |
//! |---|---|
//! | `tests/passes.rs` | passes, over the IR files in `passes/`: a test for each, by its name |
//! | `tests/compiler/pass_effects.rs` | passes that look for patterns in LLVM's output: a kernel of Rust for each, with and without the pass |
//! | `tests/unroll.rs` | hints of how often loops are unrolled: the same results, and code as asked |
//! | `tests/compiler/code_split.rs` | `SCHISM_DEVICE_CODE_SPLIT` |
//! | `tests/random_ir.rs` | random modules through all passes, run before and after |
//! | `tests/random_heaps.rs` | random pipelines of rayon that allocate, on devices with a heap for kernels, against plain rustc |
//! | `tests/random_nests.rs` | random nests of loops by directives against plain loops, on every device |
//! | `tests/random_rows.rs` | random bodies of pipelines over rows, with rayon and with kernels, against the same row by row |
//! | `tests/random_loops.rs` | random loops with checks, some of which fail, and with indices that are loaded, before and after the passes that move checks; random work-items one by one and in lanes |
//! | `tests/compiler/cache.rs` | compiled kernels that are kept on disk |
//! | `tests/compiler/times.rs` | `SCHISM_TIME_PASSES` |
//! | `tests/offsets.rs` | launches over ranges that do not begin at zero, on every device |
//! | `tests/maths.rs` | mathematics in kernels: the host's, and schism's own library |
//! | `tests/group_elements.rs` | work-groups whose work-items and groups own elements, on every device |
//! | `tests/cut_kernels.rs` | kernels that are cut at their barriers for the device `cpu`, against stacks |
//! | `tests/group_parts.rs` | what work-items of groups own and share: rows, tiles, cells; permuted elements; parts of buffers |
//! | `tests/algorithms/` | `schism::algorithms` against the standard library, on every device; the table `docs/algorithms.md` |
//! | `tests/slices.rs` | slices of the host in launches, and slices that stay on a device, on every device |
//! | `tests/regions.rs` | random programs of launches, regions, scopes and algorithms over slices against plain loops, and the bytes that they copy |
//! | `tests/directives.rs` | directives before ordinary loops, on every device, beside the loops without them |
//! | `tests/directives_data.rs` | directives for data: regions, parts of what they keep in functions and threads, updates, on every device |
//! | `tests/loop_clauses.rs` | clauses of loops, and atomic statements, on every device, beside the loops without them |
//! | `tests/offload.rs` | statements of Intel's offload, on every device and over a driver that is none |
//! | `tests/lanes.rs` | loops of directives whose iterations own several parts of an array |
//! | `tests/races.rs` | `SCHISM_CHECK_RACES`: loops whose iterations meet, and loops whose iterations do not |
//! | `tests/pictures.rs` | neighbours where a picture ends: copied borders, clamped coordinates |
//! | `tests/textbook.rs` | softmax, layer normalisation, transposes and Fourier transforms, without `unsafe` |
//! | `tests/constants.rs` | specialization constants and relaxed mathematics, on every device |
//! | `tests/adaptivity.rs` | versions of kernels: specialized captures, what hot kernels know, the same results with and without |
//! | `tests/language/` | what a kernel can say, on every device: the table `docs/language.md`, line by line |
//! | `tests/dependencies.rs` | kernels that use crates which know nothing of schism |
//! | `tests/compiler/abort.rs` | programs with `panic = "abort"` |
//! | `tests/compiler/bodies.rs` | bodies of the standard library's functions without MIR |
//! | `tests/compiler/split.rs` | the two halves of a crate, on their IR and their bytes |
//! | `tests/cuda.rs`, `tests/compiler/hip.rs` | GPUs over drivers that are none |
//! | `tests/compiler/trust.rs` | files of the compiler that other users could have changed |
//! | `tests/compiler/emit.rs` | `cargo schism emit`, and statics that refer to each other in circles |
//! | `tests/compiler/imports.rs` | kernels that call functions which other crates of the program define |
//! | `tests/compiler/instrumentation.rs` | coverage, profiles, sanitizers and the like: not on a device, and on the host as plain rustc has them |
//! | `tests/conditions.rs` | launches under conditions, optional and mandatory ones, on every device and over a driver that is none |
//! | `tests/sanitizers.rs` | what the sanitizers see of work-items that have waited: only under `.ci/sanitize` |
//! | `tests/compiler/internal_errors.rs` | internal compiler errors end as rustc's do |
//! | `tests/compiler/launches.rs` | kernels in every kind of place, launched on the device `cpu` |
//! | `tests/unwinding.rs` | kernels that panic on the processors of the host: buffers are left the same by `native` and `cpu` |
//! | `tests/compiler/matrix.rs` | one program under many combinations of the compiler's options |
//! | `tests/compiler/new_packages.rs` | `cargo schism new`: each template builds, runs and passes its tests |
//! | `tests/compiler/stable.rs` | the driver is a stable compiler, and plain cargo's good neighbour |
//! | `tests/compiler/doctests.rs` | kernels in documentation tests |
//! | `tests/compiler/editions.rs` | one source with directives in each edition, by plain rustc and by schism |
//! | `tests/compiler/check.rs` | kernels under `cargo schism check` |
//! | `tests/ui.rs` | diagnostics, over the programs in `ui/` |
//! | `tests/stdpar/` | `--stdpar`: rayon programs that know nothing of schism, beside the same by plain rustc; pipelines that panic; what is the program's and must stay it; what `--stdpar=explain` says |
//! | `tests/compiler/captures.rs` | random captures, which must arrive as they are on all devices and on a GPU that is none |
//! | `tests/compiler/random.rs` | random kernels, the same each time |
//! | `tests/compiler/bad_input.rs` | damaged binaries, wrong settings, panicking kernels |
//! | `tests/compiler/aot.rs` | code compiled ahead of time, which runs without stage 2 |
//! | `tests/compiler/artifacts.rs` | what plugins leave in a target folder, and what later ones remove of it |
//! | `tests/compiler/barriers.rs` | barriers and sub-group operations: none is added or removed at any optimisation level |
//! | `tests/collectives.rs` | reductions and scans of sub-groups and groups, and clocks |
//! | `tests/compiler/diagnostics.rs` | errors of device code as cargo and editors see them |
//! | `tests/grid_strides.rs` | loops whose step is the number of work-items of the grid |
//! | `tests/groups.rs` | work-groups, barriers and local memory |
//! | `tests/compiler/incremental.rs` | the device half in incremental compilation |
//! | `tests/compiler/kernel_names.rs` | names of kernels, in everything that people read |
//! | `tests/known_groups.rs` | groups whose size the code of the device `cpu` knows |
//! | `tests/opencl.rs` | OpenCL's devices: on a driver where there is one, and on a fake one with faults |
//! | `tests/panics.rs` | messages of panics in kernels |
//! | `tests/compiler/print.rs` | output of kernels |
//! | `tests/rounding.rs` | reciprocals, quotients and square roots, rounded as IEEE 754 says |
//! | `tests/scoped_atomics.rs` | atomics of floats; atomics and fences with scopes |
//! | `tests/stacks.rs` | stack use of kernels, and what happens where it does not suffice |
//! | `tests/events.rs` | events that own what their work uses: waited for, polled in executors, dropped, on every device |
//! | `tests/sub_groups.rs` | sub-groups |
//! | `tests/timeline.rs` | `SCHISM_TIMELINE` on every device: its files are JSON, and keep the rules of the format |
//! | `tests/compiler/thread_locals.rs` | thread-local variables of work-items that wait |
//! | `tests/compiler/fidelity.rs` | test results of crates from the registry, under both compilers |
//!
//! `passes/<pass>/*.ll` holds one case each: the IR that goes in, and comments that say what must
//! and must not come out; see [`filecheck`]. The other tests compile programs (most of them in
//! `crates/`) with the compiler in the environment variable `RUSTC`, which `cargo schism test`
//! sets; see [`lab`]. Under plain `cargo test` they fail and say so; `SCHISM_TEST_SKIP=1` leaves
//! them out ([`skip`]).

/// The programs of the README, which are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// The listings of the guide, which are compiled and run.
#[cfg(doctest)]
pub mod guide {
    #[doc = include_str!("../docs/guide/first-program.md")]
    pub struct FirstProgram;
    #[doc = include_str!("../docs/guide/rayon.md")]
    pub struct Rayon;
    #[doc = include_str!("../docs/guide/directives.md")]
    pub struct Directives;
    #[doc = include_str!("../docs/guide/data.md")]
    pub struct Data;
    #[doc = include_str!("../docs/guide/asynchronous.md")]
    pub struct Asynchronous;
    #[doc = include_str!("../docs/guide/groups.md")]
    pub struct Groups;
    #[doc = include_str!("../docs/guide/algorithms.md")]
    pub struct Algorithms;
    #[doc = include_str!("../docs/guide/errors.md")]
    pub struct Errors;
    #[doc = include_str!("../docs/guide/performance.md")]
    pub struct Performance;
    #[doc = include_str!("../docs/guide/profiling.md")]
    pub struct Profiling;
    #[doc = include_str!("../docs/guide/devices.md")]
    pub struct Devices;
    #[doc = include_str!("../docs/guide/tools.md")]
    pub struct Tools;
}

pub mod amdgcn;
pub mod captures;
pub mod constants;
pub mod container;
pub mod devices;
pub mod features;
pub mod filecheck;
#[path = "fuzz/mod.rs"]
pub mod fuzz;
pub mod harness;
pub mod lab;
#[cfg(test)]
mod listings;
pub mod ptx;
pub mod random_elements;
pub mod random_gathers;
pub mod random_heaps;
pub mod random_ir;
pub mod random_lanes;
pub mod random_loops;
pub mod random_nests;
pub mod random_rows;
pub mod random_states;
pub mod rayon_programs;
pub mod skip;
pub mod spirv;
pub mod sub_groups;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::DirEntry;
    use std::path::Path;

    /// Each chapter of the guide with a listing of Rust is among those above, and each chapter is in the
    /// book.
    #[test]
    fn every_listing_of_the_guide_is_tested() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let book =
            std::fs::read_to_string(docs.join("SUMMARY.md")).expect("the book has a summary");
        for entry in std::fs::read_dir(docs.join("guide")).expect("the guide is a folder") {
            let path = entry.expect("readable").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a chapter");
            assert!(book.contains(&format!("(guide/{name})")), "docs/SUMMARY.md has no {name}");
            let is_tested = include_str!("lib.rs").contains(&format!("docs/guide/{name}\")"));
            assert!(is_tested || !text.contains("```rust"), "{name} has a listing and no test");
        }
    }

    /// The table above has a row for each test program and each file of `compiler`, and none for
    /// others.
    #[test]
    fn every_test_program_is_listed() {
        let rows = include_str!("lib.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
        let names =
            rows.filter_map(|row| row.split_once(" | ")).flat_map(|(names, _)| names.split(", "));
        let listed: BTreeSet<_> =
            names.map(|name| name.trim_matches(['`', '/']).to_owned()).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let entries = |path: &str| {
            let entries = std::fs::read_dir(folder.join(path)).expect("a folder of the tests");
            let name = |entry: std::io::Result<DirEntry>| entry.expect("readable").file_name();
            let paths = entries.map(|entry| format!("{path}/{}", name(entry).to_string_lossy()));
            paths.collect::<BTreeSet<_>>()
        };
        let mut programs = entries("tests");
        assert!(programs.remove("tests/compiler"));
        programs.extend(entries("tests/compiler"));
        assert!(programs.remove("tests/compiler/main.rs"));
        assert_eq!(listed, programs);
    }
}
