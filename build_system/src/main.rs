//! `cargo schism`, as users have it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_schism::run(|_| None)
}
