//! Slices among a kernel's parameters: what stage 1 knows of a closure's type, as attributes.
//!
//! ```llvm
//! define void @kernel(ptr readonly "schism.slice"="0:4" %x, i64 "schism.length"="0" %len)
//! ```
//! says that `%x` is a slice of `%len` elements of 4 bytes. All of them are readable as long as the
//! kernel runs: the type promises it for a reference, and the runtime keeps the memory of a launch
//! until the launch has ended. The number before the colon pairs the two; the parameters may stand
//! anywhere, and one without the other says nothing.

use schism_llvm::Value;

/// The attribute of a slice's address: the pair's number, and the size of an element in bytes.
const SLICE: &str = "schism.slice";

/// The attribute of a slice's length: the pair's number.
const LENGTH: &str = "schism.length";

/// The attributes of parameters that are texts.
pub const ATTRIBUTES: [&str; 2] = [SLICE, LENGTH];

/// Memory that a function is passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'m> {
    /// The parameter that is its address.
    pub address: Value<'m>,
    pub extent: Extent<'m>,
}

/// How much of it is readable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'m> {
    /// As many elements of this many bytes as a parameter of 64 bits says.
    Elements { length: Value<'m>, size: u64 },
    /// So many bytes.
    Bytes(u64),
}

/// Tells that two parameters of a function, by their places, are a slice.
pub(crate) fn annotate(function: Value<'_>, address: u32, length: u32, size: u64) {
    let context = function.ty().context();
    let slice = context.string_attribute(SLICE, &format!("{address}:{size}"));
    function.add_attribute(address + 1, slice);
    function.add_attribute(length + 1, context.string_attribute(LENGTH, &address.to_string()));
}

/// The memory that a function is passed, and of which it is known how much is readable.
pub(crate) fn of(function: Value<'_>) -> Vec<Slice<'_>> {
    let text = |index: u32, name| {
        function.string_attribute(index + 1, name).and_then(|attribute| attribute.string_value())
    };
    let places = 0..function.num_params();
    let length_of = |pair: &str| {
        let mut lengths =
            places.clone().filter(|&index| text(index, LENGTH).as_deref() == Some(pair));
        let length = function.param(lengths.next()?);
        // Two of them would mean nothing.
        (lengths.next().is_none() && length.ty() == function.ty().context().int_type(64))
            .then_some(length)
    };
    let slice_at = |index: u32| {
        let address = function.param(index);
        if let Some(slice) = text(index, SLICE) {
            let (pair, size) = slice.split_once(':')?;
            let size = size.parse().ok().filter(|&size: &u64| size > 0)?;
            let length = length_of(pair)?;
            return Some(Slice { address, extent: Extent::Elements { length, size } });
        }
        let bytes = address.parameter_attribute("dereferenceable")?.value();
        Some(Slice { address, extent: Extent::Bytes(bytes) })
    };
    places.clone().filter_map(slice_at).collect()
}
