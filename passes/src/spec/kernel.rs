//! What stage 1 tells the passes about each kernel and each specialization constant.

/// A specialization constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstant {
    /// Its symbol.
    pub symbol: String,
    /// Bytes of the static: the value, and what follows it.
    pub static_size: u64,
    /// Alignment of the static in bytes.
    pub align: u64,
    /// The bytes of the value unless a launch has another.
    pub default: Vec<u8>,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSpec {
    /// The name of the kernel function in the image.
    pub name: String,
    /// The symbol of the function that runs one work-item.
    pub entry: String,
    /// The module of the source that its closure stands in.
    pub source: String,
    /// Size of the closure in bytes.
    pub closure_size: u64,
    /// Alignment of the closure in bytes.
    pub closure_align: u64,
    /// The flattened parameters: the parts of the closure, by offset.
    pub parameters: Vec<Parameter>,
}

/// One flattened capture: a scalar or pointer, or opaque bytes, inside the closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Offset in the closure, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// What the bytes are.
    pub kind: ParameterKind,
    /// The program asks for the value to be a constant of the code that stage 2 makes. No pass
    /// looks at it.
    pub specialized: bool,
}

/// What a flattened capture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An integer (also `bool` and `char`) of the parameter's size.
    Integer,
    /// A floating-point number of the parameter's size: 2, 4 or 8 bytes.
    Float,
    /// A pointer, with what the type system knows of what it points at.
    Pointer {
        /// Nothing that the kernel can reach otherwise writes to the pointee.
        noalias: bool,
        /// The kernel does not write through it.
        readonly: bool,
        /// Known alignment of the pointee in bytes; 1 when nothing is known.
        pointee_align: u64,
        /// Bytes that are known to be readable; 0 when nothing is known.
        dereferenceable: u64,
        /// The pointer is never null.
        nonnull: bool,
    },
    /// An aggregate that has no scalar form: an enum with data, a union, a large array.
    Bytes,
}
