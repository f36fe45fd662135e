//! The files that something passes through, one after the other, as docs/architecture.md has them: a
//! list item `**NAME**: `FILE` → `FILE` …`. Each is imported by one before it.

use crate::circles;
use crate::list::List;
use crate::tokens;
use crate::tree::Tree;

const DOCUMENT: &str = "docs/architecture.md";

/// The files of a walk that lie in a folder.
pub fn list(tree: &Tree, name: &str, folder: &str) -> Result<List, String> {
    let own = files(tree, name)?.into_iter().filter(|file| file.starts_with(folder));
    Ok(List::Findings(own.map(str::to_owned).collect()))
}

/// As [`list`], of a walk that goes one way: no file imports one before it.
pub fn list_one_way(tree: &Tree, name: &str, folder: &str) -> Result<List, String> {
    let files = files(tree, name)?;
    for (index, file) in files.iter().enumerate() {
        for before in &files[..index] {
            if is_within_crate(tree, file, before) && imports(tree, file, before)? {
                return Err(format!("{DOCUMENT}: `{name}`: {file} imports {before}, before it"));
            }
        }
    }
    list(tree, name, folder)
}

/// The places where the files of a walk that lie in a folder return, other than at their functions'
/// ends.
pub fn returns(tree: &Tree, name: &str, folder: &str) -> Result<List, String> {
    let files = files(tree, name)?;
    let is_own = |path: &str| path.starts_with(folder) && files.contains(&path);
    let mut all = Vec::new();
    for source in tree.shipped.iter().filter(|source| is_own(&source.path)) {
        let lines = tokens::find(&source.tokens, &["return"]);
        all.extend(lines.into_iter().map(|line| format!("{}:{line}", source.path)));
    }
    Ok(List::Findings(all))
}

/// The files of a walk. Each must be imported by one before it, if both are of one crate.
fn files<'a>(tree: &'a Tree, name: &str) -> Result<Vec<&'a str>, String> {
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
    Ok(files)
}

/// The `src` folder of a file's crate.
fn source_of(tree: &Tree, file: &str) -> Option<String> {
    let sources = tree.crates.iter().filter(|source| file.starts_with(&format!("{source}/")));
    sources.max_by_key(|source| source.len()).cloned()
}

fn is_within_crate(tree: &Tree, file: &str, other: &str) -> bool {
    let source = source_of(tree, file);
    source.is_some() && source == source_of(tree, other)
}

/// Whether a file imports another. Files of two crates are taken to.
fn imports(tree: &Tree, from: &str, to: &str) -> Result<bool, String> {
    if !is_within_crate(tree, from, to) {
        return Ok(true);
    }
    let Some(source) = source_of(tree, from) else { return Ok(true) };
    let files = circles::read(source.as_ref())?;
    let place = |file: &str| {
        let within = file.strip_prefix(&format!("{source}/"))?;
        files.paths.iter().position(|path| path == within)
    };
    let (Some(from), Some(to)) = (place(from), place(to)) else { return Ok(false) };
    Ok(files.imports.iter().any(|import| import.from == from && import.to == to))
}
