//! `rustc_codegen_schism`: a codegen backend for rustc that compiles a crate once and splits it.
//!
//! The plugin wraps rustc's LLVM backend. Host code comes out as plain rustc would make it; for a
//! crate that launches kernels the plugin does three more things:
//!
//! 1. **Find.** [`kernels`] finds the launch sites among the crate's monomorphised items: an
//!    instance of the runtime's marker function for each kernel.
//! 2. **Cut the device half.** [`collect`] gathers everything that the kernels reach into a codegen
//!    unit, which rustc's LLVM backend lowers like any other; [`device`] takes the
//!    unoptimised module, runs the passes of `schism-passes` over it, makes the container, adds AOT
//!    code for the targets that a build requests, and puts it in one more object file of the crate.
//! 3. **Patch the host half.** [`host`] gives every launch site the descriptor of its kernel and
//!    folds the IR constants.
//!
//! [`stdpar`] makes kernels of rayon's pipelines where a build requests it; [`rayon`] knows their
//! functions and types. [`report`] shows what the passes refuse as rustc's own errors.
//! [`artifacts`] removes what earlier plugins have left in a target folder.
//!
//! A crate without kernels takes none of these steps, and its objects are byte for byte those of
//! plain rustc.
//!
//! The device half is a separate codegen unit, and not a copy of the host's modules, because it
//! is complete in every session, even when incremental compilation reuses all of the host's units;
//! it has the same items whatever the number of codegen units, so the same input gives the same
//! container; and functions of other crates whose MIR is available are lowered into it, too.
//!
//! [`rustc`] has all that differs between releases of rustc: a port to another one is a module
//! there. [`backend`] is what its implementations of the backend traits share.

#![feature(rustc_private)]

extern crate rustc_abi;
extern crate rustc_ast;
extern crate rustc_codegen_llvm;
extern crate rustc_codegen_ssa;
extern crate rustc_data_structures;
// Not used by name: it makes the plugin share the compiler's copy of everything.
extern crate rustc_driver;
extern crate rustc_errors;
extern crate rustc_feature;
extern crate rustc_hir;
extern crate rustc_incremental;
extern crate rustc_infer;
extern crate rustc_interface;
extern crate rustc_metadata;
extern crate rustc_middle;

extern crate rustc_session;
extern crate rustc_span;
extern crate rustc_target;
extern crate rustc_trait_selection;

mod artifacts;
mod backend;
mod collect;
mod device;
mod driver;
mod host;
mod kernels;
mod llvm_symbols;
mod rayon;
mod report;
mod rustc;
mod session;
mod stdpar;
mod variables;

use rustc_codegen_ssa::traits::CodegenBackend;

/// The entry point that rustc looks up in a backend that it loads by path.
#[unsafe(no_mangle)]
pub fn __rustc_codegen_backend() -> Box<dyn CodegenBackend> {
    backend::backend()
}
