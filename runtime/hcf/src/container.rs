//! The container as plain owned data, for writers.

use std::fmt;

use crate::{Addresses, Target};

/// What one crate embeds: device images, and the kernels in them.
///
/// The same container always has the same bytes, so its id can represent it in a cache key.
///
/// ```
/// use schism_hcf::{Container, Image, RecordRef};
///
/// let container = Container {
///     crate_name: "saxpy".into(),
///     images: vec![Image { name: "llvm-ir.global".into(), data: b"BC\xC0\xDE".to_vec(), ..Image::default() }],
///     ..Container::default()
/// };
/// let bytes = container.to_record()?;
/// assert_eq!(RecordRef::parse(&bytes)?.to_container(), container);
/// # Ok::<(), schism_hcf::HcfError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The program that wrote the container, for people: `schism 0.1.0`.
    pub generator: String,
    /// The LLVM release whose bitcode the images hold: `22.1.2`. Empty if no image depends on it.
    pub llvm_version: String,
    /// The crate that the kernels were compiled for.
    pub crate_name: String,
    /// Device images; names are unique.
    pub images: Vec<Image>,
    /// Specialization constants that kernels read; symbols are unique.
    pub spec_constants: Vec<SpecConstant>,
    /// Kernels; names are unique.
    pub kernels: Vec<Kernel>,
}

/// A static whose values a launch can replace before its kernel is compiled.
///
/// In a buffer with the values of all constants, they are in the container's order, each at the
/// next multiple of its alignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecConstant {
    /// The symbol of the constant's bytes in every image. Not empty.
    pub symbol: String,
    /// The name for people: a path.
    pub path: String,
    /// The alignment of the constant in bytes: a power of two, at most
    /// [`MAX_ALIGN`](crate::format::MAX_ALIGN).
    pub align: u64,
    /// The bytes of the static, which a launch can replace by as many others.
    pub default: Vec<u8>,
    /// The values that a launch can replace, by offset: one that covers all bytes, or those of a
    /// static that is an array, a tuple or a struct. At least one; they do not overlap.
    pub parts: Vec<SpecPart>,
}

/// A value that a launch can replace: all of a [`SpecConstant`]'s bytes, or some.
///
/// The host identifies it by its place and its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecPart {
    /// For people, the suffix of the constant's path: `[3]`, `.radius`. Empty if the part is the
    /// whole constant.
    pub path: String,
    /// The name in its declaration, or the source file of the declaration.
    pub place: String,
    /// The line of the declaration, from 1; 0 if `place` is a name.
    pub line: u32,
    /// The column of the declaration, from 1; 0 if `place` is a name.
    pub column: u32,
    /// The compiler's hash of the value's type: the number in its `TypeId`, least significant byte
    /// first.
    pub type_id: [u8; 16],
    /// Where the value begins, in bytes.
    pub offset: u64,
    /// Its size in bytes, at least 1; it ends within the constant.
    pub size: u64,
}

/// The [format](Image::format) of an image of generic IR: LLVM bitcode, which stage 2 compiles.
pub const GENERIC_IR: &str = "llvm-ir";

/// The [variant](Image::variant) of an image of generic IR whose kernels run in the program's own
/// process. What it imports is the program's, in the order of the program's table of addresses.
pub const IN_PROCESS: &str = "in-process";

/// One device binary, or one module of generic IR.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// How kernels refer to it: `llvm-ir.global`, `ptx.sm_90`, `host.x86-64-v3`. Not empty.
    pub name: String,
    /// The format of `data`: `llvm-ir`, or [the target's](Target::format). With `code` it is the target's: see
    /// [`Code::target`].
    pub format: String,
    /// Which of several images in that format: `global-module` for the generic one.
    pub variant: String,
    /// The description of AOT code; `None` for an image that stage 2 compiles.
    pub code: Option<Code>,
    /// Symbols that other images may link against; unique, not empty.
    pub exported_symbols: Vec<String>,
    /// Symbols that must come from other images, of any container of the program; unique, not
    /// empty. Symbols that every target defines (builtins, mathematics) are not among them.
    pub imported_symbols: Vec<String>,
    /// The image itself. Within a record it starts at a multiple of
    /// [`ALIGNMENT`](crate::format::ALIGNMENT).
    pub data: Vec<u8>,
}

/// AOT code of one kernel: what its loader must know, and stage 2 would otherwise report.
///
/// Numbers are those of the interface between the runtime and stage 2, in the version given here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The target that it was compiled for. The image's format is [the target's](Target::format).
    pub target: Target,
    /// The version of the interface.
    pub interface: u32,
    /// The entry's symbol in the code. Not empty.
    pub entry: String,
    /// The flags of the request: a sum of flags.
    pub flags: u32,
    /// What every launch of it satisfies, a sum of assumptions; the key `facts`.
    pub assumptions: u32,
    /// The work-items of a block in each dimension, x first, in every launch of it; zeros if they
    /// may be any.
    pub block: [u32; 3],
    /// Bit `i`: parameter `i` is a multiple of 16 in every launch of it.
    pub aligned: u64,
    /// Bit `i`: parameter `i` is below 2³¹ in every launch of it.
    pub narrow: u64,
    /// What it needs and takes: a sum of flags.
    pub needs: u32,
    /// The stack that it needs in bytes, without that of functions outside its object; `None` if
    /// unknown.
    pub stack: Option<u64>,
}

