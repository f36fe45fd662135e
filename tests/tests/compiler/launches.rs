//! Kernels in every kind of item and expression, launched on the device `cpu`.
//!
//! The programs in `crates/launches/` compare each launch with the host's loop, and every work-item
//! writes whether it is device code: a kernel that ran somewhere else is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use schism_tests::container::containers;
use schism_tests::lab::{Lab, clean_command, describe, output, source, text};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles a file of `crates/launches/`.
fn compile(lab: &Lab, folder: &Path, name: &str, options: &[&str]) {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.arg(source(&format!("crates/launches/{name}.rs"))).args(["-L", "."]);
    text(rustc.args(options));
}

/// The folder with both libraries.
fn libraries(lab: &Lab, name: &str, options: &[&str]) -> PathBuf {
    let folder = lab.folder(name);
    compile(lab, &folder, "library", &[options, &["--crate-type=rlib"]].concat());
    let second = [options, &["--crate-type=rlib", "--extern=library"]].concat();
    compile(lab, &folder, "second", &second);
    folder
}

fn unoptimised(lab: &Lab) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| libraries(lab, "launches", &[]))
}

const BOTH_LIBRARIES: [&str; 2] = ["--extern=library", "--extern=second"];

fn on_device(program: &Path, device: &str) -> Command {
    let mut command = clean_command(program);
    command.env("SCHISM_DEVICE", device);
    command
}

#[test]
fn kernels_of_libraries_programs_and_traits() {
    let Some(lab) = lab() else { return };
    let folder = unoptimised(lab);
    compile(lab, folder, "program", &BOTH_LIBRARIES);
    let program = folder.join("program");
    assert_eq!(text(&mut on_device(&program, "cpu")), "cpu\n");
    assert_eq!(text(&mut on_device(&program, "native")), "native\n");
    schism_tests::ptx::expect_of(&program);

    // Each crate brings the kernels that it instantiates.
    let kernels = |krate: &str| -> Vec<String> {
        let containers = containers(&program);
        let own: Vec<_> = containers.iter().filter(|found| found.crate_name == krate).collect();
        assert_eq!(own.len(), 1, "one container of {krate}");
        own[0].kernels.iter().map(|kernel| kernel.display_name.clone()).collect()
    };
    let in_library = kernels("library");
    assert!(in_library.iter().any(|name| name.contains("concrete")), "{in_library:?}");
    assert!(!in_library.iter().any(|name| name.contains("generic")), "{in_library:?}");
    let generic =
        |krate: &str| kernels(krate).iter().filter(|name| name.contains("generic::")).count();
    assert_eq!(generic("second"), 2);
    // `i32` also: rustc may share the other crate's, or make its own.
    assert!((2..=3).contains(&generic("program")));
}

#[test]
fn kernels_of_optimised_crates() {
    let Some(lab) = lab() else { return };
    let folder = libraries(lab, "launches-optimised", &["-Copt-level=3"]);
    compile(lab, &folder, "program", &[&BOTH_LIBRARIES[..], &["-Copt-level=3"]].concat());
    assert_eq!(text(&mut on_device(&folder.join("program"), "cpu")), "cpu\n");
}

#[test]
fn kernels_in_tests() {
    let Some(lab) = lab() else { return };
    let folder = unoptimised(lab);
    compile(lab, folder, "program", &[&BOTH_LIBRARIES[..], &["--test", "-otests"]].concat());
    for device in ["cpu", "native"] {
        let report = text(&mut on_device(&folder.join("tests"), device));
        assert!(report.contains("test result: ok. 2 passed"), "{report}");
    }
}

#[test]
fn every_launch_is_traced_to_the_device() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("launches-trace");
    let program = std::fs::read_to_string(source("crates/plugged.rs")).expect("a readable file");
    lab.project(
        &folder,
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"traced\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
                 [dependencies]\n@RUNTIME@\n[workspace]\n",
            ),
            ("src/main.rs", &program),
        ],
    );
    text(lab.cargo_with_runtime(&folder).args(["build", "--offline"]));
    let mut traced = on_device(&lab.target().join("debug/traced"), "cpu");
    // What an earlier run has left on disk would do instead of stage 2.
    let ended = output(traced.env("SCHISM_TRACE", "1").env("SCHISM_CACHE", "0"));
    assert!(ended.status.success(), "{}", describe(&traced, &ended));
    let trace = String::from_utf8_lossy(&ended.stderr);
    let mut rest = &*trace;
    for step in ["found image", "loaded stage 2", "lowered", "launch"] {
        let at = rest.find(step);
        let at = at.unwrap_or_else(|| panic!("no `{step}` in this place: {trace}"));
        rest = &rest[at + step.len()..];
    }
    // Without a choice, it says which device there is, and why no other.
    for variable in ["SCHISM_CUDA", "SCHISM_HIP", "SCHISM_OPENCL"] {
        traced.env(variable, "");
    }
    let ended = output(traced.env_remove("SCHISM_DEVICE"));
    let trace = String::from_utf8_lossy(&ended.stderr);
    let line = trace.lines().find(|line| line.contains("chose the device"));
    let line = line.unwrap_or_else(|| panic!("no choice: {trace}"));
    for part in ["cpu", "cuda: SCHISM_CUDA is empty; hip: SCHISM_HIP is empty; opencl: "] {
        assert!(line.contains(part), "`{part}` is not in: {line}");
    }
}

