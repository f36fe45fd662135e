//! Clones kernels that read the launch offset, with the offset as parameters.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr %out) {
//!   call void @work(ptr %out)
//!   ret void
//! }
//! define internal void @work(ptr %out) {
//!   %begin = call i64 @__schism_global_offset_x()
//!   ...
//! }
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %out) {
//!   call void @work(ptr %out)
//!   ret void
//! }
//! define internal void @work(ptr %out) {
//!   ...                                               ; with 0 for %begin
//! }
//! define void @kernel_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
//!   call void @work_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z)
//!   ret void
//! }
//! define internal void @work_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
//!   ...                                               ; with %offset.x for %begin
//! }
//! ```
//!
//! So a launch that begins at zero pays nothing: the runtime takes the variant where a component is
//! not zero. Three numbers, not a pointer to them: they stay in registers, or where a target keeps
//! parameters, without a copy in private memory, and they have all 64 bits.
//!
//! Functions that do not read the offset are shared by both. One that does and whose address is
//! taken is refused: a call through a pointer does not know whether to pass the offset.

use std::collections::HashSet;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};

use crate::analysis::uses::violation_of_use;
use crate::ir;
use crate::ir::parameters::{ByAddress, Copies, only_calls, with_callers};
use crate::spec::builtins::{GLOBAL_OFFSET, OFFSET_SUFFIX};
use crate::spec::image::KernelImage;
use crate::spec::report::{Violation, ViolationKind};

/// Runs the pass, and notes each kernel's variant.
///
/// Returns what it refuses; there are no variants then.
pub fn run(module: &Module<'_>, kernels: &mut [KernelImage]) -> Vec<Violation> {
    // SAFETY: the module is live and held by the caller.
    unsafe { make_variants(module.as_mut_ptr(), kernels) }
}

/// # Safety
/// `module` is a live module that nobody else changes during the call.
unsafe fn make_variants(module: LLVMModuleRef, kernels: &mut [KernelImage]) -> Vec<Violation> {
    // SAFETY: all values are of the live module. A read is erased after its last use has been replaced, and a builtin's
    // declaration after its last read.
    unsafe {
        let mut builtins = Vec::new();
        for (name, axis) in GLOBAL_OFFSET.into_iter().zip(0..) {
            let function = LLVMGetNamedFunctionWithLength(module, name.as_ptr().cast(), name.len());
            if !function.is_null() && is_builtin(function) {
                builtins.push((function, axis));
            }
        }
        let axis_of = |call: LLVMValueRef| {
            let callee = ir::callee(call)?;
            builtins.iter().find(|(builtin, _)| *builtin == callee).map(|(_, axis)| *axis)
        };

        let mut reads = Vec::new();
        for &(builtin, _) in &builtins {
            for user in ir::users(builtin) {
                if !only_calls(user, builtin) {
                    return refuse(builtin);
                }
                if LLVMGetFirstUse(user).is_null() {
                    LLVMInstructionEraseFromParent(user);
                } else {
                    reads.push(user);
                }
            }
        }

        let readers: HashSet<LLVMValueRef> =
            reads.iter().map(|read| ir::parent_function(*read)).collect();
        let functions = match with_callers(module, readers) {
            Ok(functions) => functions,
            Err(ByAddress(function)) => return refuse(function),
        };
        let long = LLVMInt64TypeInContext(LLVMGetModuleContext(module));
        let added = [("offset.x", long), ("offset.y", long), ("offset.z", long)];
        let copies = Copies::declare(module, &functions, OFFSET_SUFFIX, &added);
        for &function in &functions {
            copies.fill(function, |instruction, offset| Some(offset[axis_of(instruction)?]));
        }
        for read in reads {
            LLVMReplaceAllUsesWith(read, LLVMConstNull(long));
            LLVMInstructionEraseFromParent(read);
        }
        for (builtin, _) in builtins {
            LLVMDeleteFunction(builtin);
        }
        for kernel in kernels.iter_mut() {
            let name = &kernel.name;
            let function = LLVMGetNamedFunctionWithLength(module, name.as_ptr().cast(), name.len());
            kernel.offset_variant = copies.of(function).map(ir::name_of);
        }
        for &function in &functions {
            let name = ir::name_of(function);
            if let Some(copy) = copies.of(function)
                && !kernels.iter().any(|kernel| kernel.name == name)
            {
                LLVMSetLinkage(copy, LLVMLinkage::LLVMInternalLinkage);
            }
        }
        Vec::new()
    }
}

/// Whether a function of a builtin's name is one: declared, of type `i64 ()`.
///
/// # Safety
/// `function` is a live function.
unsafe fn is_builtin(function: LLVMValueRef) -> bool {
    // SAFETY: as promised by the caller; the width is asked of an integer only.
    unsafe {
        let ty = LLVMGlobalGetValueType(function);
        let returns = LLVMGetReturnType(ty);
        LLVMIsDeclaration(function) != 0
            && LLVMCountParamTypes(ty) == 0
            && LLVMIsFunctionVarArg(ty) == 0
            && LLVMGetTypeKind(returns) == LLVMTypeKind::LLVMIntegerTypeKind
            && LLVMGetIntTypeWidth(returns) == 64
    }
}

/// The violation of a function that reads the offset and can be called by those who do not know it.
fn refuse(function: LLVMValueRef) -> Vec<Violation> {
    let what = ViolationKind::OffsetByAddress(ir::name_of(function));
    let user = ir::users(function).into_iter().find(|user| !only_calls(*user, function));
    vec![violation_of_use(user.unwrap_or(function), what)]
}
