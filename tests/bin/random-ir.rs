//! Random modules through all passes, for as long as one likes:
//! `cargo run --release -p schism-tests --bin random-ir -- --seed 1000 --count 100000`.

use std::process::ExitCode;

use lexopt::Arg::Long;
use lexopt::ValueExt;
use schism_tests::{random_ir, random_loops};

/// The seed to begin with, and how many.
fn seeds(mut parser: lexopt::Parser) -> Result<(u64, u64), lexopt::Error> {
    let (mut seed, mut count) = (0, 1000);
    while let Some(option) = parser.next()? {
        match option {
            Long("seed") => seed = parser.value()?.parse()?,
            Long("count") => count = parser.value()?.parse()?,
            other => return Err(other.unexpected()),
        }
    }
    Ok((seed, count))
}

fn main() -> ExitCode {
    let (seed, count) = match seeds(lexopt::Parser::from_env()) {
        Ok(seeds) => seeds,
        Err(error) => {
            eprintln!("error: {error}\nusage: random-ir [--seed N] [--count N]");
            return ExitCode::from(2);
        }
    };
    let mut failures = 0;
    for seed in seed..seed.saturating_add(count) {
        for result in [random_ir::check(seed), random_loops::check(seed).map(drop)] {
            if let Err(failure) = result {
                println!("{failure}");
                failures += 1;
            }
        }
    }
    println!("{count} modules, {failures} failures");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
