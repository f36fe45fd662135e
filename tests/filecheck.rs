//! A small reading of LLVM's FileCheck: expectations as comments in the file under test.
//!
//! ```text
//! ; CHECK: text        some line after the last match contains the text
//! ; CHECK-NEXT: text   the very next line does
//! ; CHECK-NOT: text    no line up to the next match does
//! ```
//!
//! Runs of white space count as one blank, and `{{...}}` stands for any text within the line.

/// Checks `output` against the expectations in `source`.
///
/// # Errors
/// A message with the expectation that failed and what stood there instead.
pub fn check(source: &str, output: &str) -> Result<(), String> {
    let expectations: Vec<(Kind, String)> = source.lines().filter_map(parse).collect();
    if !expectations.iter().any(|(kind, _)| *kind != Kind::Not) {
        return Err("the file has no CHECK line, so it cannot fail".to_owned());
    }
    let lines: Vec<String> = output
        .lines()
        .filter(|line| !line.trim_start().starts_with("; CHECK"))
        .map(squeeze)
        .collect();
    let mut position = 0;
    let mut forbidden: Vec<&str> = Vec::new();
    for (kind, text) in &expectations {
        let found = match kind {
            Kind::Not => {
                forbidden.push(text);
                continue;
            }
            Kind::Next => {
                if lines.get(position).is_some_and(|line| matches(line, text)) {
                    position
                } else {
                    let instead = lines.get(position).map_or("the end", String::as_str);
                    return Err(format!("CHECK-NEXT: {text}\nfound instead: {instead}"));
                }
            }
            Kind::Plain => lines[position..]
                .iter()
                .position(|line| matches(line, text))
                .map(|offset| position + offset)
                .ok_or_else(|| format!("CHECK: {text}\nnot found after line {position}"))?,
        };
        none_of(&forbidden, &lines[position..found])?;
        forbidden.clear();
        position = found + 1;
    }
    none_of(&forbidden, &lines[position..])
}

#[derive(PartialEq, Eq)]
enum Kind {
    Plain,
    Next,
    Not,
}

fn parse(line: &str) -> Option<(Kind, String)> {
    let comment = line.trim_start().strip_prefix(';')?.trim_start();
    let (kind, text) = if let Some(text) = comment.strip_prefix("CHECK-NOT:") {
        (Kind::Not, text)
    } else if let Some(text) = comment.strip_prefix("CHECK-NEXT:") {
        (Kind::Next, text)
    } else {
        (Kind::Plain, comment.strip_prefix("CHECK:")?)
    };
    Some((kind, squeeze(text)))
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line contains a text in which `{{...}}` stands for anything.
fn matches(line: &str, text: &str) -> bool {
    let mut rest = line;
    for piece in text.split("{{...}}") {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

fn none_of(forbidden: &[&str], lines: &[String]) -> Result<(), String> {
    for text in forbidden {
        if let Some(line) = lines.iter().find(|line| matches(line, text)) {
            return Err(format!("CHECK-NOT: {text}\nbut there is: {line}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn order_counts() {
        let source = "; CHECK: a\n; CHECK: b";
        assert!(check(source, "a\nb").is_ok());
        assert!(check(source, "b\na").is_err());
    }

    #[test]
    fn next_means_the_next_line() {
        let source = "; CHECK: a\n; CHECK-NEXT: b";
        assert!(check(source, "a\nb").is_ok());
        assert!(check(source, "a\nx\nb").is_err());
    }

    #[test]
    fn not_reaches_to_the_next_match_and_to_the_end() {
        assert!(check("; CHECK: a\n; CHECK-NOT: x\n; CHECK: b", "a\nx\nb").is_err());
        assert!(check("; CHECK: a\n; CHECK-NOT: x\n; CHECK: b", "a\nb\nx").is_ok());
        assert!(check("; CHECK: a\n; CHECK-NOT: x", "a\nb\nx").is_err());
    }

    #[test]
    fn holes_and_blanks() {
        assert!(check("; CHECK: call {{...}} @f(", "  call   void   @f(i32 1)").is_ok());
        assert!(check("; CHECK: call {{...}} @f(", "call @g() @f").is_err());
    }

    #[test]
    fn a_file_without_expectations_is_an_error() {
        assert!(check("; CHECK-NOT: a", "b").is_err());
    }
}
