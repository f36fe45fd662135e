//! The compiler: finding the active one, or another whose release works.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::hash::Hasher;
use crate::progress;

/// The releases that are known: each has a module in `codegen/src/rustc/`.
pub const RELEASES: &[Release] = &[
    Release { minor: "1.95", tried: Tried::All },
    Release { minor: "1.96", tried: Tried::Debians("1.96.1") },
    Release { minor: "1.97", tried: Tried::Debians("1.97.1") },
    Release { minor: "1.98", tried: Tried::Debians("1.98.1") },
];
/// The one that rustup installs where there is none.
pub const RELEASE: &str = "1.95.0";
/// The commit of that release.
pub const COMMIT: &str = "59807616e1fa2540724bfbac14d7976d7e4a3860";

/// A release of rustc that has a module.
#[derive(Debug)]
pub struct Release {
    /// `1.95`.
    pub minor: &'static str,
    /// How far it was tried.
    pub tried: Tried,
}

/// How far a release was tried.
#[derive(Debug, PartialEq, Eq)]
pub enum Tried {
    /// All tests have passed with rust-lang's build.
    All,
    /// Two examples and four test programs have passed with Debian's build of this release.
    Debians(&'static str),
}

/// What is known of a compiler.
#[derive(Debug, Clone, Copy)]
pub enum Standing {
    /// There is a module for its release.
    Known(&'static Release),
    /// It is newer than all that have one: the newest module is tried.
    Newer,
    /// It is older, or a nightly or beta from before the newest of them.
    Unsupported,
}

/// The releases that are known, as a message lists them.
pub fn releases() -> String {
    RELEASES.iter().map(|release| release.minor).collect::<Vec<_>>().join(", ")
}

/// An installed compiler with all that set-up needs to know of it.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The compiler proper, never rustup's proxy.
    pub rustc: PathBuf,
    /// The cargo beside it.
    pub cargo: PathBuf,
    /// The root of the installation.
    pub sysroot: PathBuf,
    /// Where its shared libraries lie.
    pub libraries: PathBuf,
    /// What it says of itself.
    pub version: Version,
}

/// What `rustc -vV` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// `1.95.0 (59807616e 2026-04-14)`.
    pub text: String,
    /// `1.95.0`.
    pub release: String,
    /// The full commit hash.
    pub commit: String,
    /// `2026-04-14`.
    pub date: String,
    /// The host triple.
    pub host: String,
    /// `22.1.2`.
    pub llvm: String,
}

