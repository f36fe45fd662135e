//! Measures of the project's structure and prose, each with a limit.
//!
//! `house-check` prints them, and fails if one is beyond its limit; `house-check NAME` lists what one
//! counts. `house-check circles SRC …` lists the circles of imports of other crates. Run from the root
//! of the workspace.

mod circles;
mod links;
mod list;
mod measures;
mod tokens;
mod tree;
mod walks;
mod words;

use std::process::ExitCode;

use measures::MEASURES;
use tree::Tree;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => all(),
        ["--help" | "-h"] => {
            println!("house-check [NAME | circles SRC …]");
            Ok(true)
        }
        ["circles", sources @ ..] if !sources.is_empty() => circles_of(sources),
        [name] => one(name),
        _ => Err("one name at a time".to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Prints a table of all measures. Returns whether all are within their limits.
fn all() -> Result<bool, String> {
    let tree = Tree::read()?;
    let mut kept = true;
    for measure in MEASURES {
        let value = (measure.list)(&tree)?.value();
        let is_within = value <= measure.limit;
        kept &= is_within;
        let (name, limit, goal) = (measure.name, measure.limit, measure.goal);
        let remark = if is_within { "" } else { "  beyond its limit" };
        println!(
            "{name:<18} {value:>7}  limit {limit:>7}  goal {goal:>7}  {}{remark}",
            measure.what
        );
    }
    if !kept {
        println!("`cargo run -p schism-house-check NAME` lists what a measure counts");
    }
    Ok(kept)
}

fn one(name: &str) -> Result<bool, String> {
    let measure = MEASURES.iter().find(|measure| measure.name == name).ok_or_else(|| {
        let names: Vec<&str> = MEASURES.iter().map(|measure| measure.name).collect();
        format!("there is no measure `{name}`; there are {}", names.join(", "))
    })?;
    let list = (measure.list)(&Tree::read()?)?;
    list.print();
    Ok(list.value() <= measure.limit)
}

fn circles_of(sources: &[&str]) -> Result<bool, String> {
    let mut none = true;
    for source in sources {
        let found = circles::of(source.trim_end_matches('/'))?;
        none &= found.is_empty();
        found.iter().for_each(|circle| println!("{circle}"));
    }
    Ok(none)
}
