//! Words that the project's prose does without.

use crate::list::List;
use crate::tree::Tree;

/// The words, one in a line; `#` begins a remark.
const LIST: &str = include_str!("../words.txt");

/// The lines with one of them, in sources and documents.
pub fn list(tree: &Tree) -> Result<List, String> {
    let words = words();
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !file.path.starts_with("tests/house-check/")) {
        for (number, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            if let Some(word) = words.iter().find(|word| has(&lower, word)) {
                found.push(format!("{}:{}: {word}", file.path, number + 1));
            }
        }
    }
    Ok(List::Findings(found))
}

fn words() -> Vec<&'static str> {
    let lines = LIST.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Whether a text has a word, or some, between other characters than letters.
fn has(text: &str, word: &str) -> bool {
    let is_edge =
        |edge: Option<char>| !edge.is_some_and(|char| char.is_alphanumeric() || char == '_');
    text.match_indices(word).any(|(at, _)| {
        is_edge(text[..at].chars().next_back()) && is_edge(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        assert!(has("there is nobody.", "nobody"));
        assert!(has("nobody", "nobody"));
        assert!(!has("is_nobody", "nobody"));
        assert!(!has("nobodys", "nobody"));
        assert!(words().contains(&"as far as"));
    }
}
