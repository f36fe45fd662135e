//! What is in a record, borrowed from its bytes.

use std::{borrow::Cow, fmt};

use crate::{Code, Groups, Image, Kernel, Parameter, SpecConstant, SpecPart};

/// The contents of a record.
#[derive(Clone, Debug)]
pub(crate) struct Contents<'a> {
    pub generator: Cow<'a, str>,
    pub llvm_version: Cow<'a, str>,
    pub crate_name: Cow<'a, str>,
    pub images: Vec<ImageRef<'a>>,
    pub spec_constants: Vec<SpecConstantRef<'a>>,
    pub kernels: Vec<KernelRef<'a>>,
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
    /// Whether nothing that it reaches on the host uses thread-local variables, if that is known.
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
