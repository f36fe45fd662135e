//! A record in memory, read without copying it.

use std::{borrow::Cow, fmt};

use crate::{
    Code, Container, GENERIC_IR, Groups, HcfError, IN_PROCESS, Image, Kernel, ObjectId, Parameter,
    Problem, SpecConstant, SpecPart, Tree,
    format::{FRAME_LEN, MAX_PADDING},
    frame::Frame,
    read::Contents,
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

/// A kernel of a record; see [`Kernel`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelRef<'a> {
    /// The symbol of the kernel's function in every image of `images` without code.
    pub name: Cow<'a, str>,
    /// The name for people.
    pub display_name: Cow<'a, str>,
    /// Dimensions of its launch range, 1 to 3.
    pub dimensions: u32,
    /// Size of its closure in bytes.
    pub closure_size: u64,
    /// Alignment of its closure in bytes: a power of two, at most
    /// [`MAX_ALIGN`](crate::format::MAX_ALIGN).
    pub closure_align: u64,
    /// The function's parameters in order; each lies within the closure.
    pub parameters: Vec<Parameter>,
    /// Names of the images that hold the kernel: at least one, each in the record.
    pub images: Vec<Cow<'a, str>>,
    /// Whether a launch can end in a panic.
    pub can_panic: bool,
    /// What it requires of a work-group; `None` if it can run without groups.
    pub groups: Option<Groups>,
    /// The symbol of the offset variant, if there is one.
    pub offset_variant: Option<Cow<'a, str>>,
    /// The capabilities that it needs and not every device has, in ascending order.
    pub capabilities: Vec<String>,
    /// The structural hash, if the container has it.
    pub content: Option<[u8; 32]>,
    /// Whether nothing that it reaches on the host uses thread-local variables, as far as known.
    pub no_thread_locals: bool,
    /// Symbols of the specialization constants that it reads, each in the record.
    pub spec_constants: Vec<Cow<'a, str>>,
    /// The imported symbols of its image that it reaches.
    pub imports: Vec<Cow<'a, str>>,
}

/// A specialization constant of a record; see [`SpecConstant`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecConstantRef<'a> {
    /// The symbol of the constant's bytes in every image.
    pub symbol: Cow<'a, str>,
    /// The name for people.
    pub path: Cow<'a, str>,
    /// The alignment of the constant in bytes.
    pub align: u64,
    /// The bytes of the static, which a launch can replace.
    pub default: Vec<u8>,
    /// The values that a launch can replace: at least one, by offset, each within the bytes.
    pub parts: Vec<SpecPart>,
}

/// An image of a record; see [`Image`].
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageRef<'a> {
    /// How kernels refer to it.
    pub name: Cow<'a, str>,
    /// The format of `data`.
    pub format: Cow<'a, str>,
    /// Which of several images in that format.
    pub variant: Cow<'a, str>,
    /// The description of AOT code; `None` for an image that stage 2 compiles.
    pub code: Option<Code>,
    /// Symbols that other images may link against.
    pub exported_symbols: Vec<Cow<'a, str>>,
    /// Symbols that must come from elsewhere.
    pub imported_symbols: Vec<Cow<'a, str>>,
    /// The image itself: in place, and as aligned as the record is, up to
    /// [`ALIGNMENT`](crate::format::ALIGNMENT).
    pub data: &'a [u8],
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

impl ImageRef<'_> {
    /// A copy of the image.
    pub fn to_image(&self) -> Image {
        Image {
            name: self.name.to_string(),
            format: self.format.to_string(),
            variant: self.variant.to_string(),
            code: self.code.clone(),
            exported_symbols: owned(&self.exported_symbols),
            imported_symbols: owned(&self.imported_symbols),
            data: self.data.to_owned(),
        }
    }
}

impl KernelRef<'_> {
    /// A copy of the kernel.
    pub fn to_kernel(&self) -> Kernel {
        Kernel {
            name: self.name.to_string(),
            display_name: self.display_name.to_string(),
            dimensions: self.dimensions,
            closure_size: self.closure_size,
            closure_align: self.closure_align,
            parameters: self.parameters.clone(),
            images: owned(&self.images),
            can_panic: self.can_panic,
            groups: self.groups,
            offset_variant: self.offset_variant.as_ref().map(ToString::to_string),
            capabilities: self.capabilities.clone(),
            content: self.content,
            no_thread_locals: self.no_thread_locals,
            spec_constants: owned(&self.spec_constants),
            imports: owned(&self.imports),
        }
    }
}

impl SpecConstantRef<'_> {
    /// A copy of the constant.
    pub fn to_spec_constant(&self) -> SpecConstant {
        SpecConstant {
            symbol: self.symbol.to_string(),
            path: self.path.to_string(),
            align: self.align,
            default: self.default.clone(),
            parts: self.parts.clone(),
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

impl fmt::Debug for ImageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageRef")
            .field("name", &self.name)
            .field("format", &self.format)
            .field("variant", &self.variant)
            .field("code", &self.code)
            .field("exported_symbols", &self.exported_symbols)
            .field("imported_symbols", &self.imported_symbols)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .finish()
    }
}

fn owned(names: &[Cow<'_, str>]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
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
