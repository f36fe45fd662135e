//! The table of features by number, `docs/features.md`, and whether the tests that it names exist.

use std::collections::BTreeSet;
use std::path::Path;

/// The numbers of the list.
pub const NUMBERS: std::ops::RangeInclusive<u32> = 1..=302;

/// The table, as it was when this was compiled.
pub const TABLE: &str = include_str!("../docs/features.md");

/// A line of the table.
#[derive(Debug)]
pub struct Row<'t> {
    /// The feature's number.
    pub number: u32,
    /// What the feature is.
    pub feature: &'t str,
    /// What schism does.
    pub here: &'t str,
    /// The names of tests, and the files that they are in.
    pub tests: Vec<(&'t str, &'t str)>,
}

/// The lines of a table.
///
/// # Errors
/// What is wrong with a line.
pub fn rows(table: &str) -> Result<Vec<Row<'_>>, String> {
    let lines = table.lines().filter(|line| line.starts_with('|'));
    // The head of the table is two of them.
    lines.skip(2).map(|line| row(line).ok_or_else(|| format!("this is no row: {line}"))).collect()
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
    let (number, feature, here, links) =
        (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    if cells.next().is_some() || [feature, here, links].contains(&"") {
        return None;
    }
    let tests = links.split(", ").map(|link| {
        let (name, file) = link.strip_prefix('[')?.strip_suffix(')')?.split_once("](../")?;
        Some((name, file))
    });
    let tests = tests.collect::<Option<_>>()?;
    Some(Row { number: number.parse().ok()?, feature, here, tests })
}

/// What is wrong with a table: numbers that are not of the list, out of order or there twice, and tests
/// that do not exist.
#[must_use]
pub fn faults(rows: &[Row<'_>], root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for Row { number, tests, .. } in rows {
        if !NUMBERS.contains(number) {
            faults.push(format!("{number} is not a number of the list"));
        }
        if seen.last().is_some_and(|last| last >= number) {
            faults.push(format!("{number} is out of order, or there twice"));
        }
        seen.insert(*number);
        for (name, file) in tests {
            match std::fs::read_to_string(root.join(file)) {
                Err(error) => faults.push(format!("{number}: {file}: {error}")),
                Ok(text) if !has_test(&text, name) => {
                    faults.push(format!("{number}: {file} has no test `{name}`"));
                }
                Ok(_) => {}
            }
        }
    }
    faults
}

/// Whether a file has a test of this name.
fn has_test(text: &str, name: &str) -> bool {
    let function = format!("fn {name}(");
    text.match_indices(&function).any(|(begin, _)| {
        // Between the attribute and the function there are other attributes at most.
        let before = text[..begin].trim_end().lines().rev();
        let mut attributes = before.map(str::trim).take_while(|line| line.starts_with("#["));
        attributes.any(|line| line == "#[test]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_true() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let rows = rows(TABLE).expect("a table");
        assert!(!rows.is_empty());
        assert_eq!(faults(&rows, &root), Vec::<String>::new());
    }

    #[test]
    fn faults_are_found() {
        let head = "| number | feature | here | test |\n|---|---|---|---|\n";
        let table = |rest: &str| format!("{head}{rest}");
        for wrong in ["| x | a | b | [c](../d) |", "| 1 | a | b | c |", "| 1 | a |  | [c](../d) |"]
        {
            rows(&table(wrong)).expect_err("no row");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let good = "[faults_are_found](../tests/features.rs)";
        let found = |rest: &str| faults(&rows(&table(rest)).expect("rows"), &root).len();
        assert_eq!(found(&format!("| 1 | a | b | {good} |\n| 302 | a | b | {good}, {good} |")), 0);
        assert_eq!(found(&format!("| 2 | a | b | {good} |\n| 1 | a | b | {good} |")), 1);
        assert_eq!(found(&format!("| 303 | a | b | {good} |\n| 303 | a | b | {good} |")), 3);
        // A function that is no test, one that is not there, and a file that is not there.
        assert_eq!(found("| 1 | a | b | [has_test](../tests/features.rs) |"), 1);
        assert_eq!(found("| 1 | a | b | [no_such_test](../tests/features.rs) |"), 1);
        assert_eq!(found("| 1 | a | b | [faults_are_found](../tests/no_such_file.rs) |"), 1);
    }
}
