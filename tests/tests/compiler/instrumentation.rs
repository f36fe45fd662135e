//! Instrumented builds: coverage, profiles, sanitizers, XRay sleds, stack canaries, control-flow
//! integrity. The device half has no instrumentation, and the host half has what plain rustc gives
//! it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection};
use schism_tests::container::{containers, device_ir};
use schism_tests::lab::{Compiler, Lab, clean_command, describe, full, output, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// What the program prints.
const LINES: &str = "branches: 1000\non the stack: 1000\nby table and object: 1000\npanicked\n";

/// The program, with the runtime as the same compiler makes it.
fn compile(lab: &Lab, compiler: Compiler, folder: &Path, flags: &[&str]) -> Command {
    let mut rustc = lab.rustc(compiler, folder);
    lab.runtime_of(compiler).add_to(&mut rustc);
    // The flags are unstable, most of them; the runtime is compiled without them.
    rustc.env("RUSTC_BOOTSTRAP", "1").arg(source("crates/instrumented.rs"));
    rustc.args(["--crate-name=instrumented", "-Ccodegen-units=1"]).args(flags);
    rustc
}

fn on(program: &Path, device: &str) -> Command {
    let mut command = clean_command(program);
    command.env("SCHISM_DEVICE", device).env("SCHISM_CPU_THREADS", "1");
    // The runtime is not instrumented, so what a sanitizer thinks of it says nothing.
    command.env("TSAN_OPTIONS", "report_bugs=0").env("ASAN_OPTIONS", "detect_leaks=0");
    command.env("LLVM_PROFILE_FILE", program.with_extension(format!("{device}.profraw")));
    command
}

/// What no device half has in it, in any build.
const INSTRUMENTS: [&str; 20] = [
    "instrprof",
    "__profn",
    "__profc",
    "__covrec",
    "__llvm_coverage",
    "pseudoprobe",
    "sanitize_",
    "safestack",
    "sspreq",
    "sspstrong",
    " ssp ",
    "xray",
    "mcount",
    "patchable-function",
    "cf-protection",
    "kcfi",
    "type.test",
    "type.checked.load",
    "fn_ret_thunk_extern",
    "sample-profile",
];

/// Compiles the program with some flags; its device half must be clean, with code for the processor
/// at hand beside it. If it `runs`, it gives the right results on the device `cpu`, by that code
/// and by what is compiled then.
fn clean_and_right(name: &str, flags: &[&str], runs: bool) {
    let Some(lab) = lab() else { return };
    let folder = lab.folder(&format!("instrumentation-{name}"));
    // Files of programs that are assembled at the same time have their names.
    let is_program = runs || flags.contains(&"-Clto");
    let kind: &[&str] = if is_program { &["-o", name] } else { &["--crate-type=rlib", "-o", name] };
    let mut image = None;
    // Link-time optimisation takes long.
    let both = full() || !flags.contains(&"-Clto");
    for targets in if both { &["", "host"][..] } else { &["host"] } {
        let mut rustc = compile(lab, Compiler::Schism, &folder, &[flags, kind].concat());
        text(rustc.env("SCHISM_TARGETS", targets));
        let program = folder.join(name);
        let own = containers(&program);
        let own = own.iter().find(|container| container.crate_name == "instrumented");
        let own = own.expect("the program's kernels");
        assert_eq!(own.kernels.len(), 4);
        let ir = device_ir(own);
        for instrument in INSTRUMENTS {
            assert!(!ir.contains(instrument), "{name}: {instrument} in\n{ir}");
        }
        let codes = own.images.iter().filter(|image| image.code.is_some()).count();
        assert_eq!(codes, if targets.is_empty() { 0 } else { 4 }, "{name}");
        if runs {
            // All these images are nearly the same, and so are their kernels.
            let mut on_cpu = on(&program, "cpu");
            lab.keep_kernels(&mut on_cpu);
            assert_eq!(text(&mut on_cpu), LINES, "{name}");
            assert_eq!(text(&mut on(&program, "native")), LINES, "{name}");
        }
        // Code that is made ahead of time changes nothing of the image, so PTX is made of it once.
        match &image {
            Some(image) => assert!(*image == ir, "{name}: with targets the image is another"),
            None if runs => schism_tests::ptx::expect_of(&program),
            None => {}
        }
        image = Some(ir);
    }
}

/// One test for each flag.
macro_rules! flags {
    ($($name:ident: $runs:literal, $flags:expr;)*) => {$(
        #[test]
        fn $name() {
            clean_and_right(stringify!($name), &$flags, $runs);
        }
    )*};
}

const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";

flags! {
    coverage: true, ["-Cinstrument-coverage"];
    coverage_of_optimised_code: true, ["-Cinstrument-coverage", "-Copt-level=3"];
    coverage_of_conditions: true, ["-Cinstrument-coverage", "-Zcoverage-options=condition"];
    profile_generate: true, ["-Cprofile-generate=.", "-Copt-level=2"];
    address_sanitizer: true, ["-Zsanitizer=address"];
    thread_sanitizer: true, ["-Zsanitizer=thread", MIXED];
    // It takes for uninitialised what code without it writes: the runtime's, and all that a device
    // writes.
    memory_sanitizer: false, ["-Zsanitizer=memory", MIXED];
    leak_sanitizer: true, ["-Zsanitizer=leak"];
    realtime_sanitizer: true, ["-Zsanitizer=realtime", MIXED];
    // It wants other names of the standard library's functions.
    dataflow_sanitizer: false, ["-Zsanitizer=dataflow", MIXED];
    safe_stack: true, ["-Zsanitizer=safestack", MIXED];
    cfi: true, ["-Zsanitizer=cfi", "-Clto", "-Cembed-bitcode=yes", MIXED];
    // A call from the standard library, which is compiled without, would end the program.
    kcfi: false, ["-Zsanitizer=kcfi", "-Cpanic=abort", MIXED];
    virtual_function_elimination: true, ["-Zvirtual-function-elimination", "-Clto", "-Cembed-bitcode=yes"];
    xray: true, ["-Zinstrument-xray=always"];
    mcount: true, ["-Zinstrument-mcount"];
    stack_protector_all: true, ["-Zstack-protector=all"];
    stack_protector_strong: true, ["-Zstack-protector=strong"];
    stack_protector_basic: true, ["-Zstack-protector=basic"];
    cf_protection: true, ["-Zcf-protection=full"];
    patchable_function_entry: true, ["-Zpatchable-function-entry=8,4"];
    // The thunk is the program's to bring.
    function_return: false, ["-Zfunction-return=thunk-extern"];
}

/// A profile without a function in it, as `llvm-profdata` writes it: version 4 of the format, which
/// all later readers read.
fn empty_profile() -> Vec<u8> {
    let magic = u64::from_le_bytes(*b"\x81iforpl\xff");
    let summary: [u64; 8] = [6, 0, 0, 0, 0, 0, 0, 0];
    // Behind the header of five numbers lies the summary, and then the table: its buckets, each
    // empty, behind two counts.
    let table_at = (5 + summary.len() as u64 + 1) * 8;
    let of_ir = 1 << 56;
    let header = [magic, 4 | of_ir, 0, 0, table_at];
    // The first bucket's place must not be that of the table.
    let numbers = header.into_iter().chain(summary).chain([0]).chain([1, 0, 0]);
    numbers.flat_map(u64::to_le_bytes).collect()
}

#[test]
fn profile_use() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("instrumentation-profiles");
    let (indexed, samples) = (folder.join("empty.profdata"), folder.join("samples.txt"));
    std::fs::write(&indexed, empty_profile()).expect("a writable file");
    // Samples are text: function, all samples, those at its begin; line and samples.
    std::fs::write(&samples, "main:1000:10\n 1: 10\n").expect("a writable file");
    let flag = format!("-Cprofile-use={}", indexed.display());
    clean_and_right("profile-use", &[&flag, "-Copt-level=2"], true);
    let flag = format!("-Zprofile-sample-use={}", samples.display());
    clean_and_right("profile-sample-use", &[&flag, "-Copt-level=2", "-Cdebuginfo=1"], true);
}

