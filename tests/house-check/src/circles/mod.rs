//! The circles of imports between the files of a crate.
//!
//! A file imports another if its code, tests excepted, names something that the other defines: in a
//! `use`, or by a path in an expression, a type or a macro. A path through a re-export leads to the
//! file with the definition. These are no imports:
//! - `mod name;`, by which a parent has children;
//! - re-exports (`pub use`) of the crate's root and of a module `__private`, whose purpose is to
//!   name what others define.
//!
//! Files that import each other, directly or around a circle, are one circle (a strongly connected
//! component). Only the lexer is used, and no name is looked up in other crates: what macros define is
//! taken to be in the module that its path names.

mod components;
mod crate_files;
mod resolve;
mod scan;

use std::fmt::Write;
use std::path::Path;

use crate_files::Crate;
pub use resolve::Import;

/// A crate's files and what imports what.
#[derive(Debug)]
pub struct Imports {
    /// Files, relative to the folder of the root file.
    pub paths: Vec<String>,
    /// One import for each pair of files.
    pub imports: Vec<Import>,
}

/// Reads a crate, by its `src` folder or its root file.
pub fn read(source: &Path) -> Result<Imports, String> {
    let files = Crate::read(source)?;
    let imports = resolve::imports(&files);
    Ok(Imports { paths: files.paths, imports })
}

/// The circles of a crate, each with its files and imports.
pub fn of(source: &str) -> Result<Vec<String>, String> {
    let Imports { paths, imports } = read(source.as_ref())?;
    let components = components::of(paths.len(), &imports);
    Ok(components.iter().map(|circle| described(source, circle, &paths, &imports)).collect())
}

fn described(source: &str, circle: &[usize], paths: &[String], imports: &[Import]) -> String {
    let mut names: Vec<&str> = circle.iter().map(|file| paths[*file].as_str()).collect();
    names.sort_unstable();
    let mut text = format!("{source}: {} files import each other", names.len());
    for name in names {
        let _ = write!(text, "\n  {name}");
    }
    for Import { from, to, line, path } in imports {
        if circle.contains(from) && circle.contains(to) {
            let _ = write!(text, "\n    {}:{line} → {}  ({path})", paths[*from], paths[*to]);
        }
    }
    text
}
