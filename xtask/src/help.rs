//! What `--help` says: of all verbs the users' and then `usage.txt`, of one verb its part of it.

use std::process::ExitCode;

use cargo_schism::error::Result;
use cargo_schism::{hcf, help};

const USAGE: &str = include_str!("usage.txt");

/// Prints the help for all verbs.
pub fn all() -> Result<ExitCode> {
    hcf::to_stdout(format!("{}\n{USAGE}", help::all()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the help for a verb; `None` if the users' help follows, or is all there is.
pub fn of(verb: &str) -> Option<Result<ExitCode>> {
    match verb {
        "bench" => Some(crate::bench::run(&[])),
        "opt" => Some(print(verb).map(|()| ExitCode::SUCCESS)),
        "clippy" | "test" => print(verb).err().map(Err),
        _ => None,
    }
}

/// Prints what a verb has here besides what users have.
pub fn print(verb: &str) -> Result<()> {
    let text = format!("cargo schism {verb}\n\n{}\n", help::part(USAGE, verb));
    hcf::to_stdout(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_its_part() {
        for (verb, word) in
            [("bench", "suites"), ("clippy", "plugin"), ("opt", "PASSES"), ("test", "debootstrap")]
        {
            assert!(help::part(USAGE, verb).contains(word), "{verb}");
        }
        assert!(help::part(USAGE, "test").contains("SCHISM_TEST_OPENCL"));
        assert_eq!(help::part(USAGE, "build"), "");
    }
}
