//! The builds that are compared: the checkout, and each compiler as a cargo to start.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_schism::command;
use cargo_schism::environment;
use cargo_schism::error::{Error, Result};
use cargo_schism::home::Home;
use cargo_schism::setup::Ready;
use cargo_schism::stdpar::{self, StdparOption};

/// A cargo with the plain compiler.
pub(super) fn plain(ready: &Ready) -> Command {
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::restore(&mut cargo, &ready.toolchain);
    cargo
}

/// A cargo with schism's compiler and `--stdpar`, for the package or workspace in a folder.
pub(super) fn with_stdpar(home: &Home, ready: &Ready, folder: &Path) -> Result<Command> {
    let mut cargo = cargo_schism::cargo::command(ready);
    cargo.current_dir(folder);
    let manifest = ["--manifest-path".into(), folder.join("Cargo.toml").into()];
    stdpar::apply(&mut cargo, StdparOption::On, &manifest, home, ready)?;
    Ok(cargo)
}

/// Stage 2, for the programs that are measured.
pub(super) fn stage2(ready: &Ready) -> PathBuf {
    std::env::var_os("SCHISM_JIT").map_or_else(|| ready.installed.stage2(), PathBuf::from)
}

/// A cargo with the plain compiler, for the CPU at hand.
pub(super) fn native(ready: &Ready) -> Command {
    let mut cargo = plain(ready);
    cargo.env("RUSTFLAGS", "-C target-cpu=native");
    cargo
}

/// Builds one of the programs, and gives the place of a copy that the other build leaves alone.
pub(super) fn build(mut cargo: Command, root: &Path, target: &Path, name: &str) -> Result<PathBuf> {
    let target = target.join(name);
    cargo.current_dir(root).args(["build", "--release", "--quiet", "--package", "schism-bench"]);
    cargo.args(["--bin", name]).arg("--target-dir").arg(&target);
    let purpose = "needed to build the benchmark";
    command::capture(cargo, purpose, "install cargo")?;
    Ok(target.join("release").join(name))
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
