//! A record in memory, read without copying it.

use std::fmt;

use crate::{
    Container, GENERIC_IR, HcfError, IN_PROCESS, ImageRef, KernelRef, ObjectId, Problem,
    SpecConstantRef, Tree,
    contents::Contents,
    format::{FRAME_LEN, MAX_PADDING},
    frame::Frame,
    tree::Node,
};

/// A checked record, borrowed from its bytes.
#[derive(Clone)]
pub struct RecordRef<'a> {
    bytes: &'a [u8],
    frame: Frame,
    contents: Contents<'a>,
    root: Node<'a>,
    /// Kernels' positions, by name.
    kernels_by_name: Vec<usize>,
}

impl<'a> RecordRef<'a> {
    /// Reads and checks the record that `bytes` are, completely: after this, no access can fail.
    ///
    /// The bytes may lie at any address. Names and image data are borrowed; only names with escapes
    /// are copied. Takes time and memory in proportion to the record's length.
    ///
    /// # Errors
    /// If `bytes` are not exactly one intact record of this version. Use [`records`] for a section.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, HcfError> {
        let record = Self::parse_first(bytes)?;
        let len = record.frame.record_len;
        if bytes.len() > len {
            return Err(HcfError::new(Problem::TrailingBytes { extra: bytes.len() - len }, len));
        }
        Ok(record)
    }

    /// Reads the record that `bytes` begin with.
    fn parse_first(bytes: &'a [u8]) -> Result<Self, HcfError> {
        let frame = Frame::parse(bytes)?;
        let bytes = &bytes[..frame.record_len];
        let (_, contents) = bytes.split_at(FRAME_LEN);
        let found = ObjectId::of(contents);
        if found != frame.object_id {
            return Err(HcfError::new(
                Problem::DamagedContents { expected: frame.object_id, found },
                FRAME_LEN,
            ));
        }
        let (header, appendix) = contents.split_at(frame.header_len);
        let (appendix, padding) = appendix.split_at(frame.appendix_len);
        if padding.iter().any(|&byte| byte != 0) {
            return Err(HcfError::new(Problem::DirtyPadding, bytes.len() - padding.len()));
        }
        let root = Node::parse(header).map_err(|error| error.after(FRAME_LEN))?;
        let contents = Contents::read(&root, appendix)?;
        let mut kernels_by_name: Vec<usize> = (0..contents.kernels.len()).collect();
        kernels_by_name.sort_unstable_by_key(|&at| &contents.kernels[at].name);
        Ok(Self { bytes, frame, contents, root, kernels_by_name })
    }

    /// The hash of the record's contents.
    pub fn object_id(&self) -> ObjectId {
        self.frame.object_id
    }

    /// The record's bytes, as they were read.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The program that wrote the record.
    pub fn generator(&self) -> &str {
        &self.contents.generator
    }

    /// The LLVM release whose bitcode the images hold.
    pub fn llvm_version(&self) -> &str {
        &self.contents.llvm_version
    }

    /// The crate that the kernels were compiled for.
    pub fn crate_name(&self) -> &str {
        &self.contents.crate_name
    }

    /// All kernels, in the record's order.
    pub fn kernels(&self) -> &[KernelRef<'a>] {
        &self.contents.kernels
    }

    /// The kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<&KernelRef<'a>> {
        let kernels = &self.contents.kernels;
        let found =
            self.kernels_by_name.binary_search_by_key(&name, |&at| &kernels[at].name).ok()?;
        Some(&kernels[self.kernels_by_name[found]])
    }

    /// All specialization constants, in the record's order.
    pub fn spec_constants(&self) -> &[SpecConstantRef<'a>] {
        &self.contents.spec_constants
    }

    /// The specialization constant with this symbol.
    pub fn spec_constant(&self, symbol: &str) -> Option<&SpecConstantRef<'a>> {
        self.contents.spec_constants.iter().find(|constant| constant.symbol == symbol)
    }

    /// All images, in the record's order.
    pub fn images(&self) -> &[ImageRef<'a>] {
        &self.contents.images
    }

    /// The image with this name.
    pub fn image(&self, name: &str) -> Option<&ImageRef<'a>> {
        self.contents.images.iter().find(|image| image.name == name)
    }

    /// The generic IR of a kernel of this record, if there is some: for the program's own process, or
    /// for all devices.
    pub fn generic_ir(&self, kernel: &KernelRef<'_>, in_process: bool) -> Option<&ImageRef<'a>> {
        let mut images = kernel.images.iter().filter_map(|name| self.image(name));
        images.find(|it| it.format == GENERIC_IR && (it.variant == IN_PROCESS) == in_process)
    }

    /// The header's contents, for printing.
    pub fn tree(&self) -> Tree<'_> {
        Tree {
            object_id: self.frame.object_id,
            record_len: self.frame.record_len,
            root: &self.root,
        }
    }

    /// A copy that can be changed and written again. Unchanged, it gives the same bytes.
    pub fn to_container(&self) -> Container {
        Container {
            generator: self.generator().to_owned(),
            llvm_version: self.llvm_version().to_owned(),
            crate_name: self.crate_name().to_owned(),
            images: self.images().iter().map(ImageRef::to_image).collect(),
            spec_constants: self
                .spec_constants()
                .iter()
                .map(SpecConstantRef::to_spec_constant)
                .collect(),
            kernels: self.kernels().iter().map(KernelRef::to_kernel).collect(),
        }
    }
}

impl fmt::Debug for RecordRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordRef")
            .field("object_id", &self.object_id())
            .field("crate_name", &self.crate_name())
            .field("images", &self.images())
            .field("kernels", &self.kernels())
            .finish_non_exhaustive()
    }
}

/// The records of a section: what a linker has concatenated, with zeros between.
///
/// Iteration ends after an error, since the place of the next record is unknown. Offsets in errors
/// count from the section's start.
///
/// ```
/// use schism_hcf::{Container, records};
///
/// let record = Container::default().to_record()?;
/// let section = [&record[..], &[0; 48], &record].concat();
/// assert_eq!(records(&section).count(), 2);
/// assert!(records(&section[..100]).next().is_some_and(|record| record.is_err()));
/// # Ok::<(), schism_hcf::HcfError>(())
/// ```
pub fn records(section: &[u8]) -> Records<'_> {
    Records { section, at: 0 }
}

/// The iterator that [`records`] returns.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    section: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>, HcfError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.section[self.at..];
        let padding = rest.iter().take_while(|&&byte| byte == 0).count();
        let start = self.at + padding;
        let result = if padding > MAX_PADDING {
            Err(HcfError::new(Problem::TooMuchPadding, self.at))
        } else if start == self.section.len() {
            self.at = start;
            return None;
        } else {
            RecordRef::parse_first(&rest[padding..]).map_err(|error| error.after(start))
        };
        self.at = match &result {
            Ok(record) => start + record.bytes.len(),
            Err(_) => self.section.len(),
        };
        Some(result)
    }
}

impl std::iter::FusedIterator for Records<'_> {}
