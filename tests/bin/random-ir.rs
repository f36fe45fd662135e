//! Random modules through all passes, for as long as one likes:
//! `cargo run --release -p schism-tests --bin random-ir -- --seed 1000 --count 100000`; with `--spirv`
//! to SPIR-V instead, for the validator.

use std::process::ExitCode;

use lexopt::Arg::Long;
use lexopt::ValueExt;
use schism_tests::{random_ir, random_loops, spirv};

/// The seed to begin with, how many, and whether they become SPIR-V.
fn seeds(mut parser: lexopt::Parser) -> Result<(u64, u64, bool), lexopt::Error> {
    let (mut seed, mut count, mut to_spirv) = (0, 1000, false);
    while let Some(option) = parser.next()? {
        match option {
            Long("seed") => seed = parser.value()?.parse()?,
            Long("count") => count = parser.value()?.parse()?,
            Long("spirv") => to_spirv = true,
            other => return Err(other.unexpected()),
        }
    }
    Ok((seed, count, to_spirv))
}

/// Lowers modules to SPIR-V.
fn to_spirv(seeds: std::ops::Range<u64>) -> ExitCode {
    let Some(validator) = spirv::validator() else { return ExitCode::FAILURE };
    let (mut modules, mut failures) = (0, 0);
    for seed in seeds {
        match random_ir::spirv::check(seed, Some(&validator)) {
            Ok(lowered) => modules += lowered,
            Err(failure) => {
                println!("{failure}");
                failures += 1;
            }
        }
    }
    println!("{modules} modules of SPIR-V, {failures} failures");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let (seed, count, is_spirv) = match seeds(lexopt::Parser::from_env()) {
        Ok(seeds) => seeds,
        Err(error) => {
            eprintln!("error: {error}\nusage: random-ir [--seed N] [--count N] [--spirv]");
            return ExitCode::from(2);
        }
    };
    if is_spirv {
        return to_spirv(seed..seed.saturating_add(count));
    }
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
