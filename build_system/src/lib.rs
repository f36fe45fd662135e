//! `cargo schism`: one command from a fresh machine to running kernels.
//!
//! A map: [`arguments`] says what is asked for. [`setup`] provides, in order, the compiler
//! ([`toolchain`]), its own crates ([`rustc_dev`]), and the plugin and stage 2 ([`artifacts`]),
//! built from [`sources`]; everything lies in one [`home`]. [`cargo`] then runs cargo with the
//! result; [`targets`] and [`stdpar`] tell the compiler what else a build asks for. [`doctor`],
//! [`hcf`], `emit`, `bundle`, `profile` and `kernel_cache` look at what is there; `new` makes packages to start from.
//!
//! The program is [`run`]. What is public besides is for the developers' program inside the
//! checkout, which has all verbs of this one; it is no interface for others.

pub mod arguments;
pub mod artifacts;
mod bundle;
pub mod cargo;
pub mod command;
pub mod doctor;
mod elf;
mod emit;
mod emit_kind;
pub mod environment;
pub mod error;
mod gpus;
mod group_size;
mod hash;
pub mod hcf;
pub mod help;
pub mod home;
mod kernel_cache;
pub mod lock;
mod lockfile;
mod manifest;
mod new;
mod opencl;
#[allow(dead_code)] // the build script has it too; each uses a part
mod pack;
mod profile;
mod profile_sums;
pub mod progress;
mod prune;
pub mod publish;
pub mod rustc_dev;
#[cfg(test)]
mod scratch;
pub mod setup;
pub mod sources;
pub mod stage2;
pub mod stdpar;
pub mod targets;
pub mod timings;
pub mod toolchain;
mod trace;
pub mod variables;
mod wrapper;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::Request;
use error::{Error, Result};
use home::Home;

/// Runs the program, and gives its exit code. `more` has verbs besides those of [`help::all`]: it
/// gets the command line from the verb on, and gives `None` for all other verbs.
pub fn run(more: impl FnOnce(&[OsString]) -> Option<Result<ExitCode>>) -> ExitCode {
    if let Some(code) = rustc_dev::run_shim_if_asked() {
        return code;
    }
    trace::install();
    let words = arguments::from_verb_on(std::env::args_os().skip(1));
    let result = more(&words).unwrap_or_else(|| arguments::parse(words).and_then(serve));
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
    })
}

fn serve(request: Request) -> Result<ExitCode> {
    match request {
        Request::Help => hcf::to_stdout(help::all().as_bytes())?,
        Request::HelpOf(verb) => hcf::to_stdout(help::of(verb).as_bytes())?,
        Request::Version => println!(
            "cargo-schism {} (for rustc {})",
            env!("CARGO_PKG_VERSION"),
            toolchain::releases()
        ),
        Request::Setup => drop(setup::ensure(&Home::from_environment()?)?),
        Request::SetupTimings => setup::timings(&Home::from_environment()?)?,
        Request::Clean => setup::clean(&Home::to_remove()?)?,
        Request::New(arguments) => new::run(&arguments)?,
        Request::Doctor => return doctor::run(),
        Request::BackendPath => {
            let ready = setup::ensure(&Home::from_environment()?)?;
            println!("{}", ready.installed.plugin().display());
        }
        Request::Hcf(arguments) => return hcf::run(&arguments),
        Request::Emit(arguments) => return emit::run(&arguments),
        Request::Explain(arguments) => return emit::explain(&arguments),
        Request::LlvmTo(verb, arguments) => return emit::of_file(verb, &arguments),
        Request::Bundle(arguments) => return bundle::run(&arguments),
        Request::Profile(arguments) => return profile::run(&arguments),
        Request::Cache(arguments) => return kernel_cache::run(&arguments),
        Request::Compile(verb, arguments) => return cargo::compile(verb, &arguments),
        Request::Plain(verb, arguments) => return cargo::plain(verb, &arguments),
    }
    Ok(ExitCode::SUCCESS)
}
