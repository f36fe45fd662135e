//! What plugins leave in a target folder, and what later ones remove of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use schism_tests::lab::{Compiler, Lab, output};

const MANIFEST: &str = r#"
[package]
name = "with-script"
version = "0.1.0"
edition = "2024"

[dependencies]
other = { path = "other" }

[workspace]
"#;

/// Where artifacts are, in the folder of a profile.
const FOLDERS: [&str; 5] = ["deps", "examples", "build", "incremental", ".fingerprint"];

/// All artifacts of a profile, by their paths below it.
fn artifacts(profile: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in FOLDERS {
        for entry in std::fs::read_dir(profile.join(folder)).expect("one of cargo's folders") {
            let name = entry.expect("a folder that can be read").file_name();
            found.insert(format!("{folder}/{}", name.display()));
        }
    }
    found
}

/// A plugin with another content hash in the name of its folder.
fn plugin(lab: &Lab, folder: &Path, letter: &str) -> PathBuf {
    let driver = lab.compiler(Compiler::Schism);
    let to = folder.join(format!("plugin-{}", letter.repeat(32)));
    std::fs::create_dir_all(&to).expect("a folder can be made");
    let from = driver.parent().expect("the driver is in a folder");
    for entry in std::fs::read_dir(from).expect("the driver's folder") {
        let entry = entry.expect("a folder that can be read");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file can be copied");
    }
    to.join(driver.file_name().expect("the driver is a file"))
}

/// Builds with a compiler, and says whether cargo compiled anything.
fn build(cargo: &mut Command, rustc: &Path) -> bool {
    let built = output(cargo.env("RUSTC", rustc).env("CARGO_INCREMENTAL", "1"));
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    said.contains("Compiling")
}

#[test]
fn artifacts_of_the_last_plugins_stay() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let folder = lab.folder("artifacts");
    let other = "[package]\nname = \"other\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let script = r#"
        fn main() {
            println!("cargo::rerun-if-changed=build.rs");
            let folder = std::env::var("OUT_DIR").expect("cargo's folder");
            std::fs::write(folder + "/word.rs", "\"written\"").expect("a file can be written");
        }
    "#;
    let main =
        r#"fn main() { println!("{}", include_str!(concat!(env!("OUT_DIR"), "/word.rs"))); }"#;
    let files = [
        ("Cargo.toml", MANIFEST),
        ("build.rs", script),
        ("src/main.rs", main),
        ("examples/shown.rs", "fn main() {}"),
        ("other/Cargo.toml", other),
        ("other/src/lib.rs", "pub fn f() {}"),
    ];
    lab.project(&folder, &files);
    let cargo = || {
        let mut cargo = lab.cargo(Compiler::Stock, &folder);
        cargo.args(["build", "--offline", "--bins", "--examples"]);
        cargo
    };
    let stock = lab.compiler(Compiler::Stock);
    let profile = folder.join("target/debug");
    assert!(build(&mut cargo(), &stock));
    let plain = artifacts(&profile);
    let plugins = ["a", "b", "c", "d", "e"].map(|letter| plugin(lab, &folder, letter));
    let mut own = Vec::new();
    for plugin in &plugins {
        let before = artifacts(&profile);
        assert!(build(&mut cargo(), plugin));
        own.push(artifacts(&profile).difference(&before).cloned().collect::<BTreeSet<_>>());
    }
    let found = artifacts(&profile);
    // As many of each plugin as of plain rustc, and some in every folder. The example's two links
    // have no hash, and are those of the last build.
    for own in &own {
        assert_eq!(own.len() + 2, plain.len(), "{own:#?}");
        for folder in FOLDERS {
            assert!(own.iter().any(|artifact| artifact.starts_with(folder)), "{folder}");
        }
    }
    let kept: BTreeSet<String> = own[2..].iter().flatten().chain(&plain).cloned().collect();
    assert_eq!(found, kept);
    // To cargo all of them are as they were.
    assert!(!build(&mut cargo(), &stock));
    assert!(plugins[2..].iter().all(|plugin| !build(&mut cargo(), plugin)));
    assert!(build(&mut cargo(), &plugins[0]));
}
