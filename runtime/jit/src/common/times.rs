//! `SCHISM_TIME_PASSES`: how long each pass of a kernel's compile took, on standard error.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use crate::Request;

/// The steps of one compile. They are printed together at its end, or when it fails.
pub struct Times(Option<Steps>);

struct Steps {
    kernel: String,
    last: Instant,
    text: String,
}

impl Times {
    /// Begins to measure, if that is wanted.
    pub fn new(wanted: bool, request: &Request) -> Self {
        Self(wanted.then(|| Steps {
            kernel: request.kernel.clone(),
            last: Instant::now(),
            text: String::new(),
        }))
    }

    /// Whether anything is measured.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds the times of passes.
    pub fn passes(&mut self, times: &[(&str, Duration)]) {
        let Some(Steps { kernel, last, text }) = &mut self.0 else { return };
        for (step, time) in times {
            let seconds = time.as_secs_f64();
            writeln!(text, "time: {seconds:9.6}\tstage 2 of {kernel}\t{step}")
                .expect("writing to a string");
        }
        *last = Instant::now();
    }

    /// Adds what passes say of loops.
    pub fn remarks(&mut self, remarks: &[String]) {
        let Some(Steps { kernel, text, .. }) = &mut self.0 else { return };
        for remark in remarks {
            writeln!(text, "remark: stage 2 of {kernel}\t{remark}").expect("writing to a string");
        }
    }

    /// Ends a step, and begins the next.
    pub fn done(&mut self, step: &str) {
        let Some(Steps { kernel, last, text }) = &mut self.0 else { return };
        let seconds = last.elapsed().as_secs_f64();
        writeln!(text, "time: {seconds:9.6}\tstage 2 of {kernel}\t{step}")
            .expect("writing to a string");
        *last = Instant::now();
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        if let Some(steps) = &self.0 {
            // Errors of standard error are ignored.
            let _ = io::stderr().write_all(steps.text.as_bytes());
        }
    }
}
