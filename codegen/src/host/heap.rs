//! The heap that a program shares with its device.
//!
//! In a program that defines no global allocator the compiler generates functions that call
//! the standard library's:
//!
//! ```llvm
//! define ptr @__rust_alloc(i64 %size, i64 %align) {
//!   %block = call ptr @__rdl_alloc(i64 %size, i64 %align)
//!   ...
//! }
//! ```
//!
//! If parallel iterators may become kernels, they call the runtime's instead, which have the same
//! signatures:
//!
//! ```llvm
//! define ptr @__rust_alloc(i64 %size, i64 %align) {
//!   %block = call ptr @__schism_heap_alloc(i64 %size, i64 %align)
//!   ...
//! }
//! ```

use rustc_middle::ty::TyCtxt;

use crate::rayon::functions::is_in_sight;
use crate::rustc;

/// The functions of the standard library, by the ends of their symbols, and those of the runtime.
const FUNCTIONS: [(&str, &str); 4] = [
    ("__rdl_alloc", "__schism_heap_alloc"),
    ("__rdl_alloc_zeroed", "__schism_heap_alloc_zeroed"),
    ("__rdl_dealloc", "__schism_heap_dealloc"),
    ("__rdl_realloc", "__schism_heap_realloc"),
];

/// Has the allocator's functions call those of the runtime.
pub(crate) fn put_behind_allocator<M>(tcx: TyCtxt<'_>, module: &mut M) {
    if !is_in_sight(tcx) {
        return;
    }
    let module = rustc::live_module(tcx, module);
    for function in module.functions() {
        let symbol = function.name();
        let runtimes = FUNCTIONS.iter().find(|(end, _)| symbol.ends_with(end));
        if let Some((_, runtimes)) = runtimes.filter(|_| function.is_declaration()) {
            function.set_name(runtimes);
        }
    }
}
