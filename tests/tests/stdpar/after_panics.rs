//! `--stdpar`: pipelines that panic end as rayon's do. Each value is dropped once, locks are free,
//! payloads are what was thrown, and what ends a process ends it.

use std::path::PathBuf;

use schism_tests::lab::{self, Lab, clean_command, output, text};
use schism_tests::rayon_programs::{
    build, build_by_rustc, compare, name_of, project_of_files, run_in, target,
};

/// The files of `tests/stdpar/panicking`.
const PANICKING: [&str; 9] = [
    "main.rs",
    "aborts.rs",
    "case.rs",
    "collections.rs",
    "locks.rs",
    "maps.rs",
    "payloads.rs",
    "pipelines.rs",
    "sorts.rs",
];

const THREADS: [&str; 4] = ["1", "2", "7", "64"];

fn panicking(lab: &Lab) -> PathBuf {
    project_of_files(lab, "stdpar-panicking", "panicking", &PANICKING, "")
}

/// A program of one file of `tests/stdpar`.
fn single(lab: &Lab, name: &str) -> PathBuf {
    let program = std::fs::read_to_string(lab::source("stdpar").join(format!("{name}.rs")));
    let program = program.expect("a file of the tests");
    schism_tests::rayon_programs::project(lab, &format!("stdpar-{name}"), &program)
}

/// Random cases over all forms: the same with the hook counted. `SCHISM_TEST_FULL=1` has more.
/// What ends a process is part of the same program, which takes long to build.
#[test]
fn panics_unwind() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = panicking(lab);
    let cases = if lab::full() { "20000" } else { "1150" };
    let launches = compare(lab, &folder, &[cases, "1"], &THREADS);
    // Most of the cases that have two items or more, and are no searches.
    assert!(launches > 300, "{launches}");
    for (setting, seed) in [("always", "2"), ("auto", "3"), ("always", "4")] {
        let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "5")];
        for profile in ["release", "debug"] {
            let mut program = run_in(&target(lab, "schism"), name_of(&folder), profile, &variables);
            text(program.args([cases, seed, "hook"]));
        }
    }
    // A form alone, often enough that `auto` takes its kernel while it panics.
    for form in ["Vec::retain", "BinaryHeap", "Mutex", "payload", "zip", "collect", "sort"] {
        let variables = [("SCHISM_STDPAR", "auto"), ("RAYON_NUM_THREADS", "2")];
        let mut program = run_in(&target(lab, "schism"), name_of(&folder), "release", &variables);
        let form = format!("form={form}");
        text(program.args([if lab::full() { "50000" } else { "4000" }, "5", &form]));
    }

    let expected = text(clean_command(build_by_rustc(lab, &folder)).arg("aborts"));
    for profile in ["release", "debug"] {
        for setting in ["never", "always", "auto"] {
            let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "3")];
            let mut program = run_in(&target(lab, "schism"), name_of(&folder), profile, &variables);
            assert_eq!(text(program.arg("aborts")), expected, "{profile}, {setting}");
        }
    }
}

#[test]
fn strings_have_one_owner_after_panics() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = compare(lab, &single(lab, "owners"), &[], &THREADS);
    // All eight pipelines, where nothing panics.
    assert!(launches >= 8, "{launches}");
}

#[test]
fn locks_are_free_after_panics() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    compare(lab, &single(lab, "spin"), &[], &THREADS);
}

/// Elements of sorts that are `Send` and not `Sync` are with one thread at a time.
#[test]
fn sorts_share_nothing_that_is_not_sync() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = single(lab, "alone");
    let expected = text(&mut clean_command(build_by_rustc(lab, &folder)));
    build(lab, &folder, &["--stdpar", "--release"]);
    for _ in 0..5 {
        let variables =
            [("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "8"), ("SCHISM_CPU_THREADS", "8")];
        let mut program = run_in(&target(lab, "schism"), name_of(&folder), "release", &variables);
        assert_eq!(text(program.arg("3000")), expected);
    }
}

#[test]
fn items_left_over_are_dropped() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = compare(lab, &single(lab, "left_over"), &[], &THREADS);
    assert!(launches > 20, "{launches}");
}

/// Stage 2 says nothing on standard error, whatever it tries.
#[test]
fn kernels_of_equal_keys_say_nothing() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = single(lab, "least");
    compare(lab, &folder, &[], &["2", "7"]);
    let variables = [("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "2")];
    let ran = output(&mut run_in(&target(lab, "schism"), name_of(&folder), "release", &variables));
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
}