/// One kernel: its name, and the images that contain it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The symbol of the kernel's function in every image of `images` without code. Not empty.
    pub name: String,
    /// The name for people: a path and a source position.
    pub display_name: String,
    /// Dimensions of its launch range, 1 to 3.
    pub dimensions: u32,
    /// Size of the closure whose captures are the parameters, in bytes.
    pub closure_size: u64,
    /// Alignment of the closure in bytes: a power of two, at most
    /// [`MAX_ALIGN`](crate::format::MAX_ALIGN).
    pub closure_align: u64,
    /// The function's parameters in order; each is a part of the closure.
    pub parameters: Vec<Parameter>,
    /// Names of the images that contain the kernel, most general first; at least one, unique, each
    /// in the container.
    pub images: Vec<String>,
    /// Whether a launch can end in a panic, so that the host must check.
    pub can_panic: bool,
    /// What it requires of a work-group; `None` if it can run without groups.
    pub groups: Option<Groups>,
    /// The symbol of the offset variant: a variant of the function with three more parameters,
    /// 64-bit integers, for the launch's offset, x first. A kernel without one does not depend on
    /// the offset. Not empty, and no other kernel's or variant's symbol.
    pub offset_variant: Option<String>,
    /// Symbols of the specialization constants that it reads; unique, each in the container.
    pub spec_constants: Vec<String>,
    /// The imported symbols of the image that it reaches; unique, not empty.
    pub imports: Vec<String>,
    /// The capabilities that it needs and not every device has, as words of lower-case letters,
    /// digits and `-`: `atomic64`, `fp128`, `fp16`, `fp64`, `groups`, `indirect-calls`, `int128`,
    /// `recursion`; the key `aspects`. In ascending order, none twice. A device without one of them
    /// cannot run it.
    pub capabilities: Vec<String>,
    /// The structural hash: kernels with the same hash, parameters and capabilities compile to the
    /// same code on the same device, whatever container they are in.
    pub content: Option<[u8; 32]>,
    /// Whether nothing that it reaches on the host uses thread-local variables, so that work-items
    /// which wait for each other may share a thread. `false` if unknown.
    pub no_thread_locals: bool,
}

/// What a kernel requires of its work-groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Bytes of local memory at constant offsets, from the start of the group's memory. Memory that
    /// a launch adds follows them.
    pub local_size: u64,
    /// The alignment of the group's memory in bytes: a power of two, at most
    /// [`MAX_ALIGN`](crate::format::MAX_ALIGN).
    pub local_align: u64,
}

/// One flattened parameter of a kernel: a part of its closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Where the part starts in the closure, in bytes.
    pub offset: u64,
    /// Its size in bytes, at least 1; it ends within the closure.
    pub size: u64,
    /// Its guaranteed alignment in bytes: a power of two, at most
    /// [`MAX_ALIGN`](crate::format::MAX_ALIGN).
    pub align: u64,
    /// How it is passed.
    pub kind: ParameterKind,
    /// Whether it is an address of memory that nothing changes while the kernel runs.
    pub read_only: bool,
    /// Whether the program wants the value to be a constant of the compiled code. Never for
    /// addresses.
    pub specialized: bool,
    /// Where addresses are in the bytes of a parameter of the kind [`ParameterKind::Bytes`]. No
    /// other bytes of parameters are addresses, except those of the kind
    /// [`ParameterKind::Pointer`].
    pub addresses: Addresses,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// An integer of 1, 2, 4, 8 or 16 bytes; `bool` and `char` too.
    Integer,
    /// A floating-point number of 2, 4, 8 or 16 bytes.
    Float,
    /// An address of 4 or 8 bytes.
    Pointer,
    /// Anything else: its bytes, by value.
    Bytes,
}

impl ParameterKind {
    pub(crate) const ALL: [Self; 4] = [Self::Integer, Self::Float, Self::Pointer, Self::Bytes];

    /// The kind's spelling in a record (AdaptiveCpp's).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Float => "floating-point",
            Self::Pointer => "pointer",
            Self::Bytes => "other-by-value",
        }
    }

    pub(crate) const fn allows_size(self, size: u64) -> bool {
        match self {
            Self::Integer => matches!(size, 1 | 2 | 4 | 8 | 16),
            Self::Float => matches!(size, 2 | 4 | 8 | 16),
            Self::Pointer => matches!(size, 4 | 8),
            Self::Bytes => size >= 1,
        }
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
