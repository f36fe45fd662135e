//! `cargo schism opt`: the tool `schism-opt`, built when it is asked for.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::environment;
use cargo_schism::error::{Error, Result};
use cargo_schism::sources::Sources;
use cargo_schism::toolchain::Toolchain;

/// Runs the verb. Does not return when all goes well: this process becomes the tool.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let Sources::Checkout(checkout) = Sources::find()? else {
        return Err(Error::Usage(
            "`opt` is for work on schism's passes: use it in a checkout, or set SCHISM_WORKSPACE"
                .to_owned(),
        ));
    };
    let toolchain = Toolchain::find()?;
    let mut cargo = Command::new(&toolchain.cargo);
    environment::restore(&mut cargo, &toolchain);
    cargo.env("RUSTC", &toolchain.rustc);
    cargo.args(["run", "--quiet", "--release", "--package", "schism-passes"]);
    cargo.args(["--bin", "schism-opt", "--manifest-path"]).arg(checkout.join("Cargo.toml"));
    cargo.arg("--").args(arguments);
    command::become_program(cargo, "to build `schism-opt`")
}
