//! `cargo schism doctor`: says what is there, and what to do about what is not. Changes nothing.

use std::path::Path;
use std::process::{Command, ExitCode};

use schism_jit_abi::ptxas::Ptxas;

use crate::artifacts::Installed;
use crate::command;
use crate::error::Result;
use crate::gpus::DRIVERS;
use crate::home::{CONTENTS, Home};
use crate::opencl;
use crate::rustc_dev;
use crate::setup;
use crate::sources::Sources;
use crate::stage2;
use crate::toolchain::{Toolchain, releases};
use crate::variables;

/// Prints the report; the exit code says whether all is well.
pub fn run() -> Result<ExitCode> {
    let mut report = Report::default();
    let home = Home::from_environment()?;
    match Toolchain::find() {
        Ok(toolchain) => examine(&mut report, &home, &toolchain),
        Err(error) => report.bad("compiler", error.to_string()),
    }
    cache(&mut report, &home);
    print!("{}", report.text);
    Ok(if report.broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn examine(report: &mut Report, home: &Home, toolchain: &Toolchain) {
    report.good("compiler", format!("rustc {}", toolchain.version.text));
    report.more(toolchain.rustc.display());
    report.more(toolchain.version.how_far_tried());
    report.more(format_args!("releases that are known: {}", releases()));
    report.good("LLVM", format!("{} in {}", toolchain.version.llvm, toolchain.libraries.display()));
    match linker() {
        Ok(version) => report.good("linker", version),
        Err(error) => report.bad("linker", error),
    }
    match rustc_dev::present(home, toolchain) {
        Some(found) => {
            report.good("rustc-dev", found.origin);
            if let Some(search) = found.search {
                report.more(search.display());
            }
        }
        None => report.bad("rustc-dev", "not there yet; `cargo schism setup` provides it"),
    }
    let sources = match Sources::find() {
        Ok(sources) => sources,
        Err(error) => return report.bad("sources", error),
    };
    match &sources {
        Sources::Checkout(root) => report.good("sources", root.display()),
        Sources::Packed => {
            report.good("sources", format!("those in cargo-schism {}", env!("CARGO_PKG_VERSION")))
        }
    }
    match setup::recall(home, toolchain, &sources) {
        Ok(Some(installed)) => {
            components(report, &installed);
            gpus(report);
            open_cl(report);
            report.more("programs that choose none use the first of: cuda, hip, opencl (a GPU), cpu, native");
            report.more(match Ptxas::find() {
                Ok(ptxas) => format!("targets sass:…: {}", ptxas.path().display()),
                Err(error) => format!("no targets sass:…: {error}"),
            });
        }
        Ok(None) => {
            report.bad("plugin", "not built from these sources yet; `cargo schism setup` builds it")
        }
        Err(error) => report.bad("plugin", error),
    }
}

fn components(report: &mut Report, installed: &Installed) {
    report.good("plugin", installed.plugin_hash.as_str());
    report.more(installed.plugin().display());
    match driver(&installed.driver()) {
        Ok(version) => report.good("driver", version),
        Err(problem) => report.bad("driver", problem),
    }
    let path = std::env::var_os(variables::JIT).map_or_else(|| installed.stage2(), Into::into);
    match stage2::about(&path) {
        Ok(about) => {
            report.good("stage 2", about.version);
            report.more(path.display());
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            report.good("devices", format!("cpu: {}, {cores} threads", about.cpu));
            report.more("native: the host's own code, always there");
        }
        Err(problem) => {
            report.bad("stage 2", format!("{}: {problem}", path.display()));
            report.good("devices", "native: the host's own code, always there");
        }
    }
}

fn gpus(report: &mut Report) {
    for driver in &DRIVERS {
        let name = driver.devices;
        match driver.devices() {
            Ok(devices) if devices.is_empty() => {
                report.more(format_args!("no {name}: the driver has no device"));
            }
            Ok(devices) => devices.iter().enumerate().for_each(|(number, device)| {
                report.more(format_args!("{name}:{number}: {device}"));
            }),
            Err(reason) => report.more(format_args!("no {name}: {reason}")),
        }
    }
}

fn open_cl(report: &mut Report) {
    match opencl::devices() {
        Ok(devices) if devices.is_empty() => report.more("opencl: the drivers have no device"),
        Ok(devices) => {
            devices.iter().for_each(|device| report.more(format_args!("opencl: {device}")));
        }
        Err(reason) => report.more(format_args!("no opencl: {reason}")),
    }
}

/// Starts the driver, which loads the compiler's libraries, and has it name the plugin.
fn driver(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    command.arg("-vV");
    let output = command::capture(command, "to compile", "")
        .map_err(|error| format!("{error}\n`cargo schism clean`, then `cargo schism setup`"))?;
    output
        .lines()
        .next()
        .map(|first| format!("{first}, {}", path.display()))
        .ok_or_else(|| "it says no version".to_owned())
}

fn linker() -> Result<String, String> {
    let mut cc = Command::new("cc");
    cc.arg("--version");
    let output = command::capture(cc, "to link", rustc_dev::INSTALL_CC)
        .map_err(|error| error.to_string())?;
    Ok(output.lines().next().unwrap_or_default().to_owned())
}

fn cache(report: &mut Report, home: &Home) {
    let sizes: Vec<_> = CONTENTS
        .iter()
        .map(|name| (*name, setup::size(&home.root().join(name))))
        .filter(|(_, size)| *size > 0)
        .collect();
    let total = sizes.iter().map(|(_, size)| size).sum();
    report.good("cache", format!("{}, {}", home.root().display(), setup::in_words(total)));
    for (name, size) in sizes {
        report.more(format_args!("{name:<10} {:>9}", setup::in_words(size)));
    }
}

#[derive(Default)]
struct Report {
    text: String,
    broken: bool,
}

impl Report {
    fn good(&mut self, what: &str, text: impl std::fmt::Display) {
        self.line(&format!("{what:<10} "), text);
    }

    fn bad(&mut self, what: &str, text: impl std::fmt::Display) {
        self.broken = true;
        self.line(&format!("{what:<10} "), format_args!("MISSING OR BROKEN: {text}"));
    }

    fn more(&mut self, text: impl std::fmt::Display) {
        self.line(&" ".repeat(11), text);
    }

    fn line(&mut self, start: &str, text: impl std::fmt::Display) {
        let text = text.to_string().replace('\n', &format!("\n{}", " ".repeat(11)));
        self.text.push_str(&format!("{start}{text}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_in_the_report_and_in_the_exit_code() {
        let mut report = Report::default();
        report.good("one", "fine");
        assert!(!report.broken);
        report.bad("two", "gone\ndo this");
        assert!(report.broken);
        assert_eq!(
            report.text,
            "one        fine\ntwo        MISSING OR BROKEN: gone\n           do this\n"
        );
    }

    #[test]
    fn each_kind_of_gpu_has_a_line() {
        let mut report = Report::default();
        gpus(&mut report);
        for name in ["cuda", "hip"] {
            let is_there = |line: &str| line.contains(&format!("{name}:"));
            assert!(report.text.lines().any(is_there), "{}", report.text);
        }
        assert!(!report.broken);
    }

    #[test]
    fn a_driver_that_does_not_start_is_told_with_what_to_do() {
        let error = driver(Path::new("/nonexistent/schism-rustc")).unwrap_err();
        assert!(
            error.contains("/nonexistent/schism-rustc") && error.contains("cargo schism setup"),
            "{error}"
        );
    }
}
