//! The compilers under test, and room to work in.
//!
//! A test of the whole calls [`Lab::open`] first. Under a compiler that is not schism's, that fails
//! the test, unless `SCHISM_TEST_SKIP=1` allows to leave it out ([`crate::skip`]); then it returns
//! `None`. With the lab come the driver, the stock compiler that it wraps, the runtime as one
//! precompiled rlib, and empty folders.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Which of the two compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// Plain rustc, as rustup installs it.
    Stock,
    /// The driver with the plugin.
    Schism,
}

/// The compilers under test, and room to work in.
#[derive(Debug)]
pub struct Lab {
    /// `schism-rustc`.
    pub driver: PathBuf,
    /// The plugin, for `-Zcodegen-backend`.
    pub plugin: PathBuf,
    /// The folder of the stock compiler.
    pub sysroot: PathBuf,
    cargo: PathBuf,
    folder: PathBuf,
    runtime: OnceLock<Runtime>,
    stock_runtime: OnceLock<Runtime>,
}

/// The crate `schism`, compiled by the driver.
#[derive(Debug)]
pub struct Runtime {
    /// The rlib, for `--extern schism=`.
    pub rlib: PathBuf,
    /// Where its dependencies are, for `-L dependency=`.
    pub dependencies: PathBuf,
}

/// The manifest of a project that has the runtime built.
const USER: &str = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
    [dependencies]\n@RUNTIME@\n[workspace]\n";

/// What a lab's programs and compilers must not inherit from the cargo that runs the tests.
const FOREIGN_VARIABLES: &[&str] = &[
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_PROFILE_DEV_OPT_LEVEL",
    "CARGO_TARGET_DIR",
    "LD_LIBRARY_PATH",
    "RUSTC",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "SCHISM_ADAPTIVITY",
    "SCHISM_ALGORITHMS",
    "SCHISM_CHECK_RACES",
    "SCHISM_CPU_MATH",
    "SCHISM_CPU_STACK",
    "SCHISM_CPU_THREADS",
    "SCHISM_DEVICE",
    "SCHISM_DEVICE_CODE_SPLIT",
    "SCHISM_DEVICE_HEAP",
    "SCHISM_DISABLE_PASSES",
    "SCHISM_DUMP_STAGE1",
    "SCHISM_FAIL_PASSES",
    "SCHISM_LIBDEVICE",
    "SCHISM_LINES",
    "SCHISM_OFFLOAD_REPORT",
    "SCHISM_PRINT_AFTER",
    "SCHISM_STDPAR",
    "SCHISM_STDPAR_BUILD",
    "SCHISM_STDPAR_CUT",
    "SCHISM_STDPAR_EXCLUDE",
    "SCHISM_STDPAR_HISTORY",
    "SCHISM_STDPAR_LIBRARY",
    "SCHISM_STDPAR_REPORT",
    "SCHISM_SUBCOMMAND",
    "SCHISM_TARGETS",
    "SCHISM_TIMELINE",
    "SCHISM_TIME_PASSES",
    "SCHISM_TRACE",
    "SCHISM_VERIFY_PASSES",
    "SCHISM_WARN",
    "TERM",
];

