//! Cargo's verbs, with schism's compiler.
//!
//! The compiler is put in rustc's place by `RUSTC` alone, and `RUSTDOC` has documentation tests
//! compiled by it. No flag changes, so cargo rebuilds nothing for their sake, and build scripts see
//! the stable compiler that they would see anyhow. What the driver says of its version holds the
//! plugin's content hash, which cargo makes part of every artifact's identity: the artifacts of
//! plain cargo, of this plugin and of the next one lie side by side in the same target directory.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::arguments::asks_for_help;
use crate::command;
use crate::environment;
use crate::error::Result;
use crate::hcf;
use crate::help;
use crate::home::Home;
use crate::setup::{self, Ready};
use crate::stdpar;
use crate::targets::{self, TargetsOption};
use crate::toolchain::Toolchain;
use crate::variables;
use crate::wrapper;

/// Runs a verb that compiles. Does not return when all goes well: this process becomes cargo.
pub fn compile(verb: &str, arguments: &[OsString]) -> Result<ExitCode> {
    if asks_for_help(arguments) {
        let own = format!("{}\nCargo's own:\n\n", help::of(verb));
        hcf::to_stdout(own.as_bytes())?;
        return plain(verb, arguments);
    }
    let cargo = compiling(verb, arguments, &Home::from_environment()?)?;
    command::become_program(cargo, "to build")
}

/// A cargo that runs a verb that compiles.
pub fn compiling(verb: &str, arguments: &[OsString], home: &Home) -> Result<Command> {
    let (targets, arguments) = targets::take(arguments)?;
    let (parallel, arguments) = stdpar::take(&arguments)?;
    let ready = setup::ensure(home)?;
    let mut cargo = command(&ready);
    // What `install` builds is not what is at hand.
    if verb != "install" || targets != TargetsOption::Unsaid {
        targets::apply(&mut cargo, &targets, &arguments)?;
    }
    if verb != "install" || parallel != stdpar::StdparOption::Unsaid {
        stdpar::apply(&mut cargo, parallel, &arguments, home, &ready)?;
    }
    cargo.arg(verb).args(arguments);
    Ok(cargo)
}

/// Runs a verb with the plain compiler.
pub fn plain(verb: &str, arguments: &[OsString]) -> Result<ExitCode> {
    let toolchain = Toolchain::find()?;
    let mut cargo = Command::new(&toolchain.cargo);
    environment::restore(&mut cargo, &toolchain);
    cargo.arg(verb).args(arguments);
    command::become_program(cargo, "to build")
}

/// A cargo that compiles with schism's compiler, and whose programs find stage 2.
pub fn command(ready: &Ready) -> Command {
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::restore(&mut cargo, &ready.toolchain);
    wrapper::apply(&mut cargo, &ready.installed);
    if std::env::var_os("RUSTDOC").is_none() {
        // Documentation tests are compiled by the driver, too.
        cargo.env("RUSTDOC", ready.installed.rustdoc());
    }
    // For tests that start the tool that has started them.
    if let Ok(own) = std::env::current_exe() {
        cargo.env(variables::SUBCOMMAND, own);
    }
    if std::env::var_os(variables::JIT).is_none() {
        cargo.env(variables::JIT, ready.installed.stage2());
    }
    cargo
}
