//! What the command line asks for.

use std::ffi::OsString;

use crate::error::{Error, Result};

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Say how to use it.
    Help,
    /// Say the version.
    Version,
    /// Provide everything.
    Setup,
    /// Remove everything that set-up made.
    Clean,
    /// Say what is there.
    Doctor,
    /// Print the plugin's path.
    BackendPath,
    /// Look into a container.
    Hcf(Vec<OsString>),
    /// Show what kernels become.
    Emit(Vec<OsString>),
    /// Lower a file's kernels to PTX.
    LlvmToPtx(Vec<OsString>),
    /// Collect what a program needs elsewhere.
    Bundle(Vec<OsString>),
    /// Look at the kernels that programs keep.
    Cache(Vec<OsString>),
    /// Run passes over a file.
    Opt(Vec<OsString>),
    /// Measure; or cargo's own bench.
    Bench(Vec<OsString>),
    /// A verb of cargo's that compiles, with schism's compiler.
    Compile(&'static str, Vec<OsString>),
    /// A verb of cargo's, with the plain compiler.
    Plain(&'static str, Vec<OsString>),
}

/// Verbs of cargo's, their short forms, and whether schism's compiler is used.
const CARGO_VERBS: &[(&str, &str, bool)] = &[
    ("build", "b", true),
    ("run", "r", true),
    ("test", "t", true),
    ("check", "c", true),
    ("rustc", "", true),
    ("install", "", true),
    // clippy-driver and rustdoc compile with themselves, not with $RUSTC, and generate no code.
    ("clippy", "", false),
    ("doc", "d", false),
];

/// Reads a command line without the program's name. Cargo starts a subcommand with its name as first argument.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request> {
    let mut arguments = arguments.into_iter().peekable();
    arguments.next_if(|first| first == "schism");
    let Some(verb) = arguments.next() else { return Ok(Request::Help) };
    let rest: Vec<_> = arguments.collect();
    let Some(verb) = verb.to_str() else {
        return Err(Error::Usage(format!("`{}` is no verb", verb.display())));
    };
    if let Some((name, _, compiles)) = CARGO_VERBS
        .iter()
        .find(|(name, short, _)| verb == *name || (verb == *short && !short.is_empty()))
    {
        return Ok(if *compiles {
            Request::Compile(name, rest)
        } else {
            Request::Plain(name, rest)
        });
    }
    let request = match verb {
        "bench" => return Ok(Request::Bench(rest)),
        "hcf" => return Ok(Request::Hcf(rest)),
        "emit" => return Ok(Request::Emit(rest)),
        "llvm-to-ptx" => return Ok(Request::LlvmToPtx(rest)),
        "bundle" => return Ok(Request::Bundle(rest)),
        "cache" => return Ok(Request::Cache(rest)),
        "opt" => return Ok(Request::Opt(rest)),
        "help" | "--help" | "-h" => return Ok(Request::Help),
        "version" | "--version" | "-V" => Request::Version,
        "setup" => Request::Setup,
        "clean" => Request::Clean,
        "doctor" => Request::Doctor,
        "backend-path" => Request::BackendPath,
        option if option.starts_with('-') => {
            return Err(Error::Usage(format!(
                "`{option}` comes before any verb; cargo's options go after: cargo schism build {option}"
            )));
        }
        unknown => {
            return Err(Error::Usage(format!("there is no verb `{unknown}`{}", nearest(unknown))));
        }
    };
    match rest.first() {
        None => Ok(request),
        Some(option) if option == "--help" || option == "-h" => Ok(Request::Help),
        Some(extra) => {
            Err(Error::Usage(format!("`{verb}` takes no arguments, and got `{}`", extra.display())))
        }
    }
}

/// Whether cargo is asked only how a verb is used.
pub fn asks_for_help(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--help" || argument == "-h")
}

fn nearest(unknown: &str) -> String {
    let own = [
        "bench",
        "bundle",
        "cache",
        "emit",
        "hcf",
        "llvm-to-ptx",
        "opt",
        "help",
        "setup",
        "clean",
        "doctor",
        "backend-path",
    ];
    let all = own.into_iter().chain(CARGO_VERBS.iter().map(|(name, ..)| *name));
    match all.map(|verb| (distance(unknown, verb), verb)).min() {
        Some((distance, verb)) if distance <= 2 => format!("; did you mean `{verb}`?"),
        _ => String::new(),
    }
}

/// How many letters differ.
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, candidate) in other.iter().enumerate() {
            let change = diagonal + usize::from(letter != *candidate);
            diagonal = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn ask(line: &str) -> Result<Request, String> {
        parse(words(line)).map_err(|error| error.to_string())
    }

    #[test]
    fn cargos_flags_are_passed_on_unchanged() {
        let line = "run --release --example image_filter -p x --features a,b -- --help -- schism";
        assert_eq!(ask(line), Ok(Request::Compile("run", words(&line[4..]))));
        assert_eq!(ask(&format!("schism {line}")), ask(line));
        assert_eq!(ask("t -q"), Ok(Request::Compile("test", words("-q"))));
        assert_eq!(
            ask("clippy --all-targets"),
            Ok(Request::Plain("clippy", words("--all-targets")))
        );
        assert_eq!(ask("bench cpu"), Ok(Request::Bench(words("cpu"))));
        assert_eq!(ask("cache clear"), Ok(Request::Cache(words("clear"))));
        assert_eq!(ask("opt --help"), Ok(Request::Opt(words("--help"))));
    }

    #[test]
    fn only_the_first_schism_is_cargos() {
        assert_eq!(ask("schism run schism"), Ok(Request::Compile("run", words("schism"))));
        assert!(ask("schism schism").is_err());
        assert_eq!(ask("schism"), Ok(Request::Help));
        assert_eq!(ask(""), Ok(Request::Help));
    }

    #[test]
    fn mistakes_are_explained() {
        assert!(ask("biuld").unwrap_err().contains("did you mean `build`?"));
        assert!(ask("frobnicate").unwrap_err().starts_with("there is no verb `frobnicate`\n"));
        assert!(ask("--release build").unwrap_err().contains("cargo schism build --release"));
        assert!(ask("setup now").unwrap_err().contains("takes no arguments"));
        assert_eq!(ask("setup --help"), Ok(Request::Help));
    }

    #[test]
    fn help_after_two_dashes_is_the_programs() {
        assert!(asks_for_help(&words("--release --help")));
        assert!(!asks_for_help(&words("--release -- --help")));
    }
}
