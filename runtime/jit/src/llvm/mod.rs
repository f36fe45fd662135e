//! The part of LLVM's C interface that stage 2 uses, as owned Rust values.
//!
//! One compile has one [`Context`], and everything of it stays on one thread, so compiles share no lock. What LLVM would
//! print, or end the process for, becomes an error: messages through [`Context`]'s diagnostic handler, fatal errors
//! through [`isolated`].
//!
//! [`Value`] is a plain copyable handle, as in LLVM itself. Its contract: it is only used while its module lives and until
//! it is erased. Erasing and moving modules is done in few places, and those are unsafe and say why they hold.

mod fatal;
mod lines;
mod machine;
mod module;
mod value;

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{
    LLVMContextCreate, LLVMContextDispose, LLVMContextSetDiagnosticHandler, LLVMDisposeMessage,
    LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity, LLVMGetVersion,
};
use llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

pub use fatal::{isolated, panic_text};
pub use machine::{FileKind, Machine};
pub use module::{Module, metadata_kind};
pub use value::{Builder, TypeKind, Value, attribute_kind, kind_of};

/// The version of the LLVM that is loaded: major, minor, patch.
pub fn version() -> (u32, u32, u32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three pointers are to live integers.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    (major, minor, patch)
}

/// Everything of one compile: types, constants, modules. Collects the errors that LLVM reports meanwhile.
pub struct Context {
    raw: LLVMContextRef,
    // Boxed, because LLVM holds its address.
    errors: Box<RefCell<Vec<String>>>,
}

impl Context {
    /// A new context.
    pub fn new() -> Self {
        let errors = Box::new(RefCell::new(Vec::new()));
        // SAFETY: the context is new, so it is live; the handler gets the address of `errors`' contents, which lives as
        // long as the context: both are owned by the value made here, and `drop` disposes of the context first.
        let raw = unsafe {
            let raw = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(
                raw,
                Some(on_diagnostic),
                (&raw const *errors).cast_mut().cast(),
            );
            raw
        };
        Self { raw, errors }
    }

    /// LLVM's errors since the last call, in one line; `None` if there were none.
    pub fn take_errors(&self) -> Option<String> {
        let errors = self.errors.take();
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    /// LLVM's errors since the last call, or `otherwise` if it said nothing.
    pub fn errors_or(&self, otherwise: &str) -> String {
        self.take_errors().unwrap_or_else(|| otherwise.to_owned())
    }

    pub(super) fn raw(&self) -> LLVMContextRef {
        self.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `raw` is live and ours; modules borrow the context, so none is left.
        unsafe { LLVMContextDispose(self.raw) };
    }
}

/// Keeps errors; without a handler LLVM would end the process at one.
extern "C" fn on_diagnostic(info: LLVMDiagnosticInfoRef, errors: *mut c_void) {
    // SAFETY: LLVM calls with a live diagnostic.
    let severity = unsafe { LLVMGetDiagInfoSeverity(info) };
    if severity != LLVMDiagnosticSeverity::LLVMDSError {
        return;
    }
    // SAFETY: as above; the text is ours to dispose of, which `take_message` does.
    let text = unsafe { take_message(LLVMGetDiagInfoDescription(info)) };
    // SAFETY: `Context::new` registered the address of this type of value, which outlives the context, and the context
    // is used by one thread only.
    let errors = unsafe { &*errors.cast::<RefCell<Vec<String>>>() };
    if let Ok(mut errors) = errors.try_borrow_mut() {
        errors.push(text);
    }
}

/// Copies and disposes of a text that LLVM made.
///
/// # Safety
/// `message` is null or came from LLVM as a text that the receiver disposes of.
unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM's texts end with a NUL; the caller promises that it is a live text of LLVM's that is ours.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().trim().to_owned();
        LLVMDisposeMessage(message);
        text
    }
}
