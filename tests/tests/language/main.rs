//! What a kernel can say: the table in `docs/language.md`, line by line.
//!
//! Each line of what works is a case in `cases/`, each line of what does not is a program in `ui/`.
//! The table is made from them; `BLESS=1` writes it. The cases run as cargo compiles this test, and
//! once more from a program that is compiled with optimisation. Kernels that neither the compilers
//! nor the cases have changed since an earlier run are taken from the cache.

mod cases;

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cases::{REFUSED, SECTIONS};
use schism::prelude::*;
use schism::{Capture, LaunchError};
use schism_tests::lab::{Lab, describe, output, source, workspace};

#[test]
fn every_line_that_works() {
    // The cases know nothing of this crate.
    let _ = schism_tests::devices::listed();
    let mut failures = Vec::new();
    for case in SECTIONS.iter().flat_map(|section| section.cases) {
        if catch_unwind(AssertUnwindSafe(case.run)).is_err() {
            failures.push(case.title);
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn every_line_that_works_with_optimisation() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("language");
    let mut rustc = lab.rustc_with_runtime(&folder);
    rustc.args(["-Copt-level=3", "-Dwarnings", "-o", "program"]);
    rustc.arg(source("tests/language/program.rs"));
    let ended = output(&mut rustc);
    assert!(ended.status.success(), "{}", describe(&rustc, &ended));
    let mut program = schism_tests::lab::clean_command(folder.join("program"));
    lab.keep_kernels(&mut program);
    // The device `cpu` is compared with the host in functions of the library, too.
    program.env("SCHISM_CPU_MATH", "host");
    let ended = output(&mut program);
    assert!(ended.status.success(), "{}", describe(&program, &ended));
    let lines: usize = SECTIONS.iter().map(|section| section.cases.len()).sum();
    assert_eq!(String::from_utf8_lossy(&ended.stdout).trim(), format!("{lines} lines work"));
}

/// The lines of crates from the registry: what the line says, and the test in `dependencies.rs`.
const DEPENDENCIES: &[(&str, &str)] = &[
    (
        "`glam`: vectors, matrices, quaternions; not what it does with `core::arch`",
        "glam_vectors_and_matrices",
    ),
    ("`half`, with its default features: `f16`, `bf16`", "half_precision"),
    (
        "`libm`, with `sqrt` and what takes it; not `fma` and `cbrt`, which look at the CPU",
        "libm_functions",
    ),
    (
        "code that asks what the CPU has: in a kernel, `is_x86_feature_detected!` is false on all devices but `native`",
        "features_of_the_processor_are_absent",
    ),
    ("`num-traits`", "num_traits"),
    ("`rand_pcg`", "rand_pcg_streams"),
    (
        "`smallvec` inside `ManuallyDrop`; not `push`, which may allocate",
        "smallvec_without_the_heap",
    ),
];

/// What holds of panics, the tests, and their files.
const PANICS: &[(&str, &str, &str)] = &[
    ("the message, the place and the work-item are the host's", "explicit", "panics"),
    (
        "memory has what the work-item stored before the panic",
        "stores_before_a_panic_are_there_afterwards",
        "panics",
    ),
    (
        "[destructors and guards](design/compiler.md) of the work-item run afterwards, on the devices `native` and `cpu`",
        "guards_end_in_their_order",
        "unwinding",
    ),
];

/// The table as text.
fn table() -> String {
    let mut text = String::from(
        "# What kernels can say\n\n\
         A kernel is ordinary Rust. This table is made from tests: each line that *works* is a case that\n\
         computes on every device, with and without optimisation, and must equal the host bit by bit; each\n\
         line that is an *error* is a program that the compiler must refuse, with the text beside it.\n\
         On OpenCL's devices and on AMD's GPUs nothing may call itself, since the stack of a work-item is known\n\
         when it starts. There these are errors at the launch: recursion; `sort_unstable`, `sort_unstable_by_key`\n\
         and `select_nth_unstable`, unless the compiler sees that there are few elements (`sort_unstable`: 20);\n\
         on OpenCL's devices `write!` and `{:?}`, which call themselves through pointers; on AMD's GPUs what may\n\
         panic in a function that is called through a pointer, such as `write!` of floats.\n\
         `BLESS=1 cargo schism test -p schism-tests --test language` writes this file.\n",
    );
    for section in SECTIONS {
        let file = format!("../tests/tests/language/cases/{}", section.file);
        write!(text, "\n## {}\n\n| | | test |\n|---|---|---|\n", section.title)
            .expect("writing to a string");
        for case in section.cases {
            writeln!(text, "| {} | works | [{}]({file}) |", case.title, section.file)
                .expect("writing to a string");
        }
    }
    text += "\n## Panics\n\n| | | test |\n|---|---|---|\n";
    for (title, test, file) in PANICS {
        writeln!(text, "| {title} | works | [{test}](../tests/tests/{file}.rs) |")
            .expect("writing to a string");
    }
    text += "\n## Crates that know nothing of schism\n\n| | | test |\n|---|---|---|\n";
    for (title, test) in DEPENDENCIES {
        writeln!(text, "| {title} | works | [{test}](../tests/tests/dependencies.rs) |")
            .expect("writing to a string");
    }
    text += "\n## Errors\n\n| | | program |\n|---|---|---|\n";
    for line in REFUSED {
        let (title, program) = (line.title, line.program);
        writeln!(text, "| {title} | error | [{program}](../tests/ui/{program}.stderr) |")
            .expect("writing to a string");
    }
    text
}

#[test]
fn the_table_in_the_documentation_is_this_one() {
    let path = workspace().join("docs/language.md");
    let table = table();
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &table).expect("a writable file");
    }
    let found = std::fs::read_to_string(&path).expect("the table");
    assert!(found == table, "docs/language.md is not what the tests say; BLESS=1 writes it");
    for (_, test, file) in PANICS {
        let tests = std::fs::read_to_string(source(&format!("tests/{file}.rs")));
        let tests = tests.expect("the tests");
        assert!(tests.contains(&format!("fn {test}()")), "there is no test `{test}`");
    }
    for line in REFUSED {
        let text = source("ui").join(line.program).with_extension("stderr");
        let text = std::fs::read_to_string(&text).unwrap_or_default();
        assert!(text.starts_with("error"), "tests/ui has no error {}", line.program);
    }
    let tests = std::fs::read_to_string(source("tests/dependencies.rs")).expect("the tests");
    for (_, test) in DEPENDENCIES {
        assert!(tests.contains(&format!("#[test]\nfn {test}()")), "no test is called {test}");
    }
    let mut titles: Vec<&str> =
        SECTIONS.iter().flat_map(|section| section.cases).map(|case| case.title).collect();
    let lines = titles.len();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), lines, "two lines say the same");
}

