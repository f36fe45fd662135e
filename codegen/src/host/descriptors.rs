//! The host half: launch sites get their kernel's descriptor, IR constants fold.
//!
//! Works on the live LLVM module of a codegen unit, right after rustc has lowered it and before any
//! optimisation. Units of crates that do not see the runtime are not examined.

use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::Symbol;
use schism_llvm::{Linkage, ModuleRef, Value, Visibility};

use crate::device::compose as device;
use crate::device::object;
use crate::kernels;
use crate::kernels::runtime_items::{self, IS_DEVICE};
use crate::rayon;

/// The version of the descriptor's layout, shared with the runtime.
const DESCRIPTOR_ABI: u64 = 1;

/// Patches the module of one codegen unit.
pub(crate) fn patch<M>(tcx: TyCtxt<'_>, unit: Symbol, module: &mut M) {
    let runtime = runtime_items::find(tcx);
    if runtime.is_empty() {
        return;
    }
    let unit = tcx.codegen_unit(unit);
    let launches: Vec<(String, String, u32)> = kernels::markers_of(unit, &runtime)
        .filter(|(marker, _)| rayon::may_be_kernel(tcx, *marker))
        .filter_map(|(marker, items)| {
            let dimensions = marker.args.const_at(1).try_to_target_usize(tcx)?;
            let symbol = tcx.symbol_name(marker).name.to_owned();
            Some((symbol, kernels::name_of(tcx, marker, items), dimensions as u32))
        })
        .collect();
    let constants = [(IS_DEVICE.to_owned(), 0)];
    let functions: Vec<(String, u64)> = runtime
        .iter()
        .map(|items| {
            let function = Instance::mono(tcx, items.is_device);
            (tcx.symbol_name(function).name.to_owned(), 0)
        })
        .collect();

    let module = live_module_or_end(tcx, module);
    let begin = object::begin_symbol(&device::crate_id(tcx));
    let end = object::end_symbol(&device::crate_id(tcx));
    for (symbol, kernel, dimensions) in &launches {
        give_descriptor(module, symbol, kernel, *dimensions, &begin, &end);
    }
    schism_passes::frontend::mark_convergent::remove_marks_in(module);
    let folded =
        schism_passes::frontend::fold_ir_constants::fold_in(module, &constants, &functions);
    if let Err(message) = folded {
        tcx.dcx().fatal(format!("schism: folding IR constants failed: {message}"));
    }
}

/// Tags calls in the device half's module with their ordinal among the calls of the same function.
pub(crate) fn keep_order_of_calls<M>(tcx: TyCtxt<'_>, module: &mut M) {
    let module = live_module_or_end(tcx, module);
    schism_passes::analysis::call_sites::tag(module);
}

pub(crate) fn live_module_or_end<'m, M>(tcx: TyCtxt<'_>, module: &'m mut M) -> ModuleRef<'m> {
    live_module(module).unwrap_or_else(|| {
        tcx.dcx().fatal(
            "schism: the LLVM module of a codegen unit is not where this rustc keeps it; \
             this plugin belongs to another compiler",
        )
    })
}

/// The LLVM module behind rustc's `ModuleLlvm`, whose fields are private: three words, of which
/// one is the context, one the module, one the target machine, in an order that rustc chooses.
/// The module is the word that LLVM itself says belongs to the context.
fn live_module<M>(module: &mut M) -> Option<ModuleRef<'_>> {
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

/// Makes the marker function `symbol` return the descriptor of `kernel`.
fn give_descriptor(
    module: ModuleRef<'_>,
    symbol: &str,
    kernel: &str,
    dimensions: u32,
    begin: &str,
    end: &str,
) {
    let Some(function) = module.function(symbol).filter(|function| !function.is_declaration())
    else {
        return;
    };
    let context = module.context();
    let (i32_type, i64_type) = (context.int_type(32), context.int_type(64));

    let text = context.const_bytes(kernel.as_bytes());
    let name = module.add_global(text.ty(), "schism.kernel_name");
    name.set_initializer(text);
    name.set_global_constant(true);
    name.set_linkage(Linkage::Private);

    let fields = [
        i32_type.const_int(DESCRIPTOR_ABI, false),
        i32_type.const_int(u64::from(dimensions), false),
        name,
        i64_type.const_int(kernel.len() as u64, false),
        boundary(module, begin),
        boundary(module, end),
        context.pointer_type(0).zero(),
    ];
    let value = context.const_struct(&fields, false);
    let descriptor = module.add_global(value.ty(), "schism.descriptor");
    descriptor.set_initializer(value);
    descriptor.set_linkage(Linkage::Internal);
    descriptor.set_alignment(8);

    // The source says `inline(never)`, so that no MIR pass has copied the old body.
    schism_passes::frontend::constant_body::return_constant(function, descriptor);
}

/// A symbol that the crate's container object defines.
fn boundary<'m>(module: ModuleRef<'m>, symbol: &str) -> Value<'m> {
    module.global(symbol).unwrap_or_else(|| {
        let global = module.add_global(module.context().int_type(8), symbol);
        global.set_visibility(Visibility::Hidden);
        global
    })
}
