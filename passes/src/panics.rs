//! Calls of panic functions become `__schism_panic`.
//!
//! Before:
//! ```llvm
//!   call void @core::panicking::panic_bounds_check(i64 %index, i64 %len, ptr @location)
//!   unreachable
//! ```
//! After:
//! ```llvm
//!   call void @__schism_panic(ptr @message, i64 19, ptr @location)
//!   unreachable
//! ```
//!
//! The arguments of a formatted message die with the call that took them, and with them the
//! formatting machinery: [`settle`] and [`crate::cleanup`] remove what only fed it. Of a `core::fmt::Arguments`
//! without arguments the text is kept: such a value is a pointer to the text and its length times
//! two plus one (the representation of the pinned standard library, checked by a run test).

use std::collections::HashMap;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::builtins;
use crate::ir;
use crate::spec::{PanicFunction, PanicMessage};

/// Stands for a message that needs formatting.
const WITH_ARGUMENTS: &str = "explicit panic (its message has arguments, which are not kept)";

/// Runs the pass: every call of a function in `panics` becomes a call of the builtin.
pub fn run(module: &Module<'_>, panics: &[PanicFunction]) {
    let mut lowering = Lowering { module: module.as_mut_ptr(), texts: HashMap::new() };
    for panic in panics {
        let symbol = &panic.symbol;
        // SAFETY: the module is live; the name is passed with its length.
        let function = unsafe {
            LLVMGetNamedFunctionWithLength(lowering.module, symbol.as_ptr().cast(), symbol.len())
        };
        if function.is_null() {
            continue;
        }
        for user in ir::users(function) {
            if ir::callee(user) == Some(function) {
                lowering.lower(user, panic);
            }
        }
    }
}

/// Decides what [`run`] could not: whether the second word of a message's `Arguments` is text.
///
/// Before, after inlining has brought the word to its panic:
/// ```llvm
///   %word = ptrtoint ptr %array to i64, !schism.arguments !0   ; %array is an alloca
///   %bit = and i64 %word, 1
/// ```
/// After:
/// ```llvm
///   %bit = and i64 0, 1
/// ```
///
/// The address of an object is even, so there are arguments; and with its address no longer taken,
/// the array of arguments is dead, and the formatting functions that it names with it.
pub fn settle(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller; an instruction is erased after its last
    // use has been replaced.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let kind = arguments_kind(context);
        for function in module.get_functions() {
            for word in ir::instructions(function.as_value_ref()) {
                if ir::opcode(word) == Some(LLVMOpcode::LLVMPtrToInt)
                    && !LLVMGetMetadata(word, kind).is_null()
                    && is_object(LLVMGetOperand(word, 0))
                {
                    LLVMReplaceAllUsesWith(word, LLVMConstNull(LLVMTypeOf(word)));
                    LLVMInstructionEraseFromParent(word);
                }
            }
        }
    }
}

/// Whether a pointer is the address of a local or a global, possibly of a field of one: a string's
/// length in a pointer's place has no such form.
fn is_object(mut pointer: LLVMValueRef) -> bool {
    loop {
        // SAFETY: `pointer` is a live value, and the queries accept any.
        unsafe {
            if ir::opcode(pointer) == Some(LLVMOpcode::LLVMAlloca)
                || !LLVMIsAGlobalValue(pointer).is_null()
            {
                return true;
            }
            if ir::opcode(pointer) != Some(LLVMOpcode::LLVMGetElementPtr) {
                return false;
            }
            pointer = LLVMGetOperand(pointer, 0);
        }
    }
}

/// The kind of the metadata on the second word of an `Arguments`.
///
/// # Safety
/// `context` is live.
unsafe fn arguments_kind(context: LLVMContextRef) -> u32 {
    let name = "schism.arguments";
    // SAFETY: as promised by the caller; the name is passed with its length.
    unsafe { LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32) }
}

struct Lowering {
    module: LLVMModuleRef,
    texts: HashMap<String, LLVMValueRef>,
}

impl Lowering {
    fn lower(&mut self, call: LLVMValueRef, panic: &PanicFunction) {
        // SAFETY: `call` is a direct call in the live module; operands are read before the call
        // is removed, and the new call stands before it.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let (pointer, i64_type) =
                (LLVMPointerTypeInContext(context, 0), LLVMInt64TypeInContext(context));
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, call);

