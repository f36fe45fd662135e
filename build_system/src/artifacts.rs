//! What set-up builds: the plugin with its driver, and stage 2. Built by cargo, installed under the
//! hash of their contents.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::environment;
use crate::error::{Error, FileContext, Result};
use crate::hash::Hasher;
use crate::home::Home;
use crate::lockfile;
use crate::progress;
use crate::prune;
use crate::publish::{self, Draft};
use crate::rustc_dev::RustcDev;
use crate::sources::Sources;
use crate::toolchain::{RELEASE, Standing, Toolchain, releases};

/// Changes whenever the way of building below does, so that what was built the old way is built
/// again.
pub const RECIPE: &str = "2";

/// The plugin's package.
pub const PACKAGE: &str = "rustc_codegen_schism";

const DRIVER: &str = "schism-rustc";
const RUSTDOC: &str = "schism-rustdoc";
/// The compiler that [`RUSTDOC`] names for documentation tests.
const DOCTEST: &str = "schism-doctest";
const PLUGIN: &str = "librustc_codegen_schism.so";
const STAGE2: &str = "libschism_jit.so";

/// What is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The content hash of the plugin and its driver.
    pub plugin_hash: String,
    /// The content hash of stage 2.
    pub stage2_hash: String,
    plugin_directory: PathBuf,
    stage2_directory: PathBuf,
}

impl Installed {
    /// What has these hashes, there or not.
    pub fn new(home: &Home, plugin_hash: &str, stage2_hash: &str) -> Installed {
        Installed {
            plugin_hash: plugin_hash.to_owned(),
            stage2_hash: stage2_hash.to_owned(),
            plugin_directory: home.plugin(plugin_hash),
            stage2_directory: home.stage2(stage2_hash),
        }
    }

    /// The compiler to use in rustc's place.
    pub fn driver(&self) -> PathBuf {
        self.plugin_directory.join(DRIVER)
    }

    /// The codegen backend, beside its driver.
    pub fn plugin(&self) -> PathBuf {
        self.plugin_directory.join(PLUGIN)
    }

    /// The program to use in rustdoc's place, so that documentation tests are compiled by the
    /// driver.
    pub fn rustdoc(&self) -> PathBuf {
        self.plugin_directory.join(RUSTDOC)
    }

    /// Stage 2.
    pub fn stage2(&self) -> PathBuf {
        self.stage2_directory.join(STAGE2)
    }

    /// Everything that is installed.
    pub fn files(&self) -> [PathBuf; 5] {
        let doctest = self.plugin_directory.join(DOCTEST);
        [self.driver(), self.plugin(), self.rustdoc(), doctest, self.stage2()]
    }

    /// Whether all files are there. They came whole, in directories renamed into place.
    pub fn is_there(&self) -> bool {
        self.files().iter().all(|file| file.is_file())
    }

    /// Notes that it is in use, so that it is kept.
    pub fn note_use(&self) {
        prune::note_use(&self.plugin_directory);
        prune::note_use(&self.stage2_directory);
    }

    /// Makes programs that are started without cargo find this stage 2.
    pub fn link(&self, home: &Home) -> Result<()> {
        let target = Path::new("../stage2").join(&self.stage2_hash).join(STAGE2);
        publish::link(&home.stage2_link(), &target)
    }
}

/// Builds the plugin and stage 2 and installs the results. The caller holds the set-up lock.
pub fn build(
    home: &Home,
    toolchain: &Toolchain,
    rustc_dev: &RustcDev,
    sources: &Sources,
) -> Result<Installed> {
    let workspace = &workspace(home, toolchain, sources)?;
    // Kept: cargo resumes from here after an interruption, and builds less after a change.
    let target = target_directory(home, toolchain, workspace);
    std::fs::create_dir_all(&target).at("create", &target)?;
    let results = target.join(&toolchain.version.host).join("release");

    progress::step("Building", "the plugin and stage 2");
    // Together, so that what both use has the same features, and is compiled once.
    cargo(toolchain, rustc_dev, workspace, &target, &[PACKAGE, "schism-jit"])?;
    let plugin_hash =
        install(&results, &[DRIVER, PLUGIN, RUSTDOC, DOCTEST], |hash| home.plugin(hash))?;
    let stage2_hash = install(&results, &[STAGE2], |hash| home.stage2(hash))?;
    let installed = Installed::new(home, &plugin_hash, &stage2_hash);
    installed.note_use();
    for directory in [&installed.plugin_directory, &installed.stage2_directory] {
        prune::prune(directory.parent().unwrap_or(directory));
    }
    Ok(installed)
}

/// A workspace that cargo can build, whose lock file has nothing but its packages. The caller holds the
/// set-up lock.
pub fn workspace(home: &Home, toolchain: &Toolchain, sources: &Sources) -> Result<PathBuf> {
    let workspace = sources.workspace(home)?;
    if *sources == Sources::Packed {
        let mut fetch = Command::new(&toolchain.cargo);
        environment::isolate(&mut fetch, toolchain);
        fetch.current_dir(&workspace);
        lockfile::shorten(fetch, &workspace, &toolchain.version.host)?;
    }
    Ok(workspace)
}

/// Where cargo builds them, for a compiler and a workspace.
pub fn target_directory(home: &Home, toolchain: &Toolchain, workspace: &Path) -> PathBuf {
    home.build().join(target_name(&toolchain.copy_key(), workspace))
}

