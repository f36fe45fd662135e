//! OpenACC's directives, and those of Intel's offload, as attributes: one line before a `for` loop
//! makes it a kernel.
//!
//! `#[acc]` on a function gives a meaning to the directives inside of it. Both languages are parsed
//! to one construct (`clause.rs`), whose loops are analysed (`iteration.rs`, `body.rs`, `affine.rs`, `lanes.rs`)
//! and become calls of schism's public functions (`launch.rs`, `region.rs`).

mod access;
mod affine;
mod atomic;
mod attributes;
mod body;
mod clause;
#[cfg(test)]
mod data_tests;
mod function;
mod iteration;
mod lanes;
mod launch;
mod leaving;
mod mapping;
mod motion;
mod names;
mod nearest;
mod offload;
#[cfg(test)]
mod refusal_tests;
mod region;
mod statement;

use proc_macro::TokenStream;

use crate::clause::Language;

/// Gives a meaning to OpenACC's directives inside of a function: see `schism::directives`.
#[proc_macro_attribute]
pub fn acc(clauses: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(clauses.into(), item.into(), Language::Acc).into()
}

/// Gives a meaning to the directives of Intel's offload inside of a function: see
/// `schism::directives`.
#[proc_macro_attribute]
pub fn offload(clauses: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(clauses.into(), item.into(), Language::Offload).into()
}
