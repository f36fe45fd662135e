//! Programs with rayon that know nothing of schism, built by plain rustc and with `--stdpar`.
//!
//! Programs of `tests/stdpar` are built together, [`Programs`]: cargo compiles them side by side,
//! and no two tests wait for each other's builds. A small program of one test is a project alone,
//! [`project`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

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

/// Builds a project by plain rustc.
fn build_by_rustc(lab: &Lab, folder: &Path, arguments: &[&str]) {
    let mut cargo = lab.cargo(Compiler::Stock, folder);
    cargo.env("CARGO_TARGET_DIR", target(lab, "plain"));
    text(cargo.args(["build", "--offline"]).args(arguments));
}

/// Builds a project by plain rustc; what its program prints.
pub fn by_rustc(lab: &Lab, folder: &Path) -> String {
    build_by_rustc(lab, folder, &["--release"]);
    text(&mut run_in(&target(lab, "plain"), name_of(folder), "release", &[]))
}

/// Builds a project by `cargo schism`; what that says.
pub fn build(lab: &Lab, folder: &Path, arguments: &[&str]) -> String {
    build_in(&target(lab, "schism"), lab, folder, arguments)
}

/// Where [`explain`] builds. rayon's crates depend on whether notes are asked for, so with others'
/// builds in one folder they would be built by turns.
pub const EXPLAINED: &str = "explained";

/// Builds a project by `cargo schism`, which says of each parallel iterator what becomes of it.
pub fn explain(lab: &Lab, folder: &Path, arguments: &[&str]) -> String {
    build_in(&target(lab, EXPLAINED), lab, folder, &[&["--stdpar=explain"], arguments].concat())
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
    // Each run is as the first one.
    program.env("SCHISM_STDPAR_HISTORY", "0");
    program.env("SCHISM_DEVICE", "cpu").envs(variables.iter().copied());
    program
}

/// The variables by which a program runs on each kind of device that is not the host: those that the machine lacks leave all
/// pipelines with rayon, and the trace says so.
#[must_use]
pub fn devices() -> [Vec<(&'static str, &'static str)>; 3] {
    static DRIVER: OnceLock<String> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| std::env::var("SCHISM_TEST_OPENCL").unwrap_or_default());
    let of = |name| ("SCHISM_DEVICE", name);
    [vec![of("cuda")], vec![of("hip")], vec![of("opencl"), ("SCHISM_OPENCL", driver)]]
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

/// The fake driver of NVIDIA's, which runs no kernels. It is built once, since tests run at the same time.
pub fn fake_driver(lab: &Lab) -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = lab.folder("stdpar-driver");
        let mut rustc = lab.rustc(Compiler::Stock, &folder);
        text(rustc.args(["--crate-type=cdylib", "-O"]).arg(lab::source("crates/fake_cuda.rs")));
        folder.join("libfake_cuda.so")
    })
}

/// A program that was built by plain rustc and with `--stdpar`.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    plain: PathBuf,
    schism: PathBuf,
    /// Whether the compiler has warned of something in it.
    warned: bool,
}

impl Program {
    /// The program by plain rustc, optimised.
    #[must_use]
    pub fn by_rustc(&self) -> Command {
        run_in(&self.plain, &self.name, "release", &[])
    }

    /// Expects that the compiler has not warned.
    ///
    /// # Panics
    /// If it has.
    pub fn expect_no_warning(&self) {
        assert!(!self.warned, "`cargo schism` warns of {}", self.name);
    }

    /// The program with `--stdpar`, on the device `cpu`.
    #[must_use]
    pub fn run(&self, profile: &str, variables: &[(&str, &str)]) -> Command {
        run_in(&self.schism, &self.name, profile, variables)
    }

