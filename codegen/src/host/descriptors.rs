//! The host half: launch sites get their kernel's descriptor, IR constants fold.
//!
//! Works on the live LLVM module of a codegen unit, right after rustc has lowered it and before any
//! optimisation. Units of crates that do not see the runtime are not examined.

use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::Symbol;
use rustc_span::def_id::LOCAL_CRATE;
use schism_llvm::{Linkage, ModuleRef, Value, Visibility};

use crate::kernels::names::{container_begin, container_end, crate_id};
use crate::kernels::runtime_items::{self, IS_DEVICE};
use crate::{kernels, rayon, rustc};

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

    let module = rustc::live_module(tcx, module);
    let crate_id = crate_id(tcx, LOCAL_CRATE);
    let begin = container_begin(&crate_id);
    let end = container_end(&crate_id);
    for (symbol, kernel, dimensions) in &launches {
        give_descriptor(module, symbol, kernel, *dimensions, &begin, &end);
    }
    schism_passes::frontend::prepare_module::mark_convergent::remove_marks_in(module);
    let folded = schism_passes::frontend::fold_constants::ir_constants::fold_in(
        module, &constants, &functions,
    );
    if let Err(message) = folded {
        tcx.dcx().fatal(format!("schism: folding IR constants failed: {message}"));
    }
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
