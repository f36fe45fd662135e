//! What the command lines of several suites have in common.

use std::ffi::{OsStr, OsString};

use cargo_schism::arguments;
use cargo_schism::error::{Error, Result};

/// An error in a suite's arguments, with how it is used.
pub(super) fn misused(suite: &str, usage: &str, error: lexopt::Error) -> Error {
    match arguments::misused(suite, error) {
        Error::Usage(text) => Error::Usage(format!("{text}\n\n{usage}")),
        other => other,
    }
}

/// The number of pairs that the arguments ask for.
pub(super) fn pairs(arguments: &[OsString], default: usize) -> Result<usize> {
    let number = arguments.first().map_or(Ok(default), |first| number_of_pairs(first));
    number.map_err(Error::Usage)
}

/// The number of pairs to measure; `Err` says what is wrong with it.
pub(super) fn number_of_pairs(word: &OsStr) -> std::result::Result<usize, String> {
    let number = word.to_str().and_then(|text| text.parse().ok()).filter(|&pairs| pairs > 0);
    number.ok_or_else(|| format!("`{}` is no number of pairs to measure", word.display()))
}

/// What `--only` chooses: parts of names, by commas; `Err` says what is wrong with them.
pub(super) fn parts_of_names(word: &OsStr) -> std::result::Result<Vec<String>, String> {
    let names = word.to_string_lossy();
    let names = names.split(',').filter(|name| !name.is_empty());
    match names.clone().find(|name| name.starts_with('-')) {
        Some(name) => Err(format!("no benchmark is called `{name}`")),
        None => Ok(names.map(str::to_owned).collect()),
    }
}

/// The values of `SCHISM_STDPAR`.
const SETTINGS: [&str; 3] = ["auto", "always", "never"];

/// What `--settings` chooses of them; `Err` says what is wrong with it.
pub(super) fn settings(word: &OsStr) -> std::result::Result<Vec<String>, String> {
    let settings: Vec<String> = word.to_string_lossy().split(',').map(str::to_owned).collect();
    match settings.iter().find(|setting| !SETTINGS.contains(&&***setting)) {
        Some(setting) => {
            let known = SETTINGS.join(", ");
            Err(format!("`{setting}` is no setting of SCHISM_STDPAR; there are {known}"))
        }
        None => Ok(settings),
    }
}
