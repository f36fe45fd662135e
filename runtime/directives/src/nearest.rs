//! Words that are not known, and those that may be meant.

use syn::{Error, Ident};

/// Clauses of the languages that are not there.
const MISSING: [&str; 12] = [
    "async",
    "wait",
    "no_create",
    "delete",
    "deviceptr",
    "attach",
    "detach",
    "update",
    "enter",
    "exit",
    "host_data",
    "declare",
];

/// The error for a word that is none of `words`, which are `what`.
pub(crate) fn unknown(at: &Ident, name: &str, words: &[&str], what: &str) -> Error {
    if MISSING.contains(&name) {
        return Error::new(at.span(), format!("`{name}` is not supported"));
    }
    let nearest = words
        .iter()
        .map(|word| (strsim::damerau_levenshtein(word, name), word))
        .min()
        .filter(|(distance, word)| *distance <= 2.max(word.len() / 3));
    let help = nearest.map(|(_, word)| format!(": did you mean `{word}`?")).unwrap_or_default();
    Error::new(at.span(), format!("there is no {what} `{name}`{help}"))
}
