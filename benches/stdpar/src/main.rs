//! Pipelines of rayon as people write them, each with its time and a checksum.
//!
//! ```text
//! stdpar-bench [--small] [--resident] [--seconds S] [NAME…]
//! ```
//!
//! A line for each benchmark: its name, the median time of a repetition in seconds, the mean with
//! all that came before the first measured one, the checksum, and the shortest time. `NAME` chooses
//! those with it in their name. With `--resident` the host reads results only before and after what
//! is measured.

mod formulas;
mod image;
mod launch;
mod measure;
mod nbody;
mod numbers;
mod points;
mod random;
mod rows;
mod sorting;
mod stream;
mod text;
mod tracer;

use std::process::ExitCode;

use measure::Bench;

fn main() -> ExitCode {
    let mut bench = Bench::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--small" => bench.small = true,
            "--resident" => bench.resident = true,
            "--seconds" => {
                let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
                match seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0) {
                    Some(seconds) => bench.seconds = seconds,
                    None => return usage(),
                }
            }
            name if !name.starts_with('-') => bench.names.push(argument),
            _ => return usage(),
        }
    }
    stream::run(&bench);
    numbers::run(&bench);
    nbody::run(&bench);
    points::run(&bench);
    image::run(&bench);
    rows::run(&bench);
    tracer::run(&bench);
    sorting::run(&bench);
    text::run(&bench);
    launch::run(&bench);
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: stdpar-bench [--small] [--resident] [--seconds S] [NAME…]");
    ExitCode::FAILURE
}
