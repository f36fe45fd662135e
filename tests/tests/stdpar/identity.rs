//! The statics, functions, constants, types and threads that pipelines see are the program's, also
//! while `auto` changes between rayon and a kernel.

use schism_tests::lab::{self, Lab, text};
use schism_tests::rayon_programs::Programs;

#[test]
fn what_is_the_programs_is_the_same() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("identity");
    let launches = program.compare(&["1"], &["1", "2", "7", "64"]);
    // A kernel for most of sixty pipelines, in eight rounds.
    assert!(launches > 500, "{launches}");
    // Long enough that `auto` makes kernels and takes them.
    let time = if lab::full() { "2000" } else { "200" };
    let expected = text(program.by_rustc().arg(time));
    for setting in ["auto", "always"] {
        let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "2")];
        assert_eq!(text(program.run("release", &variables).arg(time)), expected, "{setting}");
    }
}

/// With the settings that programs have by default.
#[test]
fn sentinels_are_found_in_each_call() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("sentinels");
    program.compare(&["50"], &["1", "2", "7"]);
    let calls = if lab::full() { 20_000 } else { 3000 };
    let found = text(program.run("release", &[]).arg(calls.to_string()));
    assert_eq!(found, format!("{{10000: {calls}}}\n"));
}
