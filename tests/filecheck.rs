//! A small reading of LLVM's FileCheck: expectations as comments in the file under test.
//!
//! ```text
//! ; CHECK: text        some line after the last match contains the text
//! ; CHECK-NEXT: text   the very next line does
//! ; CHECK-NOT: text    no line up to the next match does
//! ; CHECK-LABEL: text  some line after the last label contains the text
//! ```
//!
//! Labels divide the output: they are found first, and an expectation between two of them is met
//! between their lines or not at all. Runs of white space count as one blank, and `{{...}}` stands
//! for any text within the line.
//!
//! A directive that is not understood is an error, as in Cranelift's filetests: an expectation that
//! is never looked at cannot fail. Beside those above there are `SPEC`, `RUN` and `EMIT`, which the
//! tests of the passes read. A comment that says `CHECK` elsewhere than at its beginning, or that
//! begins with a word in capitals and a colon, is no prose.

use std::fmt;

/// Directives that others read: what each line of theirs begins with.
const OTHERS: [&str; 3] = ["; SPEC ", "; RUN: ", "; EMIT: assembly"];

/// Those of which a file has one at most.
const ONCE: [&str; 2] = ["; RUN: ", "; EMIT: assembly"];

/// Checks `output` against the expectations in `source`.
///
/// # Errors
/// A message with the expectation that failed and what stood there instead, or with the directive
/// that is not understood.
pub fn check(source: &str, output: &str) -> Result<(), String> {
    let mut expectations = Vec::new();
    for (line, number) in source.lines().zip(1..) {
        let expectation = parse(line).map_err(|why| format!("line {number}: {why}: {line}"))?;
        expectations.extend(expectation);
    }
    for name in ONCE {
        if source.lines().filter(|line| line.starts_with(name)).count() > 1 {
            return Err(format!("the file has two lines `{}`, of which one is read", name.trim()));
        }
    }
    if !expectations.iter().any(|one| matches!(one.kind, Kind::Plain | Kind::Next)) {
        return Err("the file has no CHECK line, so it cannot fail".to_owned());
    }
    let lines: Vec<String> = output
        .lines()
        .filter(|line| !line.trim_start().starts_with("; CHECK"))
        .map(squeeze)
        .collect();
    // The parts of the output: each but the first begins behind the line of a label.
    let (mut begin, mut rest) = (0, &expectations[..]);
    loop {
        let label = rest.iter().position(|one| one.kind == Kind::Label);
        let (part, others) = rest.split_at(label.unwrap_or(rest.len()));
        let found = others.first().map(|label| {
            let at = lines[begin..].iter().position(|line| matches(line, &label.text));
            at.map(|at| begin + at).ok_or_else(|| format!("{label}\nnot found after line {begin}"))
        });
        let end = found.transpose()?.unwrap_or(lines.len());
        check_part(part, &lines[begin..end], begin)?;
        let Some((_, behind)) = others.split_first() else { return Ok(()) };
        (begin, rest) = (end + 1, behind);
    }
}

/// Checks what stands between two labels; `first` is the number of the first line.
fn check_part(expectations: &[Expectation], lines: &[String], first: usize) -> Result<(), String> {
    // Before the first match there is no line to be next to, but that of a label.
    let mut position = 0;
    let mut forbidden: Vec<&Expectation> = Vec::new();
    for expectation in expectations {
        let Expectation { kind, text } = expectation;
        let found = match kind {
            Kind::Not => {
                forbidden.push(expectation);
                continue;
            }
            Kind::Next if first == 0 && position == 0 => {
                return Err(format!("{expectation}\nfollows no match"));
            }
            Kind::Next => {
                if lines.get(position).is_some_and(|line| matches(line, text)) {
                    position
                } else {
                    let instead = lines.get(position).map_or("the end", String::as_str);
                    return Err(format!("{expectation}\nfound instead: {instead}"));
                }
            }
            Kind::Plain | Kind::Label => lines[position..]
                .iter()
                .position(|line| matches(line, text))
                .map(|offset| position + offset)
                .ok_or_else(|| {
                    let (begin, end) = (first + position, first + lines.len());
                    format!("{expectation}\nnot found in the lines {begin} to {end}")
                })?,
        };
        none_of(&forbidden, &lines[position..found])?;
        forbidden.clear();
        position = found + 1;
    }
    none_of(&forbidden, &lines[position..])
}

struct Expectation {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Next,
    Not,
    Label,
}

