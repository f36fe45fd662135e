//! The LLVM module in rustc's own type for one.

use rustc_middle::ty::TyCtxt;
use schism_llvm::ModuleRef;

/// The LLVM module of a codegen unit or of the allocator, as rustc keeps it.
pub(crate) fn live_module<'m, M>(tcx: TyCtxt<'_>, module: &'m mut M) -> ModuleRef<'m> {
    find_module(module).unwrap_or_else(|| {
        tcx.dcx().fatal(
            "schism: the LLVM module of a codegen unit is not where this rustc keeps it; \
             this plugin belongs to another compiler",
        )
    })
}

/// The LLVM module in rustc's `ModuleLlvm`, whose fields are private: three words, of which
/// one is the context, one the module, one the target machine, in an order that rustc chooses.
/// The module is the word that LLVM itself says belongs to the context.
fn find_module<M>(module: &mut M) -> Option<ModuleRef<'_>> {
    const WORDS: usize = 3;
    if size_of::<M>() != WORDS * size_of::<usize>() || align_of::<M>() != align_of::<usize>() {
        return None;
    }
    // SAFETY: `M` has the size and alignment of three words, all initialised: pointers, as read in
    // the pinned compiler's source.
    let words: [*mut (); WORDS] =
        unsafe { std::ptr::from_mut(module).cast::<[*mut (); WORDS]>().read() };
    if words.iter().any(|word| word.is_null()) {
        return None;
    }
    words.iter().copied().find_map(|candidate| {
        // SAFETY: each word points at an LLVM object of more than one word; an LLVM module starts
        // with a reference to its context, so the first word of the right one is another word.
        let first = unsafe { candidate.cast::<*mut ()>().read() };
        let is_module = words.iter().any(|&other| other != candidate && other == first);
        // SAFETY: it is the module, which lives as long as what has it, and this thread alone has
        // that.
        is_module.then(|| unsafe { ModuleRef::from_raw(candidate.cast()) })
    })
}
