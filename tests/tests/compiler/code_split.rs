//! `SCHISM_DEVICE_CODE_SPLIT`: the same results from one image and from several.

use std::path::Path;

use schism_hcf::Container;
use schism_tests::container::containers;
use schism_tests::lab::{Lab, clean_command, failure, output, source, text};

const VARIABLE: &str = "SCHISM_DEVICE_CODE_SPLIT";

/// Compiles the program and runs it; the container that is in it.
fn container(lab: &Lab, folder: &Path, mode: &str) -> Container {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.arg(source("crates/split.rs")).env(VARIABLE, mode);
    text(&mut rustc);
    let program = folder.join("split");
    let mut run = clean_command(&program);
    run.env("SCHISM_DEVICE", "cpu");
    assert_eq!(text(&mut run), "[3, 3, 9, 5] [10.0, 12.0] [1, 1, 1, 1]\n", "{mode}");
    let mut found = containers(&program);
    found.retain(|container| container.crate_name == "split");
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn every_mode_gives_the_same_results() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("code_split");
    for (mode, images) in [("", 1), ("off", 1), ("per-kernel", 3), ("per-source", 2), ("auto", 3)] {
        let first = container(lab, &folder, mode);
        let names: Vec<&str> = first.images.iter().map(|image| image.name.as_str()).collect();
        assert_eq!(names.len(), images, "{mode}: {names:?} {:?}", first.kernels);
        assert_eq!(first.images[0].name == "llvm-ir.global", images == 1, "{names:?}");
        // Each kernel is exported by its image, and by no other.
        for kernel in &first.kernels {
            assert_eq!(kernel.images.len(), 1);
            for image in &first.images {
                let exported = image.exported_symbols.contains(&kernel.name);
                assert_eq!(exported, kernel.images[0] == image.name, "{mode}");
            }
        }
        assert_eq!(first, container(lab, &folder, mode), "{mode} twice");
    }
}

#[test]
fn needs_are_noted() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let container = container(lab, &lab.folder("code_split_needs"), "off");
    let needs = |part: &str| {
        let kernel = container.kernels.iter().find(|kernel| kernel.display_name.contains(part));
        kernel.map(|kernel| kernel.capabilities.join(" ")).expect("a kernel")
    };
    assert_eq!(needs("doubles::"), "fp64 indirect-calls");
    assert_eq!(needs("main::{closure#0}"), "indirect-calls");
    assert_eq!(needs("main::{closure#1}"), "");
}

#[test]
fn another_word_is_an_error() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let mut rustc = lab.rustc_with_runtime(&lab.folder("code_split_word"));
    rustc.arg(source("crates/split.rs")).env(VARIABLE, "kernel");
    let message = failure(&mut rustc);
    assert!(message.contains("`kernel` is no way to split device code"), "{message}");
}

#[test]
fn cargo_builds_anew_when_the_variable_changes() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("code_split_cargo");
    let main = std::fs::read_to_string(source("crates/split.rs")).expect("the program");
    let manifest = "[package]\nname = \"split\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                    [dependencies]\n@RUNTIME@\n[workspace]\n";
    lab.project(&folder, &[("Cargo.toml", manifest), ("src/main.rs", &main)]);
    let build = |mode: Option<&str>| {
        let mut cargo = lab.cargo_with_runtime(&folder);
        cargo.args(["build", "--offline"]);
        if let Some(mode) = mode {
            cargo.env(VARIABLE, mode);
        }
        let output = output(&mut cargo);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{messages}");
        messages.contains("Compiling split ")
    };
    assert!(build(None));
    assert!(!build(None));
    assert!(build(Some("per-kernel")));
    assert!(!build(Some("per-kernel")));
    assert!(build(None));
}
