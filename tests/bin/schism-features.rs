//! Prints the table of features by number, `docs/features.md`, and fails if a test that it names does not
//! exist: `cargo run -p schism-tests --bin schism-features`; with numbers, those lines only.

use std::path::Path;
use std::process::ExitCode;

use lexopt::Arg::Value;
use lexopt::ValueExt;
use schism_tests::features::{TABLE, faults, rows};

/// The numbers that are asked for; none if all are.
fn numbers(mut parser: lexopt::Parser) -> Result<Vec<u32>, lexopt::Error> {
    let mut numbers = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Value(number) => numbers.push(number.parse()?),
            other => return Err(other.unexpected()),
        }
    }
    Ok(numbers)
}

fn main() -> ExitCode {
    let numbers = match numbers(lexopt::Parser::from_env()) {
        Ok(numbers) => numbers,
        Err(error) => {
            eprintln!("{error}; usage: schism-features [NUMBER…]");
            return ExitCode::from(2);
        }
    };
    let rows = match rows(TABLE) {
        Ok(rows) => rows,
        Err(fault) => {
            eprintln!("docs/features.md: {fault}");
            return ExitCode::FAILURE;
        }
    };
    for row in rows.iter().filter(|row| numbers.is_empty() || numbers.contains(&row.number)) {
        println!("{:3}  {}: {}", row.number, row.feature, row.here);
        for (name, file) in &row.tests {
            println!("     {file}::{name}");
        }
    }
    let mut faults = faults(&rows, &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let absent = numbers.iter().filter(|number| rows.iter().all(|row| row.number != **number));
    faults.extend(absent.map(|number| format!("{number} is not in the table")));
    for fault in &faults {
        eprintln!("docs/features.md: {fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
