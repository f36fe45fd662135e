//! Where set-up keeps what it makes.
//!
//! ```text
//! ${SCHISM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/schism}/
//!   rustc-dev/<compiler>/lib        the compiler's crates, when they had to be rebuilt
//!   plugin/plugin-<hash>/           schism-rustc and the plugin; <hash> is that of their contents
//!   stage2/<hash>/                  libschism_jit.so
//!   stdpar/<hash>/                  the runtime for programs with parallel iterators
//!   lib/libschism_jit.so            a link to the newest of these, for programs started without cargo
//!   state/                          what was built from what
//!   opencl/                         a driver for tests, if it was asked for
//!   bodies/                         what kernels can have of a compiler's standard library (the plugin's)
//!   kernels/                        what programs have compiled at run time (the runtime's)
//!   build/, apt/                    work in progress; an interrupted set-up resumes here
//!   setup.lock                      one set-up at a time
//! ```

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The root of schism's cache.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The place that the environment names. Variables that name no path from the root are told,
    /// and passed over.
    pub fn from_environment() -> Result<Home> {
        let home = schism_trust::Home::from_environment();
        for told in home.told() {
            eprintln!("warning: {told}");
        }
        home.path.map(|root| Home { root }).ok_or(Error::NoHome)
    }

    /// The place that the environment names, for who removes what is there: nothing is passed over.
    pub fn to_remove() -> Result<Home> {
        let home = schism_trust::Home::from_environment();
        if let Some(told) = home.told().next() {
            return Err(Error::HomeUnknown { told });
        }
        home.path.map(|root| Home { root }).ok_or(Error::NoHome)
    }

    /// A home at a place of the caller's choice.
    pub fn at(root: impl Into<PathBuf>) -> Home {
        Home { root: root.into() }
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

    /// The runtime for programs with parallel iterators, of this hash.
    pub fn stdpar(&self, hash: &str) -> PathBuf {
        self.root.join("stdpar").join(hash)
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
pub const CONTENTS: &[&str] = &[
    "rustc-dev",
    "plugin",
    "stage2",
    "stdpar",
    "lib",
    "state",
    "bodies",
    "kernels",
    "opencl",
    "build",
    "apt",
];