#[test]
fn kernels_of_shared_libraries_that_come_and_go() {
    let Some(lab) = lab() else { return };
    let folder = unoptimised(lab);
    let options = ["--crate-type=cdylib", "--extern=library"];
    compile(lab, folder, "plugin", &options);
    let library = folder.join("libplugin.so");
    // A copy is another library: its own kernels, its own runtime.
    let copy = folder.join("libcopy.so");
    std::fs::copy(&library, &copy).expect("a file is copied");
    let mut rustc = lab.rustc(schism_tests::lab::Compiler::Stock, folder);
    text(rustc.arg(source("crates/launches/loader.rs")));
    for device in ["cpu", "native"] {
        let mut loader = on_device(&folder.join("loader"), device);
        assert_eq!(text(loader.arg(&library).arg(&copy)), "closed\n");
    }
}

#[test]
fn a_program_that_launches_opens_a_library_that_does() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("launches-both");
    compile(lab, &folder, "library", &["--crate-type=rlib"]);
    compile(lab, &folder, "plugin", &["--crate-type=cdylib", "--extern=library", "-Copt-level=2"]);
    let mut loader =
        std::fs::read_to_string(source("crates/launches/loader.rs")).expect("a readable file");
    let own = "fn main() {\n    let queue = schism::Queue::new().unwrap();\n    \
               library::concrete(&queue, 100);\n";
    assert_eq!(loader.matches("fn main() {\n").count(), 1);
    loader = loader.replace("fn main() {\n", own);
    loader = loader.replace(
        "    println!(\"closed\");",
        "    library::concrete(&queue, 77);\n    println!(\"closed\");",
    );
    std::fs::write(folder.join("both.rs"), loader).expect("a writable folder");
    let mut rustc = lab.rustc_with_runtime(&folder);
    text(rustc.args(["both.rs", "-L", ".", "--extern=library"]));
    let mut program = on_device(&folder.join("both"), "cpu");
    assert_eq!(text(program.arg(folder.join("libplugin.so"))), "closed\n");
}

#[test]
fn kernels_of_a_static_library_in_a_c_program() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("launches-c");
    compile(lab, &folder, "library", &["--crate-type=rlib"]);
    compile(lab, &folder, "plugin", &["--crate-type=staticlib", "--extern=library"]);
    let c = "#include <stddef.h>\nint run(size_t n);\nint main(void) { return run(100); }\n";
    std::fs::write(folder.join("main.c"), c).expect("a writable folder");
    // Dropping what nothing refers to must leave the containers.
    let mut cc = clean_command("cc");
    cc.current_dir(&folder).args([
        "-Wl,--gc-sections",
        "-s",
        "main.c",
        "libplugin.a",
        "-o",
        "main",
    ]);
    text(cc.args(["-lpthread", "-ldl", "-lm"]));
    assert_eq!(containers(&folder.join("main")).len(), 2);
    for device in ["cpu", "native"] {
        assert_eq!(text(&mut on_device(&folder.join("main"), device)), "");
    }
}

/// Types that only nightly features have: what they compute on the device is what they compute on
/// the host, and the container says that a device must have them.
#[test]
fn floats_of_16_and_128_bits() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("launches-floats");
    for level in ["-Copt-level=0", "-Copt-level=3"] {
        let mut rustc = lab.rustc_with_runtime(&folder);
        rustc.env("RUSTC_BOOTSTRAP", "1").arg(source("crates/unstable_floats.rs")).arg(level);
        text(&mut rustc);
        let program = folder.join("unstable_floats");
        assert_eq!(text(&mut on_device(&program, "cpu")), "cpu\n");
        assert_eq!(text(&mut on_device(&program, "native")), "native\n");
        let containers = containers(&program);
        let kernel = containers
            .iter()
            .find(|container| container.crate_name == "unstable_floats")
            .and_then(|container| container.kernels.first())
            .expect("the program's kernel");
        let has = |capability: &str| kernel.capabilities.iter().any(|known| known == capability);
        assert!(has("fp16") && has("fp128"), "{:?}", kernel.capabilities);
    }
}
