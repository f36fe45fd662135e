//! Sections out of files: executables, shared objects, relocatable objects, archives of them, and
//! bare records.

use std::fmt::Display;

use object::{
    FileKind, Object, ObjectSection,
    read::{File, archive::ArchiveFile},
};

use crate::{
    HcfError, Problem,
    format::{MAGIC, SECTION},
};

/// A section of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileSection<'a> {
    /// The member of the archive that the section is in; none if the file is no archive.
    pub member: Option<String>,
    /// Where the section starts in the file, in bytes.
    pub offset: usize,
    /// The section's bytes, for [`records`](crate::records).
    pub data: &'a [u8],
}

/// The sections with records in a file, in the file's order.
///
/// `file` is all of an ELF executable, shared object or object file, of an archive (an rlib or a
/// static library), or of a bare record. Members of an archive that are not ELF, such as a crate's
/// metadata, have no sections.
///
/// # Errors
/// If the file is of another kind, if it is broken, or if it is a thin archive (which has only its
/// members' names). No sections is not an error.
///
/// ```
/// use schism_hcf::{Container, sections_of_file};
///
/// let file = Container::default().to_record()?;
/// assert_eq!(sections_of_file(&file)?[0].data, file);
/// # Ok::<(), schism_hcf::HcfError>(())
/// ```
pub fn sections_of_file(file: &[u8]) -> Result<Vec<FileSection<'_>>, HcfError> {
    if file.starts_with(&MAGIC) {
        return Ok(vec![FileSection { member: None, offset: 0, data: file }]);
    }
    let mut sections = Vec::new();
    match FileKind::parse(file) {
        Ok(FileKind::Archive) => sections_of_archive(file, &mut sections)?,
        Ok(FileKind::Elf32 | FileKind::Elf64) => sections_of_elf(file, None, 0, &mut sections)?,
        _ => return Err(HcfError::new(Problem::UnknownFile, 0)),
    }
    Ok(sections)
}

fn sections_of_archive<'a>(
    file: &'a [u8],
    sections: &mut Vec<FileSection<'a>>,
) -> Result<(), HcfError> {
    let archive = ArchiveFile::parse(file).map_err(|error| broken(&error, None, 0))?;
    if archive.is_thin() {
        let problem = Problem::BrokenFile(
            "a thin archive has no contents; give its members instead".to_owned(),
        );
        return Err(HcfError::new(problem, 0));
    }
    for member in archive.members() {
        let member = member.map_err(|error| broken(&error, None, 0))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let Some((offset, data)) = part(file, member.file_range()) else {
            return Err(broken(&"its end is missing", Some(&name), 0));
        };
        if matches!(FileKind::parse(data), Ok(FileKind::Elf32 | FileKind::Elf64)) {
            sections_of_elf(data, Some(&name), offset, sections)?;
        }
    }
    Ok(())
}

fn sections_of_elf<'a>(
    elf: &'a [u8],
    member: Option<&str>,
    base: usize,
    sections: &mut Vec<FileSection<'a>>,
) -> Result<(), HcfError> {
    let object = File::parse(elf).map_err(|error| broken(&error, member, base))?;
    for section in object.sections() {
        if section.name_bytes().map_err(|error| broken(&error, member, base))? != SECTION.as_bytes()
        {
            continue;
        }
        // Debug information split off a program keeps the section's header, without its bytes.
        let Some(range) = section.file_range() else { continue };
        let Some((offset, data)) = part(elf, range) else {
            return Err(broken(&"a section lies beyond its end", member, base));
        };
        let (member, offset) = (member.map(str::to_owned), base + offset);
        sections.push(FileSection { member, offset, data });
    }
    Ok(())
}

/// The part of a file that starts somewhere and has some length, and its start.
fn part(file: &[u8], (start, len): (u64, u64)) -> Option<(usize, &[u8])> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    Some((start, file.get(start..end)?))
}

fn broken(error: &dyn Display, member: Option<&str>, offset: usize) -> HcfError {
    let problem = match member {
        Some(member) => format!("{error}, in its member {}", crate::tree::shown(member)),
        None => error.to_string(),
    };
    HcfError::new(Problem::BrokenFile(problem), offset)
}
