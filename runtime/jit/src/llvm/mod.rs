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
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{
    LLVMContextCreate, LLVMContextDispose, LLVMContextSetDiagnosticHandler, LLVMDisposeMessage,
    LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity, LLVMGetVersion,
};
use llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

use crate::JitError;

pub use fatal::{Isolated, Running, isolated, panic_text, start};
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
    said: Box<RefCell<Said>>,
}

/// What LLVM has said.
#[derive(Default)]
struct Said {
    errors: Vec<String>,
    /// The frames of functions with the attribute `warn-stack-size`, in bytes.
    frames: HashMap<String, u64>,
    /// What was said of a frame and not understood.
    strange: Option<String>,
}

impl Context {
    /// A new context.
    pub fn new() -> Self {
        let said = Box::new(RefCell::new(Said::default()));
        // SAFETY: the context is new, so it is live; the handler gets the address of `said`'s contents, which lives as
        // long as the context: both are owned by the value made here, and `drop` disposes of the context first.
        let raw = unsafe {
            let raw = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(
                raw,
                Some(on_diagnostic),
                (&raw const *said).cast_mut().cast(),
            );
            raw
        };
        Self { raw, said }
    }

    /// LLVM's errors since the last call, in one line; `None` if there were none.
    pub fn take_errors(&self) -> Option<String> {
        let errors = std::mem::take(&mut self.said.borrow_mut().errors);
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    /// LLVM's errors since the last call, or `otherwise` if it said nothing.
    pub fn errors_or(&self, otherwise: &str) -> String {
        self.take_errors().unwrap_or_else(|| otherwise.to_owned())
    }

    /// The frames, in bytes, of the functions for which code was generated since the last call and that have one, of those with the
    /// attribute `warn-stack-size`.
    pub fn take_frames(&self) -> Result<HashMap<String, u64>, JitError> {
        let mut said = self.said.borrow_mut();
        match said.strange.take() {
            None => Ok(std::mem::take(&mut said.frames)),
            Some(text) => Err(JitError::Internal(format!("LLVM says of a frame: {text}"))),
        }
    }

    pub(super) fn raw(&self) -> LLVMContextRef {
        self.raw
    }
}

/// What LLVM says of a function's frame has this in it.
const FRAME: &str = "stack frame size (";

/// Name and frame of a function, of LLVM's text: `<unknown>:0:0: stack frame size (24) exceeds limit (0) in function 'f'`.
fn frame(text: &str) -> Option<(String, u64)> {
    let (_, rest) = text.split_once(FRAME)?;
    let (size, rest) = rest.split_once(')')?;
    let (_, name) = rest.split_once(" in function '")?;
    Some((name.strip_suffix('\'')?.to_owned(), size.parse().ok()?))
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `raw` is live and ours; modules borrow the context, so none is left.
        unsafe { LLVMContextDispose(self.raw) };
    }
}

/// Keeps errors and sizes of frames; without a handler LLVM would end the process at an error.
extern "C" fn on_diagnostic(info: LLVMDiagnosticInfoRef, said: *mut c_void) {
    // SAFETY: LLVM calls with a live diagnostic.
    let severity = unsafe { LLVMGetDiagInfoSeverity(info) };
    let is_error = severity == LLVMDiagnosticSeverity::LLVMDSError;
    if !is_error && severity != LLVMDiagnosticSeverity::LLVMDSWarning {
        return;
    }
    // SAFETY: as above; the text is ours to dispose of, which `take_message` does.
    let text = unsafe { take_message(LLVMGetDiagInfoDescription(info)) };
    // SAFETY: `Context::new` registered the address of this type of value, which outlives the context, and the context
    // is used by one thread only.
    let said = unsafe { &*said.cast::<RefCell<Said>>() };
    let Ok(mut said) = said.try_borrow_mut() else { return };
    if is_error {
        said.errors.push(text);
    } else if text.contains(FRAME) {
        match frame(&text) {
            Some((name, size)) => {
                let known = said.frames.entry(name).or_default();
                *known = size.max(*known);
            }
            None => said.strange = Some(text),
        }
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

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn frames_are_read() {
        let read = |text: &str| frame(text);
        let text =
            "<unknown>:0:0: stack frame size (3145736) exceeds limit (0) in function 'a 'b' (c)'";
        assert_eq!(read(text), Some(("a 'b' (c)".to_owned(), 3_145_736)));
        for text in ["stack frame size (x) exceeds limit (0) in function 'f'", "other", ""] {
            assert_eq!(read(text), None);
        }
    }
}
