//! A small reading of LLVM's FileCheck: expectations as comments in the file under test.
//!
//! ```text
//! ; CHECK: text        some line after the last match contains the text
//! ; CHECK-NEXT: text   the very next line does
//! ; CHECK-EMPTY:       the very next line is empty
//! ; CHECK-DAG: text    some line after the last match does; those in succession in any order
//! ; CHECK-NOT: text    no line up to the next match does
//! ; CHECK-LABEL: text  some line after the last label contains the text
//! ```
//!
//! Labels divide the output: they are found first, and an expectation between two of them is met
//! between their lines or not at all. Runs of white space count as one blank. In a text,
//! `{{regex}}` matches a regular expression, `[[NAME:regex]]` also captures what it matches, and
//! `[[NAME]]` in a later line is the text that was captured. Captures end at labels.
//!
//! A directive that is not understood is an error, as in Cranelift's filetests: an expectation that
//! is never looked at cannot fail. Beside those above there are `SPEC`, `RUN` and `EMIT`, which the
//! tests of the passes read, and the line above expectations that [`bless`](bless::bless) writes. A
//! comment that says `CHECK` elsewhere than at its beginning, or that begins with a word in capitals
//! and a colon, is no prose.

pub mod bless;
mod pattern;

use std::collections::BTreeSet;
use std::fmt;

use pattern::{Captures, Matcher, Pattern};

/// Directives that others read: what each line of theirs begins with.
const OTHERS: [&str; 4] = ["; SPEC ", "; RUN: ", "; EMIT: assembly", bless::WRITTEN];

/// Those of which a file has one at most.
const ONCE: [&str; 3] = ["; RUN: ", "; EMIT: assembly", bless::WRITTEN];

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
    let can_fail = |kind| matches!(kind, Kind::Plain | Kind::Next | Kind::Dag);
    if !expectations.iter().any(|one| can_fail(one.kind)) {
        return Err("the file has no CHECK line, so it cannot fail".to_owned());
    }
    let lines: Vec<String> = output
        .lines()
        .filter(|line| !line.trim_start().starts_with("; CHECK"))
        .map(squeeze)
        .collect();
    // The parts of the output: each but the first begins after the line of a label.
    let (mut begin, mut rest) = (0, &expectations[..]);
    loop {
        let label = rest.iter().position(|one| one.kind == Kind::Label);
        let (part, others) = rest.split_at(label.unwrap_or(rest.len()));
        let mut end = lines.len();
        if let Some(label) = others.first() {
            let matcher = label.resolve(&Captures::new())?;
            let at = lines[begin..].iter().position(|line| matcher.matches(line));
            end = begin + at.ok_or_else(|| format!("{label}\nnot found after line {begin}"))?;
        }
        check_part(part, &lines[begin..end], begin)?;
        let Some((_, after)) = others.split_first() else { return Ok(()) };
        (begin, rest) = (end + 1, after);
    }
}

/// Checks what stands between two labels; `first` is the number of the first line.
fn check_part(expectations: &[Expectation], lines: &[String], first: usize) -> Result<(), String> {
    let both_in_any_order =
        |a: &Expectation, b: &Expectation| a.kind == Kind::Dag && b.kind == Kind::Dag;
    let mut captures = Captures::new();
    // Before the first match there is no line to be next to, but that of a label.
    let mut position = 0;
    let mut forbidden: Vec<(&Expectation, Matcher)> = Vec::new();
    for group in expectations.chunk_by(both_in_any_order) {
        if let [expectation @ Expectation { kind: Kind::Not, .. }] = group {
            forbidden.push((expectation, expectation.resolve(&captures)?));
            continue;
        }
        let mut matched = BTreeSet::new();
        for expectation in group {
            let matcher = expectation.resolve(&captures)?;
            let at = find(expectation, &matcher, lines, (position, first), &matched)?;
            captures.extend(matcher.find(&lines[at]).unwrap_or_default());
            matched.insert(at);
        }
        if let (Some(&least), Some(&last)) = (matched.first(), matched.last()) {
            none_of(&forbidden, &lines[position..least])?;
            forbidden.clear();
            position = last + 1;
        }
    }
    none_of(&forbidden, &lines[position..])
}

