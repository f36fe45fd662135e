//! `rustc_codegen_schism`: a codegen backend for rustc that compiles a crate once and splits it.
//!
//! The plugin wraps rustc's LLVM backend. Host code comes out as plain rustc would make it; for a
//! crate that launches kernels the plugin does three more things:
//!
//! 1. **Find.** [`kernels`] finds the launch sites among the crate's monomorphised items: an
//!    instance of the runtime's marker function for each kernel.
//! 2. **Cut the device half.** [`collect`] gathers everything that the kernels reach into a codegen
//!    unit of its own, which rustc's LLVM backend lowers like any other; [`device`] takes the
//!    unoptimised module, runs the passes of `schism-passes` over it, and makes the container.
//!    [`object`] puts that in one more object file of the crate.
//! 3. **Patch the host half.** [`host`] gives every launch site the descriptor of its kernel and
//!    folds the IR constants.
//!
//! [`aot`] adds AOT code for the targets that a build requests. [`work_products`] decides what
//! incremental compilation can reuse, and [`encoded_mir`] which functions of dependencies only
//! kernels see. [`track`] tells cargo what a crate with kernels depends on besides its sources, and
//! [`check`] examines the kernels of crates that are only checked. [`std_bodies`] finds the
//! standard library's own compiled code, for functions without MIR.
//!
//! [`imports`] handles functions that one crate's device code uses from another's. [`stdpar`]
//! makes kernels of rayon's pipelines where a build requests it.
//!
//! [`artifacts`] removes what earlier plugins have left in a target folder.
//!
//! A crate without kernels takes none of these steps, and its objects are byte for byte those of
//! plain rustc.
//!
//! The device half is a codegen unit of its own, and not a copy of the host's modules, because it
//! is complete in every session, even when incremental compilation reuses all of the host's units;
//! it has the same items whatever the number of codegen units, so the same input gives the same
//! container; and functions of other crates whose MIR is available are lowered into it, too.
//!
//! [`rustc`] has all that differs between releases of rustc: a port to another one is a module there.
//! [`glue`] is what its implementations of the backend traits share. [`diagnostics`] reports what the passes refuse as rustc's own errors.

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

mod addresses;
mod aot;
mod artifacts;
mod barrier_markers;
mod call_map;
mod call_paths;
mod check;
mod collect;
mod device;
mod diagnostic_text;
mod diagnostics;
mod driver;
mod encoded_mir;
mod formatters;
mod glue;
mod host;
mod imports;
mod kernels;
mod layout;
mod llvm_symbols;
mod object;
mod panics;
mod runtime_items;
mod rustc;
mod spec_constants;
mod std_bodies;
mod stdpar;
mod threads;
mod times;
mod track;
mod work_products;

use rustc_codegen_ssa::traits::CodegenBackend;

/// The entry point that rustc looks up in a backend that it loads by path.
#[unsafe(no_mangle)]
pub fn __rustc_codegen_backend() -> Box<dyn CodegenBackend> {
    glue::backend()
}
