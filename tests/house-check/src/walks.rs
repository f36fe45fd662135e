//! The files that something passes through, one after the other, as docs/architecture.md has them: a
//! list item `**NAME**: `FILE` → `FILE` …`. Each is imported by one before it.

use crate::circles;
use crate::list::List;
use crate::tree::Tree;

const DOCUMENT: &str = "docs/architecture.md";

/// The files of a walk that lie in a folder. Each must be imported by one before it, if both are of one
/// crate.
pub fn list(tree: &Tree, name: &str, folder: &str) -> Result<List, String> {
    let document = tree.files.iter().find(|file| file.path == DOCUMENT);
    let document = document.ok_or_else(|| format!("there is no {DOCUMENT}"))?;
    let start = format!("- **{name}**: ");
    let line = document.text.lines().find_map(|line| line.strip_prefix(&start));
    let line = line.ok_or_else(|| format!("{DOCUMENT} does not tell the files of `{name}`"))?;
    let files: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
    for file in &files {
        if !tree.files.iter().any(|known| known.path == *file) {
            return Err(format!("{DOCUMENT}: `{name}` passes through {file}, which there is not"));
        }
    }
    for (index, file) in files.iter().enumerate().skip(1) {
        let mut is_imported = false;
        for before in &files[..index] {
            is_imported |= imports(tree, before, file)?;
        }
        if !is_imported {
            return Err(format!("{DOCUMENT}: `{name}`: no file before {file} imports it"));
        }
    }
    let own = files.into_iter().filter(|file| file.starts_with(folder));
    Ok(List::Findings(own.map(str::to_owned).collect()))
}

/// Whether a file imports another. Files of two crates are taken to.
fn imports(tree: &Tree, from: &str, to: &str) -> Result<bool, String> {
    let source_of = |file: &str| {
        let sources = tree.crates.iter().filter(|source| file.starts_with(&format!("{source}/")));
        sources.max_by_key(|source| source.len()).cloned()
    };
    let (Some(source), Some(other)) = (source_of(from), source_of(to)) else { return Ok(true) };
    if source != other {
        return Ok(true);
    }
    let files = circles::read(source.as_ref())?;
    let place = |file: &str| {
        let within = file.strip_prefix(&format!("{source}/"))?;
        files.paths.iter().position(|path| path == within)
    };
    let (Some(from), Some(to)) = (place(from), place(to)) else { return Ok(false) };
    Ok(files.imports.iter().any(|import| import.from == from && import.to == to))
}
