//! The pinned compiler: finding it, and refusing any other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::hash::Hasher;

/// The release whose internals the plugin knows.
pub const RELEASE: &str = "1.95.0";
/// The commit of that release.
pub const COMMIT: &str = "59807616e1fa2540724bfbac14d7976d7e4a3860";

/// An installed compiler with all that set-up needs to know of it.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The compiler proper, never rustup's proxy.
    pub rustc: PathBuf,
    /// The cargo beside it.
    pub cargo: PathBuf,
    /// The root of the installation.
    pub sysroot: PathBuf,
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

    /// Whether this is the pinned compiler, down to the commit: a distribution's own build of the
    /// release has other symbols.
    pub fn is_pinned(&self) -> bool {
        self.release == RELEASE && self.commit == COMMIT
    }
}

impl Toolchain {
    /// The pinned compiler: the active one if it is that, else rustup's copy of the release.
    pub fn find() -> Result<Toolchain> {
        let mut seen = BTreeSet::new();
        let mut tried = Vec::new();
        for (origin, sysroot) in candidates() {
            let rustc = sysroot.join("bin/rustc");
            if !seen.insert(rustc.clone()) {
                continue;
            }
            match probe(&rustc) {
                Ok(version) if version.is_pinned() => {
                    tracing::debug!(sysroot = %sysroot.display(), origin, "found the compiler");
                    return Ok(Toolchain::new(sysroot, version));
                }
                Ok(version) => {
                    tried.push(format!("  - {} ({origin}): {}", rustc.display(), version.text))
                }
                Err(problem) => {
                    tried.push(format!("  - {} ({origin}): {problem}", rustc.display()))
                }
            }
        }
        if tried.is_empty() {
            tried.push("  - no rustc in PATH, none of rustup's".to_owned());
        }
        Err(Error::Compiler { release: RELEASE, commit: COMMIT, tried: tried.join("\n") })
    }

    fn new(sysroot: PathBuf, version: Version) -> Toolchain {
        let cargo = sysroot.join("bin/cargo");
        Toolchain {
            rustc: sysroot.join("bin/rustc"),
            // rust-lang's own toolchains always have a cargo; a hand-made one may lean on PATH.
            cargo: if cargo.is_file() { cargo } else { "cargo".into() },
            sysroot,
            version,
        }
    }

    /// Names the compiler in the cache: `1.95.0-59807616e-x86_64-unknown-linux-gnu`.
    pub fn key(&self) -> String {
        let commit = &self.version.commit;
        format!("{}-{}-{}", self.version.release, &commit[..commit.len().min(9)], self.version.host)
    }

    /// Names this copy of the compiler: programs linked to it find it by an absolute path.
    pub fn copy_key(&self) -> String {
        let mut hasher = Hasher::default();
        hasher.field(self.sysroot.as_os_str().as_encoded_bytes());
        format!("{}-{}", self.key(), &hasher.finish()[..8])
    }

    /// Where its shared libraries lie.
    pub fn lib(&self) -> PathBuf {
        self.sysroot.join("lib")
    }

    /// `librustc_driver-*.so`, the compiler as a library.
    pub fn driver_library(&self) -> Option<PathBuf> {
        find_in(&self.lib(), "librustc_driver-", ".so")
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
    .chain(std::iter::once_with(rustup_copies).flatten().map(|sysroot| ("rustup's", sysroot)))
    .chain(std::iter::once_with(active).flatten().map(|sysroot| ("the active one", sysroot)))
}

/// `ROOT` of `ROOT/bin/cargo`, unless that is rustup's proxy.
fn sysroot_above(tool: &Path) -> Option<PathBuf> {
    let root = tool.parent()?.parent()?;
    root.join("bin/rustc").is_file().then_some(())?;
    find_in(&root.join("lib"), "librustc_driver-", ".so").map(|_| root.to_owned())
}

/// rustup's copies of the release. Its directories are read rather than rustup asked: that takes no
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
            name.starts_with(RELEASE) || name.starts_with("stable")
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
        assert!(version.is_pinned());
    }

    #[test]
    fn another_build_of_the_release_is_refused() {
        assert!(!Version::parse(&OUTPUT.replace("59807616e1fa", "unknown")).is_pinned());
        assert!(!Version::parse(&OUTPUT.replace("1.95.0", "1.96.0")).is_pinned());
        assert!(!Version::parse("").is_pinned());
    }

    #[test]
    fn the_error_names_the_release_and_the_command() {
        let error =
            Error::Compiler { release: RELEASE, commit: COMMIT, tried: "  - x: 1.96.0".into() };
        let text = error.to_string();
        assert!(
            text.contains("rustup toolchain install 1.95.0")
                && text.contains(COMMIT)
                && text.contains("1.96.0")
        );
    }

    #[test]
    fn the_pinned_compiler_is_found_here() {
        let toolchain = Toolchain::find().unwrap();
        assert!(toolchain.driver_library().is_some());
        assert_eq!(toolchain.key(), format!("1.95.0-59807616e-{}", toolchain.version.host));
    }
}