impl Version {
    /// Reads the output of `rustc -vV`; missing lines become empty.
    pub fn parse(output: &str) -> Version {
        let line = |key: &str| {
            output
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        Version {
            text: line("rustc "),
            release: line("release:"),
            commit: line("commit-hash:"),
            date: line("commit-date:"),
            host: line("host:"),
            llvm: line("LLVM version:"),
        }
    }

    /// What is known of this compiler. Who built it does not matter here: its own crates are
    /// provided for each build, and compared with it.
    pub fn standing(&self) -> Standing {
        if let Some(release) = RELEASES.iter().find(|release| release.minor == self.minor()) {
            return Standing::Known(release);
        }
        let number = |release: &str| {
            let mut parts = release.split('.').map(str::parse::<u32>);
            Some((parts.next()?.ok()?, parts.next()?.ok()?))
        };
        let newest = RELEASES.iter().filter_map(|release| number(release.minor)).max();
        let own = number(&self.release);
        // A nightly or a beta of the newest release may have its interfaces, or later ones.
        let is_final = !self.release.contains('-');
        if own > newest || (own == newest && !is_final) {
            Standing::Newer
        } else {
            Standing::Unsupported
        }
    }

    /// How far this compiler was tried, in one line for the person at the terminal.
    pub fn how_far_tried(&self) -> String {
        let newest = RELEASES.last().map_or("", |release| release.minor);
        match self.standing() {
            Standing::Known(Release { tried: Tried::All, .. }) if self.is_original() => {
                "all tests pass with it".to_owned()
            }
            Standing::Known(Release { minor, tried: Tried::All }) => {
                format!("all tests pass with rust-lang's build of {minor}; this one was not tried")
            }
            Standing::Known(Release { tried: Tried::Debians(tried), .. }) => {
                let this = if self.is_original() { "; rust-lang's was not tried" } else { "" };
                format!(
                    "two examples and four test programs pass with Debian's build of {tried}{this}"
                )
            }
            Standing::Newer => {
                format!("newer than {newest}, the last one that is known: its module is tried")
            }
            Standing::Unsupported => format!("not supported; {} are", releases()),
        }
    }

    /// `1.95` of `1.95.0`. A nightly's and a beta's are not those of the release: `1.97.0-nightly`
    /// stays as it is.
    pub fn minor(&self) -> &str {
        match self.release.rsplit_once('.') {
            Some((minor, patch)) if patch.bytes().all(|byte| byte.is_ascii_digit()) => minor,
            _ => &self.release,
        }
    }

    /// Whether rust-lang built it: distributions add words to its version.
    fn is_original(&self) -> bool {
        let commit = self.commit.get(..9).unwrap_or(&self.commit);
        self.text == format!("{} ({commit} {})", self.release, self.date)
    }
}

impl Toolchain {
    /// The active compiler if its release is known or newer, else rustup's copy of one that is.
    ///
    /// The active one is that of the cargo which started this program (`rust-toolchain.toml` and
    /// `RUSTUP_TOOLCHAIN` decide which), else what `rustc` in `PATH` is.
    pub fn find() -> Result<Toolchain> {
        let mut seen = BTreeSet::new();
        let mut tried = Vec::new();
        let mut first = None;
        for (origin, sysroot) in candidates() {
            let rustc = sysroot.join("bin/rustc");
            if !seen.insert(rustc.clone()) {
                continue;
            }
            match probe(&rustc) {
                Ok(version) if !matches!(version.standing(), Standing::Unsupported) => {
                    tracing::debug!(sysroot = %sysroot.display(), origin, "found the compiler");
                    if let Some(first) = first {
                        let used = format!("rustc {} ({origin}), as {first}", version.text);
                        progress::step("Using", &used);
                    }
                    return Ok(Toolchain::new(sysroot, version));
                }
                Ok(version) => {
                    tried.push(format!("  - {} ({origin}): {}", rustc.display(), version.text));
                    first.get_or_insert_with(|| format!("rustc {} is not supported", version.text));
                }
                Err(problem) => {
                    tried.push(format!("  - {} ({origin}): {problem}", rustc.display()))
                }
            }
        }
        if tried.is_empty() {
            tried.push("  - no rustc in PATH, none of rustup's".to_owned());
        }
        Err(Error::Compiler {
            found: first.unwrap_or_else(|| "there is no rustc".to_owned()),
            releases: releases(),
            install: RELEASE,
            tried: tried.join("\n"),
        })
    }

    fn new(sysroot: PathBuf, version: Version) -> Toolchain {
        let cargo = sysroot.join("bin/cargo");
        Toolchain {
            rustc: sysroot.join("bin/rustc"),
            // rust-lang's own toolchains always have a cargo; a hand-made one may lean on PATH.
            cargo: if cargo.is_file() { cargo } else { "cargo".into() },
            libraries: libraries_of(&sysroot),
            sysroot,
            version,
        }
    }

    /// Names the compiler in the cache: `1.95.0-59807616e-x86_64-unknown-linux-gnu`. A distribution's
    /// build of the same commit has another name.
    pub fn key(&self) -> String {
        let commit = self.version.commit.get(..9).unwrap_or(&self.version.commit);
        let mut key = format!("{}-{commit}", self.version.release);
        if !self.version.is_original() {
            let mut hasher = Hasher::default();
            hasher.field(self.version.text.as_bytes());
            // The file's name has a hash of what was built, and how.
            let library = self.driver_library();
            let name = library.as_deref().and_then(Path::file_name).unwrap_or_default();
            hasher.field(name.as_encoded_bytes());
            key.push_str(&format!("-{}", &hasher.finish()[..8]));
        }
        format!("{key}-{}", self.version.host)
    }

    /// Names this copy of the compiler: programs linked to it find it by an absolute path.
    pub fn copy_key(&self) -> String {
        let mut hasher = Hasher::default();
        hasher.field(self.sysroot.as_os_str().as_encoded_bytes());
        format!("{}-{}", self.key(), &hasher.finish()[..8])
    }

    /// `librustc_driver-*.so`, the compiler as a library.
    pub fn driver_library(&self) -> Option<PathBuf> {
        find_in(&self.libraries, "librustc_driver-", ".so")
    }

