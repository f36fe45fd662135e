//! What LLVM says while it works.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{
    LLVMContextCreate, LLVMContextDispose, LLVMContextGetDiagnosticContext,
    LLVMContextGetDiagnosticHandler, LLVMContextSetDiagnosticHandler, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity,
};
use llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

use crate::ContextRef;
use crate::ffi::take_message;

/// Does something with a context, and collects the errors that LLVM reports meanwhile. Without a
/// handler, LLVM ends the process at an error. The handler that the context had before is there
/// again afterwards.
pub fn collect_errors<T>(context: ContextRef<'_>, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    /// Puts back the handler of before, however the work ends.
    struct Restore<'m>(ContextRef<'m>, llvm_sys::LLVMDiagnosticHandler, *mut c_void);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            // SAFETY: the context is live, and the handler is the one that it had, with its own
            // data.
            unsafe { LLVMContextSetDiagnosticHandler(self.0.raw(), self.1, self.2) };
        }
    }

    let messages = Box::into_raw(Box::<Vec<String>>::default());
    // SAFETY: the context is live.
    let before = unsafe {
        let handler = LLVMContextGetDiagnosticHandler(context.raw());
        Restore(context, handler, LLVMContextGetDiagnosticContext(context.raw()))
    };
    // SAFETY: the context is live; the handler gets a pointer to a vector that is freed only after
    // the handler was taken away.
    unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(note), messages.cast()) };
    let result = work();
    drop(before);
    // SAFETY: the pointer is of a box, and no handler has it any more.
    (result, *unsafe { Box::from_raw(messages) })
}

/// Keeps the errors among LLVM's messages.
extern "C" fn note(info: LLVMDiagnosticInfoRef, messages: *mut c_void) {
    // SAFETY: LLVM passes a live description and the pointer with which the handler was set, to a
    // vector that nothing else uses meanwhile; the text is ours.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let message = take_message(LLVMGetDiagInfoDescription(info));
            (*messages.cast::<Vec<String>>()).push(message);
        }
    }
}

/// Everything of one compile: types, constants, modules. Collects the errors that LLVM reports
/// meanwhile.
#[derive(Debug)]
pub struct Context {
    raw: LLVMContextRef,
    // Boxed, because LLVM holds its address.
    said: Box<RefCell<Said>>,
}

/// What LLVM has said.
#[derive(Debug, Default)]
struct Said {
    errors: Vec<String>,
    /// The frames of functions with the attribute `warn-stack-size`, in bytes.
    frames: HashMap<String, u64>,
    /// What was said of a frame and not understood.
    strange: Option<String>,
}

impl Context {
    /// A new context.
    #[allow(clippy::new_without_default, reason = "a context is no plain value")]
    pub fn new() -> Self {
        let said = Box::new(RefCell::new(Said::default()));
        // SAFETY: the context is new, so it is live; the handler gets the address of `said`'s
        // contents, which lives as long as the context: both are owned by the value made here, and
        // `drop` disposes of the context first.
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

    /// The frames, in bytes, of the functions for which code was generated since the last call and
    /// that have one, of those with the attribute `warn-stack-size`.
    ///
    /// # Errors
    /// What LLVM said of a frame, if it was not understood.
    pub fn take_frames(&self) -> Result<HashMap<String, u64>, String> {
        let mut said = self.said.borrow_mut();
        match said.strange.take() {
            None => Ok(std::mem::take(&mut said.frames)),
            Some(text) => Err(format!("LLVM says of a frame: {text}")),
        }
    }

    /// The context, for as long as its owner is borrowed.
    pub fn handle(&self) -> ContextRef<'_> {
        // SAFETY: the context is live while it is borrowed.
        unsafe { ContextRef::known(self.raw) }
    }
}

/// What LLVM says of a function's frame has this in it.
const FRAME: &str = "stack frame size (";

/// Name and frame of a function, of LLVM's text:
/// `<unknown>:0:0: stack frame size (24) exceeds limit (0) in function 'f'`.
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
    // SAFETY: `Context::new` registered the address of this type of value, which outlives the
    // context, and the context is used by one thread only.
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
