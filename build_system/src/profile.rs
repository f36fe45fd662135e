//! `cargo schism profile`: a program's kernels, and what they took.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use lexopt::Arg::{Long, Value};

use crate::arguments;
use crate::cargo;
use crate::command;
use crate::emit;
use crate::error::{Error, FileContext, Result};
use crate::hcf;
use crate::home::Home;
use crate::profile_sums::Sums;
use crate::publish;
use crate::setup;
use crate::stdpar;
use crate::targets;
use crate::variables;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    /// A program that is there; without it, what cargo builds.
    program: Option<PathBuf>,
    /// For people, or as JSON.
    json: bool,
    svg: Option<PathBuf>,
    /// For cargo.
    build: Vec<OsString>,
    /// For the program.
    arguments: Vec<OsString>,
}

/// Runs the verb. The exit code is the program's.
pub fn run(words: &[OsString]) -> Result<ExitCode> {
    let (targets, words) = targets::take(words)?;
    let (parallel, words) = stdpar::take(&words)?;
    let request = parse(&words)?;
    let named = std::env::var_os(variables::JIT).map(PathBuf::from);
    let (program, stage2) = match (&request.program, named) {
        (Some(program), Some(stage2)) => (hcf::absolute(program)?, stage2),
        (program, named) => {
            let home = Home::from_environment()?;
            let ready = setup::ensure(&home)?;
            let program = match program {
                Some(program) => hcf::absolute(program)?,
                None => {
                    let mut cargo = cargo::command(&ready);
                    targets::apply(&mut cargo, &targets, &request.build)?;
                    stdpar::apply(&mut cargo, parallel, &request.build, &home, &ready)?;
                    emit::build(cargo, &request.build, &[])?
                }
            };
            (program, named.unwrap_or_else(|| ready.installed.stage2()))
        }
    };
    let folder = tempfile::Builder::new().prefix("schism-profile-").tempdir();
    let folder = folder.at("create a folder in", std::env::temp_dir())?;
    let mut command = Command::new(&program);
    command.args(&request.arguments).env(variables::TIMELINE, folder.path().join("%p.json"));
    command.env(variables::JIT, stage2);
    // Standard output is the table's.
    command.stdout(Stdio::from(std::io::stderr()));
    let what = command::describe(&command);
    let status = command.status().map_err(|source| Error::Tool {
        tool: program.display().to_string(),
        purpose: "to profile it".to_owned(),
        hint: "Name a program, or let cargo build one: --example, --bin.".to_owned(),
        source,
    })?;
    let mut sums = Sums::default();
    let entries = std::fs::read_dir(folder.path()).at("read", folder.path())?;
    for entry in entries {
        let path = entry.at("read", folder.path())?.path();
        let text = std::fs::read(&path).at("read", &path)?;
        let problem = |problem: String| Error::Container { path: path.clone(), problem };
        sums.add(&text).map_err(problem)?;
    }
    let text = if request.json { sums.json() } else { sums.text() };
    hcf::to_stdout(text.as_bytes())?;
    if let Some(svg) = &request.svg {
        publish::write_file(&hcf::absolute(svg)?, sums.svg().as_bytes())?;
    }
    match status.code() {
        Some(0) => Ok(ExitCode::SUCCESS),
        Some(code) => {
            eprintln!("{what} ended with code {code}");
            Ok(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
        }
        None => Err(Error::Failed { what, status, detail: String::new() }),
    }
}

fn parse(words: &[OsString]) -> Result<Request> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, arguments) = words.split_at(end);
    let arguments = arguments.iter().skip(1).cloned().collect();
    let mut request =
        Request { program: None, json: false, svg: None, build: Vec::new(), arguments };
    let misused = |error| arguments::misused("profile", error);
    let mut parser = lexopt::Parser::from_args(own);
    while let Some(argument) = parser.next().map_err(misused)? {
        match argument {
            Long("json") => request.json = true,
            Long("svg") => request.svg = Some(parser.value().map_err(misused)?.into()),
            Value(program) if request.program.is_none() => request.program = Some(program.into()),
            Value(other) => {
                return Err(Error::Usage(format!(
                    "`profile` runs one program, and got `{}` too; the program's own arguments go after `--`",
                    other.display()
                )));
            }
            option @ Long("test" | "bench") => {
                let option = arguments::written(&option);
                return Err(Error::Usage(format!(
                    "`profile` runs programs and examples, so not what `{option}` names: build it, and name its file"
                )));
            }
            option => {
                let option = arguments::written(&option);
                arguments::pass_on(&mut parser, option, &mut request.build).map_err(misused)?;
            }
        }
    }
    if let (Some(program), Some(option)) = (&request.program, request.build.first()) {
        return Err(Error::Usage(format!(
            "`profile` runs `{}` as it is, so cargo builds nothing: leave out `{}`",
            program.display(),
            option.display()
        )));
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Result<Request, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_cargos_or_the_programs() {
        let request = ask("--release --example saxpy --json -- --json 3").expect("it is right");
        assert_eq!(request.build, ["--release", "--example", "saxpy"]);
        assert_eq!((request.json, request.arguments.len()), (true, 2));
        let request = ask("target/debug/x --svg bars.svg").expect("it is right");
        assert_eq!(request.program, Some("target/debug/x".into()));
        assert_eq!(request.svg, Some("bars.svg".into()));
        assert!(!request.json && request.arguments.is_empty());
    }

    #[test]
    fn mistakes_are_explained() {
        assert!(ask("x y").unwrap_err().contains("go after `--`"));
        assert!(ask("x --release").unwrap_err().contains("leave out `--release`"));
        assert!(ask("--svg").unwrap_err().contains("`profile --svg` needs a value"));
        assert!(ask("--json=x").unwrap_err().contains("takes no value"));
        assert!(ask("--test x").unwrap_err().contains("`--test`"));
    }
}