/// The line that meets an expectation, from a position on, besides those that are `matched`.
fn find(
    expectation: &Expectation,
    matcher: &Matcher,
    lines: &[String],
    (position, first): (usize, usize),
    matched: &BTreeSet<usize>,
) -> Result<usize, String> {
    let is_met = |line: &String| match expectation.kind {
        Kind::Empty => line.is_empty(),
        _ => matcher.matches(line),
    };
    if matches!(expectation.kind, Kind::Next | Kind::Empty) {
        if first == 0 && position == 0 {
            return Err(format!("{expectation}\nfollows no match"));
        }
        let next = lines.get(position);
        let instead = next.map_or("the end", String::as_str);
        return match next.is_some_and(is_met) {
            true => Ok(position),
            false => Err(format!("{expectation}\nfound instead: {instead}")),
        };
    }
    let mut free = (position..lines.len()).filter(|at| !matched.contains(at));
    free.find(|&at| is_met(&lines[at])).ok_or_else(|| {
        let (begin, end) = (first + position, first + lines.len());
        format!("{expectation}\nnot found in the lines {begin} to {end}")
    })
}

struct Expectation {
    kind: Kind,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Next,
    Empty,
    Dag,
    Not,
    Label,
}

impl Kind {
    const ALL: [(&'static str, Kind); 6] = [
        ("CHECK:", Kind::Plain),
        ("CHECK-NEXT:", Kind::Next),
        ("CHECK-EMPTY:", Kind::Empty),
        ("CHECK-DAG:", Kind::Dag),
        ("CHECK-NOT:", Kind::Not),
        ("CHECK-LABEL:", Kind::Label),
    ];
}

impl Expectation {
    fn resolve(&self, captures: &Captures) -> Result<Matcher, String> {
        self.pattern.resolve(captures).map_err(|why| format!("{self}\n{why}"))
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            Kind::ALL.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(name, _)| name);
        write!(f, "{name} {}", self.pattern.text())
    }
}

/// The expectation of a line, if it is one.
fn parse(line: &str) -> Result<Option<Expectation>, String> {
    let is_other = || OTHERS.iter().any(|name| line.starts_with(name));
    let comment =
        line.trim_start().strip_prefix(';').map(|rest| rest.trim_start_matches(';').trim());
    let Some(comment) = comment.filter(|_| !is_other()) else {
        return match line.contains("CHECK") {
            true => Err("an expectation stands in its own line".to_owned()),
            false => Ok(None),
        };
    };
    let known =
        Kind::ALL.iter().find_map(|&(name, kind)| Some((kind, comment.strip_prefix(name)?)));
    if let Some((kind, text)) = known {
        let text = squeeze(text);
        if text.is_empty() != (kind == Kind::Empty) {
            return Err("nothing is expected, or of an empty line something".to_owned());
        }
        let pattern = Pattern::parse(&text)?;
        match kind {
            Kind::Label if pattern.has_captures() => {
                return Err("captures end at labels".to_owned());
            }
            Kind::Not if pattern.captures() => {
                return Err("a line that must not be there captures nothing".to_owned());
            }
            _ => return Ok(Some(Expectation { kind, pattern })),
        }
    }
    let word = comment.split([':', ' ']).next().unwrap_or_default();
    let is_name = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '-');
    let is_directive = is_name && comment[word.len()..].starts_with(':');
    let is_other = ["SPEC", "RUN", "EMIT"].contains(&word);
    if comment.contains("CHECK") || is_directive || is_other {
        return Err("no directive that is known".to_owned());
    }
    Ok(None)
}

