//! Passes that fail: kernels are compiled without them, and nothing is printed.
//!
//! `SCHISM_FAIL_PASSES` belongs to the whole process, so each case is its own process.

mod support;

use std::process::{Command, Output};

use schism_jit::{GpuOptions, Request, compile_cpu, compile_ptx};
use schism_jit_abi::*;
use support::{Source, environment, words};

/// Which of the cases below a process is to run.
const CASE: &str = "SCHISM_TEST_FAILING_PASS";

const TWICE: &str = "define void @twice(ptr %x) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds float, ptr %x, i64 %i
  %value = load float, ptr %at, align 4
  %both = fadd float %value, %value
  store float %both, ptr %at, align 4
  ret void
}
";

fn request() -> Request {
    let source = Source::new(TWICE, "twice", words(&[PARAM_POINTER]));
    Request {
        image: source.image,
        kernel: source.kernel,
        params: source.params,
        closure_size: source.closure_size,
        closure_align: source.closure_align,
        dimensions: source.dimensions,
        settings: environment(),
        ..Request::default()
    }
}

/// Prints what became of the kernel on standard output.
fn run_case(case: &str) {
    let ptx = GpuOptions { arch: "sm_80".into(), ..GpuOptions::default() };
    let failures = match case {
        "cpu" => compile_cpu(request()).map(|code| code.failures),
        _ => compile_ptx(request(), ptx).map(|code| code.failures),
    };
    match failures {
        Ok(failures) => print!("made\n{failures}"),
        Err(error) => println!("error {}: {error}", error.code()),
    }
}

/// Runs this test in its own process, in which some passes fail.
fn child(test: &str, case: &str, passes: &str) -> Output {
    let program = std::env::current_exe().expect("it has a path");
    Command::new(program)
        .args(["--exact", test, "--nocapture", "--quiet"])
        .env(CASE, case)
        .env("SCHISM_FAIL_PASSES", passes)
        .env_remove("SCHISM_DISABLE_PASSES")
        .output()
        .expect("it starts")
}

#[test]
fn a_pass_that_panics_is_left_out_and_prints_nothing() {
    if let Ok(case) = std::env::var(CASE) {
        return run_case(&case);
    }
    let test = "a_pass_that_panics_is_left_out_and_prints_nothing";
    let cases = [
        ("cpu", "vectorize", "made\nwithout vectorize: `vectorize` panicked: "),
        ("cpu", "vectorize,thread-headers", "without thread-headers: `thread-headers` panicked: "),
        ("ptx", "superblocks", "made\nwithout superblocks: `superblocks` panicked: "),
    ];
    for (case, passes, expected) in cases {
        let output = child(test, case, passes);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("made\n") && said.contains(expected), "{said}");
        assert_eq!(said.matches("without ").count(), passes.split(',').count(), "{said}");
        assert!(said.contains("pipeline.rs:"), "where it was: {said}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{case} {passes}");
    }
}

#[test]
fn a_pass_that_is_needed_and_panics_is_an_error() {
    if let Ok(case) = std::env::var(CASE) {
        return run_case(&case);
    }
    let test = "a_pass_that_is_needed_and_panics_is_an_error";
    let output = child(test, "ptx", "address-spaces");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&format!("error {INTERNAL}: ")), "{said}");
    assert!(said.contains("`address-spaces` panicked: "), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
