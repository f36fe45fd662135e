//! `schism::unroll` and its like: the same results on every device, and code that is unrolled as
//! asked.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use schism_tests::lab::{Compiler, Lab, clean_command, source, text};
use schism_tests::{ptx, skip};

/// The factor of `crates/unroll.rs`, as assembly has it: one for each copy of an iteration.
const FACTOR: &str = "16777619";

fn lab() -> Option<&'static Lab> {
    if std::env::var_os("SCHISM_JIT").is_none() {
        skip::lacks(skip::STAGE2);
        return None;
    }
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// The program without and with optimisation.
fn programs(lab: &Lab) -> &'static [PathBuf; 2] {
    static PROGRAMS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        ["0", "3"].map(|level| {
            let folder = lab.folder(&format!("unroll-{level}"));
            let mut rustc = lab.rustc_with_runtime(&folder);
            text(rustc.arg(source("crates/unroll.rs")).arg(format!("-Copt-level={level}")));
            folder.join("unroll")
        })
    })
}

#[test]
fn results_are_the_same_on_every_device() {
    let Some(lab) = lab() else { return };
    for program in programs(lab) {
        ptx::expect_of(program);
        let said = text(&mut clean_command(program));
        assert!(said.matches("on ").count() >= 2, "{said}");
    }
}

/// PTX or assembly of a function's kernel.
fn emit(lab: &Lab, kind: &str, program: &Path, kernel: &str) -> String {
    let mut command = clean_command(lab.subcommand());
    command.args(["schism", "emit", kind]).arg(program).args(["--kernel", kernel]);
    // What runs in lanes is another copy.
    command.env("SCHISM_CPU_LANES", "off");
    text(&mut command)
}

#[test]
fn ptx_is_unrolled_as_asked() {
    let Some(lab) = lab() else { return };
    // How many copies of an iteration there are: those of the unrolled loop, and one for the
    // remaining iterations.
    let expected = [
        ("by_four", 5),
        ("by_one", 1),
        ("not_at_all", 1),
        ("completely", 100),
        ("in_a_closure", 4),
        // There are two loops: one without checks, and the original one with a check in each copy.
        ("of_rows", 9),
        ("in_no_loop", 1),
    ];
    let mut failures = Vec::new();
    for program in programs(lab) {
        for (kernel, copies) in expected {
            let ptx = emit(lab, "ptx", program, kernel);
            let (found, level) = (count(&ptx), program.display());
            if found != copies {
                failures.push(format!("{kernel} of {level}: {found}, not {copies}\n{ptx}"));
            }
            // NVIDIA's assembler is told, too.
            let pragma = ptx.contains(".pragma \"nounroll\"");
            if ["by_one", "not_at_all"].contains(&kernel) && !pragma {
                failures.push(format!("{kernel} of {level}: no pragma\n{ptx}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn code_for_the_cpu_is_unrolled_as_asked() {
    let Some(lab) = lab() else { return };
    for program in programs(lab) {
        // Of the loop over work-items LLVM makes several copies as well, each with the loops inside
        // of it.
        for (kernel, copies) in [("by_four", 5), ("in_a_closure", 4)] {
            let found = count(&emit(lab, "asm", program, kernel));
            assert!(
                found > 0 && found.is_multiple_of(copies),
                "{kernel}: {found} of {}",
                program.display()
            );
        }
        let found = count(&emit(lab, "asm", program, "completely"));
        assert!(found >= 100, "{found} of {}", program.display());
        let found = count(&emit(lab, "asm", program, "not_at_all"));
        assert!(found < 24, "{found} of {}", program.display());
    }
}

#[test]
fn optimised_code_of_the_host_has_no_trace_of_the_hints() {
    let Some(lab) = lab() else { return };
    for compiler in [Compiler::Stock, Compiler::Schism] {
        let folder = lab.folder(&format!("unroll-host-{compiler:?}"));
        let mut rustc = lab.rustc(compiler, &folder);
        lab.runtime_of(compiler).add_to(&mut rustc);
        let options = ["-Copt-level=3", "-Ccodegen-units=1", "--emit=asm", "-o", "unroll.s"];
        text(rustc.arg(source("crates/unroll.rs")).args(options));
        let assembly = std::fs::read_to_string(folder.join("unroll.s")).expect("assembly");
        assert!(count(&assembly) > 0, "{compiler:?}");
        assert!(!assembly.contains("schism: unroll"), "{compiler:?}: {assembly}");
    }
}

/// The multiplications in PTX or assembly.
fn count(code: &str) -> usize {
    code.lines().filter(|line| line.contains(FACTOR)).count()
}
