//! `cargo schism bench SUBJECT`: measurements of schism itself. Without a known subject it is cargo's `bench`.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::cargo;
use crate::error::Result;

/// Something that can be measured.
pub struct Subject {
    /// What follows `bench` on the command line.
    pub name: &'static str,
    /// One line for the help text.
    pub summary: &'static str,
    /// Measures, with the arguments after the name.
    pub run: fn(&[OsString]) -> Result<ExitCode>,
}

/// All subjects; a module per subject beside this one.
pub const SUBJECTS: &[Subject] = &[];

/// Measures a subject, or runs the user's own benchmarks.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let subject = arguments.split_first().and_then(|(first, rest)| {
        let subject = SUBJECTS.iter().find(|subject| first == subject.name)?;
        Some((subject, rest))
    });
    match subject {
        Some((subject, rest)) => (subject.run)(rest),
        None => cargo::compile("bench", arguments),
    }
}
