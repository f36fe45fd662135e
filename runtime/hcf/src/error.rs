//! Errors: what is wrong with a record, where, and what to do about it.

use std::fmt;

use crate::{
    format::{FRAME_LEN, VERSION},
    object_id::ObjectId,
};

/// Why something is not a record that this crate reads or writes.
///
/// Displays as one sentence: the problem, the place, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} ({}); {}", Location(self), problem.advice())]
pub struct HcfError {
    problem: Problem,
    offset: usize,
    node: String,
}

impl HcfError {
    pub(crate) fn new(problem: Problem, offset: usize) -> Self {
        Self { problem, offset, node: String::new() }
    }

    pub(crate) fn in_node(mut self, node: impl fmt::Display) -> Self {
        self.node = node.to_string();
        self
    }

    /// Moves the place: the input starts at offset `base` of the caller's data.
    pub(crate) fn after(mut self, base: usize) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Where: bytes from the start of the input (a record, a section or a file), or of the record
    /// to be written.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The innermost node with the problem, such as `kernels/saxpy/parameters/0`; empty outside the
    /// header's nodes.
    pub fn node(&self) -> &str {
        &self.node
    }
}

struct Location<'a>(&'a HcfError);

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}", self.0.offset)?;
        if !self.0.node.is_empty() {
            write!(f, ", in `{}`", self.0.node)?;
        }
        Ok(())
    }
}

/// What is wrong with a record, a section or a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes do not start with [`MAGIC`](crate::format::MAGIC).
    #[error("no HCF record starts here")]
    NotARecord,
    /// The record has another version of the format.
    #[error("the HCF record has version {found}, and only version {VERSION} can be read")]
    UnsupportedVersion {
        /// The record's version.
        found: u32,
    },
    /// The record's end is missing.
    #[error("the HCF record is cut off: it needs {needed} bytes and has {available}")]
    Truncated {
        /// The length of the record (or of its frame, if not even that is complete) by its own
        /// account.
        needed: u64,
        /// Available bytes.
        available: usize,
    },
    /// The record is complete, but something follows it.
    #[error("{extra} bytes follow the HCF record")]
    TrailingBytes {
        /// Bytes after the record.
        extra: usize,
    },
    /// The frame does not match its checksum.
    #[error("the first {FRAME_LEN} bytes of the HCF record are damaged: their checksum is wrong")]
    DamagedFrame,
    /// The contents do not match the object id.
    #[error(
        "the contents of the HCF record are damaged: it is marked {expected}, and contains {found}"
    )]
    DamagedContents {
        /// The id in the frame.
        expected: ObjectId,
        /// The hash of the contents.
        found: ObjectId,
    },
    /// The lengths in the frame contradict each other or the format.
    #[error("the lengths in the HCF record's frame are inconsistent")]
    InconsistentLengths,
    /// Padding bytes are not zero.
    #[error("the padding is not zero")]
    DirtyPadding,
    /// There is more space between the records of a section than a linker leaves.
    #[error(
        "more than {} zero bytes stand where an HCF record should be",
        crate::format::MAX_PADDING
    )]
    TooMuchPadding,
    /// A limit of the format is exceeded.
    #[error("there are too many {what}: the limit is {limit}")]
    TooMany {
        /// What exceeds the limit.
        what: &'static str,
        /// The maximum.
        limit: usize,
    },
    /// The header is not UTF-8.
    #[error("the header is not UTF-8")]
    NotUtf8,
    /// The header breaks the grammar.
    #[error("the header is malformed: {0}")]
    Syntax(&'static str),
    /// A `%` escape is malformed, or something that must be escaped is not.
    #[error("`{0}` is not written with the escapes that the format asks for")]
    Escape(String),
    /// A node has a key twice.
    #[error("the key `{0}` is there twice")]
    DuplicateKey(String),
    /// A node has two children of one name.
    #[error("there are two nodes `{0}`")]
    DuplicateNode(String),
    /// A node lacks the entry that must come next.
    #[error("{expected} was expected, and {found} was found")]
    Unexpected {
        /// What must come next.
        expected: String,
        /// What comes next.
        found: String,
    },
    /// A key has an invalid value.
    #[error("`{key}={value}` is not allowed: {allowed}")]
    InvalidValue {
        /// The key.
        key: &'static str,
        /// Its value, as written.
        value: String,
        /// The valid values.
        allowed: &'static str,
    },
    /// A kernel names no image.
    #[error("the kernel is in no image")]
    NoImage,
    /// A kernel names an image that the container does not have.
    #[error("there is no image `{0}`")]
    UnknownImage(String),
    /// A kernel names a specialization constant that the container does not have.
    #[error("there is no specialization constant `{0}`")]
    UnknownConstant(String),
    /// A file is of a kind that cannot contain sections.
    #[error("the file is not ELF, no archive and no HCF record")]
    UnknownFile,
    /// A file's own structure is broken.
    #[error("the file cannot be read: {0}")]
    BrokenFile(String),
}

impl Problem {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotARecord => "check that the whole section was taken, and nothing but it",
            Self::UnsupportedVersion { .. } => {
                "build the program again with the schism that it runs with"
            }
            Self::Truncated { .. }
            | Self::DamagedFrame
            | Self::DamagedContents { .. }
            | Self::TooMuchPadding
            | Self::DirtyPadding => "restore the file, or build it again",
            Self::TrailingBytes { .. } => {
                "read one record at a time, or all of a section with `records`"
            }
            Self::TooMany { .. } => "spread the kernels over several crates",
            Self::InconsistentLengths
            | Self::NotUtf8
            | Self::Syntax(_)
            | Self::Escape(_)
            | Self::Unexpected { .. } => {
                "write the record with the `Container` of the same version of schism-hcf"
            }
            Self::DuplicateKey(_) | Self::DuplicateNode(_) => "give each its own name",
            Self::InvalidValue { .. } => "correct the value where the record is written",
            Self::NoImage | Self::UnknownImage(_) => "add the image, or remove the kernel",
            Self::UnknownConstant(_) => "add the constant, or take it from the kernel's list",
            Self::UnknownFile => {
                "give an executable, a library, an object file or an rlib of Linux, or a record"
            }
            Self::BrokenFile(_) => "restore the file, or build it again",
        }
    }
}
