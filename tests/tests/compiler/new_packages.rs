//! `cargo schism new`: each template builds, runs and passes its tests, on schism's compiler and on the
//! stock one. They are made outside the checkout: in a workspace cargo would make members of them.

use std::path::Path;
use std::process::Command;

use schism_tests::lab::{Compiler, Lab, clean_command, failure, text, workspace};
use schism_tests::skip;

/// Has a package made in `folder`, with the versions of the workspace's dependencies.
fn make(lab: &Lab, folder: &Path, arguments: &[&str]) {
    text(subcommand(lab, folder).args(["new", "--vcs=none"]).args(arguments));
}

fn subcommand(lab: &Lab, folder: &Path) -> Command {
    let mut command = clean_command(lab.subcommand());
    command
        .current_dir(folder)
        .env("SCHISM_WORKSPACE", workspace())
        .env("CARGO_NET_OFFLINE", "true");
    command
}

/// Builds and runs a package with cargo's verb, and returns what it prints.
fn cargo(lab: &Lab, package: &Path, words: &[&str]) -> String {
    std::fs::copy(workspace().join("Cargo.lock"), package.join("Cargo.lock"))
        .expect("the workspace has a lock file");
    let mut command = subcommand(lab, package);
    command.env("CARGO_TARGET_DIR", lab.target()).env("CARGO_PROFILE_DEV_DEBUG", "0");
    text(command.env("SCHISM_DEVICE", "cpu").args(words))
}

/// A program whose kernel panics, in the guide's chapter about errors.
const PANICS: &str = "\
use schism::prelude::*;
fn main() -> Result<(), Report> {
    let queue = Queue::new()?;
    let x = [3, 1, 4, 0, 5];
    let mut y = [0; 5];
    queue.for_each((&mut y, &x), |(y, x)| *y = 10 / x)?;
    Ok(())
}
";

#[test]
fn kernels_run_and_their_tests_pass() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    make(lab, folder, &["first-kernels"]);
    let package = folder.join("first-kernels");
    let printed = cargo(lab, &package, &["run", "--offline"]);
    assert!(printed.starts_with("[1.0, 3.0, 5.0, 7.0] on cpu"), "{printed}");
    assert!(cargo(lab, &package, &["test", "--offline"]).contains("1 passed"));

    // What the guide shows of a panic.
    std::fs::create_dir(package.join("examples")).expect("there is none");
    std::fs::write(package.join("examples/panics.rs"), PANICS).expect("it can be written");
    let mut command = subcommand(lab, &package);
    command.env("CARGO_TARGET_DIR", lab.target()).env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("SCHISM_DEVICE", "cpu").args(["run", "--quiet", "--offline", "--example=panics"]);
    let said = failure(&mut command);
    let shown = include_str!("../../../docs/guide/errors.md").split("```text\n").nth(1);
    let shown = shown.and_then(|rest| rest.split("```").next()).expect("the guide shows it");
    assert!(said.contains(shown), "the guide has\n{shown}and this was said:\n{said}");

    // What cargo-nextest asks a test program: its tests, a line each, and then one test in a process.
    let listed = cargo(lab, &package, &["test", "--offline", "--", "--list", "--format", "terse"]);
    let name = listed.lines().find_map(|line| line.strip_suffix(": test")).expect("a test");
    assert_eq!(name, "tests::every_device_computes_what_a_loop_does");
    let one = cargo(lab, &package, &["test", "--offline", "--", "--exact", name, "--nocapture"]);
    assert!(one.contains("1 passed"), "{one}");
    let installed = Command::new("cargo-nextest").arg("--version").output();
    if installed.is_ok_and(|output| output.status.success()) {
        cargo(lab, &package, &["nextest", "run", "--offline", "--no-tests=fail"]);
    } else {
        skip::say("there is no cargo-nextest");
    }
}

#[test]
fn directives_run_and_their_tests_pass() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    make(lab, folder, &["--directives", "first-directives"]);
    let package = folder.join("first-directives");
    let printed = cargo(lab, &package, &["run", "--offline"]);
    assert_eq!(printed, "[5.0, 5.0, 5.0, 5.0], and their sum is 5000000\n");
    assert!(cargo(lab, &package, &["test", "--offline"]).contains("1 passed"));
}

#[test]
fn parallel_iterators_are_kernels_without_an_option() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    make(lab, folder, &["first-stdpar", "--stdpar"]);
    let package = folder.join("first-stdpar");
    std::fs::copy(workspace().join("Cargo.lock"), package.join("Cargo.lock"))
        .expect("the workspace has a lock file");
    let expected = "837799 takes 524 steps\n";
    let stock = text(lab.cargo(Compiler::Stock, &package).args(["run", "--offline", "--release"]));
    assert_eq!(stock, expected);
    let report = folder.join("report");
    let mut command = subcommand(lab, &package);
    command.env("SCHISM_DEVICE", "cpu").env("SCHISM_STDPAR", "always");
    command.env("SCHISM_STDPAR_REPORT", &report).args(["run", "--offline", "--release"]);
    assert_eq!(text(&mut command), expected);
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("1 as a kernel"), "{report}");
}

#[test]
fn what_is_there_stays_and_errors_say_what_to_do() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    std::fs::create_dir(folder.join("mine")).expect("a folder");
    std::fs::write(folder.join("mine/file"), "mine").expect("a file");
    let fails = |name: &str, part: &str| {
        let said = failure(subcommand(lab, folder).args(["new", name]));
        assert!(said.starts_with("error: ") && said.contains(part), "{said}");
    };
    fails("mine", "there is a mine already: choose another name");
    fails("1st", "`1st` cannot be the name of a package");
    assert_eq!(std::fs::read_to_string(folder.join("mine/file")).ok().as_deref(), Some("mine"));
    // Without a cargo.
    let mut command = subcommand(lab, folder);
    let said = failure(command.env("CARGO", "/nowhere/cargo").args(["new", "other"]));
    assert!(said.contains("cannot start `/nowhere/cargo`") && said.contains("rustup.rs"), "{said}");
    assert!(!folder.join("other").exists());
    // Only cargo knows its reserved names; nothing is left of an attempt.
    assert!(failure(subcommand(lab, folder).args(["new", "fn"])).contains("`fn`"));
    assert!(!folder.join("fn").exists());
}