/// What coverage has of a function, by the hash of its name: the hash of its structure, and its map
/// or its counters.
type Functions<T> = BTreeMap<u64, (u64, Vec<T>)>;

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("so many bytes")
}

/// The coverage maps of a program. No function is there twice.
fn maps(program: &Path) -> Functions<u8> {
    const HEADER: usize = 28;
    let bytes = std::fs::read(program).expect("a readable file");
    let file = object::File::parse(&*bytes).expect("an object file");
    let mut maps = Functions::new();
    for section in file.sections().filter(|section| section.name() == Ok("__llvm_covfun")) {
        let data = section.data().expect("a section in the file");
        let mut at = 0;
        while at + HEADER <= data.len() {
            let name = u64::from_le_bytes(number(data, at));
            let length = u32::from_le_bytes(number(data, at + 8)) as usize;
            let structure = u64::from_le_bytes(number(data, at + 12));
            let map = data[at + HEADER..at + HEADER + length].to_vec();
            let known = maps.insert(name, (structure, map));
            assert!(known.is_none(), "a function is twice in {}", program.display());
            at = (at + HEADER + length).next_multiple_of(8);
        }
    }
    maps
}

/// The counters of a raw profile, version 10.
fn counters(profile: &Path) -> Functions<u64> {
    const RECORD: usize = 64;
    let bytes = std::fs::read(profile).expect("a profile was written");
    let word = |at: usize| u64::from_le_bytes(number(&bytes, at * 8));
    assert_eq!(word(1) & 0xFFFF, 10, "another version of raw profiles");
    let [ids, records, padding, _counters] = [2, 3, 4, 5].map(|at| word(at) as usize);
    let counters_delta = word(10);
    const WORDS: usize = 16;
    let begin = WORDS * 8 + ids;
    let counters_at = begin + records * RECORD + padding;
    let mut found = Functions::new();
    for index in 0..records {
        let at = begin + index * RECORD;
        let word = |offset: usize| u64::from_le_bytes(number(&bytes, at + offset));
        let count = u32::from_le_bytes(number(&bytes, at + 48)) as usize;
        // The distance from the record to its counters, less that of the sections.
        let relative = word(16).wrapping_sub(counters_delta.wrapping_sub((index * RECORD) as u64));
        let first = counters_at + relative as usize;
        let values = (0..count).map(|i| u64::from_le_bytes(number(&bytes, first + i * 8)));
        found.insert(word(0), (word(8), values.collect()));
    }
    found
}

