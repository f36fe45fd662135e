//! What passes share of the IR itself, above `schism-llvm`'s accessors: addresses, graphs of blocks,
//! clones, functions with other parameters.

pub(crate) mod address;
pub(crate) mod cfg;
pub(crate) mod clone;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod metadata;
pub(crate) mod parameters;
