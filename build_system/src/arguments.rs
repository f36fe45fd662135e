//! What the command line asks for.

use std::ffi::OsString;

use crate::emit_kind::OF_FILE;
use crate::error::{Error, Result};

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Say how to use it.
    Help,
    /// Say how to use a verb.
    HelpOf(&'static str),
    /// Say the version.
    Version,
    /// Make a package to start from.
    New(Vec<OsString>),
    /// Provide everything.
    Setup,
    /// Provide everything, and say how long that took.
    SetupTimings,
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
    /// Say what passes made of kernels on the CPU.
    Explain(Vec<OsString>),
    /// Lower a file's kernels, by a verb of [`OF_FILE`].
    LlvmTo(&'static str, Vec<OsString>),
    /// Collect what a program needs elsewhere.
    Bundle(Vec<OsString>),
    /// Run a program, and say what its kernels took.
    Profile(Vec<OsString>),
    /// Look at the kernels that programs keep.
    Cache(Vec<OsString>),
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
    ("bench", "", true),
    ("rustc", "", true),
    ("install", "", true),
    // A subcommand that users install; it has `cargo test` build.
    ("nextest", "", true),
    // clippy-driver and rustdoc compile with themselves, not with $RUSTC, and generate no code.
    ("clippy", "", false),
    ("doc", "d", false),
];

/// schism's own verbs, besides these.
const OWN_VERBS: &[&str] = &[
    "backend-path",
    "bundle",
    "cache",
    "clean",
    "doctor",
    "emit",
    "explain",
    "hcf",
    "help",
    "new",
    "profile",
    "setup",
    "version",
];

fn own_verbs() -> impl Iterator<Item = &'static str> {
    OWN_VERBS.iter().copied().chain(OF_FILE.iter().map(|(verb, _)| *verb))
}

/// All verbs.
pub(crate) fn verbs() -> impl Iterator<Item = &'static str> {
    own_verbs().chain(CARGO_VERBS.iter().map(|(name, ..)| *name))
}

/// Whether a verb is one of cargo's that compile with schism's compiler.
pub(crate) fn compiles(verb: &str) -> bool {
    CARGO_VERBS.iter().any(|(name, _, compiles)| *name == verb && *compiles)
}

/// A command line, which is without the program's name, from the verb on. Cargo starts a subcommand
/// with its name as first argument.
pub(crate) fn from_verb_on(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.peekable();
    arguments.next_if(|first| first == "schism");
    arguments.collect()
}

