//! The steps of an offload, which are traced.

use std::panic::Location;
use std::time::Instant;

use crate::util::variables::OFFLOAD_REPORT;
use crate::util::warn_once;

/// A step of an offload. Each follows those before it, and an offload makes none twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Step {
    /// Whether there is a condition is looked at.
    Begin = 1,
    /// The condition is evaluated.
    Condition,
    /// The target is acquired, and what it is to wait for has ended.
    Acquire,
    /// Conditions and ranges of the arrays are evaluated.
    Evaluate,
    /// The values that go to the target are gathered.
    Gather,
    /// They are sent.
    Send,
    /// Memory of arrays that nothing is sent of is allocated there.
    Allocate,
    /// The arrays are what the statement calls them.
    Bind,
    /// The statement runs.
    Run,
    /// What comes back is determined.
    Determine,
    /// It is gathered on the target.
    Collect,
    /// It is sent back.
    Return,
    /// The host has it. Memory of the target is freed, and the tag is signalled.
    Receive,
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Condition => "evaluate the condition",
            Self::Acquire => "acquire the target",
            Self::Evaluate => "evaluate ranges and conditions of arrays",
            Self::Gather => "gather the values that are sent",
            Self::Send => "send",
            Self::Allocate => "allocate what is not sent",
            Self::Bind => "bind the arrays",
            Self::Run => "run",
            Self::Determine => "determine what is received",
            Self::Collect => "gather the results",
            Self::Return => "send them back",
            Self::Receive => "receive",
        }
    }
}

/// How far an offload is.
#[derive(Debug)]
pub(super) struct Progress {
    at: &'static Location<'static>,
    level: u8,
    begin: Instant,
    last: Option<Step>,
}

impl Progress {
    pub(super) fn new(at: &'static Location<'static>) -> Self {
        Self { at, level: level(), begin: Instant::now(), last: None }
    }

    /// Whether a summary is asked for.
    pub(super) const fn is_reported(&self) -> bool {
        self.level > 0
    }

    /// Makes the next step.
    pub(super) fn reach(&mut self, step: Step, detail: &str) {
        debug_assert!(self.last.is_none_or(|last| last < step), "{step:?} after {:?}", self.last);
        self.last = Some(step);
        let (number, name) = (step as u8, step.name());
        tracing::debug!(at = %self.at, step = number, detail, "offload: {name}");
        if self.level >= 3 {
            let microseconds = self.begin.elapsed().as_micros();
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            warn_once::say(format_args!(
                "offload at {}: step {number}, {name}{detail} ({microseconds} us)",
                self.at
            ));
        }
    }

    /// The summary at the end.
    pub(super) fn end(&self, result: &str, (sent, received): (u64, u64)) {
        tracing::debug!(at = %self.at, result, sent, received, "offload: end");
        if self.level == 0 {
            return;
        }
        let microseconds = self.begin.elapsed().as_micros();
        let bytes = match self.level {
            1 => String::new(),
            _ => format!(", {sent} bytes sent, {received} received"),
        };
        warn_once::say(format_args!("offload at {}: {result}{bytes}, {microseconds} us", self.at));
    }
}

fn level() -> u8 {
    let Some(asked) = OFFLOAD_REPORT.set() else { return 0 };
    let asked = asked.to_string_lossy();
    match asked.trim().parse() {
        Ok(level @ 0..=3) => level,
        _ => {
            let text = format!("{OFFLOAD_REPORT} is `{asked}`; use 1, 2 or 3");
            warn_once::warn_once(text);
            0
        }
    }
}
