//! Replaces calls of panic functions by `__schism_panic` or `__schism_panic_format`.
//!
//! Before:
//! ```llvm
//!   call void @core::panicking::panic(ptr @text, i64 14, ptr @location)
//!   unreachable
//! ...
//!   call void @core::panicking::panic_fmt(ptr %template, ptr %arguments, ptr @location)
//!   unreachable
//! ...
//!   call void @core::panicking::panic_bounds_check(i64 %index, i64 %len, ptr @location)
//!   unreachable
//! ```
//! After:
//! ```llvm
//!   call void @__schism_panic(ptr @text, i64 14, ptr @location)
//!   unreachable
//! ...
//!   call void @__schism_panic_format(ptr %template, ptr %arguments, ptr @location)
//!   unreachable
//! ...
//!   store i64 %index, ptr %value.0
//!   store ptr %value.0, ptr %arguments                           ; { value, description } twice
//!   ...
//!   call void @__schism_panic_format(ptr @template, ptr %arguments, ptr @location)
//!   unreachable
//! ```
//!
//! The message of a function that formats it from its own arguments is made here in the same form:
//! a template, and an array of values with their
//! [descriptions](crate::frontend::type_descriptions). Everything that this takes stands in the
//! block that panics; only the room for it is made when the function begins.

use std::collections::HashMap;

use inkwell::module::Module;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use schism_message::ARGUMENT_SIZE;

use crate::frontend::type_descriptions::Descriptors;
use crate::ir;
use crate::spec::builtins;
use crate::spec::messages::{PanicFunction, PanicMessage, PanicValue, TypeDescription};

