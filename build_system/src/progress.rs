//! Progress on stderr, in the manner of cargo: nothing when there is nothing to do.

use std::io::{IsTerminal, Write};

/// Says what set-up does now, or that it is done.
pub fn step(verb: &str, text: &str) {
    let mut stderr = std::io::stderr().lock();
    let line = if stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[1;32m{verb:>12}\x1b[0m {text}\n")
    } else {
        format!("{verb:>12} {text}\n")
    };
    // In one piece, as others write too. That stderr is closed is no reason to fail.
    let _ = stderr.write_all(line.as_bytes());
}