impl Lab {
    /// The lab of this test program, whose own folder is `env!("CARGO_TARGET_TMPDIR")`; `None` if
    /// the compiler in the environment variable `RUSTC` is not schism's, and that is allowed.
    ///
    /// # Panics
    /// If it is not, and that is not allowed.
    #[track_caller]
    pub fn open(folder: &str) -> Option<&'static Self> {
        static LAB: OnceLock<Option<Lab>> = OnceLock::new();
        let lab = LAB.get_or_init(|| Self::find(Path::new(folder))).as_ref();
        if lab.is_none() {
            crate::skip::lacks(crate::skip::COMPILER);
        }
        lab
    }

    fn find(folder: &Path) -> Option<Self> {
        let driver = PathBuf::from(std::env::var_os("RUSTC")?);
        let version = Command::new(&driver).arg("-vV").output().ok()?;
        if !String::from_utf8_lossy(&version.stdout).lines().any(|line| line.starts_with("schism:"))
        {
            return None;
        }
        let sysroot = text(Command::new(&driver).args(["--print", "sysroot"]));
        let sysroot = PathBuf::from(sysroot.trim());
        let cargo = std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
        let plugin = driver.with_file_name("librustc_codegen_schism.so");
        assert!(plugin.exists(), "there is no plugin beside {}", driver.display());
        let folder = folder.to_owned();
        let (runtime, stock_runtime) = (OnceLock::new(), OnceLock::new());
        Some(Self { driver, plugin, sysroot, cargo, folder, runtime, stock_runtime })
    }

    /// An empty folder; `name` is the caller's alone.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).expect("a folder of an earlier run can be removed");
        }
        std::fs::create_dir_all(&path).expect("a folder can be made");
        path
    }

    /// The program of a compiler.
    pub fn compiler(&self, compiler: Compiler) -> PathBuf {
        match compiler {
            Compiler::Stock => self.sysroot.join("bin/rustc"),
            Compiler::Schism => self.driver.clone(),
        }
    }

    /// A compiler, run in `folder`.
    pub fn rustc(&self, compiler: Compiler, folder: &Path) -> Command {
        let mut command = clean_command(self.compiler(compiler));
        command.current_dir(folder).arg("--edition=2024");
        command
    }

    /// The driver with the runtime, run in `folder`.
    pub fn rustc_with_runtime(&self, folder: &Path) -> Command {
        let mut command = self.rustc(Compiler::Schism, folder);
        self.runtime().add_to(&mut command);
        command
    }

    /// Cargo over one of the compilers, run in `folder`, with `folder/target` for what it makes.
    pub fn cargo(&self, compiler: Compiler, folder: &Path) -> Command {
        let mut command = clean_command(&self.cargo);
        command.current_dir(folder).env("RUSTC", self.compiler(compiler));
        if compiler == Compiler::Schism {
            command.env("RUSTDOC", self.driver.with_file_name("schism-rustdoc"));
        }
        command
    }

    /// The driver's cargo for projects that depend on the runtime, in the target directory where
    /// the runtime's dependencies are already.
    pub fn cargo_with_runtime(&self, folder: &Path) -> Command {
        self.cargo_of_runtime(Compiler::Schism, folder, self.target())
    }

    fn cargo_of_runtime(&self, compiler: Compiler, folder: &Path, target: PathBuf) -> Command {
        let mut command = self.cargo(compiler, folder);
        command.env("CARGO_TARGET_DIR", target);
        // Bitcode, so that programs with and without link-time optimisation can use the runtime;
        // nothing else that would make the former slow. Errors that name the runtime show no line of it.
        let runtime = workspace().join("runtime");
        let flags =
            format!("-Cembed-bitcode=yes --remap-path-prefix={}=runtime", runtime.display());
        command.env("RUSTFLAGS", flags).env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    }

    /// The target directory of [`Self::cargo_with_runtime`].
    pub fn target(&self) -> PathBuf {
        self.folder.join("runtime")
    }

    /// The runtime, built by the driver once for all test programs.
    pub fn runtime(&self) -> &Runtime {
        self.runtime.get_or_init(|| self.build_runtime(Compiler::Schism, self.target()))
    }

    /// The runtime, built by one of the compilers.
    pub fn runtime_of(&self, compiler: Compiler) -> &Runtime {
        match compiler {
            Compiler::Schism => self.runtime(),
            Compiler::Stock => self
                .stock_runtime
                .get_or_init(|| self.build_runtime(compiler, self.folder.join("runtime-stock"))),
        }
    }

    /// The runtime, built by the stock compiler with the plugin.
    pub fn runtime_by_plugin(&self) -> Runtime {
        self.build_as_dependency(self.folder.join("runtime-plugin"), |folder| {
            let mut cargo = self.cargo(Compiler::Stock, folder);
            self.use_plugin(&mut cargo);
            cargo
        })
    }

    fn build_runtime(&self, compiler: Compiler, target: PathBuf) -> Runtime {
        let for_cargo = target.clone();
        self.build_as_dependency(target, |folder| {
            self.cargo_of_runtime(compiler, folder, for_cargo)
        })
    }

    /// Builds it as a dependency of a project: the projects of tests then find it in the same target
    /// directory, and it is compiled with a user's profile, not with the workspace's.
    fn build_as_dependency(
        &self,
        target: PathBuf,
        cargo: impl FnOnce(&Path) -> Command,
    ) -> Runtime {
        let mut folder = target.clone();
        folder.as_mut_os_string().push("-user");
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        // Test programs may run side by side.
        let lock = File::create(folder.join("lock")).expect("a file can be made");
        lock.lock().expect("the file can be locked");
        self.project(&folder, &[("Cargo.toml", USER), ("src/lib.rs", "")]);
        let mut cargo = cargo(&folder);
        let messages = text(cargo.args(["build", "--offline", "--message-format=json"]));
        let is_rlib = |word: &&str| {
            let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.starts_with("libschism-") && name.ends_with(".rlib")
        };
        let rlib = messages.split('"').find(is_rlib).expect("cargo names what it builds").into();
        Runtime { rlib, dependencies: target.join("debug/deps") }
    }

    /// The flags by which the stock compiler uses the plugin, as the README has them.
    pub fn plugin_flags(&self) -> String {
        format!("-Zcodegen-backend={} -Zalways-encode-mir", self.plugin.display())
    }

    /// Lets the stock compiler's cargo use the plugin by these flags, in a target directory that
    /// stays, so that all test programs compile the runtime once. The flags name the plugin, whose
    /// path has its content's hash.
    pub fn use_plugin(&self, cargo: &mut Command) -> PathBuf {
        let target = self.folder.join("runtime-plugin");
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", self.plugin_flags());
        cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_PROFILE_DEV_DEBUG", "0");
        target
    }

    /// Lets a program keep the kernels that it compiles, in a folder that stays. Kernels are found
    /// by what they are compiled from and by what compiles them: what is new in either is compiled.
    pub fn keep_kernels(&self, program: &mut Command) {
        program.env_remove("SCHISM_CACHE").env("SCHISM_CACHE_DIR", self.folder.join("kernels"));
    }

    /// `cargo-schism`: the one that has started these tests, if it was built here; else one that is
    /// built once for all test programs.
    pub fn subcommand(&self) -> PathBuf {
        static BUILT: OnceLock<()> = OnceLock::new();
        let built = self.folder.parent().expect("a folder in the target directory");
        let running = std::env::var_os("SCHISM_SUBCOMMAND").map(PathBuf::from);
        if let Some(running) = running.filter(|running| running.starts_with(built)) {
            return running;
        }
        let target = self.folder.join("cargo-schism");
        BUILT.get_or_init(|| {
            let mut cargo = self.cargo(Compiler::Stock, &workspace());
            let package = ["--package=cargo-schism", "--no-default-features"];
            cargo.env("CARGO_TARGET_DIR", &target).args(["build", "--offline"]);
            text(cargo.args(package));
        });
        target.join("debug/cargo-schism")
    }

    /// Writes a cargo project with the given files, `Cargo.toml` included. In its texts,
    /// `@RUNTIME@` stands for the dependency on the runtime that [`Self::runtime`] builds,
    /// `@BARE_RUNTIME@` for that without features. Its dependencies have the workspace's versions,
    /// and its packages' versions end in the folder's name.
    pub fn project(&self, folder: &Path, files: &[(&str, &str)]) {
        let runtime = workspace().join("runtime");
        let bare = format!("schism = {{ path = {runtime:?}, default-features = false }}");
        let runtime = format!("schism = {{ path = {runtime:?} }}");
        for (name, contents) in files {
            let mut contents =
                contents.replace("@RUNTIME@", &runtime).replace("@BARE_RUNTIME@", &bare);
            if Path::new(name).ends_with("Cargo.toml") {
                contents = own_package(&contents, folder);
            }
            write_files(folder, &[(name, &contents)]);
        }
        std::fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock"))
            .expect("the workspace has a lock file");
    }
}

