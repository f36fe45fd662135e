//! Where set-up keeps what it makes.
//!
//! ```text
//! ${SCHISM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/schism}/
//!   rustc-dev/<compiler>/lib        the compiler's crates, when they had to be rebuilt
//!   plugin/plugin-<hash>/           schism-rustc and the plugin; <hash> is that of their contents
//!   stage2/<hash>/                  libschism_jit.so
//!   lib/libschism_jit.so            a link to the newest of these, for programs started without cargo
//!   state/                          what was built from what
//!   bodies/                         what kernels can have of a compiler's standard library (the plugin's)
//!   kernels/                        what programs have compiled at run time (the runtime's)
//!   build/, apt/                    work in progress; an interrupted set-up goes on from here
//!   setup.lock                      one set-up at a time
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The root of schism's cache.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The place that the environment names.
    pub fn from_environment() -> Result<Home> {
        Home::from_variables(|name| std::env::var_os(name)).map(|root| Home { root })
    }

    /// A home at a place of the caller's choice.
    #[cfg(test)]
    pub fn at(root: impl Into<PathBuf>) -> Home {
        Home { root: root.into() }
    }

    fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
        // A relative path would mean another place in every directory.
        let absolute = |name| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("SCHISM_HOME")
            .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("schism")))
            .or_else(|| absolute("HOME").map(|home| home.join(".cache/schism")))
            .ok_or(Error::NoHome)
    }

    /// The root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The rebuilt rustc-dev of one compiler.
    pub fn rustc_dev(&self, compiler: &str) -> PathBuf {
        self.root.join("rustc-dev").join(compiler)
    }

    /// The plugin and driver with this content hash.
    pub fn plugin(&self, hash: &str) -> PathBuf {
        self.root.join("plugin").join(format!("plugin-{hash}"))
    }

    /// The stage 2 with this content hash.
    pub fn stage2(&self, hash: &str) -> PathBuf {
        self.root.join("stage2").join(hash)
    }

    /// The link to the newest stage 2.
    pub fn stage2_link(&self) -> PathBuf {
        self.root.join("lib").join("libschism_jit.so")
    }

    /// What was built from what.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Work in progress, kept so that an interrupted set-up can go on.
    pub fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    /// A package manager's state of our own, so that no root is needed.
    pub fn apt(&self) -> PathBuf {
        self.root.join("apt")
    }

    /// The file whose lock a set-up holds.
    pub fn lock(&self) -> PathBuf {
        self.root.join("setup.lock")
    }
}

/// The names of everything that schism makes under its root, for `clean`.
pub const CONTENTS: &[&str] =
    &["rustc-dev", "plugin", "stage2", "lib", "state", "bodies", "kernels", "build", "apt"];

#[cfg(test)]
mod tests {
    use super::*;

    fn root(variables: &[(&str, &str)]) -> Option<PathBuf> {
        Home::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
        .ok()
    }

    #[test]
    fn the_nearest_variable_wins() {
        let all = [("SCHISM_HOME", "/s"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(root(&all), Some("/s".into()));
        assert_eq!(root(&all[1..]), Some("/x/schism".into()));
        assert_eq!(root(&all[2..]), Some("/h/.cache/schism".into()));
        assert_eq!(root(&[]), None);
    }

    #[test]
    fn relative_and_empty_values_are_passed_over() {
        assert_eq!(
            root(&[("SCHISM_HOME", "here"), ("XDG_CACHE_HOME", ""), ("HOME", "/h")]),
            Some("/h/.cache/schism".into())
        );
    }
}
