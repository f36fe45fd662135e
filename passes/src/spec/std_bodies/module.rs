//! Where the bitcode of a module of the standard library is.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why an index cannot be made or read.
#[derive(Debug, Error)]
pub enum StdBodiesError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file is no rlib.
    #[error("{} is no archive of object files: {message}", path.display())]
    NotAnRlib {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// LLVM does not read the bitcode in a file.
    #[error("the bitcode in {} is not readable: {message}", path.display())]
    Bitcode {
        /// The file.
        path: PathBuf,
        /// LLVM's message.
        message: String,
    },
    /// An index has been damaged, or is of another version.
    #[error("the index of the standard library's bodies is damaged ({0})")]
    Damaged(&'static str),
}

/// Where LLVM bitcode is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleRef {
    /// Inside a file.
    File {
        /// The file: an rlib.
        path: PathBuf,
        /// Where the bitcode starts in it, in bytes.
        offset: u64,
        /// How long it is, in bytes.
        length: u64,
    },
    /// At hand.
    Memory(Vec<u8>),
}

impl ModuleRef {
    /// The file, for messages.
    pub fn path(&self) -> &Path {
        match self {
            ModuleRef::File { path, .. } => path,
            ModuleRef::Memory(_) => Path::new("memory"),
        }
    }

    /// The bitcode.
    ///
    /// # Errors
    /// If the file cannot be read, or has become too short.
    pub fn bitcode(&self) -> Result<Cow<'_, [u8]>, StdBodiesError> {
        match self {
            ModuleRef::Memory(bytes) => Ok(Cow::Borrowed(bytes)),
            ModuleRef::File { path, offset, length } => {
                let bytes = read_part(path, *offset, *length);
                let bytes = bytes
                    .map_err(|source| StdBodiesError::Read { path: path.to_owned(), source })?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

fn read_part(path: &Path, offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
