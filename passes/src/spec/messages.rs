//! What stage 1 tells the passes about messages: the functions that panic or format, and the types
//! of what they show.

use schism_message::{Kind, Trait};

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
    /// The same, and nothing may unwind where it is called: while something does.
    Abort(String),
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
