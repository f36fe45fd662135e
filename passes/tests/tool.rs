//! The command line of `schism-opt`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

const KERNEL: &str = "define void @kernel() personality ptr @p {
  invoke void @f() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
declare void @f()
declare i32 @p(...)
";

fn schism_opt(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_schism-opt"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    // It may end without reading its input.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("the tool ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn assembly_and_bitcode_go_through() {
    let result = schism_opt(&["-p", "lower-unwind", "-"], KERNEL.as_bytes());
    assert!(result.status.success(), "{}", text(&result.stderr));
    assert!(text(&result.stdout).contains("call void @f()"));
    assert!(!text(&result.stdout).contains("landingpad"));

    let bitcode = schism_opt(&["-p", "lower-unwind", "--emit-bc", "-"], KERNEL.as_bytes()).stdout;
    assert!(bitcode.starts_with(b"BC\xC0\xDE"));
    let arguments = ["-p", "kernel-reachability", "--spec", "kernel: kernel entry 0 1", "-"];
    let result = schism_opt(&arguments, &bitcode);
    assert!(text(&result.stdout).contains("define void @kernel()"), "{}", text(&result.stderr));
}

#[test]
fn a_refusal_is_printed_and_fails() {
    let arguments = ["-p", "device-check", "--spec", "kernel: kernel entry 0 1", "-"];
    let result = schism_opt(&arguments, KERNEL.as_bytes());
    assert_eq!(result.status.code(), Some(1));
    let stderr = text(&result.stderr);
    assert!(
        stderr.contains("\nviolation: ExternalFunction(\"f\"), chain: [\"kernel\"]\n"),
        "{stderr}"
    );
    assert!(result.stdout.is_empty());
}

#[test]
fn mistakes_on_the_command_line_are_explained() {
    for (arguments, message) in [
        (&["-"][..], "`-p` says which passes to run"),
        (&["-p", "lower-unwind"], "no file is given"),
        (&["-p"], "missing argument for option '-p'"),
        (&["-p", "lower-unwind", "--frobnicate", "-"], "invalid option '--frobnicate'"),
        (&["-p", "lower-unwind", "-", "other.ll"], "one file at a time, and got `other.ll` too"),
    ] {
        let result = schism_opt(arguments, b"");
        assert_eq!(result.status.code(), Some(2), "{arguments:?}");
        assert!(text(&result.stderr).contains(message), "{}", text(&result.stderr));
    }
    for (arguments, message) in [
        (["-p", "lower-unwnd", "-"], "did you mean `lower-unwind`?"),
        (["-p", "lower-unwind", "no-such-file.ll"], "cannot read no-such-file.ll"),
    ] {
        let result = schism_opt(&arguments, b"");
        assert_eq!(result.status.code(), Some(1), "{arguments:?}");
        assert!(text(&result.stderr).contains(message), "{}", text(&result.stderr));
    }
}

#[test]
fn passes_are_left_out_and_modules_printed_as_the_environment_says() {
    let run = |variable: &str, value: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schism-opt"))
            .args(["-p", "simplify,superblocks", "-"])
            .env(variable, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let input = b"define void @f() {\n  ret void\n}\n";
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
        child.wait_with_output().expect("the tool ends")
    };
    let printed = run("SCHISM_PRINT_AFTER", "superblocks");
    assert!(printed.status.success());
    let stderr = text(&printed.stderr);
    assert!(stderr.contains("; after superblocks\n") && stderr.contains("define void @f()"));
    assert!(!stderr.contains("; after simplify"));
    let disabled = run("SCHISM_DISABLE_PASSES", "superblocks");
    assert!(disabled.status.success(), "{}", text(&disabled.stderr));
    for (name, message) in [
        ("simplify", "`simplify` cannot be disabled"),
        ("super-blocks", "did you mean `superblocks`?"),
    ] {
        let result = run("SCHISM_DISABLE_PASSES", name);
        assert_eq!(result.status.code(), Some(1));
        assert!(text(&result.stderr).contains(message), "{}", text(&result.stderr));
    }
}

#[test]
fn the_list_names_every_pass() {
    let list = text(&schism_opt(&["--list"], b"").stdout);
    for pass in schism_passes::registry::PASSES {
        let optional = if pass.optional { '*' } else { ' ' };
        assert!(list.contains(&format!(" {optional}{} ", pass.name)), "{list}");
    }
}

#[test]
fn a_wrong_name_is_told_before_the_file_is_read() {
    let result = schism_opt(&["-p", "lower-unwnd", "no/such/file.ll"], b"");
    assert_eq!(result.status.code(), Some(1));
    let stderr = text(&result.stderr);
    assert!(stderr.contains("lower-unwind") && !stderr.contains("no/such/file"), "{stderr}");
}
