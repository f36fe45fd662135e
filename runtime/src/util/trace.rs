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
    use std::cell::Cell;
    use std::io::{self, IsTerminal};
    use std::sync::Once;

    use tracing::level_filters::LevelFilter;
    use tracing_subscriber::filter::{Targets, dynamic_filter_fn};
    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    use crate::util::variables::TRACE;
    use crate::util::warn_once;

    thread_local! {
        /// Whether the thread's [`LAST`] is gone. It has no destructor, so it is always there.
        static IS_ENDING: Cell<bool> = const { Cell::new(false) };

        /// Is dropped before the subscriber's own variables of the thread: what was first used last
        /// goes first.
        static LAST: Last = const { Last };
    }

    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            IS_ENDING.set(true);
        }
    }

    /// Where events are written. It is called when the subscriber uses its own variables already.
    fn stderr() -> io::Stderr {
        let _ = LAST.try_with(|_| ());
        io::stderr()
    }

    /// Installs the subscriber if the variable asks for it and the program has none.
    pub(crate) fn install() {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            let Some(asked) = TRACE.get() else {
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
                    "{TRACE} is `{asked}`; use 1, error, warn, info, debug or trace"
                ));
                return;
            };
            let to_stderr = fmt::layer()
                .with_writer(stderr)
                // Internal errors would be printed to standard error, by a function that panics if
                // that fails.
                .log_internal_errors(false)
                .with_ansi(io::stderr().is_terminal())
                .with_target(false);
            let installed = tracing_subscriber::registry()
                .with(to_stderr)
                .with(Targets::new().with_target("schism", level))
                // When a thread ends, it drops its variables one after the other, also the
                // subscriber's, which panics without them. Later events are not shown.
                .with(dynamic_filter_fn(|_, _| !IS_ENDING.get()))
                .try_init()
                .is_ok();
            if installed && level >= LevelFilter::WARN {
                warn_once::are_traced();
            }
        });
    }
}
