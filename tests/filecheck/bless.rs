//! Expectations that are the output, line by line, and are written by `BLESS=1`.

use super::{header, squeeze};

/// The line after which they begin.
pub const WRITTEN: &str = "; BLESS: the output, line by line";

/// The file with expectations that `output` meets; `None` if it has some that were written by hand.
#[must_use]
pub fn bless(source: &str, output: &str) -> Option<String> {
    let by_hand = match source.split_once(WRITTEN) {
        Some((by_hand, _)) => by_hand,
        None if source.contains("CHECK") => return None,
        None => source,
    };
    let mut text = format!("{}\n\n{WRITTEN}\n", by_hand.trim_end());
    let lines = output.lines().skip_while(|line| header(line) || line.is_empty());
    for (line, at) in lines.map(squeeze).zip(0..) {
        let directive = match at {
            0 => "CHECK:",
            _ if line.is_empty() => "CHECK-EMPTY:",
            _ => "CHECK-NEXT:",
        };
        let line = line.replace("{{", r"{{\{\{}}").replace("[[", r"{{\[\[}}");
        text.push_str(format!("; {directive} {line}").trim_end());
        text.push('\n');
    }
    Some(text)
}