/// Whether a line of the output says where the module is from, and nothing of what it contains.
fn header(line: &str) -> bool {
    ["; ModuleID = ", "source_filename = "].iter().any(|begin| line.starts_with(begin))
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn none_of(forbidden: &[(&Expectation, Matcher)], lines: &[String]) -> Result<(), String> {
    for (expectation, matcher) in forbidden {
        if let Some(line) = lines.iter().find(|line| matcher.matches(line)) {
            return Err(format!("{expectation}\nbut there is: {line}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::bless::{WRITTEN, bless};
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
        assert!(check("; CHECK: call {{.*}} @f(", "  call   void   @f(i32 1)").is_ok());
        assert!(check("; CHECK: call {{.*}} @f(", "call @g() @f").is_err());
    }

    #[test]
    fn a_file_without_expectations_is_an_error() {
        assert!(check("; CHECK-NOT: a", "b").is_err());
    }

    #[test]
    fn a_directive_that_is_not_known_is_an_error() {
        let unknown = [
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
            "; CHECK-EMPTY: a",
            "; CHECK: {{(}}",
            "; CHECK: {{a",
            "; CHECK: [[2 x i8]",
            "; CHECK: [[A a]]",
            "; CHECK: [[A:a",
            "; CHECK: [[A:a]] [[A]]",
            "; CHECK-NOT: [[A:a]]",
            "; CHECK-LABEL: [[A:a]]",
            "; BLESS: a",
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

    #[test]
    fn regular_expressions() {
        assert!(check("; CHECK: add i{{32|64}} %a", "add i64 %a").is_ok());
        assert!(check("; CHECK: add i{{32|64}} %a", "add i16 %a").is_err());
        assert!(check("; CHECK: f(i32 {{[0-9]+}})", "f(i32 )").is_err());
        assert!(check("; CHECK: a.b", "axb").is_err(), "text stands for itself");
    }

    #[test]
    fn what_is_captured_is_expected_again() {
        let source = "; CHECK: [[SUM:%[a-z0-9.]+]] = add\n; CHECK: ret i32 [[SUM]]";
        assert!(check(source, "%a.1 = add\nret i32 %a.1").is_ok());
        let error = check(source, "%a.1 = add\nret i32 %b").unwrap_err();
        assert!(error.contains("ret i32 [[SUM]]"), "{error}");
        assert!(check(source, "%a+1 = add\nret i32 %a+1").is_err());
        let not = "; CHECK: [[A:%.*]] = add\n; CHECK-NOT: store [[A]]\n; CHECK: ret";
        assert!(check(not, "%a = add\nstore %b\nret").is_ok());
        assert!(check(not, "%a = add\nstore %a\nret").is_err());
        let error = check("; CHECK: a\n; CHECK: [[A]]", "a\nb").unwrap_err();
        assert!(error.contains("nothing above captures `A`"), "{error}");
        let labels = "; CHECK: [[A:a]]\n; CHECK-LABEL: f\n; CHECK: [[A]]";
        assert!(check(labels, "a\nf\na").is_err(), "captures end at labels");
    }

    #[test]
    fn lines_in_any_order() {
        let source = "; CHECK: a\n; CHECK-DAG: b\n; CHECK-DAG: c\n; CHECK-NEXT: d";
        assert!(check(source, "a\nb\nc\nd").is_ok());
        assert!(check(source, "a\nc\nx\nb\nd").is_ok());
        assert!(check(source, "a\nc\nb\nx\nd").is_err());
        assert!(check(source, "b\na\nc\nd").is_err());
        assert!(check("; CHECK-DAG: a\n; CHECK-DAG: a", "a").is_err(), "one line meets one");
        let not = "; CHECK-NOT: x\n; CHECK-DAG: b\n; CHECK-DAG: c";
        assert!(check(not, "c\nx\nb").is_ok());
        assert!(check(not, "x\nc\nb").is_err());
        let captured =
            "; CHECK-DAG: [[A:%.]] = 1\n; CHECK-DAG: [[B:%.]] = 2\n; CHECK: [[A]], [[B]]";
        assert!(check(captured, "%x = 2\n%y = 1\nadd %y, %x").is_ok());
        assert!(check(captured, "%x = 2\n%y = 1\nadd %x, %y").is_err());
    }

    #[test]
    fn written_expectations_are_met_and_complete() {
        let source = "; A function.\ndefine void @f() {\n";
        let output = "; ModuleID = 'input'\n\n@g = [2 x i8] [[1 {{ 2]\n\nfoo:\n  ret\nend\n";
        let written = bless(source, output).expect("there are no others");
        assert!(written.starts_with(source) && written.contains("; CHECK-EMPTY:\n"), "{written}");
        check(&written, output).expect("they are of this output");
        for other in ["[[1", "\n\nfoo", "  ret\n", "end"] {
            assert!(check(&written, &output.replace(other, "x\n")).is_err(), "{other}");
        }
        let again = bless(&written, "other").expect("they were written before");
        assert!(again.starts_with(source) && again.ends_with("; CHECK: other\n"), "{again}");
        assert_eq!(again.matches(WRITTEN).count(), 1);
        assert_eq!(bless("; CHECK: a", "b"), None, "expectations by hand stay");
    }
}
