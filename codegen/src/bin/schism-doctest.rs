//! `schism-doctest`: the compiler that rustdoc uses for documentation tests under
//! `cargo schism test`.
//!
//! rustdoc passes its own unstable options on to the compiler of the tests, including the one with
//! which `schism-rustdoc` names this program. A stable compiler refuses it. So this program removes
//! it once, and starts `schism-rustc`. Most arguments come in a file, which rustdoc writes for all
//! tests together.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

/// The compiler, beside this program.
const COMPILER: &str = "schism-rustc";

fn main() {
    let compiler = match std::env::current_exe() {
        Ok(path) => path.with_file_name(COMPILER),
        Err(error) => fail(&format!("cannot tell where this program is: {error}")),
    };
    let arguments = without_our_option(expanded(std::env::args_os().skip(1)));
    let error = Command::new(&compiler).args(arguments).exec();
    fail(&format!("cannot start {}: {error}", compiler.display()));
}

/// The arguments, with argument files expanded. The compiler reports what cannot be read.
fn expanded(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all = Vec::new();
    for argument in arguments {
        let file = argument.to_str().and_then(|argument| argument.strip_prefix('@'));
        match file.and_then(|file| std::fs::read_to_string(file).ok()) {
            Some(text) => all.extend(text.lines().map(OsString::from)),
            None => all.push(argument),
        }
    }
    all
}

/// The arguments without the last `-Zunstable-options`, which `schism-rustdoc` has added.
fn without_our_option(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let joined = arguments.iter().rposition(|argument| argument == "-Zunstable-options");
    let is_pair = |pair: &[OsString]| pair[0] == "-Z" && pair[1] == "unstable-options";
    let pair = arguments.windows(2).rposition(is_pair);
    match (joined, pair) {
        (Some(joined), pair) if pair.is_none_or(|pair| pair < joined) => {
            arguments.remove(joined);
        }
        (_, Some(pair)) => {
            arguments.drain(pair..pair + 2);
        }
        _ => {}
    }
    arguments
}

fn fail(message: &str) -> ! {
    eprintln!("error: schism-doctest: {message}");
    exit(1);
}
