//! `SCHISM_TRACE`: which programs are started and what is found, on standard error. Programs with
//! kernels read the same variable.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::variables::TRACE;

/// Shows events if the variable asks for it.
pub fn install() {
    let asked = std::env::var(TRACE).unwrap_or_default();
    // What is no level is told by the runtime, which most users mean.
    let Some(level) = level(&asked) else { return };
    let to_stderr =
        fmt::layer().with_writer(io::stderr).log_internal_errors(false).with_target(false);
    let own = Targets::new().with_target(env!("CARGO_CRATE_NAME"), level);
    // There is no other subscriber in this program.
    let _ = tracing_subscriber::registry().with(to_stderr).with(own).try_init();
}

fn level(asked: &str) -> Option<LevelFilter> {
    match asked.trim() {
        "" | "0" => None,
        "1" => Some(LevelFilter::DEBUG),
        level => level.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_level() {
        assert_eq!(level("1"), Some(LevelFilter::DEBUG));
        assert_eq!(level(" trace "), Some(LevelFilter::TRACE));
        assert_eq!([level(""), level("0"), level("loud")], [None; 3]);
    }
}
