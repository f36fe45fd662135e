//! Random modules through all passes, for as long as one likes:
//! `cargo run --release -p schism-tests --bin random-ir -- --seed 1000 --count 100000`.

use std::process::ExitCode;

use schism_tests::{random_ir, random_loops};

fn main() -> ExitCode {
    let (mut seed, mut count) = (0_u64, 1000_u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let number = arguments.next().and_then(|number| number.parse().ok());
        match (option.as_str(), number) {
            ("--seed", Some(number)) => seed = number,
            ("--count", Some(number)) => count = number,
            _ => {
                eprintln!("usage: random-ir [--seed N] [--count N]");
                return ExitCode::from(2);
            }
        }
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
