//! The host half: launch sites get their kernel's descriptor, IR constants fold.
//!
//! Works on the live LLVM module of a codegen unit, right after rustc has lowered it and before
//! any optimisation. A unit of a crate that does not see the runtime is never looked at.

use std::ffi::{CStr, CString};

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target_machine::LLVMGetHostCPUName;
use llvm_sys::{LLVMLinkage, LLVMVisibility};
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_session::Session;
use rustc_span::Symbol;

use crate::runtime_items::{self, IS_DEVICE};
use crate::{device, kernels, object};

/// The version of the descriptor's layout, shared with the runtime.
const DESCRIPTOR_ABI: u64 = 1;

/// The CPU that rustc generates host code for, by LLVM's name.
pub(crate) fn target_cpu(sess: &Session) -> String {
    let name = sess.opts.cg.target_cpu.as_deref().unwrap_or(&sess.target.cpu);
    if name != "native" {
        return name.to_owned();
    }
    // SAFETY: LLVM returns a NUL-terminated string that the caller owns.
    unsafe {
        let host = LLVMGetHostCPUName();
        let name = CStr::from_ptr(host).to_string_lossy().into_owned();
        LLVMDisposeMessage(host);
        name
    }
}

/// Mends the module of one codegen unit.
pub(crate) fn mend<M>(tcx: TyCtxt<'_>, unit: Symbol, module: &mut M) {
    let runtime = runtime_items::find(tcx);
    if runtime.is_empty() {
        return;
    }
    let unit = tcx.codegen_unit(unit);
    let launches: Vec<(String, String, u32)> = kernels::markers_of(unit, &runtime)
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
        // SAFETY: the module is live, and this thread alone has it.
        unsafe { give_descriptor(module, symbol, kernel, *dimensions, &begin, &end) };
    }
    // SAFETY: as above.
    unsafe { schism_passes::frontend::mark_convergent::remove_marks_in(module) };
    // SAFETY: as above.
    let folded = unsafe {
        schism_passes::frontend::fold_ir_constants::fold_in(module, &constants, &functions)
    };
    if let Err(message) = folded {
        tcx.dcx().fatal(format!("schism: folding IR constants failed: {message}"));
    }
}

/// Marks in the module of the device half which of several calls of one function is which.
pub(crate) fn keep_order_of_calls<M>(tcx: TyCtxt<'_>, module: &mut M) {
    let module = live_module_or_end(tcx, module);
    // SAFETY: the module is live, this thread alone has it, and it comes straight from the compiler.
    unsafe { schism_passes::analysis::call_sites::tag(module) };
}

fn live_module_or_end<M>(tcx: TyCtxt<'_>, module: &mut M) -> LLVMModuleRef {
    live_module(module).unwrap_or_else(|| {
        tcx.dcx().fatal(
            "schism: the LLVM module of a codegen unit is not where rustc 1.95.0 keeps it; \
             this plugin belongs to another compiler",
        )
    })
}

/// The LLVM module behind rustc's `ModuleLlvm`, whose fields are private: three words, of which
/// one is the context, one the module, one the target machine, in an order that rustc chooses.
/// The module is the word that LLVM itself says belongs to the context.
fn live_module<M>(module: &mut M) -> Option<LLVMModuleRef> {
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
        is_module.then_some(candidate.cast())
    })
}

/// Makes the marker function `symbol` return the descriptor of `kernel`.
///
/// # Safety
/// `module` is live, and no other thread has it.
unsafe fn give_descriptor(
    module: LLVMModuleRef,
    symbol: &str,
    kernel: &str,
    dimensions: u32,
    begin: &str,
    end: &str,
) {
    // SAFETY: everything is made in the live module and its context.
    unsafe {
        let function = LLVMGetNamedFunctionWithLength(module, symbol.as_ptr().cast(), symbol.len());
        if function.is_null() || LLVMIsDeclaration(function) != 0 {
            return;
        }
        let context = LLVMGetModuleContext(module);
        let (i32_type, i64_type) =
            (LLVMInt32TypeInContext(context), LLVMInt64TypeInContext(context));
        let pointer = LLVMPointerTypeInContext(context, 0);

        let text = LLVMConstStringInContext2(context, kernel.as_ptr().cast(), kernel.len(), 1);
        let name = LLVMAddGlobal(module, LLVMTypeOf(text), c"schism.kernel_name".as_ptr());
        LLVMSetInitializer(name, text);
        LLVMSetGlobalConstant(name, 1);
        LLVMSetLinkage(name, LLVMLinkage::LLVMPrivateLinkage);

        let mut fields = [
            LLVMConstInt(i32_type, DESCRIPTOR_ABI, 0),
            LLVMConstInt(i32_type, u64::from(dimensions), 0),
            name,
            LLVMConstInt(i64_type, kernel.len() as u64, 0),
            boundary(module, begin),
            boundary(module, end),
            LLVMConstNull(pointer),
        ];
        let value = LLVMConstStructInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0);
        let descriptor = LLVMAddGlobal(module, LLVMTypeOf(value), c"schism.descriptor".as_ptr());
        LLVMSetInitializer(descriptor, value);
        LLVMSetLinkage(descriptor, LLVMLinkage::LLVMInternalLinkage);
        LLVMSetAlignment(descriptor, 8);

        // The source says `inline(never)`, so that no MIR pass has copied the old body.
        schism_passes::frontend::constant_body::return_constant(function, descriptor);
    }
}

/// A symbol that the crate's container object defines.
///
/// # Safety
/// `module` is live, and no other thread has it.
unsafe fn boundary(module: LLVMModuleRef, symbol: &str) -> LLVMValueRef {
    // SAFETY: as promised by the caller.
    unsafe {
        let known = LLVMGetNamedGlobalWithLength(module, symbol.as_ptr().cast(), symbol.len());
        if !known.is_null() {
            return known;
        }
        let name = CString::new(symbol).expect("made of a prefix and digits");
        let byte = LLVMInt8TypeInContext(LLVMGetModuleContext(module));
        let global = LLVMAddGlobal(module, byte, name.as_ptr());
        LLVMSetVisibility(global, LLVMVisibility::LLVMHiddenVisibility);
        global
    }
}
