//! `cargo schism cache`: looks at the compiled kernels that programs keep.
//!
//! What is counted are entries. A kernel has one for each of its versions on each kind of device,
//! and each compiler has one for itself, with its version and processor. For a GPU it is PTX that
//! is kept: what the driver makes of that, the driver keeps or not.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::SystemTime;

use schism_cache::{Folder, Settings};

use crate::error::{Error, FileContext, Result};
use crate::setup::in_words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Info,
    Clear,
    Verify,
}

/// Runs the verb.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let action = parse(arguments)?;
    let settings = Settings::from_environment(&|problem| eprintln!("warning: {problem}"));
    let Some(path) = settings.folder else {
        println!(
            "programs that are started from here keep nothing, and take nothing that was kept: SCHISM_CACHE is 0, or there is no folder \
             for it; what others have kept is left alone"
        );
        return Ok(ExitCode::SUCCESS);
    };
    if !path.exists() {
        println!("{}: nothing is kept yet", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let folder = Folder::open(&path, settings.limit).map_err(Error::Cache)?;
    match action {
        Action::Info => {
            let usage = folder.usage().at("read", &path)?;
            println!("{}", path.display());
            println!(
                "{}, {} of {} at most: kernels, one for each version of each, and what compilers say of themselves",
                entries(usage.entries),
                in_words(usage.bytes),
                in_words(folder.limit())
            );
            if let Some(oldest) = usage.oldest {
                println!("all used within the last {}", age(oldest));
            }
        }
        Action::Clear => {
            let removed = folder.clear().at("clear", &path)?;
            println!("removed {}, {}", entries(removed.entries), in_words(removed.bytes));
        }
        Action::Verify => {
            let checked = folder.verify().at("read", &path)?;
            for problem in &checked.problems {
                println!("{problem}");
            }
            println!(
                "{}: {} intact, {} not",
                path.display(),
                entries(checked.good),
                checked.problems.len()
            );
            if !checked.problems.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(arguments: &[OsString]) -> Result<Action> {
    let words: Vec<_> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match words[..] {
        [] | ["info"] => Ok(Action::Info),
        ["clear"] => Ok(Action::Clear),
        ["verify"] => Ok(Action::Verify),
        _ => Err(Error::Usage("`cache` takes one of info, clear and verify".to_owned())),
    }
}

fn entries(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// How long ago that was, for people.
fn age(time: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(time).unwrap_or_default().as_secs();
    match seconds {
        0..120 => "two minutes".to_owned(),
        120..7_200 => format!("{} minutes", seconds.div_ceil(60)),
        7_200..172_800 => format!("{} hours", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_word_says_what_to_do() {
        let ask = |line: &str| {
            let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
            parse(&words).ok()
        };
        assert_eq!(ask(""), Some(Action::Info));
        assert_eq!(ask("info"), Some(Action::Info));
        assert_eq!(ask("clear"), Some(Action::Clear));
        assert_eq!(ask("verify"), Some(Action::Verify));
        assert_eq!(ask("empty"), None);
        assert_eq!(ask("clear verify"), None);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(entries), ["0 entries", "1 entry", "2 entries"]);
    }

    #[test]
    fn ages() {
        let ago = |seconds| age(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(ago(5), "two minutes");
        assert_eq!(ago(600), "10 minutes");
        assert_eq!(ago(10_000), "3 hours");
        assert_eq!(ago(864_000), "10 days");
    }
}