impl Runtime {
    /// Lets a compiler see the runtime.
    pub fn add_to(&self, rustc: &mut Command) {
        let (mut rlib, mut dependencies) =
            (std::ffi::OsString::from("schism="), std::ffi::OsString::from("dependency="));
        rlib.push(&self.rlib);
        dependencies.push(&self.dependencies);
        rustc.arg("--extern").arg(rlib).arg("-L").arg(dependencies);
    }
}

/// A manifest of a package that no other folder's project has. Cargo knows a package by its name, its
/// version and its path in the workspace. Of two projects that share a target directory and are the
/// same in these, it takes one's artifacts for the other's: a crate that is refused would be fresh
/// once the other was compiled.
fn own_package(manifest: &str, folder: &Path) -> String {
    const VERSION: &str = "\nversion = \"";
    let Some((before, (number, after))) = manifest
        .split_once(VERSION)
        .and_then(|(before, rest)| Some((before, rest.split_once('"')?)))
    else {
        return manifest.to_owned();
    };
    let name = folder.file_name().expect("a project is in a folder").to_string_lossy();
    let name = name.replace(|byte: char| !byte.is_ascii_alphanumeric(), "-");
    format!("{before}{VERSION}{number}+{name}\"{after}")
}

/// The root of the repository.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in the workspace").into()
}