    /// Compares what the program prints with arguments: by plain rustc, and with `--stdpar` for each
    /// setting, debug and release, and with as many threads as are given. Every setting meets every
    /// number of threads, and every profile each of both; with `SCHISM_TEST_FULL=1` all meet. The
    /// program by plain rustc says with one number of threads what is right. Returns the largest
    /// number of launches in a run with `always`.
    ///
    /// # Panics
    /// If a program fails, or prints something else, or the compiler has warned of something in it.
    pub fn compare(&self, arguments: &[&str], threads: &[&str]) -> usize {
        self.expect_no_warning();
        let expected = text(self.by_rustc().args(arguments));
        let mut launches = 0;
        for (number, setting) in ["never", "always", "auto"].into_iter().enumerate() {
            for (index, count) in threads.iter().enumerate() {
                let variables = [("SCHISM_STDPAR", setting), ("RAYON_NUM_THREADS", count)];
                let mut profiles = ["release", "debug"];
                profiles.rotate_left((number + index) % 2);
                for profile in &profiles[..if lab::full() { 2 } else { 1 }] {
                    let mut program = self.run(profile, &variables);
                    program.args(arguments);
                    let (found, kernels) = match setting {
                        "always" => traced(&mut program),
                        _ => (text(&mut program), 0),
                    };
                    assert_eq!(found, expected, "{profile}, {setting}, {count} threads");
                    launches = launches.max(kernels);
                }
            }
        }
        launches
    }
}

/// A way in which [`Programs`] are built, and which of them.
struct Build {
    compiler: Compiler,
    options: &'static [&'static str],
    names: &'static [&'static str],
    /// Those that are there already, and whether the compiler has warned.
    done: Mutex<BTreeMap<&'static str, bool>>,
}

/// Programs of `tests/stdpar` with one version of rayon, in one project. What is built, is built for
/// all tests of the test program that asks first; if it runs with the name of a test, for that one.
pub struct Programs {
    lab: &'static Lab,
    folder: PathBuf,
    /// After the names of programs, since projects have one target folder.
    suffix: &'static str,
    builds: Vec<Build>,
}

/// Files of `tests/stdpar` that are programs, and folders with a `main.rs`.
const PROGRAMS: &[&str] = &[
    "allocating",
    "alone",
    "c_heap",
    "captured",
    "demos",
    "device_heap",
    "dropped",
    "ending",
    "identity",
    "joined",
    "lanes",
    "least",
    "left_over",
    "memory",
    "natural",
    "nested",
    "own_allocator",
    "owners",
    "panicking",
    "results",
    "rows",
    "sentinels",
    "sorts",
    "spin",
    "unindexed",
    "unshared",
];

/// Those that are built without optimisation, too.
const IN_DEBUG: &[&str] = &[
    "identity",
    "least",
    "left_over",
    "natural",
    "owners",
    "panicking",
    "results",
    "sentinels",
    "spin",
];

/// Those that are built with the oldest rayon, too.
const WITH_OLDEST: &[&str] = &["results", "sorts", "unindexed"];

