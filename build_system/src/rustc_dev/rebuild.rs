//! Rebuilding rustc-dev from the release's source: metadata of every compiler crate, no code.
//!
//! Why that is sound: symbol names in `librustc_driver` carry each crate's StableCrateId, a hash of
//! its name, of cargo's `-C metadata` (package, features, profile, compiler) and of the compiler's
//! version string. The same source built by the same cargo with the same settings has the same ids,
//! hence the same symbols, types and layouts. That the ids are the same is checked crate by crate
//! ([`ids`]); the installed compiler then loads what is compiled against the metadata.

mod ids;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::debian;
use super::shims::Shims;
use super::source::Source;
use super::stub;
use crate::command::Logged;
use crate::environment;
use crate::error::{Error, FileContext, Result};
use crate::lockfile;
use crate::progress;
use crate::timings::{Step, Timings};
use crate::toolchain::{Toolchain, find_in};

/// How rust-lang's releases are configured: what determines the ids.
const PROFILE: &[(&str, &str)] = &[
    ("CODEGEN_UNITS", "1"),
    ("DEBUG", "0"),
    ("DEBUG_ASSERTIONS", "false"),
    ("OVERFLOW_CHECKS", "false"),
    ("STRIP", "false"),
];

/// How often progress is told.
const INTERVAL: Duration = Duration::from_secs(15);

/// Builds into `work`, where an interrupted build resumes, and puts the result in `out`.
pub fn rebuild(
    toolchain: &Toolchain,
    source: &Source,
    work: &Path,
    out: &Path,
    timings: &Timings,
) -> Result<()> {
    let Some(driver) = toolchain.driver_library() else {
        return Err(Error::Missing {
            what: "the installation of rustc".to_owned(),
            path: toolchain.libraries.join("librustc_driver-*.so"),
        });
    };
    let shims = Shims::make(&work.join("shims"))?;
    let target = work.join("target");
    compile(toolchain, source, work, &shims, &target, timings)?;

    let lib = out.join("lib");
    std::fs::create_dir_all(&lib).at("create", &lib)?;
    let crates = target.join(&toolchain.version.host).join("release/deps");
    copy_all(&crates, ".rmeta", &lib)?;
    copy_all(&target.join("release/deps"), ".so", &lib)?; // procedural macros

    let missing = || Error::Missing {
        what: "building the compiler's crates".to_owned(),
        path: crates.join("librustc_driver-*.rmeta"),
    };
    let metadata = find_in(&lib, "librustc_driver-", ".rmeta").ok_or_else(missing)?;
    ids::check(toolchain, &lib, &metadata, &driver, &source.root)?;
    let soname = driver.file_name().unwrap_or_default().to_string_lossy();
    stub::write(&metadata, &soname, work, &lib.join(&*soname))?;
    // The stub has it; two would be two candidates for one crate.
    std::fs::remove_file(&metadata).at("remove", &metadata)
}

