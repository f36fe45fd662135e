//! What LLVM says while it works.

use std::ffi::c_void;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{
    LLVMContextGetDiagnosticContext, LLVMContextGetDiagnosticHandler,
    LLVMContextSetDiagnosticHandler, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use llvm_sys::prelude::LLVMDiagnosticInfoRef;

use crate::{ContextRef, take_message};

/// Does something with a context, and collects the errors that LLVM reports meanwhile. Without a handler, LLVM ends the process at an
/// error. The handler that the context had before is there again afterwards.
pub fn collect_errors<T>(context: ContextRef<'_>, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    /// Puts back the handler of before, however the work ends.
    struct Restore<'m>(ContextRef<'m>, llvm_sys::LLVMDiagnosticHandler, *mut c_void);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            // SAFETY: the context is live, and the handler is the one that it had, with its own data.
            unsafe { LLVMContextSetDiagnosticHandler(self.0.raw(), self.1, self.2) };
        }
    }

    let messages = Box::into_raw(Box::<Vec<String>>::default());
    // SAFETY: the context is live.
    let before = unsafe {
        let handler = LLVMContextGetDiagnosticHandler(context.raw());
        Restore(context, handler, LLVMContextGetDiagnosticContext(context.raw()))
    };
    // SAFETY: the context is live; the handler gets a pointer to a vector that is freed only after the handler was taken away.
    unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(note), messages.cast()) };
    let result = work();
    drop(before);
    // SAFETY: the pointer is of a box, and no handler has it any more.
    (result, *unsafe { Box::from_raw(messages) })
}

/// Keeps the errors among LLVM's messages.
extern "C" fn note(info: LLVMDiagnosticInfoRef, messages: *mut c_void) {
    // SAFETY: LLVM passes a live description and the pointer with which the handler was set, to a vector that nothing else uses
    // meanwhile; the text is ours.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let message = take_message(LLVMGetDiagInfoDescription(info));
            (*messages.cast::<Vec<String>>()).push(message);
        }
    }
}
