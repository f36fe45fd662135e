//! What stage 1 tells the passes about a device module: plain data, no LLVM.

pub mod builtins;
pub mod target;
pub mod text;

use std::sync::Arc;

use schism_message::{Kind, Trait};

use crate::check::performance_lints::Warnings;
use crate::frontend::split_images::SplitMode;
use crate::frontend::std_bodies::Provider;
use crate::specialize::fast_math::FastMath;

/// Everything that the passes need to know beside the IR itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSpec {
    /// The kernels to make, in the order in which the container lists them.
    pub kernels: Vec<KernelSpec>,
    /// Functions whose call means that the kernel panics.
    pub panics: Vec<PanicFunction>,
    /// Functions that format a value and stay out of the module.
    pub formatters: Vec<Formatter>,
    /// The types that messages show; formatters and panics refer to them by index.
    pub types: Vec<TypeDescription>,
    /// IR constants of stage 1: symbol of a global, and its value in this module.
    pub ir_constants: Vec<(String, u64)>,
    /// Functions that only return an IR constant, and the value they return.
    pub ir_constant_functions: Vec<(String, u64)>,
    /// The specialization constants that kernels may read, in the order in which the container lists them.
    pub spec_constants: Vec<SpecConstant>,
    /// Functions that kernels of other modules may call, by symbol, sorted.
    pub exports: Vec<String>,
    /// Functions without a body that other images may define, by symbol, sorted.
    pub imports: Vec<String>,
    /// In stage 2: symbols of specialization constants, and the bytes that replace the image's own.
    pub constant_values: Vec<(String, Vec<u8>)>,
    /// In stage 2: how inexact floating-point operations may be.
    pub fast_math: FastMath,
    /// Bodies of functions that the module only declares.
    pub provider: Option<Arc<Provider>>,
    /// The triple of stage 2's target; empty for the host's.
    pub target: String,
    /// How kernels are divided into images.
    pub split: SplitMode,
    /// Places in the source stay in the image, as far as the module has them.
    pub lines: bool,
    /// Which costs to look for.
    pub warnings: Warnings,
    /// For the pass `split` alone: the kernels to keep.
    pub part: Vec<String>,
}

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
    /// The leaves of the closure, in the order of the kernel's parameters.
    pub parameters: Vec<Parameter>,
}

/// One flattened capture: a scalar or pointer, or opaque bytes, inside the closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Offset in the closure, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Alignment of the leaf in bytes.
    pub align: u64,
    /// What the bytes are.
    pub kind: ParameterKind,
    /// The program asks for the value to be a constant of the code that stage 2 makes. No pass looks at it.
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

/// A function whose call means that the kernel panics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicFunction {
    /// Its symbol.
    pub symbol: String,
    /// Where its message is.
    pub message: PanicMessage,
    /// Its last argument is a `&core::panic::Location`.
    pub located: bool,
}

/// Where the message of a panic is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanicMessage {
    /// The message belongs to the function.
    Static(String),
    /// The first two arguments are the pointer and length of a string.
    Text,
    /// The first two arguments are the two words of a `core::fmt::Arguments`.
    Arguments,
    /// The message is formatted from the function's arguments.
    Template {
        /// The template, in the form of the standard library.
        template: Vec<u8>,
        /// Another template, for calls in which an argument, given by its index, is not null.
        unless_null: Option<(u32, Vec<u8>)>,
        /// What the placeholders stand for.
        values: Vec<PanicValue>,
    },
}

/// A value in a panic's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicValue {
    /// The index of the first argument of the call that it consists of.
    pub argument: u32,
    /// How many arguments.
    pub arguments: u32,
    /// The index of its type's description.
    pub ty: usize,
}

/// A function that formats a value: an implementation of `Display`, `Debug` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatter {
    /// Its symbol.
    pub symbol: String,
    /// The index of the description that takes its place.
    pub ty: usize,
}

/// How values of a type are shown: a [`schism_message::Descriptor`] to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDescription {
    /// What the value is.
    pub kind: Kind,
    /// The trait by which it is formatted.
    pub by: Trait,
    /// The name that the kind asks for, if any.
    pub name: String,
    /// The parts.
    pub parts: Vec<TypePart>,
}

/// A part of a type: a [`schism_message::Part`] to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypePart {
    /// The number that the kind asks for.
    pub value: u64,
    /// The index of the part's description.
    pub ty: Option<usize>,
    /// The part's name.
    pub name: String,
    /// What stands in place of the name's length, for a part without a name.
    pub size: u64,
}
