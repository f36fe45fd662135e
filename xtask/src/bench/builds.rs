//! The checkout whose programs are measured, with each compiler as a cargo to start.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_schism::cargo;
use cargo_schism::command;
use cargo_schism::environment;
use cargo_schism::error::{Error, Result};
use cargo_schism::home::Home;
use cargo_schism::setup::{self, Ready};
use cargo_schism::stdpar::{self, StdparOption};

/// A checkout that is set up.
pub(super) struct Checkout {
    pub(super) home: Home,
    pub(super) ready: Ready,
    pub(super) root: PathBuf,
    /// What is built for benchmarks.
    pub(super) target: PathBuf,
}

impl Checkout {
    /// Sets the one at hand up.
    pub(super) fn set_up() -> Result<Self> {
        let root = workspace()?;
        let home = Home::from_environment()?;
        let ready = setup::ensure(&home)?;
        let target = root.join("target").join("bench");
        Ok(Self { home, ready, root, target })
    }

    /// A cargo with the plain compiler.
    pub(super) fn plain(&self) -> Command {
        let mut cargo = Command::new(&self.ready.toolchain.cargo);
        environment::restore(&mut cargo, &self.ready.toolchain);
        cargo
    }

    /// A cargo with the plain compiler, for the CPU at hand.
    pub(super) fn native(&self) -> Command {
        let mut cargo = self.plain();
        cargo.env("RUSTFLAGS", "-C target-cpu=native");
        cargo
    }

    /// A cargo with schism's compiler.
    pub(super) fn schism(&self) -> Command {
        cargo::command(&self.ready)
    }

    /// A cargo with schism's compiler and `--stdpar`, for the package or workspace in a folder.
    pub(super) fn with_stdpar(&self, folder: &Path) -> Result<Command> {
        let mut cargo = self.schism();
        cargo.current_dir(folder);
        let manifest = ["--manifest-path".into(), folder.join("Cargo.toml").into()];
        stdpar::apply(&mut cargo, StdparOption::On, &manifest, &self.home, &self.ready)?;
        Ok(cargo)
    }

    /// Stage 2, for the programs that are measured.
    pub(super) fn stage2(&self) -> PathBuf {
        std::env::var_os("SCHISM_JIT").map_or_else(|| self.ready.installed.stage2(), PathBuf::from)
    }

    /// Builds a program of the package `schism-bench`.
    pub(super) fn build(&self, cargo: Command, name: &str) -> Result<PathBuf> {
        self.build_in(&self.target, cargo, name)
    }

    /// Builds it in a folder, where no other build replaces it.
    pub(super) fn build_in(
        &self,
        folder: &Path,
        mut cargo: Command,
        name: &str,
    ) -> Result<PathBuf> {
        let target = folder.join(name);
        cargo.current_dir(&self.root).args(["build", "--release", "--quiet"]);
        cargo.args(["--package", "schism-bench", "--bin", name]).arg("--target-dir").arg(&target);
        command::capture(cargo, "needed to build the benchmark", "install cargo")?;
        Ok(target.join("release").join(name))
    }
}

/// The checkout that the programs to measure are in.
pub(super) fn workspace() -> Result<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors()
        .find(|folder| folder.join("benches").join("src").join("bin").join("cpu_schism").is_dir())
        .map(PathBuf::from)
        .ok_or_else(|| Error::Usage("this benchmark runs in a checkout of schism".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::workspace;

    #[test]
    fn the_checkout_is_found() {
        // Tests run in the folder of their package.
        let found = workspace().unwrap();
        assert!(found.join("benches").join("Cargo.toml").is_file());
    }
}