/// Runs the pass: every call of a panic function becomes a call of a builtin.
pub fn run(module: &Module<'_>, panics: &[PanicFunction], types: &[TypeDescription]) {
    let module = module.as_mut_ptr();
    // SAFETY: the module is live and held by the caller.
    let mut lowering = unsafe { Lowering::new(module, types) };
    for panic in panics {
        let symbol = &panic.symbol;
        // SAFETY: the module is live; the name is passed with its length.
        let function =
            unsafe { LLVMGetNamedFunctionWithLength(module, symbol.as_ptr().cast(), symbol.len()) };
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

struct Lowering<'a> {
    module: LLVMModuleRef,
    descriptors: Descriptors<'a>,
    pointer: LLVMTypeRef,
    long: LLVMTypeRef,
    /// Private constants by their bytes.
    texts: HashMap<Vec<u8>, LLVMValueRef>,
}

impl<'a> Lowering<'a> {
    /// # Safety
    /// The module is live as long as the result.
    unsafe fn new(module: LLVMModuleRef, types: &'a [TypeDescription]) -> Self {
        // SAFETY: as promised by the caller.
        unsafe {
            let context = LLVMGetModuleContext(module);
            Lowering {
                module,
                descriptors: Descriptors::new(module, types),
                pointer: LLVMPointerTypeInContext(context, 0),
                long: LLVMInt64TypeInContext(context),
                texts: HashMap::new(),
            }
        }
    }

    fn lower(&mut self, call: LLVMValueRef, panic: &PanicFunction) {
        // SAFETY: `call` is a direct call in the live module; operands are read before the call is removed, and what takes its
        // place stands before it.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, call);
            let arguments = LLVMGetNumArgOperands(call);
            let is_pointer = |index| LLVMTypeOf(LLVMGetOperand(call, index)) == self.pointer;
            let location = if panic.located && arguments > 0 && is_pointer(arguments - 1) {
                LLVMGetOperand(call, arguments - 1)
            } else {
                LLVMConstNull(self.pointer)
            };
            let two_words = arguments >= 2 && is_pointer(0);
            let (name, first, second) = match &panic.message {
                PanicMessage::Text
                    if two_words && LLVMTypeOf(LLVMGetOperand(call, 1)) == self.long =>
                {
                    (builtins::PANIC, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1))
                }
                PanicMessage::Arguments if two_words && is_pointer(1) => {
                    (builtins::PANIC_FORMAT, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1))
                }
                PanicMessage::Template { template, unless_null, values }
                    if fit(call, values, unless_null.as_ref().map(|(index, _)| *index)) =>
                {
                    let mut text = self.text(template);
                    if let Some((index, other)) = unless_null {
                        let other = self.text(other);
                        let is_null =
                            LLVMBuildIsNull(builder, LLVMGetOperand(call, *index), c"".as_ptr());
                        text = LLVMBuildSelect(builder, is_null, text, other, c"".as_ptr());
                    }
                    (builtins::PANIC_FORMAT, text, self.array(builder, call, values))
                }
                PanicMessage::Static(text) => self.plain(text),
                _ => self.plain("explicit panic"),
            };
            let (panic_type, panic_function) = self.builtin(name);
            let mut operands = [first, second, location];
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

    /// A message without values.
    fn plain(&mut self, text: &str) -> (&'static str, LLVMValueRef, LLVMValueRef) {
        // SAFETY: the type is of the live context.
        let len = unsafe { LLVMConstInt(self.long, text.len() as u64, 0) };
        (builtins::PANIC, self.text(text.as_bytes()), len)
    }

    /// The arguments of a message, filled in before the call.
    ///
    /// # Safety
    /// `call` has the arguments that the values consist of, and `builder` stands before it.
    unsafe fn array(
        &self,
        builder: LLVMBuilderRef,
        call: LLVMValueRef,
        values: &[PanicValue],
    ) -> LLVMValueRef {
        // SAFETY: as promised by the caller. Room is made where the function begins, so that it is made once.
        unsafe {
            let begin = LLVMGetEntryBasicBlock(ir::parent_function(call));
            let room = LLVMCreateBuilderInContext(LLVMGetModuleContext(self.module));
            LLVMPositionBuilderBefore(room, LLVMGetFirstInstruction(begin));
            let words = (values.len() * ARGUMENT_SIZE / 8) as u64;
            let array_type = LLVMArrayType2(self.long, words);
            let array = LLVMBuildAlloca(room, array_type, c"panic.arguments".as_ptr());
            for (value, index) in values.iter().zip(0..) {
                let at = self.value(builder, room, call, value);
                let size = ARGUMENT_SIZE as u64;
                LLVMBuildStore(builder, at, self.byte(builder, array, index * size));
                let descriptor = self.descriptors.get(value.ty);
                LLVMBuildStore(builder, descriptor, self.byte(builder, array, index * size + 8));
            }
            LLVMDisposeBuilder(room);
            array
        }
    }

    /// A value in memory.
    ///
    /// # Safety
    /// As of [`Self::array`]; `room` stands where the function begins.
    unsafe fn value(
        &self,
        builder: LLVMBuilderRef,
        room: LLVMBuilderRef,
        call: LLVMValueRef,
        value: &PanicValue,
    ) -> LLVMValueRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let operand = |index| LLVMGetOperand(call, value.argument + index);
            let first = LLVMTypeOf(operand(0));
            let ty = if value.arguments == 1 {
                first
            } else {
                LLVMArrayType2(self.long, u64::from(value.arguments))
            };
            let at = LLVMBuildAlloca(room, ty, c"panic.value".as_ptr());
            for index in 0..value.arguments {
                let to = self.byte(builder, at, u64::from(index) * 8);
                LLVMBuildStore(builder, operand(index), to);
            }
            at
        }
    }

    /// An address some bytes further on.
    ///
    /// # Safety
    /// `builder` stands in the function where `base` is known.
    unsafe fn byte(
        &self,
        builder: LLVMBuilderRef,
        base: LLVMValueRef,
        offset: u64,
    ) -> LLVMValueRef {
        if offset == 0 {
            return base;
        }
        // SAFETY: as promised by the caller.
        unsafe {
            let byte = LLVMInt8TypeInContext(LLVMGetModuleContext(self.module));
            let mut index = [LLVMConstInt(self.long, offset, 0)];
            LLVMBuildInBoundsGEP2(builder, byte, base, index.as_mut_ptr(), 1, c"".as_ptr())
        }
    }

    /// A builtin's type and declaration.
    ///
    /// # Safety
    /// The module is live.
    unsafe fn builtin(&self, name: &str) -> (LLVMTypeRef, LLVMValueRef) {
        // SAFETY: as promised by the caller; the declaration is made in the module.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let second = if name == builtins::PANIC { self.long } else { self.pointer };
            let mut parameters = [self.pointer, second, self.pointer];
            let ty =
                LLVMFunctionType(LLVMVoidTypeInContext(context), parameters.as_mut_ptr(), 3, 0);
            let known =
                LLVMGetNamedFunctionWithLength(self.module, name.as_ptr().cast(), name.len());
            if !known.is_null() {
                return (ty, known);
            }
            let name = std::ffi::CString::new(name).expect("no NUL in a builtin's name");
            let function = LLVMAddFunction(self.module, name.as_ptr(), ty);
            // Not `nounwind`: see `lower_unwind`.
            for attribute in ["noreturn", "cold"] {
                let index = llvm_sys::LLVMAttributeFunctionIndex;
                ir::add_attribute_at(function, index, attribute, 0);
            }
            (ty, function)
        }
    }

    /// A private constant with bytes, each made once.
    fn text(&mut self, bytes: &[u8]) -> LLVMValueRef {
        if let Some(&known) = self.texts.get(bytes) {
            return known;
        }
        let global = self.descriptors.bytes(bytes);
        self.texts.insert(bytes.to_owned(), global);
        global
    }
}

/// Whether a call has the arguments that values consist of: words, if there are several to one value.
///
/// # Safety
/// `call` is a call in a live module.
unsafe fn fit(call: LLVMValueRef, values: &[PanicValue], null: Option<u32>) -> bool {
    // SAFETY: as promised by the caller; indices are checked first.
    unsafe {
        let arguments = LLVMGetNumArgOperands(call);
        let kind = |index| {
            let ty = LLVMTypeOf(LLVMGetOperand(call, index));
            (LLVMGetTypeKind(ty), ty)
        };
        let is_pointer = |index| kind(index).0 == LLVMTypeKind::LLVMPointerTypeKind;
        let fits = |value: &PanicValue| {
            let Some(end) = value.argument.checked_add(value.arguments) else { return false };
            if value.arguments == 0 || end > arguments {
                return false;
            }
            (value.argument..end).all(|index| match kind(index) {
                (LLVMTypeKind::LLVMPointerTypeKind, _) => true,
                (LLVMTypeKind::LLVMIntegerTypeKind, ty) => match LLVMGetIntTypeWidth(ty) {
                    64 => true,
                    8 | 16 | 32 | 128 => value.arguments == 1,
                    _ => false,
                },
                _ => false,
            })
        };
        null.is_none_or(|index| index < arguments && is_pointer(index)) && values.iter().all(fits)
    }
}
