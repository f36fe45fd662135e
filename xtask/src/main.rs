//! `cargo schism` inside the checkout: the verbs of `cargo-schism`, and those that only people need
//! who work on schism. The alias in `.cargo/config.toml` runs this program.
//!
//! [`mod@bench`] measures, [`opt`] runs passes over a file, [`clippy`] lints the plugin. Tests run
//! with what other vendors have: [`opencl`] fetches a driver and a validator for them, and
//! [`release_root`] makes a root with another release of rustc.

mod bench;
mod clippy;
mod debian;
mod help;
mod opencl;
mod opt;
mod release_root;

use std::ffi::OsString;
use std::process::ExitCode;

use cargo_schism::arguments::asks_for_help;
use cargo_schism::error::Result;
use cargo_schism::home::Home;
use cargo_schism::{cargo, command, doctor};

fn main() -> ExitCode {
    cargo_schism::run(serve)
}

/// Serves a command line if its verb is one of the developers'; `None` if it is the users'.
fn serve(words: &[OsString]) -> Option<Result<ExitCode>> {
    let Some((verb, rest)) = words.split_first() else { return Some(help::all()) };
    match verb.to_str()? {
        "--help" | "-h" => Some(help::all()),
        "help" => match rest.first() {
            None => Some(help::all()),
            Some(verb) => help::of(verb.to_str()?),
        },
        "bench" => Some(bench::run(rest)),
        "clippy" if clippy::names_plugin(rest) => Some(clippy::run(rest)),
        "doctor" if rest.is_empty() => Some(examine()),
        "opt" => Some(opt::run(rest)),
        "test" | "t" => Some(match release_root::take(rest) {
            Some((release, rest)) => release_root::test(&release, &rest),
            None => test(rest),
        }),
        _ => None,
    }
}

/// Runs tests, which are told where the driver of OpenCL is.
fn test(arguments: &[OsString]) -> Result<ExitCode> {
    if asks_for_help(arguments) {
        help::print("test")?;
        return cargo::compile("test", arguments);
    }
    let home = Home::from_environment()?;
    let mut cargo = cargo::compiling("test", arguments, &home)?;
    opencl::apply(&mut cargo, &home)?;
    command::become_program(cargo, "to build")
}

/// Says what is there, also for tests.
fn examine() -> Result<ExitCode> {
    let code = doctor::run()?;
    if let Some(driver) = opencl::driver(&Home::from_environment()?) {
        println!("{:10} opencl: {}", "tests", driver.display());
    }
    Ok(code)
}
