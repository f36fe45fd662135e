//! Bodies that other crates have only as compiled code: which there are, and in which module.
//!
//! The standard library's rlibs carry no MIR of functions that are neither generic nor inline, but
//! they carry the LLVM bitcode of everything, for link-time optimisation. A [`Provider`] knows what
//! of it a kernel can have: a function is in the index if neither it nor anything that it reaches
//! needs what no device has (the allocator, the system, a variable that changes, assembly). So a
//! kernel that prints is refused at the call of the printing function, and nothing of the machinery
//! behind it is read. Calls of panic functions end the search: the pass
//! [`panics`](crate::frontend::lower_panics) lowers those.
//!
//! Making the index reads all of the bitcode ([`survey`]), so it is kept in a file; [`index`] is its
//! format. [`crate::frontend::link_std_bodies`] uses it.

pub mod index;
pub mod rlib;
pub mod survey;

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use thiserror::Error;

pub use index::{HEADER, Index, Stops};

/// Why a provider cannot be made, or an index not be read.
#[derive(Debug, Error)]
pub enum ProviderError {
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
    pub fn bitcode(&self) -> Result<Cow<'_, [u8]>, ProviderError> {
        match self {
            ModuleRef::Memory(bytes) => Ok(Cow::Borrowed(bytes)),
            ModuleRef::File { path, offset, length } => {
                let bytes = read_part(path, *offset, *length);
                let bytes = bytes
                    .map_err(|source| ProviderError::Read { path: path.to_owned(), source })?;
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

/// Bodies for a device module; reads its index when it is first asked.
#[derive(Default)]
pub struct Provider {
    text: String,
    index: OnceLock<Index>,
}

impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Provider {}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Provider({})", self.text.lines().next().unwrap_or("nothing"))
    }
}

impl Provider {
    /// The provider with an index that [`Provider::text`] gave.
    ///
    /// # Errors
    /// If the text is damaged.
    pub fn from_text(text: String) -> Result<Self, ProviderError> {
        index::check(&text)?;
        Ok(Self { text, index: OnceLock::new() })
    }

    /// Reads modules (one that uses another stands before it) and makes the index. `stops` are
    /// functions among those that they define or call.
    ///
    /// # Errors
    /// If a module cannot be read.
    pub fn survey(modules: Vec<ModuleRef>, stops: Stops) -> Result<Self, ProviderError> {
        let index = survey::run(modules, stops)?;
        Ok(Self { text: index.to_text(), index: OnceLock::from(index) })
    }

    /// The index as text, for a file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The index.
    ///
    /// # Errors
    /// If a line of it means nothing: the text then was not written by this version.
    pub fn index(&self) -> Result<&Index, ProviderError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = Index::from_text(&self.text)?;
        Ok(self.index.get_or_init(|| index))
    }
}
