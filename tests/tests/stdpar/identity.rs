//! `--stdpar`: the statics, functions, constants, types and threads that pipelines see are the
//! program's, also while `auto` changes between rayon and a kernel.

use schism_tests::lab::{self, Lab, clean_command, text};
use schism_tests::rayon_programs::{
    build, build_by_rustc, compare, name_of, project, project_of_files, run_in, target,
};

/// The files of `tests/stdpar/identity`.
const IDENTITY: [&str; 7] = [
    "main.rs",
    "dependency.rs",
    "statics.rs",
    "threads.rs",
    "values.rs",
    "dep/Cargo.toml",
    "dep/src/lib.rs",
];

#[test]
fn what_is_the_programs_is_the_same() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let dependency = "dep = { path = \"dep\" }";
    let folder = project_of_files(lab, "stdpar-identity", "identity", &IDENTITY, dependency);
    let launches = compare(lab, &folder, &["1"], &["1", "2", "7", "64"]);
    // A kernel for most of sixty pipelines, in eight rounds.
    assert!(launches > 500, "{launches}");
    // Long enough that `auto` makes kernels and takes them.
    let time = if lab::full() { "2000" } else { "200" };
    let expected = text(clean_command(build_by_rustc(lab, &folder)).arg(time));
    for setting in ["auto", "always"] {
        let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "2")];
        let mut program = run_in(&target(lab, "schism"), name_of(&folder), "release", &variables);
        assert_eq!(text(program.arg(time)), expected, "{setting}");
    }
}

/// With the settings that programs have by default.
#[test]
fn sentinels_are_found_in_each_call() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = std::fs::read_to_string(lab::source("stdpar/sentinels.rs"));
    let folder = project(lab, "stdpar-sentinels", &program.expect("a file of the tests"));
    compare(lab, &folder, &["50"], &["1", "2", "7"]);
    build(lab, &folder, &["--stdpar", "--release"]);
    let calls = if lab::full() { 20_000 } else { 3000 };
    let mut program = run_in(&target(lab, "schism"), name_of(&folder), "release", &[]);
    assert_eq!(text(program.arg(calls.to_string())), format!("{{10000: {calls}}}\n"));
}
