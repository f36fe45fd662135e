//! Pipelines that panic end as rayon's do. Each value is dropped once, locks are free, payloads are
//! what was thrown, and what ends a process ends it.

use schism_tests::lab::{self, Lab, output, text};
use schism_tests::rayon_programs::{self, Programs};
use schism_tests::skip;

const THREADS: [&str; 4] = ["1", "2", "7", "64"];

/// Random cases over all forms: the same with the hook counted. `SCHISM_TEST_FULL=1` has more.
/// What ends a process is part of the same program, which takes long to build.
#[test]
fn panics_unwind() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("panicking");
    let cases = if lab::full() { "20000" } else { "1150" };
    let launches = program.compare(&[cases, "1"], &THREADS);
    // Most of the cases that have two items or more, and are no searches.
    assert!(launches > 300, "{launches}");
    for (setting, seed) in [("always", "2"), ("auto", "3"), ("always", "4")] {
        let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "5")];
        for profile in ["release", "debug"] {
            text(program.run(profile, &variables).args([cases, seed, "hook"]));
        }
    }
    // A form alone, often enough that `auto` takes its kernel while it panics.
    for form in ["Vec::retain", "BinaryHeap", "Mutex", "payload", "zip", "collect", "sort"] {
        let variables = [("SCHISM_STDPAR", "auto"), ("RAYON_NUM_THREADS", "2")];
        let form = format!("form={form}");
        let mut program = program.run("release", &variables);
        text(program.args([if lab::full() { "50000" } else { "4000" }, "5", &form]));
    }

    let expected = text(program.by_rustc().arg("aborts"));
    for profile in ["release", "debug"] {
        for setting in ["never", "always", "auto"] {
            let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "3")];
            let mut program = program.run(profile, &variables);
            assert_eq!(text(program.arg("aborts")), expected, "{profile}, {setting}");
        }
    }
}

/// The same under AddressSanitizer: memory that is dropped twice, or used after it, is seen at once.
#[test]
fn panics_unwind_under_the_address_sanitizer() {
    if !lab::full() {
        return skip::say("only with SCHISM_TEST_FULL=1: the program is built once more");
    }
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let sources = ["aborts", "case", "collections", "locks", "main", "maps", "payloads"];
    let folder = rayon_programs::project(lab, "panicking-sanitized", "");
    for name in sources.into_iter().chain(["pipelines", "sorts"]) {
        let file = format!("{name}.rs");
        let to = folder.join("src").join(&file);
        std::fs::copy(lab::source("stdpar/panicking").join(&file), to).expect("a copy");
    }
    // With a `--target`, build scripts and procedural macros go without the flags.
    let host = "x86_64-unknown-linux-gnu";
    let target = rayon_programs::target(lab, "sanitized");
    let flags = "-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer";
    let variables = [("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", flags)];
    let arguments = ["--stdpar", "--release", "--target", host];
    rayon_programs::build_with(&target, lab, &folder, &arguments, &variables);
    for setting in ["always", "auto", "never"] {
        // Threads of the pool are never joined, and what they keep is no leak. Where a panic leaves a
        // kernel's own stack, AddressSanitizer does not forget what the frames on it had, and would
        // take its own call of `sigaltstack` for an error (its issue 189).
        let options = "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0";
        let options = ("ASAN_OPTIONS", options);
        let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", "3"), options];
        let profile = format!("{host}/release");
        let name = rayon_programs::name_of(&folder);
        let mut program = rayon_programs::run_in(&target, name, &profile, &variables);
        let (printed, kernels) = rayon_programs::traced(program.args(["2000", "6"]));
        assert!(printed.contains(" 0 failed"), "{printed}");
        assert!(setting != "always" || kernels > 300, "{kernels} kernels");
    }
}

#[test]
fn strings_have_one_owner_after_panics() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = Programs::newest(lab).program("owners").compare(&[], &THREADS);
    // All eight pipelines, where nothing panics.
    assert!(launches >= 8, "{launches}");
}

#[test]
fn locks_are_free_after_panics() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    Programs::newest(lab).program("spin").compare(&[], &THREADS);
}

/// Elements of sorts that are `Send` and not `Sync` are with one thread at a time.
#[test]
fn sorts_share_nothing_that_is_not_sync() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("alone");
    let expected = text(&mut program.by_rustc());
    for _ in 0..5 {
        let variables =
            [("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "8"), ("SCHISM_CPU_THREADS", "8")];
        assert_eq!(text(program.run("release", &variables).arg("3000")), expected);
    }
}

#[test]
fn items_left_over_are_dropped() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let launches = Programs::newest(lab).program("left_over").compare(&[], &THREADS);
    assert!(launches > 20, "{launches}");
}

/// Stage 2 says nothing on standard error, whatever it tries.
#[test]
fn kernels_of_equal_keys_say_nothing() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("least");
    program.compare(&[], &["2", "7"]);
    let variables = [("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "2")];
    let ran = output(&mut program.run("release", &variables));
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
}