    /// Whether the crates of the compiler itself are part of the installation.
    pub fn has_rustc_dev(&self) -> bool {
        has_rustc_dev(&self.sysroot, &self.version.host)
    }

    /// The name under which rustup knows it, if it does.
    pub fn rustup_name(&self) -> Option<&str> {
        let parent = self.sysroot.parent()?;
        if parent.file_name()? != "toolchains" || !parent.parent()?.join("settings.toml").is_file()
        {
            return None;
        }
        self.sysroot.file_name()?.to_str()
    }
}

/// A file of `directory` whose name starts and ends so; the first in order, if there are several.
pub fn find_in(directory: &Path, prefix: &str, suffix: &str) -> Option<PathBuf> {
    std::fs::read_dir(directory)
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(prefix) && name.ends_with(suffix)
        })
        .map(|entry| entry.path())
        .min()
}

/// Whether rustup's component `rustc-dev` is there. Both kinds of file: an interrupted or partial
/// installation is none.
fn has_rustc_dev(sysroot: &Path, host: &str) -> bool {
    let libraries = sysroot.join("lib/rustlib").join(host).join("lib");
    find_in(&libraries, "librustc_middle-", ".rmeta").is_some()
        && find_in(&libraries, "librustc_driver-", ".so").is_some()
}

/// Where the shared libraries of an installation lie: in `lib`, or where the distribution has them,
/// which the loader knows. Asked in this way, it lists what a program loads and does not start it.
fn libraries_of(sysroot: &Path) -> PathBuf {
    let own = sysroot.join("lib");
    if find_in(&own, "librustc_driver-", ".so").is_some() {
        return own;
    }
    let mut rustc = Command::new(sysroot.join("bin/rustc"));
    rustc.env("LD_TRACE_LOADED_OBJECTS", "1");
    let listing = command::capture(rustc, "to find the compiler's libraries", "");
    let listing = listing.unwrap_or_default();
    let library = listing.lines().find_map(|line| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let path = Path::new(rest.split(" (").next()?);
        name.starts_with("librustc_driver-").then(|| path.parent())?
    });
    library.map_or(own, Path::to_owned)
}

/// Roots of installed compilers, the likeliest first. Lazy, as the later ones cost processes.
fn candidates() -> impl Iterator<Item = (&'static str, PathBuf)> {
    let of_cargo = || {
        let cargo = PathBuf::from(std::env::var_os("CARGO")?).canonicalize().ok()?;
        sysroot_above(&cargo).map(|sysroot| ("the active cargo's", sysroot))
    };
    std::iter::from_fn({
        let mut first = true;
        move || std::mem::take(&mut first).then(of_cargo)
    })
    .flatten()
    .chain(std::iter::once_with(active).flatten().map(|sysroot| ("the active one", sysroot)))
    .chain(std::iter::once_with(rustup_copies).flatten().map(|sysroot| ("rustup's", sysroot)))
}

/// `ROOT` of `ROOT/bin/cargo`, unless that is rustup's proxy.
fn sysroot_above(tool: &Path) -> Option<PathBuf> {
    let root = tool.parent()?.parent()?;
    root.join("bin/rustc").is_file().then_some(())?;
    find_in(&libraries_of(root), "librustc_driver-", ".so").map(|_| root.to_owned())
}

/// rustup's copies of known releases. Its directories are read rather than rustup asked: that takes no
/// time and downloads nothing.
fn rustup_copies() -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    let Some(home) = home else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(home.join("toolchains")) else { return Vec::new() };
    let mut copies: Vec<_> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let of_known = RELEASES.iter().any(|release| {
                name.strip_prefix(release.minor).is_some_and(|rest| rest.starts_with('.'))
            });
            of_known || name.starts_with("stable")
        })
        .map(|entry| entry.path())
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    // `1.95.0-…` sorts before `stable-…`: the one that no update changes.
    copies.sort();
    copies
}

/// The compiler that a plain `rustc` starts.
fn active() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let sysroot = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !sysroot.trim().is_empty()).then(|| PathBuf::from(sysroot.trim()))
}

