//! Which shared libraries an ELF file needs, and where they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::{Dyn, ElfFile64};
use object::{Endianness, Object, ObjectSection};

use crate::error::{Error, FileContext, Result};

/// Where every system has its libraries.
const SYSTEM: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];

/// What a file says of the libraries that it needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Their names.
    pub libraries: Vec<String>,
    /// The folders to look in, as written.
    pub folders: Vec<String>,
}

/// The libraries of a program, or of a library, and those that they need.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    /// Files that not every system has.
    pub own: BTreeSet<PathBuf>,
    /// Names of what systems have.
    pub system: BTreeSet<String>,
}

/// Reads what a file needs.
pub fn needs(file: &Path) -> Result<Needs> {
    let contents = std::fs::read(file).at("read", file)?;
    let problem = |problem: String| Error::Container { path: file.to_owned(), problem };
    read(&contents)
        .map_err(|error| problem(format!("is no program or shared library of Linux: {error}")))
}

fn read(contents: &[u8]) -> object::Result<Needs> {
    let file = ElfFile64::<Endianness>::parse(contents)?;
    let mut needs = Needs::default();
    let Some(dynamic) = file.section_by_name(".dynamic") else { return Ok(needs) };
    let endian = file.endian();
    let strings = file
        .section_by_name(".dynstr")
        .map(|section| section.data())
        .transpose()?
        .unwrap_or_default();
    let data = dynamic.data()?;
    let size = size_of::<object::elf::Dyn64<Endianness>>();
    for entry in data.chunks_exact(size) {
        // Pieces of this size always fit.
        let Ok((entry, _)) = object::pod::from_bytes::<object::elf::Dyn64<Endianness>>(entry)
        else {
            break;
        };
        let text = || {
            let begin = usize::try_from(entry.d_val(endian)).ok()?;
            let rest = strings.get(begin..)?;
            let text = rest.split(|byte| *byte == 0).next()?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        let tag = entry.d_tag(endian);
        if tag == DT_NEEDED {
            needs.libraries.extend(text());
        } else if tag == DT_RPATH || tag == DT_RUNPATH {
            let folders = text().unwrap_or_default();
            needs
                .folders
                .extend(folders.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned));
        }
    }
    Ok(needs)
}

/// Finds all libraries that a file needs, and those that they need: in the folders that a file
/// names, then in `more`, then where systems have theirs.
pub fn libraries(file: &Path, more: &[PathBuf]) -> Result<Libraries> {
    let mut found = Libraries::default();
    let mut open = vec![file.to_owned()];
    while let Some(file) = open.pop() {
        let needs = needs(&file)?;
        let origin = file.parent().unwrap_or(Path::new("/"));
        let folders: Vec<PathBuf> =
            needs.folders.iter().map(|folder| expand(folder, origin)).collect();
        for name in needs.libraries {
            let own = folders
                .iter()
                .chain(more)
                .map(|folder| folder.join(&name))
                .find(|path| path.is_file());
            let in_system = SYSTEM.iter().any(|folder| Path::new(folder).join(&name).is_file());
            match own.map(|own| own.canonicalize().unwrap_or(own)) {
                // A file that the system has anyway may be found in another folder, too.
                Some(own) if !in_system && !is_system(&own) => {
                    let own = own.with_file_name(&name);
                    if found.own.insert(own.clone()) {
                        open.push(own);
                    }
                }
                None if !in_system && !name.starts_with("ld-linux") => {
                    let path = file.clone();
                    let problem = format!(
                        "needs the library {name}, which is in none of the folders that it names, nor in the system's"
                    );
                    return Err(Error::Container { path, problem });
                }
                _ => {
                    found.system.insert(name);
                }
            }
        }
    }
    Ok(found)
}

/// A folder as the loader understands it.
pub fn expand(folder: &str, origin: &Path) -> PathBuf {
    let rest = folder.strip_prefix("$ORIGIN").or_else(|| folder.strip_prefix("${ORIGIN}"));
    match rest {
        Some(rest) => origin.join(rest.trim_start_matches('/')),
        None => PathBuf::from(folder),
    }
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_systems_libraries_only() {
        let own = std::env::current_exe().unwrap();
        let needs = needs(&own).unwrap();
        assert!(needs.libraries.iter().any(|name| name == "libc.so.6"), "{needs:?}");
        let libraries = libraries(&own, &[]).unwrap();
        assert!(libraries.system.contains("libc.so.6"), "{libraries:?}");
    }

    #[test]
    fn origins_are_the_files_own_folder() {
        let origin = Path::new("/a/b");
        assert_eq!(expand("$ORIGIN/../lib", origin), Path::new("/a/b/../lib"));
        assert_eq!(expand("${ORIGIN}", origin), Path::new("/a/b/"));
        assert_eq!(expand("/lib", origin), Path::new("/lib"));
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        for contents in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01\0"] {
            assert!(read(contents).is_err());
        }
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for len in [64, 1000, 10_000, bytes.len() / 2] {
            let _ = read(&bytes[..len]);
        }
    }
}
