//! Raises the alignment of accesses at addresses that advance by constant steps. Runs in stage 2,
//! for GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! define void @rows(ptr align 16 %p, i64 %any) {
//! begin:
//!   %row = and i64 %any, -16
//!   %first = getelementptr float, ptr %p, i64 %row
//! loop:
//!   %at = phi ptr [ %first, %begin ], [ %at.next, %loop ]
//!   %a = load float, ptr %at, align 4
//!   %at.1 = getelementptr i8, ptr %at, i64 4
//!   %b = load float, ptr %at.1, align 4
//!   ...
//!   %at.next = getelementptr i8, ptr %at, i64 64
//! ```
//! After:
//! ```llvm
//!   %a = load float, ptr %at, align 16
//!   %b = load float, ptr %at.1, align 4
//! ```
//!
//! LLVM's code generator combines neighbouring accesses if it knows the alignment of the first one,
//! but does not derive it through a phi. LLVM's pass `alignment-from-assumptions` does, for
//! addresses whose base is in an assumption. So each parameter with the attribute `align` gets one
//! for as long as that pass runs:
//! ```llvm
//!   call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16) ]
//! ```

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.get_functions() {
        // SAFETY: the function is one of the live module, which the caller holds.
        unsafe { run_on(module.as_mut_ptr(), function.as_value_ref()) }?;
    }
    Ok(())
}

/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
unsafe fn run_on(module: LLVMModuleRef, function: LLVMValueRef) -> Result<(), String> {
    let Some(&entry) = ir::blocks(function).first() else { return Ok(()) };
    // SAFETY: as promised by the caller. The assumptions stand in front of everything in the entry,
    // and say what the attributes say; they have no users when they are erased.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
        let mut assumptions = Vec::new();
        for index in 0..LLVMCountParams(function) {
            let parameter = LLVMGetParam(function, index);
            if let Some(align) = ir::parameter_attribute(parameter, "align") {
                let align = LLVMGetEnumAttributeValue(align);
                assumptions.push(assume_aligned(module, builder, parameter, align));
            }
        }
        LLVMDisposeBuilder(builder);
        if assumptions.is_empty() {
            return Ok(());
        }
        let result = ir::run_llvm_passes_on(function, "alignment-from-assumptions");
        assumptions.into_iter().for_each(|call| LLVMInstructionEraseFromParent(call));
        result
    }
}

/// Builds an assumption that an address is a multiple of `align`.
///
/// # Safety
/// The builder stands in the live module, where the address is available.
unsafe fn assume_aligned(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    address: LLVMValueRef,
    align: u64,
) -> LLVMValueRef {
    // SAFETY: as promised by the caller; names are passed with their lengths, and LLVM copies the
    // bundle into the call.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let name = "llvm.assume";
        let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
        let assume = LLVMGetIntrinsicDeclaration(module, id, std::ptr::null_mut(), 0);
        let ty = LLVMGlobalGetValueType(assume);
        let number = LLVMConstInt(LLVMInt64TypeInContext(context), align, 0);
        let (tag, mut of) = ("align", [address, number]);
        let mut bundle =
            LLVMCreateOperandBundle(tag.as_ptr().cast(), tag.len(), of.as_mut_ptr(), 2);
        let mut holds = LLVMConstInt(LLVMInt1TypeInContext(context), 1, 0);
        let unnamed = c"".as_ptr();
        let call = LLVMBuildCallWithOperandBundles(
            builder,
            ty,
            assume,
            &mut holds,
            1,
            &mut bundle,
            1,
            unnamed,
        );
        LLVMDisposeOperandBundle(bundle);
        call
    }
}