fn probe(rustc: &Path) -> Result<Version, String> {
    let mut command = Command::new(rustc);
    command.arg("-vV");
    match command::capture(command, "to ask the compiler its version", "") {
        Ok(output) => Ok(Version::parse(&output)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\n\
        commit-hash: 59807616e1fa2540724bfbac14d7976d7e4a3860\ncommit-date: 2026-04-14\n\
        host: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";

    #[test]
    fn the_version_is_read() {
        let version = Version::parse(OUTPUT);
        assert_eq!(version.text, "1.95.0 (59807616e 2026-04-14)");
        assert_eq!(version.host, "x86_64-unknown-linux-gnu");
        assert_eq!(version.llvm, "22.1.2");
        assert_eq!(version.date, "2026-04-14");
        assert!(matches!(version.standing(), Standing::Known(_)) && version.is_original());
    }

    fn release(release: &str) -> Version {
        Version::parse(&OUTPUT.replace("1.95.0", release))
    }

    #[test]
    fn known_releases_are_taken_newer_ones_tried_and_older_ones_refused() {
        for known in ["1.95.0", "1.95.1", "1.96.0", "1.97.1", "1.98.3"] {
            assert!(matches!(release(known).standing(), Standing::Known(_)), "{known}");
        }
        for newer in
            ["1.99.0", "1.195.0", "2.0.0", "1.98.0-nightly", "1.98.0-beta.2", "1.99.0-nightly"]
        {
            assert!(matches!(release(newer).standing(), Standing::Newer), "{newer}");
        }
        for other in ["1.94.0", "0.99.0", "1.95.0-nightly", "1.97.0-beta.3", "95", "1.x.0", ""] {
            assert!(matches!(release(other).standing(), Standing::Unsupported), "{other}");
        }
        assert!(matches!(Version::parse("").standing(), Standing::Unsupported));
    }

    #[test]
    fn how_far_each_was_tried_is_one_line() {
        let debians = OUTPUT.replace("14)\nbinary", "14) (built from a source tarball)\nbinary");
        let by_debian = |release: &str| Version::parse(&debians.replace("1.95.0", release));
        for (version, part) in [
            (release("1.95.0"), "all tests pass with it"),
            (by_debian("1.95.0"), "this one was not tried"),
            (release("1.97.0"), "Debian's build of 1.97.1; rust-lang's was not tried"),
            (release("1.99.0"), "newer than 1.98"),
            (release("1.94.0"), "1.95, 1.96, 1.97, 1.98 are"),
        ] {
            let line = version.how_far_tried();
            assert!(line.contains(part) && !line.contains('\n'), "{line}");
        }
        assert!(by_debian("1.97.1").how_far_tried().ends_with("Debian's build of 1.97.1"));
    }

    #[test]
    fn another_build_of_the_same_commit_has_a_place_of_its_own() {
        let toolchain = |output: &str| Toolchain {
            rustc: PathBuf::new(),
            cargo: PathBuf::new(),
            sysroot: PathBuf::new(),
            libraries: PathBuf::new(),
            version: Version::parse(output),
        };
        let ours = toolchain(OUTPUT).key();
        assert_eq!(ours, "1.95.0-59807616e-x86_64-unknown-linux-gnu");
        let theirs = OUTPUT.replace("14)\nbinary", "14) (built from a source tarball)\nbinary");
        let theirs = toolchain(&theirs).key();
        assert!(theirs.starts_with("1.95.0-59807616e-") && theirs != ours, "{theirs}");
    }

    /// The list above and the modules of the plugin name the same releases.
    #[test]
    fn the_releases_are_those_that_have_a_module() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen/src/rustc");
        let mut modules: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                Some(name.strip_prefix('v')?.strip_suffix(".rs")?.replace('_', "."))
            })
            .collect();
        modules.sort();
        let releases: Vec<&str> = RELEASES.iter().map(|release| release.minor).collect();
        assert_eq!(modules, releases);
    }

    #[test]
    fn the_error_names_the_release_and_the_command() {
        let error = Error::Compiler {
            found: "rustc 1.94.0 is not supported".into(),
            releases: releases(),
            install: RELEASE,
            tried: "  - x: 1.94.0".into(),
        };
        let text = error.to_string();
        assert!(
            text.contains("rustup toolchain install 1.95.0")
                && text.contains(&format!("works with rustc {}:", releases()))
                && text.contains("1.94.0")
        );
    }

    #[test]
    fn the_active_compiler_is_found_here() {
        let toolchain = Toolchain::find().unwrap();
        assert!(toolchain.driver_library().is_some());
        let Version { release, host, .. } = &toolchain.version;
        let key = toolchain.key();
        assert!(
            key.starts_with(&format!("{release}-")) && key.ends_with(&format!("-{host}")),
            "{key}"
        );
    }
}