            let arguments = LLVMGetNumArgOperands(call);
            let is_pointer = |index| LLVMTypeOf(LLVMGetOperand(call, index)) == pointer;
            let two_words = arguments >= 2 && is_pointer(0);
            let (text, length) = match &panic.message {
                PanicMessage::Text
                    if two_words && LLVMTypeOf(LLVMGetOperand(call, 1)) == i64_type =>
                {
                    (LLVMGetOperand(call, 0), LLVMGetOperand(call, 1))
                }
                PanicMessage::Arguments if two_words && is_pointer(1) => {
                    let word = LLVMGetOperand(call, 1);
                    let word = LLVMBuildPtrToInt(builder, word, i64_type, c"".as_ptr());
                    let none = LLVMMetadataAsValue(
                        context,
                        LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0),
                    );
                    LLVMSetMetadata(word, arguments_kind(context), none);
                    let one = LLVMConstInt(i64_type, 1, 0);
                    let zero = LLVMConstInt(i64_type, 0, 0);
                    let bit = LLVMBuildAnd(builder, word, one, c"".as_ptr());
                    let is_text = LLVMBuildICmp(
                        builder,
                        llvm_sys::LLVMIntPredicate::LLVMIntNE,
                        bit,
                        zero,
                        c"".as_ptr(),
                    );
                    let length = LLVMBuildLShr(builder, word, one, c"".as_ptr());
                    let text = LLVMGetOperand(call, 0);
                    let (other, other_length) = self.text(WITH_ARGUMENTS);
                    (
                        LLVMBuildSelect(builder, is_text, text, other, c"".as_ptr()),
                        LLVMBuildSelect(builder, is_text, length, other_length, c"".as_ptr()),
                    )
                }
                PanicMessage::Static(text) => self.text(text),
                _ => self.text("explicit panic"),
            };
            let location = if panic.located && arguments > 0 && is_pointer(arguments - 1) {
                LLVMGetOperand(call, arguments - 1)
            } else {
                LLVMConstNull(pointer)
            };
            let (panic_type, panic_function) = self.builtin();
            let mut operands = [text, length, location];
            LLVMBuildCall2(
                builder,
                panic_type,
                panic_function,
                operands.as_mut_ptr(),
                operands.len() as u32,
                c"".as_ptr(),
            );
            LLVMDisposeBuilder(builder);
        }
        ir::cut_block_at(call);
    }

    /// The builtin's type and declaration.
    unsafe fn builtin(&self) -> (LLVMTypeRef, LLVMValueRef) {
        // SAFETY: the module is live; the declaration is made in it.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let pointer = LLVMPointerTypeInContext(context, 0);
            let mut parameters = [pointer, LLVMInt64TypeInContext(context), pointer];
            let ty =
                LLVMFunctionType(LLVMVoidTypeInContext(context), parameters.as_mut_ptr(), 3, 0);
            let name = builtins::PANIC;
            let known =
                LLVMGetNamedFunctionWithLength(self.module, name.as_ptr().cast(), name.len());
            if !known.is_null() {
                return (ty, known);
            }
            let name = std::ffi::CString::new(name).expect("no NUL in a builtin's name");
            let function = LLVMAddFunction(self.module, name.as_ptr(), ty);
            for attribute in ["noreturn", "nounwind", "cold"] {
                let index = llvm_sys::LLVMAttributeFunctionIndex;
                ir::add_attribute_at(function, index, attribute, 0);
            }
            (ty, function)
        }
    }

    /// A private constant with the text, and its length.
    unsafe fn text(&mut self, text: &str) -> (LLVMValueRef, LLVMValueRef) {
        // SAFETY: the module is live; the global is made in it.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let length = LLVMConstInt(LLVMInt64TypeInContext(context), text.len() as u64, 0);
            if let Some(&global) = self.texts.get(text) {
                return (global, length);
            }
            let bytes = LLVMConstStringInContext2(context, text.as_ptr().cast(), text.len(), 1);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(bytes), c"schism.panic".as_ptr());
            LLVMSetInitializer(global, bytes);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, llvm_sys::LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetUnnamedAddress(global, llvm_sys::LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            self.texts.insert(text.to_owned(), global);
            (global, length)
        }
    }
}
