//! `cargo schism clippy` of the plugin, which clippy sees only beside the compiler's own crates.

use std::ffi::OsString;
use std::process::ExitCode;

use cargo_schism::artifacts::{self, PACKAGE};
use cargo_schism::command;
use cargo_schism::error::Result;
use cargo_schism::home::Home;
use cargo_schism::lock::Lock;
use cargo_schism::rustc_dev;
use cargo_schism::sources::Sources;
use cargo_schism::timings::{Step, Timings};
use cargo_schism::toolchain::Toolchain;

/// Lints it. Does not return when all goes well: this process becomes cargo.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let home = Home::from_environment()?;
    let toolchain = Toolchain::find()?;
    let workspace = Sources::find()?.workspace(&home)?;
    let rustc_dev = {
        let _lock = Lock::take(&home)?;
        rustc_dev::provide(&home, &toolchain, &Timings::of(&[Step::Crates]))?
    };
    let target = artifacts::target_directory(&home, &toolchain, &workspace);
    let mut command =
        artifacts::plugin_cargo(&toolchain, &rustc_dev, &workspace, &target, "clippy");
    command.args(arguments);
    command::become_program(command, "to lint the plugin")
}

/// Whether a command line of clippy's names the plugin's package.
pub fn names_plugin(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument.to_str().is_some_and(|text| text.ends_with(PACKAGE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_told_from_other_packages() {
        let named = |line: &str| {
            names_plugin(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(named("-p rustc_codegen_schism -- -D warnings"));
        assert!(named("--package=rustc_codegen_schism"));
        assert!(!named("--all-targets"));
        assert!(!named("-p schism -- rustc_codegen_schism"));
    }
}
