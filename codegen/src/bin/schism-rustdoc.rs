//! `schism-rustdoc`: what cargo runs in rustdoc's place under `cargo schism test`.
//!
//! rustdoc compiles documentation tests with the rustc beside it. This program starts that rustdoc
//! and names `schism-doctest` as the compiler to use, so that kernels in documentation tests are
//! kernels. Everything else is rustdoc's own.
//!
//! The option that names a compiler is unstable. `RUSTC_BOOTSTRAP` allows it by the name of the
//! documented crate, so that the tests themselves are still compiled by a stable compiler.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, exit};

#[path = "../variables.rs"]
#[allow(dead_code)] // the plugin reads the others
mod variables;

/// The compiler's own rustdoc.
const RUSTDOC: &str = concat!(env!("SCHISM_SYSROOT"), "/bin/rustdoc");

/// The compiler of documentation tests, beside this program.
const BUILDER: &str = "schism-doctest";

/// The variable that allows unstable options: `1` to all crates, or a list of their names.
const BOOTSTRAP: &str = "RUSTC_BOOTSTRAP";

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut rustdoc = Command::new(RUSTDOC);
    rustdoc.args(&arguments);
    let expanded = expanded(&arguments);
    rustdoc.args(replacements(&expanded));
    if runs_tests(&expanded) {
        let builder = match std::env::current_exe() {
            Ok(path) => path.with_file_name(BUILDER),
            Err(error) => fail(&format!("cannot tell where this program is: {error}")),
        };
        rustdoc.args(["-Zunstable-options", "--test-builder"]).arg(builder);
        let allowed = std::env::var_os(BOOTSTRAP);
        rustdoc.env(BOOTSTRAP, allowing(allowed.as_deref(), crate_name(&expanded)));
    }
    let error = rustdoc.exec();
    fail(&format!("cannot start {RUSTDOC}: {error}"));
}

/// The arguments, with cargo's argument files expanded. rustdoc reports a file that cannot be read.
fn expanded(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = Vec::new();
    for argument in arguments {
        let file = argument.to_str().and_then(|argument| argument.strip_prefix('@'));
        match file.and_then(|file| std::fs::read_to_string(file).ok()) {
            Some(text) => all.extend(text.lines().map(OsString::from)),
            None => all.push(argument.clone()),
        }
    }
    all
}

/// Under `--stdpar`: where crates lie that the libraries of a program see besides their own
/// dependencies, which the documented crate may see through them. `rayon/inject.rs` puts them
/// there, and adds the same folders for the compiler.
fn replacements(arguments: &[OsString]) -> Vec<OsString> {
    let Some(library) = std::env::var_os(variables::STDPAR_LIBRARY) else { return Vec::new() };
    let Some(name) = Path::new(&library).file_name().and_then(OsStr::to_str) else {
        return Vec::new();
    };
    let words = arguments.iter().filter_map(|argument| argument.to_str());
    let folders = words.filter_map(|word| {
        let folder = word.strip_prefix("-Ldependency=").or(word.strip_prefix("dependency="))?;
        Some(Path::new(folder).join(format!("schism-stdpar-{name}")))
    });
    let there = folders.filter(|folder| folder.is_dir());
    let options = there.map(|folder| {
        let mut option = OsString::from("-Ldependency=");
        option.push(folder);
        option
    });
    options.collect()
}

/// Whether rustdoc is to compile and run tests, and with no other compiler than its own.
fn runs_tests(arguments: &[OsString]) -> bool {
    let is = |argument: &OsString, option: &str| {
        argument.to_str().is_some_and(|text| {
            text.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    arguments.iter().any(|argument| argument == "--test")
        && !arguments.iter().any(|argument| is(argument, "--test-builder"))
}

/// The name of the documented crate.
fn crate_name(arguments: &[OsString]) -> Option<&str> {
    let mut words = arguments.iter().filter_map(|argument| argument.to_str());
    while let Some(word) = words.next() {
        match word.strip_prefix("--crate-name") {
            Some("") => return words.next(),
            Some(rest) if rest.starts_with('=') => return Some(&rest[1..]),
            _ => {}
        }
    }
    None
}

/// What allows the options, in addition to what is allowed already.
fn allowing(allowed: Option<&OsStr>, crate_name: Option<&str>) -> OsString {
    match (allowed, crate_name) {
        // Without a name rustdoc asks whether all crates are allowed.
        (_, None) => "1".into(),
        (Some(allowed), _) if allowed == "1" => allowed.to_owned(),
        (Some(allowed), Some(name)) if !allowed.is_empty() && allowed != "0" && allowed != "-1" => {
            let mut list = allowed.to_owned();
            list.push(",");
            list.push(name);
            list
        }
        (_, Some(name)) => name.into(),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("error: schism-rustdoc: {message}");
    exit(1);
}
