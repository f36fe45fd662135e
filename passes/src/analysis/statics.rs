//! Which globals a program may change.

use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Whether a global has a value here that can change.
pub(crate) fn is_mutable(global: LLVMValueRef) -> bool {
    // SAFETY: the global is live.
    unsafe { LLVMIsDeclaration(global) == 0 && LLVMIsGlobalConstant(global) == 0 }
}

/// Whether each thread has its own.
pub(crate) fn is_thread_local(global: LLVMValueRef) -> bool {
    // SAFETY: the global is live.
    unsafe { LLVMIsThreadLocal(global) != 0 }
}
