//! `--stdpar`: programs with rayon that know nothing of schism, unchanged, beside the same programs
//! by plain rustc.

use std::path::{Path, PathBuf};
use std::process::Command;

use schism_tests::lab::{self, Compiler, Lab, clean_command, output, text};

const MANIFEST: &str = r#"
[package]
name = "ordinary"
version = "0.1.0"
edition = "2024"

[dependencies]
rayon = "1"

[workspace]
"#;

/// A project with a program, in a folder of its own.
fn project(lab: &Lab, name: &str, program: &str) -> PathBuf {
    let folder = lab.folder(name);
    lab.project(&folder, &[("Cargo.toml", MANIFEST), ("src/main.rs", program)]);
    folder
}

fn program() -> String {
    std::fs::read_to_string(lab::source("stdpar/main.rs")).expect("a file of the tests")
}

/// Builds a project by `cargo schism`.
fn build(lab: &Lab, folder: &Path, arguments: &[&str]) -> String {
    let mut cargo = clean_command(lab.subcommand());
    cargo.current_dir(folder).args(["build", "--offline"]).args(arguments);
    let built = output(&mut cargo);
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "{said}");
    said
}

/// A program that was built, on the device `cpu`.
fn run(folder: &Path, profile: &str, variables: &[(&str, &str)]) -> Command {
    let mut program = clean_command(folder.join("target").join(profile).join("ordinary"));
    if let Some(stage2) = std::env::var_os("SCHISM_JIT") {
        program.env("SCHISM_JIT", stage2);
    }
    program.env("SCHISM_DEVICE", "cpu").envs(variables.iter().copied());
    program
}

/// How many runs of pipelines were kernels, by the trace.
fn kernels(program: &mut Command) -> usize {
    let ran = output(program.env("SCHISM_TRACE", "1"));
    assert!(ran.status.success());
    let trace = String::from_utf8_lossy(&ran.stderr).into_owned();
    trace.lines().filter(|line| line.contains(" pieces on `cpu`")).count()
}

#[test]
fn results_are_rayons() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = project(lab, "stdpar-results", &program());
    text(lab.cargo(Compiler::Stock, &folder).args(["build", "--offline", "--release"]));
    let expected = text(&mut run(&folder, "release", &[]));
    for (arguments, profile) in
        [(&["--stdpar", "--release"][..], "release"), (&["--stdpar"], "debug")]
    {
        let said = build(lab, &folder, arguments);
        assert!(!said.contains("warning"), "{said}");
        for setting in ["always", "auto", "never"] {
            let found = text(&mut run(&folder, profile, &[("SCHISM_STDPAR", setting)]));
            assert_eq!(found, expected, "{profile}, {setting}");
        }
        let count = |setting| kernels(&mut run(&folder, profile, &[("SCHISM_STDPAR", setting)]));
        // Most of twenty pipelines, for four lengths, and those of the threads.
        let always = count("always");
        assert!(always > 300, "{always}");
        assert_eq!(count("never"), 0);
        // Where there is no such device, all is as ever.
        let native = [("SCHISM_STDPAR", "always"), ("SCHISM_DEVICE", "native")];
        assert_eq!(text(&mut run(&folder, profile, &native)), expected);
        let unknown = [("SCHISM_STDPAR", "always"), ("SCHISM_DEVICE", "banana")];
        assert_eq!(text(&mut run(&folder, profile, &unknown)), expected);
    }
}

#[test]
fn each_pipeline_is_explained() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            let doubled: Vec<usize> = (0..1000_usize).into_par_iter().map(|i| 2 * i).collect();
            let texts: Vec<String> = doubled.par_iter().map(|i| i.to_string()).collect();
            doubled.par_iter().for_each(|i| println!("{i}"));
            drop(texts);
        }
    "#;
    let folder = project(lab, "stdpar-explain", program);
    let said = build(lab, &folder, &["--stdpar=explain"]);
    let notes: Vec<&str> =
        said.split("note: ").filter(|note| note.starts_with("this parallel iterator")).collect();
    let line = |number: usize, what: &str| {
        let place = format!("src/main.rs:{number}:");
        assert!(
            notes.iter().any(|note| note.starts_with(what) && note.contains(&place)),
            "line {number}, {what}: {said}"
        );
    };
    line(5, "this parallel iterator becomes a kernel");
    line(6, "this parallel iterator stays with rayon");
    line(7, "this parallel iterator stays with rayon");
}