#[test]
fn coverage_of_the_host_half_is_that_of_plain_rustc() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("instrumentation-report");
    let [(stock, stock_run), (own, own_run)] =
        [Compiler::Stock, Compiler::Schism].map(|compiler| {
            let name = format!("{compiler:?}");
            text(&mut compile(lab, compiler, &folder, &["-Cinstrument-coverage", "-o", &name]));
            let program: PathBuf = folder.join(&name);
            let mut run = on(&program, "native");
            run.env("SCHISM_JIT", "/nowhere");
            assert_eq!(text(&mut run), LINES);
            (maps(&program), counters(&program.with_extension("native.profraw")))
        });
    // Functions with the runtime's types in their names have other hashes, for the runtime is
    // compiled by the one and by the other.
    let common: Vec<u64> = stock.keys().copied().filter(|name| own.contains_key(name)).collect();
    assert!(common.len() >= 9, "{} of {} functions", common.len(), stock.len());
    assert_eq!(stock.len(), own.len());
    let (mut ran, mut same) = (0, 0);
    for name in &common {
        let ((structure, map), (own_structure, own_map)) = (&stock[name], &own[name]);
        assert_eq!(map, own_map);
        // The structure's hash is one of the source with the names that it resolves to, those of
        // the runtime too.
        same += usize::from(structure == own_structure);
        // The counters of a function that did not run may have been left out by the linker.
        let counts = |run: &Functions<u64>| run.get(name).map(|(_, counts)| counts.clone());
        let (stock_counts, own_counts) = (counts(&stock_run), counts(&own_run));
        assert_eq!(stock_counts, own_counts);
        ran += usize::from(own_counts.is_some_and(|counts| counts.iter().any(|count| *count > 0)));
    }
    assert!(ran >= 7 && same >= 6, "{ran} functions ran, {same} have the same hash");
    // As many functions of the map have counters. Tools for reports take a map for damaged that has
    // a function of which nothing is left.
    let counted = |maps: &Functions<u8>, run: &Functions<u64>| {
        maps.keys().filter(|name| run.contains_key(name)).count()
    };
    assert_eq!(counted(&stock, &stock_run), counted(&own, &own_run));
}

#[test]
fn crates_without_kernels_are_instrumented_as_by_plain_rustc() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("instrumentation-no-kernels");
    for flag in ["-Cinstrument-coverage", "-Zsanitizer=address", "-Zinstrument-xray=always"] {
        let [stock, own] = [Compiler::Stock, Compiler::Schism].map(|compiler| {
            let object = folder.join("no_kernels.o");
            let mut rustc = lab.rustc(compiler, &folder);
            rustc.env("RUSTC_BOOTSTRAP", "1").arg(source("crates/no_kernels.rs"));
            rustc.args(["--crate-type=lib", "--emit=obj", "-Ccodegen-units=1", flag, "-o"]);
            let ended = output(rustc.arg(&object));
            assert!(ended.status.success(), "{}", describe(&rustc, &ended));
            std::fs::read(&object).expect("a readable file")
        });
        assert!(stock == own, "{flag}: the objects differ");
    }
}