/// A file of this crate's folder.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Writes files, and the folders that they are in.
pub fn write_files(folder: &Path, files: &[(&str, &str)]) {
    for (name, contents) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder"))
            .expect("a folder can be made");
        std::fs::write(path, contents).expect("a file can be written");
    }
}

/// A program whose environment has nothing of the cargo around the tests.
pub fn clean_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for variable in FOREIGN_VARIABLES {
        command.env_remove(variable);
    }
    // What is tested is compiled.
    command.env("SCHISM_CACHE", "0");
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_")) {
            command.env_remove(variable);
        }
    }
    command
}

/// The seed of random tests: `SCHISM_TEST_SEED`, or the usual one.
pub fn seed(usual: u64) -> u64 {
    let asked = std::env::var("SCHISM_TEST_SEED").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The numbers of random cases, in batches of a size: those that the variable chooses by `FIRST..END`, or so
/// many.
pub fn batches(variable: &str, count: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    let chosen = std::env::var(variable).ok().and_then(|text| {
        let (first, end) = text.split_once("..")?;
        Some(first.parse().ok()?..end.parse().ok()?)
    });
    let numbers: Range<usize> = chosen.unwrap_or(0..count);
    numbers.clone().step_by(size).map(move |first| first..numbers.end.min(first + size))
}

/// Whether `SCHISM_TEST_FULL=1` asks for what takes long, too.
#[must_use]
pub fn full() -> bool {
    std::env::var_os("SCHISM_TEST_FULL").is_some_and(|value| value == "1")
}

/// Does something with each of several things, with as many at a time as there are processors.
///
/// # Panics
/// As the work does with the first that panics; the others are done nevertheless.
pub fn each<T: Send>(things: impl IntoIterator<Item = T, IntoIter: Send>, work: impl Fn(T) + Sync) {
    let things = Mutex::new(things.into_iter());
    let next = || things.lock().unwrap_or_else(PoisonError::into_inner).next();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let one_by_one = || {
            let mut failure = None;
            while let Some(thing) = next() {
                let result = catch_unwind(AssertUnwindSafe(|| work(thing)));
                failure = failure.or(result.err());
            }
            failure
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one_by_one)).collect();
        let failures = threads.into_iter().map(|thread| thread.join().unwrap_or_else(Some));
        if let Some(failure) = failures.fold(None, Option::or) {
            resume_unwind(failure);
        }
    });
}

/// Runs a program to its end.
///
/// # Panics
/// If it cannot be started.
pub fn output(command: &mut Command) -> Output {
    let begin = Instant::now();
    loop {
        match command.output() {
            Ok(output) => return output,
            // Another test's child has inherited the descriptor by which the program was written,
            // and has not come to its own `exec` yet.
            Err(error)
                if error.kind() == ErrorKind::ExecutableFileBusy
                    && begin.elapsed() < Duration::from_secs(10) =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("cannot start {command:?}: {error}"),
        }
    }
}

/// Runs a program to its end and returns what it prints.
///
/// # Panics
/// If it fails.
pub fn text(command: &mut Command) -> String {
    let output = output(command);
    assert!(output.status.success(), "{}", describe(command, &output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a program that must fail by itself, neither by a signal nor by a panic of the compiler, and
/// returns its error output.
///
/// # Panics
/// If it does not.
pub fn failure(command: &mut Command) -> String {
    let output = output(command);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && output.status.code().is_some_and(|code| code != 101),
        "this should fail, with an error: {}",
        describe(command, &output)
    );
    errors
}

/// A command and all that came of it, for the message of a failed test.
pub fn describe(command: &Command, output: &Output) -> String {
    let mut text = String::new();
    let mut line = |piece: std::fmt::Arguments<'_>| {
        text.write_fmt(piece).expect("writing to a string");
    };
    for (variable, value) in command.get_envs() {
        if let Some(value) = value {
            line(format_args!("{}={value:?} ", variable.display()));
        }
    }
    line(format_args!("{:?}", command.get_program()));
    for argument in command.get_args() {
        line(format_args!(" {argument:?}"));
    }
    if let Some(folder) = command.get_current_dir() {
        line(format_args!("\nin {}", folder.display()));
    }
    line(format_args!("\n{}\n", output.status));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        line(format_args!("--- {name}\n{}\n", String::from_utf8_lossy(bytes)));
    }
    text
}