/// Reads a command line from the verb on.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Request> {
    let mut arguments = arguments.into_iter();
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
    if let Some(own) = own_verbs().find(|own| *own == verb)
        && asks_for_help(&rest)
    {
        return Ok(if verb == "help" { Request::Help } else { Request::HelpOf(own) });
    }
    if let Some((lower, _)) = OF_FILE.iter().find(|(lower, _)| *lower == verb) {
        return Ok(Request::LlvmTo(lower, rest));
    }
    let request = match verb {
        "hcf" => return Ok(Request::Hcf(rest)),
        "emit" => return Ok(Request::Emit(rest)),
        "explain" => return Ok(Request::Explain(rest)),
        "bundle" => return Ok(Request::Bundle(rest)),
        "profile" => return Ok(Request::Profile(rest)),
        "cache" => return Ok(Request::Cache(rest)),
        "new" => return Ok(Request::New(rest)),
        "help" => {
            let Some(asked) = rest.first() else { return Ok(Request::Help) };
            let known = verbs().find(|verb| asked == verb).map(Request::HelpOf);
            return known.ok_or_else(|| no_verb(&asked.to_string_lossy()));
        }
        "--help" | "-h" => return Ok(Request::Help),
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
        unknown => return Err(no_verb(unknown)),
    };
    match rest.first() {
        None => Ok(request),
        Some(option) if rest.len() == 1 && verb == "setup" && option == "--timings" => {
            Ok(Request::SetupTimings)
        }
        Some(extra) => {
            let taken = if verb == "setup" { "`--timings` alone" } else { "no arguments" };
            Err(Error::Usage(format!("`{verb}` takes {taken}, and got `{}`", extra.display())))
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

fn no_verb(unknown: &str) -> Error {
    Error::Usage(format!("there is no verb `{unknown}`{}", suggestion(unknown, verbs())))
}

/// "Did you mean …?", if one of the known words is nearly this one; or nothing.
pub fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    /// How many letters may differ.
    const MOST: usize = 2;
    let distances = known.into_iter().map(|word| (strsim::levenshtein(unknown, word), word)).min();
    match distances {
        Some((distance, word)) if distance <= MOST => format!("; did you mean `{word}`?"),
        _ => String::new(),
    }
}

/// An error of the option parser, for the person at the terminal; `verb` is what the options are
/// of.
pub fn misused(verb: &str, error: lexopt::Error) -> Error {
    Error::Usage(match error {
        lexopt::Error::MissingValue { option: Some(option) } => {
            format!("`{verb} {option}` needs a value")
        }
        lexopt::Error::UnexpectedOption(option) => format!("`{verb}` has no option `{option}`"),
        lexopt::Error::UnexpectedValue { option, value } => {
            format!("`{verb} {option}` takes no value, and got `{}`", value.display())
        }
        other => format!("`{verb}`: {other}"),
    })
}

/// Passes an option on to cargo, with its value if it has one. `option` is as it is written, with
/// its dashes.
pub fn pass_on(
    parser: &mut lexopt::Parser,
    option: String,
    cargos: &mut Vec<OsString>,
) -> Result<(), lexopt::Error> {
    let attached = parser.optional_value();
    if takes_value(&option) {
        let value = attached.map_or_else(|| parser.value(), Ok)?;
        cargos.extend([option.into(), value]);
        return Ok(());
    }
    let is_long = option.starts_with("--");
    let mut word = OsString::from(option);
    if let Some(value) = attached {
        if is_long {
            word.push("=");
        }
        word.push(value);
    }
    cargos.push(word);
    Ok(())
}

/// An option as it is written.
pub fn written(option: &lexopt::Arg<'_>) -> String {
    match option {
        lexopt::Arg::Short(letter) => format!("-{letter}"),
        lexopt::Arg::Long(name) => format!("--{name}"),
        lexopt::Arg::Value(value) => value.to_string_lossy().into_owned(),
    }
}

/// Whether an option of cargo's takes a value.
fn takes_value(option: &str) -> bool {
    matches!(
        option,
        "--example"
            | "-p"
            | "--package"
            | "--exclude"
            | "--bin"
            | "--test"
            | "--bench"
            | "--features"
            | "-F"
            | "--profile"
            | "--manifest-path"
            | "--target"
            | "--target-dir"
            | "--config"
            | "--color"
            | "-j"
            | "--jobs"
            | "-Z"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn ask(line: &str) -> Result<Request, String> {
        parse(from_verb_on(words(line).into_iter())).map_err(|error| error.to_string())
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
        assert_eq!(ask("bench cpu"), Ok(Request::Compile("bench", words("cpu"))));
        assert_eq!(ask("cache clear"), Ok(Request::Cache(words("clear"))));
        assert_eq!(ask("profile --bin x -- y"), Ok(Request::Profile(words("--bin x -- y"))));
        assert_eq!(ask("profile --help"), Ok(Request::HelpOf("profile")));
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
        assert!(ask("setup now").unwrap_err().contains("got `now`"));
        assert!(ask("setup --timings now").unwrap_err().contains("setup"));
        assert_eq!(ask("setup --timings"), Ok(Request::SetupTimings));
        assert_eq!(ask("setup --help"), Ok(Request::HelpOf("setup")));
        assert_eq!(ask("emit ptx --help"), Ok(Request::HelpOf("emit")));
        assert_eq!(ask("help bundle"), Ok(Request::HelpOf("bundle")));
        assert!(ask("help bundel").unwrap_err().contains("did you mean `bundle`?"));
        assert_eq!(ask("--help"), Ok(Request::Help));
    }

    #[test]
    fn cargos_options_keep_their_values() {
        let line = "--example a -pb -F=c --jobs=2 -j3 --release --timings=html -vv";
        let mut parser = lexopt::Parser::from_args(words(line));
        let mut passed = Vec::new();
        while let Some(option) = parser.next().unwrap() {
            let option = written(&option);
            pass_on(&mut parser, option, &mut passed).unwrap();
        }
        let all = "--example a -p b -F c --jobs 2 -j 3 --release --timings=html -vv";
        assert_eq!(passed, words(all));
    }

    #[test]
    fn nearly_right_words_are_found() {
        let known = ["sm_80", "sm_90"];
        assert_eq!(suggestion("sm90", known), "; did you mean `sm_90`?");
        assert_eq!(suggestion("x", known), "");
    }

    #[test]
    fn help_after_two_dashes_is_the_programs() {
        assert!(asks_for_help(&words("--release --help")));
        assert!(!asks_for_help(&words("--release -- --help")));
    }
}
