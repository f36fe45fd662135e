//! `SCHISM_TIME_PASSES`: how long each pass of stage 1 took, on standard error.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::variables::TIME_PASSES;

/// Whether times are asked for.
pub(super) fn wanted() -> bool {
    std::env::var_os(TIME_PASSES).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Prints the time since `start`, if times are asked for.
pub(super) fn note(crate_name: &str, what: &str, start: Instant) {
    if wanted() {
        print(crate_name, &[(what, start.elapsed())]);
    }
}

/// Prints times, one line each, all at once: crates are compiled concurrently.
pub(super) fn print(crate_name: &str, times: &[(&str, Duration)]) {
    let mut text = String::new();
    for (what, time) in times {
        writeln!(text, "time: {:9.6}\tstage 1 of {crate_name}\t{what}", time.as_secs_f64())
            .expect("writing to a string");
    }
    eprint!("{text}");
}
