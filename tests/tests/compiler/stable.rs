//! The driver behaves as a stable compiler, and its builds do not disturb those of plain cargo.

use std::path::Path;
use std::process::Command;

use schism_tests::lab::{
    Compiler, Lab, clean_command, describe, failure, output, source, text, write_files,
};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

fn crate_text(name: &str) -> String {
    std::fs::read_to_string(source(&format!("crates/{name}.rs"))).expect("a readable file")
}

const BOTH: [Compiler; 2] = [Compiler::Stock, Compiler::Schism];

#[test]
fn unstable_features_are_refused() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-features");
    let source = "#![feature(auto_traits)]\npub auto trait Marker {}\n";
    std::fs::write(folder.join("nightly.rs"), source).expect("a writable folder");
    for compiler in BOTH {
        let mut rustc = lab.rustc(compiler, &folder);
        let errors = failure(rustc.args(["nightly.rs", "--crate-type=lib"]));
        assert!(errors.contains("error[E0554]"), "{errors}");
        let mut rustc = lab.rustc(compiler, &folder);
        let errors = failure(rustc.args(["nightly.rs", "--crate-type=lib", "-Zunstable-options"]));
        assert!(errors.contains("only accepted on the nightly compiler"), "{errors}");
    }
    // Not even with the runtime at hand.
    let errors = failure(lab.rustc_with_runtime(&folder).args(["nightly.rs", "--crate-type=lib"]));
    assert!(errors.contains("error[E0554]"), "{errors}");
}

#[test]
fn build_scripts_and_crates_see_a_stable_compiler() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-probe");
    let manifest =
        "[package]\nname = \"probed\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n";
    let (script, program) = (crate_text("probe_build"), crate_text("probe"));
    write_files(
        &folder,
        &[("Cargo.toml", manifest), ("build.rs", &script), ("src/main.rs", &program)],
    );
    let stable = "version_is_stable true\nprobe_finds_nightly false\nbootstrap false false\n";
    for compiler in BOTH {
        assert_eq!(
            text(lab.cargo(compiler, &folder).args(["run", "--offline", "--quiet"])),
            stable
        );
    }
    // The probe works: it finds what there is to be found.
    let mut cargo = lab.cargo(Compiler::Schism, &folder);
    cargo.args(["run", "--offline", "--quiet"]).env("RUSTC_BOOTSTRAP", "1");
    cargo.env("CARGO_TARGET_DIR", folder.join("unstable"));
    assert!(text(&mut cargo).contains("probe_finds_nightly true"));
}

/// A workspace with a library, a procedural macro, a build script and a program.
fn neighbours(folder: &Path) {
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n{rest}")
    };
    let program = package(
        "program",
        "[dependencies]\nlibrary = { path = \"library\" }\n\
         [workspace]\nmembers = [\"library\", \"derive\"]\n",
    );
    let library = package("library", "[dependencies]\nderive = { path = \"../derive\" }\n");
    write_files(
        folder,
        &[
            ("Cargo.toml", &program),
            ("build.rs", "fn main() {}\n"),
            ("src/main.rs", "fn main() {\n    println!(\"{}\", library::answer());\n}\n"),
            ("library/Cargo.toml", &library),
            ("library/src/lib.rs", "pub fn answer() -> u32 {\n    derive::answer!()\n}\n"),
            ("derive/Cargo.toml", &package("derive", "[lib]\nproc-macro = true\n")),
            ("derive/src/lib.rs", &crate_text("proc_macro")),
        ],
    );
}

/// Runs `cargo build -v` and counts what it compiles, and what it finds fresh.
fn build(cargo: &mut Command) -> (usize, usize) {
    let output = output(cargo.args(["build", "--offline", "--verbose"]));
    assert!(output.status.success(), "{}", describe(cargo, &output));
    let log = String::from_utf8_lossy(&output.stderr);
    let count = |word: &str| log.lines().filter(|line| line.trim_start().starts_with(word)).count();
    (count("Running `"), count("Fresh "))
}

#[test]
fn both_compilers_share_a_target_directory_and_rebuild_nothing() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-neighbours");
    neighbours(&folder);
    for compiler in BOTH {
        let (runs, fresh) = build(&mut lab.cargo(compiler, &folder));
        assert!(runs >= 4 && fresh == 0, "the first build by {compiler:?}: {runs}, {fresh}");
    }
    for round in 0..2 {
        for compiler in BOTH {
            let counts = build(&mut lab.cargo(compiler, &folder));
            assert_eq!(counts, (0, 3), "round {round} by {compiler:?}");
            let program = folder.join("target/debug/program");
            assert_eq!(text(&mut Command::new(program)).trim(), "42");
        }
    }
    // `cargo check` by turns, too.
    for round in 0..2 {
        for compiler in BOTH {
            let mut cargo = lab.cargo(compiler, &folder);
            let output = output(cargo.args(["check", "--offline", "--verbose"]));
            assert!(output.status.success(), "{}", describe(&cargo, &output));
            let log = String::from_utf8_lossy(&output.stderr);
            assert_eq!(round == 0, log.contains("Running `"), "round {round}:\n{log}");
        }
    }
}