/// The object files of a program, without what names the folder or the compiler.
fn code(folder: &Path, program: &str) -> Vec<u8> {
    std::fs::read(folder.join("target").join(program)).expect("a program that was built")
}

#[test]
fn without_the_option_nothing_changes() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = project(lab, "stdpar-without", &program());
    build(lab, &folder, &[]);
    let before = code(&folder, "debug/ordinary");
    build(lab, &folder, &["--stdpar"]);
    let with = code(&folder, "debug/ordinary");
    assert_ne!(before, with);
    build(lab, &folder, &["--stdpar=off"]);
    assert_eq!(code(&folder, "debug/ordinary"), before);
    // The same from nothing, and by a manifest that asks for it.
    std::fs::remove_dir_all(folder.join("target")).expect("what was built can be removed");
    build(lab, &folder, &[]);
    assert_eq!(code(&folder, "debug/ordinary"), before);
    let asks = format!("{MANIFEST}\n[package.metadata.schism]\nstdpar = true\n");
    std::fs::write(folder.join("Cargo.toml"), asks).expect("a file can be written");
    build(lab, &folder, &[]);
    assert!(kernels(&mut run(&folder, "debug", &[("SCHISM_STDPAR", "always")])) > 300);
}

/// The fake driver, which runs no kernels.
fn fake_driver(lab: &Lab) -> PathBuf {
    let folder = lab.folder("stdpar-driver");
    let mut rustc = lab.rustc(Compiler::Stock, &folder);
    text(rustc.args(["--crate-type=cdylib", "-O"]).arg(lab::source("crates/fake_cuda.rs")));
    folder.join("libfake_cuda.so")
}

#[test]
fn memory_of_every_kind() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = std::fs::read_to_string(lab::source("stdpar/memory.rs")).expect("a file");
    let folder = project(lab, "stdpar-memory", &program);
    text(lab.cargo(Compiler::Stock, &folder).args(["build", "--offline", "--release"]));
    let expected = text(&mut run(&folder, "release", &[]));
    build(lab, &folder, &["--stdpar", "--release"]);
    let always = ("SCHISM_STDPAR", "always");
    assert_eq!(text(&mut run(&folder, "release", &[always])), expected);

    // A GPU that cannot be had the memory seen by: the heap is shared, and nothing is launched.
    let driver = fake_driver(lab);
    let driver = ("SCHISM_CUDA", driver.to_str().expect("a path in Unicode"));
    let cuda = ("SCHISM_DEVICE", "cuda");
    for which in ["*", "3"] {
        let fault = format!("cuMemHostRegister_v2:{which}=2");
        let variables = [always, driver, cuda, ("FAKE_CUDA_FAULTS", fault.as_str())];
        if which == "*" {
            assert_eq!(text(&mut run(&folder, "release", &variables)), expected);
        }
        let ran = output(run(&folder, "release", &variables).env("SCHISM_TRACE", "1"));
        let trace = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(trace.contains("cannot use all of this program's memory"), "{trace}");
        assert!(trace.contains("cannot be made visible"), "{trace}");
    }
    // Nor can addresses that are shared.
    let fault = ("FAKE_CUDA_FAULTS", "cuMemAllocManaged:*=2,cuMemHostRegister_v2:*=2");
    let without = text(&mut run(&folder, "release", &[always, driver, cuda, fault]));
    assert_eq!(without, expected);

    let mut on_gpu = run(&folder, "release", &[always, cuda]);
    let ran = output(on_gpu.env("SCHISM_TRACE", "1"));
    let trace = String::from_utf8_lossy(&ran.stderr);
    if let Some(why) = trace.lines().find(|line| line.contains("all parallel iterators stay")) {
        println!("skipped: memory_of_every_kind on a GPU: {why}");
        return;
    }
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    let launches = trace.lines().filter(|line| line.contains(" pieces on `cuda")).count();
    assert!(launches > 300, "{launches}");
}
