//! The circles that stay, each with its reason: items of a list in a text file, below a heading
//! `Circles of imports`.
//!
//! ```text
//! ## Circles of imports
//!
//! - `runtime/src`: `api/queue.rs`, `api/scope.rs`. A scope launches by its queue, which makes it.
//! ```
//!
//! An item begins with the crate's folder, names the files of one circle, all of them, and says why
//! they stay.

use std::path::Path;

const HEADING: &str = "Circles of imports";

/// What the list says.
#[derive(Debug, Default)]
pub struct Allowed {
    circles: Vec<Circle>,
}

#[derive(Debug)]
struct Circle {
    source: String,
    files: Vec<String>,
    reason: String,
}

impl Allowed {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut items: Vec<String> = Vec::new();
        let mut within = false;
        for line in text.lines() {
            if line.starts_with('#') {
                within = line.trim_start_matches('#').trim() == HEADING;
            } else if within && let Some(item) = line.strip_prefix("- ") {
                items.push(item.to_owned());
            } else if within
                && line.starts_with(' ')
                && let Some(item) = items.last_mut()
            {
                item.push(' ');
                item.push_str(line.trim());
            }
        }
        let circles = items.iter().map(|item| parse_item(item)).collect::<Result<_, _>>()?;
        Ok(Self { circles })
    }

    /// The circles of a crate: its files in order, and the reason.
    pub fn of(&self, source: &str) -> Vec<(Vec<&str>, &str)> {
        let of_source = |circle: &&Circle| Path::new(source).ends_with(&circle.source);
        let circles = self.circles.iter().filter(of_source);
        circles
            .map(|circle| {
                let mut files: Vec<_> = circle.files.iter().map(String::as_str).collect();
                files.sort_unstable();
                (files, circle.reason.as_str())
            })
            .collect()
    }
}

fn parse_item(item: &str) -> Result<Circle, String> {
    let wrong = || format!("`{item}` is not of the form \"`SRC`: `FILE`, `FILE`. Reason.\"");
    // Texts between backquotes are at the odd places.
    let parts: Vec<&str> = item.split('`').collect();
    let (source, rest) = match parts.as_slice() {
        ["", source, colon, rest @ ..] if colon.trim() == ":" => (*source, rest),
        _ => return Err(wrong()),
    };
    // Files follow each other with commas between them; what comes after the last is the reason.
    let mut files = Vec::new();
    let mut reason = String::new();
    let mut rest = rest.iter();
    while let Some(file) = rest.next() {
        files.push((*file).to_owned());
        let between = *rest.next().ok_or_else(wrong)?;
        if between.trim() != "," {
            reason = between.trim_start_matches('.').to_owned();
            break;
        }
    }
    for part in rest {
        reason.push('`');
        reason.push_str(part);
    }
    let reason = reason.trim().to_owned();
    if files.len() < 2 || reason.is_empty() {
        return Err(wrong());
    }
    Ok(Circle { source: source.to_owned(), files, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_name_files_and_a_reason() {
        let text = "# Other\n- `a/src`: nothing\n## Circles of imports\nWords.\n\n\
                    - `a/src`: `y.rs`, `x/mod.rs`,\n  `z.rs`. They are\n  one `thing`.\n\
                    - `b/src`: `m.rs`, `n.rs`: so it is.\n## More\n- `c`\n";
        let allowed = Allowed::parse(text).unwrap();
        let of_a = (vec!["x/mod.rs", "y.rs", "z.rs"], "They are one `thing`.");
        assert_eq!(allowed.of("a/src"), std::slice::from_ref(&of_a));
        assert_eq!(allowed.of("/work/a/src"), [of_a]);
        assert_eq!(allowed.of("b/src"), [(vec!["m.rs", "n.rs"], ": so it is.")]);
        assert!(allowed.of("c/src").is_empty());
    }

    #[test]
    fn an_item_without_a_reason_is_refused() {
        for item in
            ["`a/src`: `x.rs`, `y.rs`", "`a/src`: `x.rs`, `y.rs`.", "`a/src`: `x.rs`. Why.", "x"]
        {
            let text = format!("## Circles of imports\n- {item}\n");
            assert!(Allowed::parse(&text).is_err(), "{item}");
        }
    }
}