/// Runs `f` once for each index on every device; it must panic with a message and in a work-item.
fn panics<T>(message: &str, item: usize, f: impl Fn(usize) -> T + Send + Sync + Copy + Capture)
where
    T: Element + Default,
{
    for device in schism_tests::devices::listed() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, 64, T::default()).expect("memory");
        let result = queue.for_each((0.., &mut out), move |(i, out)| *out = f(i));
        let Err(LaunchError::Panicked(panic)) = result else {
            panic!("on {device}: expected a panic, got {result:?}");
        };
        let text = panic.to_string();
        assert!(text.contains(message), "on {device}: {text}");
        assert!(text.contains(file!()), "on {device}: {text}");
        if device.to_string() != "native" {
            assert!(text.contains(&format!("[{item}]")), "on {device}: {text}");
        }
        // The queue continues.
        queue.for_each((0.., &mut out), |(_, out)| *out = T::default()).expect("no panic");
    }
}

#[test]
fn which_half_runs() {
    for device in schism_tests::devices::listed() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, 3, false).expect("memory");
        queue.for_each(&mut out, |out| *out = schism::is_device()).expect("no panic");
        let expected = device.to_string() != "native";
        assert_eq!(out.to_vec(), [expected; 3], "on {device}");
    }
    assert!(!schism::is_device());
}

#[test]
fn tables_of_another_module_of_the_standard_library() {
    cases::agrees(|input| {
        let whitespace = char::from_u32(input.index as u32).is_some_and(char::is_whitespace);
        (["  a ", "b\u{3000}", "c  d"][input.index % 3].trim().len(), whitespace)
    });
}

#[test]
fn packed_captures() {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed {
        small: u8,
        wide: u128,
        odd: u16,
        float: f64,
    }
    let packed = Packed { small: 3, wide: 1 << 100, odd: 500, float: 0.5 };
    let pair = (7_u8, packed, 9_u32);
    cases::agrees(move |input| {
        let i = input.index;
        let Packed { small, wide, odd, float } = pair.1;
        (wide / (i as u128 + 1) + u128::from(small), f64::from(odd) * float, pair.0, pair.2)
    });
}

#[test]
fn panics_with_a_place() {
    // One work-item alone: which of several comes first is up to the device.
    panics("index out of bounds", 3, |i| {
        [1, 2, 3][std::hint::black_box(if i == 3 { i } else { 0 })]
    });
    panics("unwrap()", 7, |i| (i != 7).then_some(1_u32).unwrap());
    panics("no seven", 7, |i| (if i == 7 { Err(3_u32) } else { Ok(1_u32) }).expect("no seven"));
    panics("nine", 9, |i| if i == 9 { panic!("nine") } else { i });
    panics("panic", 9, |i| if i == 9 { std::panic!("i is {i}") } else { i });
    // Two instances of a generic panic function.
    panics("assert", 4, |i| {
        assert_ne!(i, 4);
        i
    });
    panics("assert", 6, |i| {
        assert_ne!(i as u8, 6);
        i
    });
    panics("divide by zero", 5, |i| 100 / (5 - i as i32));
    panics("", 17, |i| [1_u8; 16][if i == 17 { i } else { 0 }..].len());
}