/// The name of the target directory for a compiler and a workspace.
///
/// Workspaces do not share one: cargo knows a workspace's packages by their paths inside it, and
/// their files by times, so it would take one checkout's artifacts for another's.
fn target_name(compiler: &str, workspace: &Path) -> String {
    let mut hasher = Hasher::default();
    hasher.field(workspace.as_os_str().as_encoded_bytes());
    format!("target-{compiler}-{}", &hasher.finish()[..8])
}

fn cargo(
    toolchain: &Toolchain,
    rustc_dev: &RustcDev,
    workspace: &Path,
    target: &Path,
    packages: &[&str],
) -> Result<()> {
    let mut command = plugin_cargo(toolchain, rustc_dev, workspace, target, "build");
    command
        .args(["--locked", "--release"])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        // stdout is for results, such as `backend-path`'s.
        .stdout(std::io::stderr());
    let status = command::status(
        command,
        "to build the plugin and stage 2",
        "Install the cargo that belongs to the compiler.",
    )?;
    if status.success() {
        return Ok(());
    }
    if matches!(toolchain.version.standing(), Standing::Newer) {
        return Err(Error::NewerCompiler {
            version: toolchain.version.text.clone(),
            releases: releases(),
            install: RELEASE,
        });
    }
    let detail = "; cargo's messages above say why.\n\
        Needed are crates.io and a C compiler `cc`.";
    Err(Error::Failed {
        what: format!("building {} in {}", packages.join(" and "), workspace.display()),
        status,
        detail: detail.to_owned(),
    })
}

/// A cargo verb in an environment in which the plugin compiles: one that sees the compiler's own
/// crates.
pub fn plugin_cargo(
    toolchain: &Toolchain,
    rustc_dev: &RustcDev,
    workspace: &Path,
    target: &Path,
    verb: &str,
) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    environment::isolate(&mut command, toolchain);
    command
        .current_dir(workspace)
        .args([verb, "--target", &toolchain.version.host, "--target-dir"])
        .arg(target)
        // The two crates that see the compiler's insides. Not `1`: others would take this for a
        // nightly compiler.
        .env("RUSTC_BOOTSTRAP", "rustc_codegen_schism,schism_rustc")
        .env("CARGO_ENCODED_RUSTFLAGS", command::encode_flags(flags(toolchain, rustc_dev)));
    command
}

fn flags(toolchain: &Toolchain, rustc_dev: &RustcDev) -> Vec<OsString> {
    let with = |prefix: &str, path: &Path| {
        let mut flag = OsString::from(prefix);
        flag.push(path);
        flag
    };
    let mut flags = Vec::new();
    if let Some(search) = &rustc_dev.search {
        flags.extend(["-L".into(), search.clone().into_os_string()]);
    }
    flags.extend([
        "-L".into(),
        with("native=", &toolchain.libraries),
        // Each finds its neighbours, the compiler's libraries and its LLVM by itself.
        "-Clink-arg=-Wl,-rpath,$ORIGIN".into(),
        with("-Clink-arg=-Wl,-rpath,", &toolchain.libraries),
    ]);
    flags
}

/// Copies files into a directory that is named by the hash of their contents.
fn install(results: &Path, files: &[&str], place: impl Fn(&str) -> PathBuf) -> Result<String> {
    let mut hasher = Hasher::default();
    for file in files {
        let path = results.join(file);
        if !path.is_file() {
            return Err(Error::Missing { what: "cargo".to_owned(), path });
        }
        hasher.field(file.as_bytes()).file(&path)?;
    }
    let hash = hasher.finish();
    let place = place(&hash);
    if files.iter().all(|file| place.join(file).is_file()) {
        return Ok(hash);
    }
    let draft = Draft::new(&place)?;
    for file in files {
        std::fs::copy(results.join(file), draft.path().join(file))
            .at("write", draft.path().join(file))?;
    }
    draft.publish()?;
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn other_contents_get_another_place_and_the_same_the_same() {
        let scratch = Scratch::new("install");
        let results = scratch.path().join("results");
        std::fs::create_dir(&results).unwrap();
        let place = |hash: &str| scratch.path().join("out").join(hash);
        let install = || install(&results, &["a", "b"], place);
        std::fs::write(results.join("a"), "1").unwrap();
        assert!(matches!(install(), Err(Error::Missing { .. })));
        std::fs::write(results.join("b"), "2").unwrap();
        let first = install().unwrap();
        assert_eq!(std::fs::read_to_string(place(&first).join("b")).unwrap(), "2");
        assert_eq!(install().unwrap(), first);
        std::fs::write(results.join("b"), "3").unwrap();
        let second = install().unwrap();
        assert_ne!(first, second);
        assert_eq!(std::fs::read_to_string(place(&first).join("b")).unwrap(), "2");
        assert_eq!(std::fs::read_dir(scratch.path().join("out")).unwrap().count(), 2);
    }

    #[test]
    fn a_damaged_installation_is_made_good() {
        let scratch = Scratch::new("damaged");
        std::fs::write(scratch.path().join("a"), "1").unwrap();
        let place = |hash: &str| scratch.path().join("out").join(hash);
        let hash = install(scratch.path(), &["a"], place).unwrap();
        std::fs::remove_file(place(&hash).join("a")).unwrap();
        assert_eq!(install(scratch.path(), &["a"], place).unwrap(), hash);
        assert!(place(&hash).join("a").is_file());
    }

    #[test]
    fn each_checkout_has_a_target_directory() {
        let (one, other) = (Path::new("/home/one/schism"), Path::new("/home/other/schism"));
        assert_ne!(target_name("1.95.0", one), target_name("1.95.0", other));
        assert_ne!(target_name("1.95.0", one), target_name("1.96.0", one));
        assert_eq!(target_name("1.95.0", one), target_name("1.95.0", one));
    }
}