#[test]
fn another_plugin_takes_no_artifact_of_this_one() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-plugins");
    neighbours(&folder);
    build(&mut lab.cargo(Compiler::Schism, &folder));
    // The same two files, under the name that set-up would give to another plugin.
    let other = lab.folder("stable-other-plugin").join("plugin-0123456789abcdef0123456789abcdef");
    std::fs::create_dir_all(&other).expect("a folder can be made");
    for file in [&lab.driver, &lab.plugin] {
        let name = file.file_name().expect("a file has a name");
        std::fs::copy(file, other.join(name)).expect("a file is copied");
    }
    let driver = other.join(lab.driver.file_name().expect("a file has a name"));
    let version = text(Command::new(&driver).arg("-vV"));
    assert!(version.ends_with("\nschism: 0123456789abcdef0123456789abcdef\n"), "{version}");
    let mut cargo = lab.cargo(Compiler::Schism, &folder);
    let (runs, fresh) = build(cargo.env("RUSTC", &driver));
    assert!(runs >= 4 && fresh == 0, "{runs} compiled, {fresh} taken from the other plugin");
    assert_eq!(build(&mut lab.cargo(Compiler::Schism, &folder)), (0, 3));
}

#[test]
fn the_plugin_works_in_the_stock_compiler() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-plugin");
    lab.project(
        &folder,
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"plugged\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                 [dependencies]\n@RUNTIME@\n[workspace]\n",
            ),
            ("src/main.rs", &crate_text("plugged")),
        ],
    );
    let mut cargo = lab.cargo(Compiler::Stock, &folder);
    let target = lab.use_plugin(cargo.args(["build", "--offline"]));
    let program = target.join("debug/plugged");
    // A program of an earlier run says nothing.
    let _ = std::fs::remove_file(&program);
    text(&mut cargo);
    assert_eq!(schism_tests::container::containers(&program).len(), 1);
    let run = |device: &str| text(clean_command(&program).env("SCHISM_DEVICE", device));
    assert_eq!(run("cpu"), "cpu 10000\n");
    assert_eq!(run("native"), "native 9900\n");
}

#[test]
fn plain_flags_reach_documentation_tests_and_functions_of_dependencies() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-recipe");
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n{rest}")
    };
    let manifest = package(
        "recipe",
        "[dependencies]\n@RUNTIME@\nhelper = { path = \"helper\" }\n[workspace]\n",
    );
    let library = "//! ```
//! use schism::prelude::*;
//!
//! let queue = Queue::on(&Device::by_name(\"cpu\")?)?;
//! let mut out = Buffer::filled(&queue, 8, 0_u32)?;
//! queue.for_each((0.., &mut out), |(i, out)| *out = helper::double(i as u32) + u32::from(schism::is_device()))?;
//! assert_eq!(out.to_vec(), [1, 3, 5, 7, 9, 11, 13, 15]);
//! # Ok::<(), schism::Error>(())
//! ```
";
    lab.project(
        &folder,
        &[
            ("Cargo.toml", &manifest),
            ("src/lib.rs", library),
            ("helper/Cargo.toml", &package("helper", "")),
            // Without a body at hand: it is neither generic nor small enough for the compiler to
            // inline.
            (
                "helper/src/lib.rs",
                "#[inline(never)]\npub fn double(x: u32) -> u32 {\n    x * 2\n}\n",
            ),
        ],
    );
    let mut cargo = lab.cargo(Compiler::Stock, &folder);
    cargo.args(["test", "--offline", "--doc"]).env("RUSTDOCFLAGS", lab.plugin_flags());
    lab.use_plugin(&mut cargo);
    assert!(text(&mut cargo).contains("1 passed"));
}

#[test]
fn plain_flags_change_a_librarys_metadata_and_not_its_code() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("stable-flags");
    let compile = |name: &str, flags: &str| {
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        rustc.args(["--crate-type=lib", "--emit=obj,metadata", "-O", "-Ccodegen-units=1"]);
        rustc.args(["--out-dir", name]).args(flags.split_whitespace());
        text(rustc.arg(source("crates/no_kernels.rs")).env("RUSTC_BOOTSTRAP", "1"));
        let read = |file: &str| std::fs::read(folder.join(name).join(file)).expect("it is written");
        (read("no_kernels.o"), read("libno_kernels.rmeta"))
    };
    let (plain, flagged) = (compile("plain", ""), compile("flagged", &lab.plugin_flags()));
    assert!(plain.0 == flagged.0, "the code");
    assert!(plain.1 != flagged.1, "the metadata, whose hash holds the flags");
}
