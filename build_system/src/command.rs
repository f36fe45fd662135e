//! Starting other programs, and what is said when they fail.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};

use crate::error::{Error, FileContext, Result};

/// Lines of a failed program's log that are shown.
const LAST_LINES: usize = 40;

/// Starts a program and gives its exit status. `purpose` completes "needed …", `hint` says what to
/// do if it is not there.
pub fn status(mut command: Command, purpose: &str, hint: &str) -> Result<ExitStatus> {
    trace(&command, purpose);
    command.status().map_err(|source| not_started(&command, purpose, hint, source))
}

/// Starts a program and gives all that it prints and its exit status, whatever that is.
pub fn output(command: &mut Command, purpose: &str, hint: &str) -> Result<Output> {
    trace(command, purpose);
    command.stdin(Stdio::null());
    command.output().map_err(|source| not_started(command, purpose, hint, source))
}

/// Starts a program and gives what it prints on stdout; its failure is an error that shows stderr.
pub fn capture(command: Command, purpose: &str, hint: &str) -> Result<String> {
    capture_both(command, purpose, hint).map(|(printed, _)| printed)
}

/// The same for a program whose stdin was chosen.
pub fn capture_with_input(mut command: Command, purpose: &str, hint: &str) -> Result<String> {
    trace(&command, purpose);
    let output = command.output();
    let output = output.map_err(|source| not_started(&command, purpose, hint, source))?;
    succeeded(&command, output).map(|(printed, _)| printed)
}

/// The same, with what it prints on stderr after that.
pub fn capture_both(mut command: Command, purpose: &str, hint: &str) -> Result<(String, String)> {
    let output = output(&mut command, purpose, hint)?;
    succeeded(&command, output)
}

fn succeeded(command: &Command, output: Output) -> Result<(String, String)> {
    if !output.status.success() {
        return Err(Error::Failed {
            what: describe(command),
            status: output.status,
            detail: tail(&String::from_utf8_lossy(&output.stderr), ""),
        });
    }
    let [printed, said] = [&output.stdout, &output.stderr];
    Ok([printed, said].map(|text| String::from_utf8_lossy(text).into_owned()).into())
}

/// A program that runs with its output going to a file.
pub struct Logged {
    child: std::process::Child,
    what: String,
    log: PathBuf,
}

impl Logged {
    /// Starts it. `what` is what the person at the terminal knows the step by.
    pub fn start(
        mut command: Command,
        what: &str,
        purpose: &str,
        hint: &str,
        log: &Path,
    ) -> Result<Logged> {
        trace(&command, purpose);
        let file = std::fs::File::create(log).at("create", log)?;
        let copy = file.try_clone().at("open", log)?;
        command.stdin(Stdio::null()).stdout(copy).stderr(file);
        let child =
            command.spawn().map_err(|source| not_started(&command, purpose, hint, source))?;
        Ok(Logged { child, what: what.to_owned(), log: log.to_owned() })
    }

    /// Whether it has ended; `Err` if it ended badly, with the end of the log.
    pub fn poll(&mut self) -> Result<bool> {
        let status = self.child.try_wait().at("wait for", &self.log)?;
        match status {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => {
                let log = std::fs::read(&self.log).unwrap_or_default();
                let whole = format!("\n(all of it: {})", self.log.display());
                Err(Error::Failed {
                    what: self.what.clone(),
                    status,
                    detail: tail(&String::from_utf8_lossy(&log), &whole),
                })
            }
        }
    }
}

fn trace(command: &Command, purpose: &str) {
    let folder = command.get_current_dir().map(|folder| folder.display().to_string());
    tracing::debug!(command = describe(command), folder, "started {purpose}");
}

fn tail(log: &str, after: &str) -> String {
    let lines: Vec<_> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return after.to_owned();
    }
    let from = lines.len().saturating_sub(LAST_LINES);
    format!(":\n{}{after}", lines[from..].join("\n"))
}

fn not_started(command: &Command, purpose: &str, hint: &str, source: std::io::Error) -> Error {
    Error::Tool {
        tool: command.get_program().to_string_lossy().into_owned(),
        purpose: purpose.to_owned(),
        hint: hint.to_owned(),
        source,
    }
}

/// The command line, for messages.
pub fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    format!("`{line}`")
}

/// Becomes the program, so that signals and the exit status are its own.
pub fn become_program(mut command: Command, purpose: &str) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    trace(&command, purpose);
    let source = command.exec();
    Err(not_started(&command, purpose, "", source))
}

/// Flags for rustc as cargo takes them in one variable, spaces in paths included.
pub fn encode_flags(flags: impl IntoIterator<Item = impl Into<OsString>>) -> OsString {
    let mut all = OsString::new();
    for (index, flag) in flags.into_iter().enumerate() {
        if index > 0 {
            all.push("\x1f");
        }
        all.push(flag.into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_missing_program_says_what_for_and_what_to_do() {
        let error = capture(Command::new("no-such-program"), "to test", "Install it.").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("no-such-program")
                && text.contains("needed to test")
                && text.contains("Install it."),
            "{text}"
        );
    }

    #[test]
    fn a_failure_shows_stderr() {
        let error = capture(shell("echo broken >&2; exit 3"), "", "").unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn a_logged_failure_shows_the_end_of_its_log() {
        let scratch = Scratch::new("log");
        let log = scratch.path().join("log");
        let script = "for i in $(seq 100); do echo line $i; done; exit 1";
        let mut running = Logged::start(shell(script), "counting", "", "", &log).unwrap();
        let error = loop {
            match running.poll() {
                Ok(ended) => assert!(!ended),
                Err(error) => break error.to_string(),
            }
        };
        assert!(
            error.starts_with("counting failed")
                && error.contains("line 100")
                && error.contains("line 61\n"),
            "{error}"
        );
        assert!(!error.contains("line 60\n") && error.contains(log.to_str().unwrap()), "{error}");
    }
}
