//! The compilers whose builds are compared, each as a cargo to start.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;
use crate::error::Result;
use crate::home::Home;
use crate::setup::Ready;
use crate::stdpar::{self, StdparOption};

/// A cargo with the plain compiler.
pub(super) fn plain(ready: &Ready) -> Command {
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::restore(&mut cargo, &ready.toolchain);
    cargo
}

/// A cargo with schism's compiler and `--stdpar`, for the package or workspace in a folder.
pub(super) fn with_stdpar(home: &Home, ready: &Ready, folder: &Path) -> Result<Command> {
    let mut cargo = crate::cargo::command(ready);
    cargo.current_dir(folder);
    let manifest = ["--manifest-path".into(), folder.join("Cargo.toml").into()];
    stdpar::apply(&mut cargo, StdparOption::On, &manifest, home, ready)?;
    Ok(cargo)
}

/// Stage 2, for the programs that are measured.
pub(super) fn stage2(ready: &Ready) -> PathBuf {
    std::env::var_os("SCHISM_JIT").map_or_else(|| ready.installed.stage2(), PathBuf::from)
}
