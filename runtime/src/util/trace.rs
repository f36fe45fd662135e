//! `SCHISM_TRACE`: what the runtime does, on standard error.
//!
//! Events go to the program's own `tracing` subscriber, if it has one when it first asks for a
//! device or a queue. Otherwise the variable installs a small one: `1` shows each step (as
//! `debug`), and `error`, `warn`, `info`, `debug`, `trace` choose a level.

#[cfg(not(feature = "trace"))]
pub(crate) fn install() {}

#[cfg(feature = "trace")]
pub(crate) use subscriber::install;

#[cfg(feature = "trace")]
mod subscriber {
    use std::io::{self, IsTerminal};
    use std::sync::Once;

    use tracing::level_filters::LevelFilter;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    use crate::util::warn_once;

    const VARIABLE: &str = "SCHISM_TRACE";

    /// Installs the subscriber if the variable asks for it and the program has none.
    pub(crate) fn install() {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            let Some(asked) = std::env::var_os(VARIABLE) else {
                return;
            };
            let asked = asked.to_string_lossy();
            let level = match asked.trim() {
                "" | "0" => return,
                "1" => Some(LevelFilter::DEBUG),
                level => level.parse().ok(),
            };
            let Some(level) = level else {
                warn_once::say(format_args!(
                    "{VARIABLE} is `{asked}`; use 1, error, warn, info, debug or trace"
                ));
                return;
            };
            let to_stderr = fmt::layer()
                .with_writer(io::stderr)
                // Internal errors would be printed to standard error, by a function that panics if
                // that fails.
                .log_internal_errors(false)
                .with_ansi(io::stderr().is_terminal())
                .with_target(false);
            let installed = tracing_subscriber::registry()
                .with(to_stderr)
                .with(Targets::new().with_target("schism", level))
                .try_init()
                .is_ok();
            if installed && level >= LevelFilter::WARN {
                warn_once::are_traced();
            }
        });
    }
}
