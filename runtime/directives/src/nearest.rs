//! Words that are not known, and those that may be meant.

use syn::{Error, Ident};

/// Clauses that Rust has no use for, and why.
const WITHOUT_USE: [(&str, &str); 3] = [
    ("attach", "elements hold no pointers, so there is none to attach"),
    ("detach", "elements hold no pointers, so there is none to detach"),
    (
        "deviceptr",
        "an array in a device's memory is a `Buffer`, which loops use as they use slices",
    ),
];

/// The error for a word that is none of `words`, which are `what`.
pub(crate) fn unknown(at: &Ident, name: &str, words: &[&str], what: &str) -> Error {
    if let Some((_, why)) = WITHOUT_USE.iter().find(|(word, _)| *word == name) {
        return Error::new(at.span(), format!("there is no `{name}`: {why}"));
    }
    let nearest = words
        .iter()
        .map(|word| (strsim::damerau_levenshtein(word, name), word))
        .min()
        .filter(|(distance, word)| *distance <= 2.max(word.len() / 3));
    let help = nearest.map(|(_, word)| format!(": did you mean `{word}`?")).unwrap_or_default();
    Error::new(at.span(), format!("there is no {what} `{name}`{help}"))
}
