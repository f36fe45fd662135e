//! The order of global variables in PTX.
//!
//! A variable must follow those that its initialiser refers to. LLVM ensures that, but orders the
//! others by their addresses in its own memory, so the same kernel gives different texts. Here the
//! variables are sorted by name, each after those that it refers to:
//! ```text
//! .global .align 1 .b8 b[4] = {1, 2, 3, 4};
//! .global .align 8 .u64 a[1] = {generic(b)};
//! .global .align 8 .u64 c[1] = {generic(a)};
//! ```
//! Variables with a forward declaration (`.extern`) may be anywhere: see
//! `schism_passes::nvptx::circular_statics`.

use std::collections::{BTreeMap, HashSet};

/// Sorts the variables of each run of lines that declare some.
pub fn sort_variables(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run: BTreeMap<&str, &str> = BTreeMap::new();
    let declared: HashSet<&str> =
        text.lines().filter_map(|line| name(line.strip_prefix(".extern ")?)).collect();
    for line in text.split_inclusive('\n') {
        match name(line) {
            Some(name) if !run.contains_key(name) => {
                run.insert(name, line);
            }
            _ => {
                write(&mut out, &std::mem::take(&mut run), &declared);
                out.push_str(line);
            }
        }
    }
    write(&mut out, &run, &declared);
    out
}

/// The variable that a line declares completely.
fn name(line: &str) -> Option<&str> {
    let words = line.trim_end().strip_suffix(';')?;
    let declared = words.split('=').next()?;
    let mut attributes = declared.split_whitespace();
    let first = attributes.next()?;
    let space =
        if matches!(first, ".visible" | ".weak" | ".common") { attributes.next()? } else { first };
    if !matches!(space, ".global" | ".const") {
        return None;
    }
    let name = declared.split_whitespace().last()?.split('[').next()?;
    (!name.is_empty() && name.chars().all(is_of_name)).then_some(name)
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%')
}

/// Writes declarations by name, each after the undeclared ones that it refers to.
fn write(out: &mut String, run: &BTreeMap<&str, &str>, declared: &HashSet<&str>) {
    let mut begun = HashSet::new();
    // Initialisers may refer to each other in long chains.
    let mut open: Vec<(&str, bool)> = run.keys().rev().map(|name| (*name, false)).collect();
    while let Some((name, complete)) = open.pop() {
        let Some(line) = run.get(name) else { continue };
        if complete {
            out.push_str(line);
        } else if begun.insert(name) {
            open.push((name, true));
            let initialiser = line.split_once('=').map_or("", |(_, initialiser)| initialiser);
            let mut names: Vec<&str> = initialiser
                .split(|letter| !is_of_name(letter))
                .filter(|word| run.contains_key(word) && !begun.contains(word))
                .filter(|word| !declared.contains(word))
                .collect();
            names.sort_unstable();
            open.extend(names.into_iter().rev().map(|name| (name, false)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_become_one() {
        let lines = [
            ".global .align 8 .u64 c[1] = {generic(a)};\n",
            ".global .align 1 .b8 b[4] = {1, 2, 3, 4};\n",
            ".visible .global .align 8 .u64 a[2] = {generic(b), generic(b)+1};\n",
            ".const .u32 d;\n",
        ];
        let expected = [lines[1], lines[2], lines[0], lines[3]].concat();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            assert_eq!(sort_variables(&order.map(|at| lines[at]).concat()), expected);
        }
    }

    #[test]
    fn what_is_declared_may_stand_anywhere() {
        let lines = [
            ".extern .global .align 8 .u64 z[2];\n",
            ".global .align 8 .u64 a[1] = {generic(z)};\n",
            ".visible .global .align 8 .u64 z[2] = {generic(a), generic(z)+8};\n",
        ];
        assert_eq!(sort_variables(&lines.concat()), lines.concat());
        let other = [lines[0], lines[2], lines[1]].concat();
        assert_eq!(sort_variables(&other), lines.concat());
    }

    #[test]
    fn everything_else_stays_where_it_is() {
        let text = "//\n.version 7.0\n.extern .shared .align 16 .b8 z[];\n.global .u32 b;\n.func f()\n{\n\tst.global.u32 [b], 1;\n}\n.global .u32 a;\nend";
        assert_eq!(sort_variables(text), text);
        assert_eq!(sort_variables(""), "");
        // Duplicates and self-references are harmless.
        let odd = ".global .u64 a = a;\n.global .u64 a = b;\n.global .u64 b = a;\n";
        assert_eq!(sort_variables(odd).len(), odd.len());
    }

    #[test]
    fn long_chains_take_no_stack() {
        let line = |index: usize| {
            format!(".global .u64 v{index:06}[1] = {{generic(v{:06})}};\n", index + 1)
        };
        let text: String = (0..100_000).map(line).collect();
        let sorted = sort_variables(&text);
        assert!(sorted.starts_with(".global .u64 v099999") && sorted.len() == text.len());
    }
}
