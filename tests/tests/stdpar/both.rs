//! Programs with kernels that they launch themselves and parallel iterators that become some.

use std::path::PathBuf;
use std::sync::OnceLock;

use schism_tests::lab::{self, Compiler, Lab, clean_command, output, text};
use schism_tests::rayon_programs::{
    EXPLAINED, MANIFEST, explain, project_with, run_in, target, traced,
};

/// The files of `tests/stdpar/both`.
const FILES: [&str; 8] = [
    "Cargo.toml",
    "kernels/Cargo.toml",
    "kernels/src/lib.rs",
    "mixed/Cargo.toml",
    "mixed/build.rs",
    "mixed/src/main.rs",
    "ordinary/Cargo.toml",
    "ordinary/src/main.rs",
];

/// The workspace, built by plain rustc and with `--stdpar`.
struct Built {
    folder: PathBuf,
    plain: PathBuf,
    schism: PathBuf,
    /// What `cargo schism` has said.
    said: String,
}

fn built(lab: &Lab) -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = lab.folder("stdpar-both");
        let source = lab::source("stdpar/both");
        let files = FILES.map(|name| {
            (name, std::fs::read_to_string(source.join(name)).expect("a file of the tests"))
        });
        lab.project(&folder, &files.each_ref().map(|(name, text)| (*name, text.as_str())));
        let [plain, schism] = ["plain", EXPLAINED].map(|kind| target(lab, kind));
        let mut cargo = lab.cargo(Compiler::Stock, &folder);
        cargo.env("CARGO_TARGET_DIR", &plain).args(["build", "--offline", "--release"]);
        text(&mut cargo);
        let said = explain(lab, &folder, &["--release"]);
        Built { folder, plain, schism, said }
    })
}

impl Built {
    /// Compares what a program prints with the same by plain rustc, and returns how many runs of
    /// pipelines were kernels.
    fn compare(&self, name: &str) -> usize {
        let run = |target: &PathBuf, device, setting| {
            let variables = [("SCHISM_DEVICE", device), ("SCHISM_STDPAR", setting)];
            run_in(target, name, "release", &variables)
        };
        let expected = text(&mut run(&self.plain, "native", "never"));
        for device in ["cpu", "native"] {
            for setting in ["never", "auto"] {
                let found = text(&mut run(&self.schism, device, setting));
                assert_eq!(found, expected, "{name} on {device}, {setting}");
            }
        }
        assert_eq!(traced(&mut run(&self.schism, "native", "always")), (expected.clone(), 0));
        // Views of data in a device's own memory are none of a pipeline's.
        let found = text(&mut run(&self.schism, "cpu:copies", "always"));
        assert_eq!(found, expected, "{name} on a device that copies");
        let (found, kernels) = traced(&mut run(&self.schism, "cpu", "always"));
        assert_eq!(found, expected, "{name}");
        kernels
    }
}

/// One runtime serves both: they use each other's data, on one device.
#[test]
fn both_kinds_of_kernels_share_data() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let built = built(lab);
    let kernels = built.compare("mixed");
    assert!(kernels > 8, "{kernels}");
    // The others are kernels.
    assert!(!built.said.contains("warning"), "{}", built.said);
    assert_eq!(built.said.matches("it launches kernels itself").count(), 1, "{}", built.said);
}

/// A library launches kernels, and a program that knows nothing of schism has parallel iterators.
#[test]
fn libraries_of_rayon_programs_launch_kernels() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let built = built(lab);
    assert_eq!(built.compare("ordinary"), 1);
    // Documentation tests of the library.
    let mut cargo = clean_command(lab.subcommand());
    cargo.current_dir(&built.folder).env("CARGO_TARGET_DIR", &built.schism);
    cargo.env("SCHISM_DEVICE", "cpu").args(["test", "--doc", "--offline", "--release"]);
    text(cargo.args(["--stdpar=explain", "-p", "kernels"]));
}

/// What keeps a pipeline off a device is an error of a kernel that the program launches.
#[test]
fn errors_of_launched_kernels_stay_errors() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;
        use schism::Queue;

        fn text(i: usize) -> usize {
            i.to_string().len()
        }

        fn main() {
            let mut lengths: Vec<usize> = (0..1000).into_par_iter().map(text).collect();
            Queue::new().unwrap().for_each(&mut lengths, |x| *x = text(*x)).unwrap();
        }
    "#;
    let manifest = MANIFEST.replace("rayon = \"1\"", "rayon = \"1\"\n@RUNTIME@");
    // As the workspace above has it, so that it is compiled once.
    let manifest = manifest + "\n[profile.release.package.schism]\nopt-level = 0\n";
    let folder = project_with(lab, "stdpar-both-error", program, &manifest);
    let mut cargo = clean_command(lab.subcommand());
    cargo.current_dir(&folder).env("CARGO_TARGET_DIR", target(lab, EXPLAINED));
    let built = output(cargo.args(["build", "--offline", "--release", "--stdpar=explain"]));
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(!built.status.success() && errors.contains("src/main.rs:11"), "{errors}");
}
