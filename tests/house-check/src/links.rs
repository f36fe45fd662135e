//! Links of documents to files and headings of the checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::list::List;
use crate::tree::Tree;

/// The links that lead nowhere, and the documents in `docs/` that are not in the book.
pub fn list(tree: &Tree) -> Result<List, String> {
    // Those of tests become parts of others.
    let is_document = |path: &str| path.ends_with(".md") && !path.contains("/tests/");
    let documents = || tree.files.iter().filter(|file| is_document(&file.path));
    let anchors: BTreeMap<PathBuf, BTreeSet<String>> =
        documents().map(|file| (PathBuf::from(&file.path), headings(&file.text))).collect();
    let mut found = Vec::new();
    for file in documents() {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        for (number, target) in links(&file.text) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if path.is_empty() {
                PathBuf::from(&file.path)
            } else {
                normalized(&folder.join(path))
            };
            let has_anchor = || anchors.get(&to).is_none_or(|all| all.contains(anchor));
            if !to.exists() || !(anchor.is_empty() || has_anchor()) {
                found.push(format!("{}:{number}: {target}", file.path));
            }
        }
    }
    let book = documents().find(|file| file.path == "docs/SUMMARY.md");
    let book: BTreeSet<&str> =
        book.map_or_else(BTreeSet::new, |file| links(&file.text).map(|(_, to)| to).collect());
    let is_page = |path: &&str| path.starts_with("docs/") && *path != "docs/SUMMARY.md";
    for page in documents().map(|file| &*file.path).filter(is_page) {
        if !book.contains(&page["docs/".len()..]) {
            found.push(format!("{page}: not in docs/SUMMARY.md"));
        }
    }
    Ok(List::Findings(found))
}

/// The targets of links to files, with their lines. Code has none.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().flat_map(move |(number, line)| {
        is_code ^= line.trim_start().starts_with("```");
        let line = if is_code { "" } else { line };
        line.match_indices("](").filter_map(move |(at, _)| {
            // Between ticks it is code, too.
            let is_quoted = line[..at].matches('`').count() % 2 == 1;
            let target = line[at + 2..].split(')').next()?.split(' ').next()?;
            let is_file = !target.contains("://") && !target.starts_with("mailto:");
            (is_file && !is_quoted).then_some((number + 1, target))
        })
    })
}

/// The anchors of a document's headings, as GitHub and mdBook have them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|char| char.is_alphanumeric() || "-_ ".contains(*char));
        let anchor: String = kept.map(|char| if char == ' ' { '-' } else { char }).collect();
        let mut name = anchor.clone();
        let mut count = 0;
        while !anchors.insert(name) {
            count += 1;
            name = format!("{anchor}-{count}");
        }
    }
    anchors
}

/// A path without `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut own = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if own.file_name().is_some() => drop(own.pop()),
            Component::CurDir => {}
            part => own.push(part),
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_prose_are_found_and_not_those_of_code() {
        let text =
            "a [b](c.md#d) and [e](https://f)\n```\n[g](h)\n```\n`[i](j)` [k](l \"title\")\n";
        assert_eq!(links(text).collect::<Vec<_>>(), [(1, "c.md#d"), (5, "l")]);
    }

    #[test]
    fn headings_have_anchors() {
        let text = "# Where to *add* …\n## C++'s `a_b`\n```\n# no\n```\n## One\n## One\n";
        let found = headings(text);
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            ["cs-a_b", "one", "one-1", "where-to-add-"]
        );
        assert_eq!(normalized(Path::new("docs/guide/../x.md")), Path::new("docs/x.md"));
    }
}
