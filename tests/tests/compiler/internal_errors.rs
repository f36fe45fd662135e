//! Internal compiler errors: the driver ends as rustc does, with rustc's message and exit status.

use std::os::unix::ffi::OsStringExt;
use std::process::{Command, Output};

use schism_tests::lab::{Compiler, Lab, describe, output};

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// What both compilers say, without what only schism's does.
fn ended(lab: &Lab, name: &str, prepare: impl Fn(&mut Command)) -> [(Command, Output); 2] {
    let folder = lab.folder(&format!("internal-errors-{name}"));
    std::fs::write(folder.join("wrong.rs"), "fn main() { let x: u32 = \"\"; }\n")
        .expect("writable");
    [Compiler::Stock, Compiler::Schism].map(|compiler| {
        let mut rustc = lab.rustc(compiler, &folder);
        // No file beside the program, and no backtrace, whose addresses differ.
        rustc.env("RUSTC_BOOTSTRAP", "1").env("RUSTC_ICE", "0").env("RUST_BACKTRACE", "0");
        rustc.arg("wrong.rs");
        prepare(&mut rustc);
        let ended = output(&mut rustc);
        (rustc, ended)
    })
}

/// The lines of an error output, without the note that says whose compiler this is, and without
/// numbers of threads.
fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = text.lines().filter(|line| !line.starts_with("note: this is schism's compiler"));
    let mut lines: Vec<String> = lines
        .map(|line| match line.split_once(" (") {
            Some((thread, rest)) if thread.starts_with("thread 'rustc'") => {
                let (_, rest) = rest.split_once(") ").unwrap_or_default();
                format!("{thread} {rest}")
            }
            _ => line.to_owned(),
        })
        .collect();
    // A note stands between empty lines.
    lines.retain(|line| !line.is_empty());
    lines
}

#[test]
fn an_internal_error_ends_as_rustcs() {
    let Some(lab) = lab() else { return };
    let [(_, stock), (command, own)] = ended(lab, "panic", |rustc| {
        rustc.arg("-Ztreat-err-as-bug");
    });
    let report = describe(&command, &own);
    assert_eq!(stock.status.code(), Some(101), "{report}");
    assert_eq!(own.status.code(), Some(101), "{report}");
    assert_eq!(lines(&own), lines(&stock), "{report}");
    let said = String::from_utf8_lossy(&own.stderr);
    for part in
        ["the compiler unexpectedly panicked. This is a bug", "note: this is schism's compiler"]
    {
        assert_eq!(said.matches(part).count(), 1, "`{part}`: {report}");
    }
}

#[test]
fn an_error_that_is_fatal_before_the_compiler_starts_is_an_error() {
    let Some(lab) = lab() else { return };
    let not_unicode = std::ffi::OsString::from_vec(b"-Cmetadata=\xFF".to_vec());
    let [(_, stock), (command, own)] = ended(lab, "arguments", |rustc| {
        rustc.arg(&not_unicode);
    });
    let report = describe(&command, &own);
    assert_eq!(own.status.code(), stock.status.code(), "{report}");
    assert_eq!(lines(&own), lines(&stock), "{report}");
    let [(_, stock), (command, own)] = ended(lab, "log", |rustc| {
        rustc.env("RUSTC_LOG", "rustc=debug").env("RUSTC_LOG_COLOR", "sometimes");
    });
    let report = describe(&command, &own);
    assert_eq!(own.status.code(), stock.status.code(), "{report}");
}
