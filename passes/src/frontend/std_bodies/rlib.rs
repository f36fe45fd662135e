//! The bitcode in an rlib: section `.llvmbc` of each of its object files.

use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{File, Object, ObjectSection};

use crate::spec::std_bodies::module::{ModuleRef, StdBodiesError};

const SECTION: &str = ".llvmbc";

/// Where the modules of an rlib are; empty if it was compiled without bitcode.
///
/// # Errors
/// If the file cannot be read or is no archive.
pub fn modules(path: &Path) -> Result<Vec<ModuleRef>, StdBodiesError> {
    let data = std::fs::read(path)
        .map_err(|source| StdBodiesError::Read { path: path.to_owned(), source })?;
    let not_an_rlib = |error: object::Error| StdBodiesError::NotAnRlib {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let archive = ArchiveFile::parse(&*data).map_err(not_an_rlib)?;
    let mut modules = Vec::new();
    for member in archive.members() {
        let member = member.map_err(not_an_rlib)?;
        let (start, _) = member.file_range();
        let contents = member.data(&*data).map_err(not_an_rlib)?;
        // Members that are no object files: the crate's metadata.
        let Ok(file) = File::parse(contents) else { continue };
        let Some(section) = file.section_by_name(SECTION) else { continue };
        if let Some((offset, length)) = section.file_range()
            && length > 0
        {
            let (path, offset) = (path.to_owned(), start + offset);
            modules.push(ModuleRef::File { path, offset, length });
        }
    }
    Ok(modules)
}