impl Kind {
    const ALL: [(&'static str, Kind); 4] = [
        ("CHECK:", Kind::Plain),
        ("CHECK-NEXT:", Kind::Next),
        ("CHECK-NOT:", Kind::Not),
        ("CHECK-LABEL:", Kind::Label),
    ];
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            Kind::ALL.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(name, _)| name);
        write!(f, "{name} {}", self.text)
    }
}

/// The expectation of a line, if it is one.
fn parse(line: &str) -> Result<Option<Expectation>, &'static str> {
    let is_other = || OTHERS.iter().any(|name| line.starts_with(name));
    let comment =
        line.trim_start().strip_prefix(';').map(|rest| rest.trim_start_matches(';').trim());
    let Some(comment) = comment.filter(|_| !is_other()) else {
        return match line.contains("CHECK") {
            true => Err("an expectation stands in its own line"),
            false => Ok(None),
        };
    };
    let known =
        Kind::ALL.iter().find_map(|&(name, kind)| Some((kind, comment.strip_prefix(name)?)));
    if let Some((kind, text)) = known {
        let text = squeeze(text);
        if text.is_empty() {
            return Err("nothing is expected");
        }
        if text.replace(HOLE, "").contains("{{") || text.contains("[[") {
            return Err("`{{...}}` is the only pattern");
        }
        return Ok(Some(Expectation { kind, text }));
    }
    let word = comment.split([':', ' ']).next().unwrap_or_default();
    let is_name = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '-');
    let is_directive = is_name && comment[word.len()..].starts_with(':');
    let is_other = ["SPEC", "RUN", "EMIT"].contains(&word);
    if comment.contains("CHECK") || is_directive || is_other {
        return Err("no directive that is known");
    }
    Ok(None)
}

/// What stands for any text.
const HOLE: &str = "{{...}}";

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line contains a text in which `{{...}}` stands for anything.
fn matches(line: &str, text: &str) -> bool {
    let mut rest = line;
    for piece in text.split(HOLE) {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

fn none_of(forbidden: &[&Expectation], lines: &[String]) -> Result<(), String> {
    for expectation in forbidden {
        if let Some(line) = lines.iter().find(|line| matches(line, &expectation.text)) {
            return Err(format!("{expectation}\nbut there is: {line}"));
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

    #[test]
    fn a_directive_that_is_not_known_is_an_error() {
        let unknown = [
            "; CHECK-DAG: a",
            "; CHECK-SAME: a",
            "; CHECK a",
            "; CHECK-NEXT a",
            "; CHEKC: a",
            "; check: a CHECK: b",
            ";SPEC kernel: k entry 0 1",
            "; RUN : unwind",
            "; EMIT: ptx",
            "  ret void ; CHECK: a",
            "; CHECK:",
            "; CHECK: [[NAME]]",
            "; CHECK: {{.*}}",
            "; FILECHECK: a",
        ];
        for directive in unknown {
            let error = check(&format!("; CHECK: a\n{directive}"), "a").expect_err(directive);
            assert!(error.starts_with("line 2: ") && error.ends_with(directive), "{error}");
        }
        for prose in [
            "; What is kept: a",
            "; A: b",
            "; Note that",
            "; CPU and GPU",
            ";",
            "",
            "%a = add i32 1, 2 ; three",
        ] {
            check(&format!("; CHECK: a\n{prose}"), "a").expect(prose);
        }
        assert!(check("; RUN: a\n; RUN: b\n; CHECK: a", "a").is_err());
    }

    #[test]
    fn labels_divide_the_output() {
        let source =
            "; CHECK-LABEL: @f(\n; CHECK: a\n; CHECK-NOT: x\n; CHECK-LABEL: @g(\n; CHECK: b";
        assert!(check(source, "@f(\na\n@g(\nb").is_ok());
        assert!(check(source, "@f(\nb\n@g(\na\nb").is_err(), "`a` is in the other function");
        assert!(check(source, "@f(\na\nb\n@g(").is_err(), "`b` is in the other function");
        assert!(check(source, "@f(\na\nx\n@g(\nb").is_err(), "`x` is in the function");
        assert!(check(source, "@f(\na\n@g(\nb\nx").is_ok(), "`x` is in the other function");
        assert!(check(source, "a\n@g(\nb").is_err(), "there is no `@f(`");
        assert!(check("; CHECK-LABEL: @f(", "@f(").is_err(), "a label alone says nothing");
        assert!(check("; CHECK-LABEL: @f(\n; CHECK-NEXT: a", "@f(\na").is_ok());
        assert!(check("; CHECK-LABEL: @f(\n; CHECK-NEXT: a", "@f(\nb\na").is_err());
    }

    #[test]
    fn next_follows_a_match() {
        assert!(check("; CHECK-NEXT: a", "a").is_err());
    }
}