impl Programs {
    /// With the newest rayon.
    pub fn newest(lab: &'static Lab) -> &'static Self {
        static MADE: OnceLock<Programs> = OnceLock::new();
        MADE.get_or_init(|| Self::new(lab, "", "1", [PROGRAMS, PROGRAMS, IN_DEBUG]))
    }

    /// With the oldest rayon that is known; `None` if cargo cannot fetch it.
    pub fn oldest(lab: &'static Lab) -> Option<&'static Self> {
        static MADE: OnceLock<Option<Programs>> = OnceLock::new();
        let make = || {
            let names = [WITH_OLDEST, WITH_OLDEST, &[]];
            let made = Self::new(lab, "-oldest", "=1.5.3", names);
            let fetched = output(lab.cargo(Compiler::Stock, &made.folder).arg("fetch"));
            fetched.status.success().then_some(made)
        };
        let made = MADE.get_or_init(make).as_ref();
        if made.is_none() {
            crate::skip::say("cargo cannot fetch rayon 1.5.3");
        }
        made
    }

    /// `names` are of those by plain rustc, and with `--stdpar`, optimised and not.
    fn new(
        lab: &'static Lab,
        suffix: &'static str,
        rayon: &str,
        names: [&'static [&'static str]; 3],
    ) -> Self {
        let folder = lab.folder(&format!("stdpar-programs{suffix}"));
        let dependencies = format!("rayon = \"{rayon}\"\ndep = {{ path = \"dep\" }}");
        let manifest = named(&folder, &MANIFEST.replace("rayon = \"1\"", &dependencies));
        lab.project(&folder, &[("Cargo.toml", &manifest)]);
        let source = lab::source("stdpar");
        copy(&source.join("identity/dep"), &folder.join("dep"));
        for name in names[0] {
            let from = source.join(name);
            let to = folder.join("src/bin").join(format!("{name}{suffix}"));
            if from.is_dir() {
                copy(&from, &to);
            } else {
                copy(&from.with_extension("rs"), &to.with_extension("rs"));
            }
        }
        let options: [(_, &[&str]); 3] = [
            // They say what is right, and how fast they do is no matter.
            (Compiler::Stock, &["--release", "--config=profile.release.opt-level=1"]),
            (Compiler::Schism, &["--stdpar", "--release"]),
            (Compiler::Schism, &["--stdpar"]),
        ];
        let builds = options.into_iter().zip(names).map(|((compiler, options), names)| Build {
            compiler,
            options,
            names,
            done: Mutex::default(),
        });
        Self { lab, folder, suffix, builds: builds.collect() }
    }

    /// A program, built in each way.
    ///
    /// # Panics
    /// If it cannot be built, or `cargo schism` warns of something else than a program.
    pub fn program(&self, name: &str) -> Program {
        let is_chosen = std::env::args().nth(1).is_some_and(|word| !word.starts_with('-'));
        let mut warned = false;
        for build in self.builds.iter().filter(|build| build.names.contains(&name)) {
            let mut done = build.done.lock().unwrap_or_else(PoisonError::into_inner);
            if !done.contains_key(name) {
                let is_wanted = |own: &&str| !is_chosen || *own == name;
                done.extend(self.make(build, build.names.iter().copied().filter(is_wanted)));
            }
            warned |= done[name];
        }
        let [plain, schism] = ["plain", "schism"].map(|kind| target(self.lab, kind));
        Program { name: self.name(name), plain, schism, warned }
    }

    /// Builds programs; of each, whether the compiler warns.
    fn make(
        &self,
        build: &Build,
        names: impl Iterator<Item = &'static str>,
    ) -> Vec<(&'static str, bool)> {
        let names: Vec<&str> = names.collect();
        let selected: Vec<String> =
            names.iter().map(|name| format!("--bin={}", self.name(name))).collect();
        let selected = selected.iter().map(String::as_str);
        let options: Vec<&str> = build.options.iter().copied().chain(selected).collect();
        if build.compiler == Compiler::Stock {
            build_by_rustc(self.lab, &self.folder, &options);
            return names.into_iter().map(|name| (name, false)).collect();
        }
        let said = build_in(&target(self.lab, "schism"), self.lab, &self.folder, &options);
        // Cargo says so of each.
        let warned =
            |name: &str| said.contains(&format!("(bin \"{}\") generated", self.name(name)));
        let built: Vec<(&str, bool)> = names.into_iter().map(|name| (name, warned(name))).collect();
        let is_of_them = built.iter().any(|(_, warned)| *warned);
        assert!(is_of_them || !said.contains("warning"), "{said}");
        built
    }

    fn name(&self, name: &str) -> String {
        format!("{name}{}", self.suffix)
    }
}

/// Copies a file, or a folder and what is in it.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in std::fs::read_dir(from).expect("a folder of the tests") {
            let entry = entry.expect("a folder of the tests");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        let text = std::fs::read_to_string(from).expect("a file of the tests");
        lab::write_files(to.parent().expect("a file is in a folder"), &[(name_of(to), &text)]);
    }
}
