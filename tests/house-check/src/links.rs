//! Links of documents to files and headings of the checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::list::List;
use crate::tree::Tree;

/// The links that lead nowhere, the documents in `docs/` that are not in the book, and what mdBook does
/// not read as it is meant: other lines than entries in its summary, tags outside of code.
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
    for file in documents().filter(|file| file.path.starts_with("docs/")) {
        let is_summary = file.path == "docs/SUMMARY.md";
        let lines = file.text.lines().enumerate();
        let odd = lines.filter(|(_, line)| is_summary && !is_entry(line));
        found.extend(odd.map(|(at, _)| format!("{}:{}: no entry of a book", file.path, at + 1)));
        let tags = prose(&file.text).filter(|(_, line)| has_tag(line));
        found.extend(tags.map(|(at, _)| format!("{}:{at}: a tag outside of code", file.path)));
    }
    let is_page = |path: &&str| path.starts_with("docs/") && *path != "docs/SUMMARY.md";
    for page in documents().map(|file| &*file.path).filter(is_page) {
        if !book.contains(&page["docs/".len()..]) {
            found.push(format!("{page}: not in docs/SUMMARY.md"));
        }
    }
    Ok(List::Findings(found))
}

/// Whether mdBook takes a line of the summary for what it is: nothing, a heading, a page.
fn is_entry(line: &str) -> bool {
    let entry = line.trim_start();
    let page = entry.strip_prefix("- ").unwrap_or(entry);
    line.is_empty() || line.starts_with("# ") || (page.starts_with('[') && page.ends_with(".md)"))
}

/// Whether there is a tag outside of the code between ticks.
fn has_tag(line: &str) -> bool {
    let begins = |text: &str| text.starts_with(|char: char| char.is_alphabetic() || char == '/');
    line.split('`').step_by(2).any(|text| text.split('<').skip(1).any(begins))
}

/// The lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        is_code ^= line.trim_start().starts_with("```");
        (!is_code).then_some((at + 1, line))
    })
}

/// The targets of links to files, with their lines. Code has none.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        line.match_indices("](").filter_map(move |(at, _)| {
            // Between ticks it is code, too.
            let is_quoted = line[..at].matches('`').count() % 2 == 1;
            let target = line[at + 2..].split(')').next()?.split(' ').next()?;
            let is_file = !target.contains("://") && !target.starts_with("mailto:");
            (is_file && !is_quoted).then_some((number, target))
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
    fn what_mdbook_would_not_read_is_found() {
        assert!(
            ["", "# Inside", "- [A](a.md)", "  - [B](b/c.md)", "[D](d.md)"]
                .iter()
                .all(|line| is_entry(line))
        );
        assert!(
            !["A page", "* [A](a.md)", "- [A]", "- [A](a.html)"].iter().any(|line| is_entry(line))
        );
        assert!(has_tag("a <name> of") && has_tag("`a` </b>") && !has_tag("`Vec<T>`, 1 < 2, <2"));
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
