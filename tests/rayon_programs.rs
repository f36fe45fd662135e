//! Programs with rayon that know nothing of schism, built by plain rustc and with `--stdpar`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{self, Compiler, Lab, clean_command, output, text};

/// The manifest of a program, for [`project_with`].
pub const MANIFEST: &str = r#"
[package]
name = "ordinary"
version = "0.1.0"
edition = "2024"

[dependencies]
rayon = "1"

[workspace]
"#;

/// A project with a program, in its own folder, of which both have the name.
pub fn project(lab: &Lab, name: &str, program: &str) -> PathBuf {
    project_with(lab, name, program, MANIFEST)
}

/// The same, with a manifest like [`MANIFEST`].
pub fn project_with(lab: &Lab, name: &str, program: &str, manifest: &str) -> PathBuf {
    project_of(lab, name, &[("src/main.rs", program)], manifest)
}

/// The same, with several files.
pub fn project_of(lab: &Lab, name: &str, files: &[(&str, &str)], manifest: &str) -> PathBuf {
    let folder = lab.folder(name);
    let manifest = named(&folder, manifest);
    lab.project(&folder, &[("Cargo.toml", &manifest)]);
    lab.project(&folder, files);
    folder
}

/// The same, with files of a folder in `tests/stdpar`, and more lines of dependencies.
///
/// # Panics
/// If a file cannot be read.
pub fn project_of_files(
    lab: &Lab,
    name: &str,
    folder: &str,
    files: &[&str],
    more: &str,
) -> PathBuf {
    let read = |file: &&str| {
        let path = lab::source("stdpar").join(folder).join(file);
        std::fs::read_to_string(path).expect("a file of the tests")
    };
    let place = |file: &str| {
        if file.contains('/') { file.to_owned() } else { format!("src/{file}") }
    };
    let files: Vec<(String, String)> = files.iter().map(|file| (place(file), read(file))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let manifest = MANIFEST.replace("rayon = \"1\"\n", &format!("rayon = \"1\"\n{more}\n"));
    project_of(lab, name, &files, &manifest)
}

/// A manifest of the program of a folder.
pub fn named(folder: &Path, manifest: &str) -> String {
    manifest.replace("ordinary", name_of(folder))
}

/// The name of a folder, which is that of its program.
///
/// # Panics
/// If it has none.
pub fn name_of(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).expect("a name in ASCII")
}

/// Where what the projects depend on is compiled, once for all of them: by plain rustc, and by
/// `cargo schism`. Programs have different names, so none takes another one's place.
pub fn target(lab: &Lab, kind: &str) -> PathBuf {
    lab.target().with_file_name("stdpar-target").join(kind)
}

/// Builds a project by plain rustc; its program.
pub fn build_by_rustc(lab: &Lab, folder: &Path) -> PathBuf {
    let target = target(lab, "plain");
    let mut cargo = lab.cargo(Compiler::Stock, folder);
    text(cargo.args(["build", "--offline", "--release"]).env("CARGO_TARGET_DIR", &target));
    target.join("release").join(name_of(folder))
}

/// Builds a project by plain rustc; what its program prints.
pub fn by_rustc(lab: &Lab, folder: &Path) -> String {
    build_by_rustc(lab, folder);
    text(&mut run_in(&target(lab, "plain"), name_of(folder), "release", &[]))
}

/// Builds a project by `cargo schism`; what that says.
pub fn build(lab: &Lab, folder: &Path, arguments: &[&str]) -> String {
    build_in(&target(lab, "schism"), lab, folder, arguments)
}

/// The same, with a target folder.
pub fn build_in(target: &Path, lab: &Lab, folder: &Path, arguments: &[&str]) -> String {
    build_with(target, lab, folder, arguments, &[])
}

/// The same, with variables.
///
/// # Panics
/// If it cannot be built.
pub fn build_with(
    target: &Path,
    lab: &Lab,
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> String {
    let mut cargo = clean_command(lab.subcommand());
    cargo.current_dir(folder).args(["build", "--offline"]).args(arguments);
    let built = output(cargo.env("CARGO_TARGET_DIR", target).envs(variables.iter().copied()));
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "{said}");
    said
}

/// A program of a target folder, on the device `cpu`. Kernels are compiled once for all its runs.
pub fn run_in(target: &Path, name: &str, profile: &str, variables: &[(&str, &str)]) -> Command {
    let mut program = clean_command(target.join(profile).join(name));
    if let Some(stage2) = std::env::var_os("SCHISM_JIT") {
        program.env("SCHISM_JIT", stage2);
    }
    program.env_remove("SCHISM_CACHE").env("SCHISM_CACHE_DIR", target.join("kernels"));
    program.env("SCHISM_DEVICE", "cpu").envs(variables.iter().copied());
    program
}

/// How many runs of pipelines were kernels, by the trace.
///
/// # Panics
/// If the program fails.
pub fn kernels(program: &mut Command) -> usize {
    traced(program).1
}

/// What a program prints, and how many runs of pipelines were kernels, by the trace.
///
/// # Panics
/// If the program fails.
pub fn traced(program: &mut Command) -> (String, usize) {
    let ran = output(program.env("SCHISM_TRACE", "1"));
    let trace = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{trace}");
    let kernels = trace.lines().filter(|line| line.contains(" pieces on `cpu`")).count();
    (String::from_utf8_lossy(&ran.stdout).into_owned(), kernels)
}

/// Builds a project by plain rustc and with `--stdpar`, debug and release, and compares what the
/// program prints with arguments: for each setting, and with as many threads as are given. The
/// program by plain rustc says with one number of threads what is right. Returns how many launches
/// `always` makes.
///
/// # Panics
/// If a program fails, or prints something else.
pub fn compare(lab: &Lab, folder: &Path, arguments: &[&str], threads: &[&str]) -> usize {
    let plain = build_by_rustc(lab, folder);
    let expected = text(clean_command(plain).args(arguments));
    let target = target(lab, "schism");
    let program = |profile: &str, variables: &[(&str, &str)]| {
        let mut program = run_in(&target, name_of(folder), profile, variables);
        program.args(arguments);
        program
    };
    for (options, profile) in
        [(&["--stdpar", "--release"][..], "release"), (&["--stdpar"], "debug")]
    {
        let said = build(lab, folder, options);
        assert!(!said.contains("warning"), "{said}");
        for setting in ["never", "always", "auto"] {
            for count in threads {
                let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", count)];
                let found = text(&mut program(profile, &variables));
                assert_eq!(found, expected, "{profile}, {setting}, {count} threads");
            }
        }
    }
    // A pool of one thread has no kernels.
    kernels(&mut program("release", &[("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "2")]))
}