fn compile(
    toolchain: &Toolchain,
    source: &Source,
    work: &Path,
    shims: &Shims,
    target: &Path,
    timings: &Timings,
) -> Result<()> {
    let version = &toolchain.version;
    let profile = if debian::is_source(&source.root) {
        debian::vendor(toolchain, &source.root)?;
        debian::PROFILE
    } else {
        PROFILE
    };
    let mut fetch = Command::new(&toolchain.cargo);
    environment::isolate(&mut fetch, toolchain);
    fetch.current_dir(&source.root).env("RUSTC_BOOTSTRAP", "1");
    lockfile::shorten(fetch, &source.root, &version.host)?;

    let mut cargo = Command::new(&toolchain.cargo);
    environment::isolate(&mut cargo, toolchain);
    shims.install(&mut cargo, toolchain);
    cargo
        .current_dir(&source.root)
        .args(["build", "--locked", "--release", "--target", &version.host])
        .arg("-Zbinary-dep-depinfo")
        .arg(format!("-Zroot-dir={}", source.root.display()))
        .args(["--features", "llvm max_level_info", "--manifest-path", "compiler/rustc/Cargo.toml"])
        .arg("--target-dir")
        .arg(target)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TERM_COLOR", "never");
    // What follows is how the release was built: what determines the ids.
    for (name, value) in profile {
        cargo.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
    }
    cargo
        .env("__CARGO_DEFAULT_LIB_METADATA", format!("stable{}", version.release))
        .env("CFG_COMPILER_HOST_TRIPLE", &version.host)
        .env("CFG_COMPILER_BUILD_TRIPLE", &version.host)
        .env("CFG_DEFAULT_CODEGEN_BACKEND", "llvm")
        .env("CFG_DISABLE_UNSTABLE_FEATURES", "1")
        .env("CFG_LIBDIR_RELATIVE", "lib")
        .env("CFG_RELEASE", &version.release)
        .env("CFG_RELEASE_CHANNEL", "stable")
        .env("CFG_VERSION", &version.text)
        .env("CFG_VER_HASH", &version.commit)
        .env("CFG_VER_DATE", &version.date)
        .env("LIBC_CHECK_CFG", "1")
        .env("REAL_LIBRARY_PATH_VAR", "LD_LIBRARY_PATH")
        .env("RUSTC_INSTALL_BINDIR", "bin")
        .env("RUSTC_ERROR_METADATA_DST", work.join("error-metadata"))
        .env(
            "RUSTFLAGS",
            "--cfg=windows_raw_dylib -Csymbol-mangling-version=v0 -Zunstable-options --check-cfg=cfg(bootstrap) -Zon-broken-pipe=kill",
        );

    let log = work.join("rebuild.log");
    progress::step("Rebuilding", "the compiler's crates, metadata only (once per compiler)");
    let what = "rebuilding the compiler's crates (cargo fetches their dependencies from crates.io)";
    let mut running = Logged::start(cargo, what, "to rebuild the compiler's crates", "", &log)?;
    let lock = std::fs::read_to_string(source.root.join("Cargo.lock")).unwrap_or_default();
    let all = lock.matches("[[package]]").count();
    let (started, mut told) = (Instant::now(), Instant::now());
    while !running.poll()? {
        std::thread::sleep(Duration::from_millis(100));
        if told.elapsed() >= INTERVAL {
            told = Instant::now();
            let count = std::fs::read_to_string(&log).map_or(0, |log| compiled(&log));
            let part = done(count, all);
            let left = timings.left(Step::Crates, part);
            let left = left.map_or(String::new(), |left| format!(", {left}"));
            let seconds = started.elapsed().as_secs();
            let text = format!("{count} of {all} crates compiled, {seconds} s{left}");
            progress::step("Rebuilding", &text);
        }
    }
    Ok(())
}

/// The part (0 to 1) of the work that is done when so many crates are compiled, of all in the lock file.
/// One in eight is for other systems. The compiler's own crates come last and are the largest; the
/// exponent is that of a measured run.
fn done(count: usize, all: usize) -> f64 {
    (count as f64 / (0.87 * all.max(1) as f64)).min(1.0).powf(2.5)
}

fn compiled(log: &str) -> usize {
    log.lines().filter(|line| line.trim_start().starts_with("Compiling ")).count()
}

fn copy_all(from: &Path, suffix: &str, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from).at("list", from)? {
        let entry = entry.at("list", from)?;
        let name = entry.file_name();
        if name.to_string_lossy().ends_with(suffix) {
            std::fs::copy(entry.path(), to.join(&name)).at("write", to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::scratch::Scratch;
    use crate::toolchain::Version;

    #[test]
    fn the_first_crates_are_the_smaller_part_of_the_work() {
        assert_eq!([done(0, 0), done(0, 300), done(300, 300)], [0.0, 0.0, 1.0]);
        assert!(done(150, 300) < 0.3 && done(225, 300) > 0.6);
    }

    /// The lock file is shortened first, and then all is built as it says. The cargo here prints
    /// what it is asked for.
    #[test]
    fn the_compilers_crates_are_built_as_the_lock_file_says() {
        let scratch = Scratch::new("rebuild");
        let work = scratch.path().to_owned();
        std::fs::write(work.join("Cargo.lock"), "version = 4\n").unwrap();
        let echo = PathBuf::from("/bin/echo");
        let version = Version::parse("host: here\nrelease: 1.0.0\nLLVM version: 1.0.0\n");
        let toolchain = Toolchain {
            rustc: echo.clone(),
            cargo: echo,
            sysroot: work.clone(),
            libraries: work.clone(),
            version,
        };
        let source = Source { root: work.clone(), origin: String::new() };
        let shims = Shims::make(&work.join("shims")).unwrap();
        let timings = Timings::of(&[Step::Crates]);
        let target = work.join("target");
        compile(&toolchain, &source, &work, &shims, &target, &timings).unwrap();
        assert!(work.join(lockfile::ORIGINAL).is_file());
        let log = std::fs::read_to_string(work.join("rebuild.log")).unwrap();
        assert!(log.starts_with("build --locked --release --target here "), "{log}");
    }
}
