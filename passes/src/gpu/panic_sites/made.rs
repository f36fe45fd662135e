//! The call that stands in a panic's place: the shape as a constant, the builtin, the words.

use std::collections::HashMap;
use std::ffi::CString;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind, LLVMUnnamedAddr};
use schism_message::shape::{PART_CONSTANT, PART_ROOM, PART_WORD};

use super::{Bytes, Message, Source, Word};
use crate::ir;
use crate::spec::builtins;

impl Message {
    /// Puts the new call in the place of the old one.
    ///
    /// # Safety
    /// As for [`Self::of`], of the call that this was made of.
    pub(super) unsafe fn replace(
        &self,
        module: LLVMModuleRef,
        call: LLVMValueRef,
        shapes: &mut HashMap<LLVMValueRef, LLVMValueRef>,
    ) {
        // SAFETY: as promised by the caller; everything is made in front of the call, which goes with what follows it.
        unsafe {
            let context = LLVMGetModuleContext(module);
            let initial = self.shape(context);
            let shape = *shapes.entry(initial).or_insert_with(|| {
                let global = LLVMAddGlobal(module, LLVMTypeOf(initial), c"schism.shape".as_ptr());
                LLVMSetInitializer(global, initial);
                LLVMSetGlobalConstant(global, 1);
                LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
                LLVMSetUnnamedAddress(global, LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
                LLVMSetAlignment(global, 8);
                global
            });
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, call);
            let mut operands = vec![shape, self.location];
            for &word in &self.words {
                operands.push(build_word(builder, context, word));
            }
            let (ty, function) = declare(module, self.words.len());
            let count = operands.len() as u32;
            LLVMBuildCall2(builder, ty, function, operands.as_mut_ptr(), count, c"".as_ptr());
            LLVMDisposeBuilder(builder);
        }
        ir::cut_block_at(call);
    }

    /// The shape as a constant: `schism_message::shape` has its layout.
    ///
    /// # Safety
    /// The context is the module's.
    unsafe fn shape(&self, context: LLVMContextRef) -> LLVMValueRef {
        let head = [(0, 8, self.head[0]), (8, 8, self.head[1])].into_iter();
        let parts = head.chain(self.locals.iter().flat_map(|local| {
            local.content.iter().map(|&(offset, size, bytes)| (local.place + offset, size, bytes))
        }));
        // SAFETY: as promised by the caller.
        unsafe {
            let int = |bits, value| LLVMConstInt(LLVMIntTypeInContext(context, bits), value, 0);
            let mut count = 0;
            let mut fields = vec![int(32, self.words.len() as u64), int(32, 0)];
            for (offset, size, bytes) in parts {
                let (kind, value) = match bytes {
                    Bytes::Constant(value) if !LLVMIsAConstantInt(value).is_null() => {
                        (PART_CONSTANT, int(64, LLVMConstIntGetZExtValue(value)))
                    }
                    Bytes::Constant(value) => (PART_CONSTANT, value),
                    Bytes::Word(index) => (PART_WORD, int(64, index as u64)),
                    Bytes::Local(local, offset) => {
                        (PART_ROOM, int(64, self.locals[local].place.wrapping_add(offset)))
                    }
                };
                let head = [int(8, kind.into()), int(8, size), int(16, 0), int(32, offset)];
                fields.extend(head.into_iter().chain([value]));
                count += 1;
            }
            fields[1] = int(32, count);
            LLVMConstStructInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0)
        }
    }
}

/// The builtin that takes so many words.
///
/// # Safety
/// The module is live.
unsafe fn declare(module: LLVMModuleRef, words: usize) -> (LLVMTypeRef, LLVMValueRef) {
    let name = format!("{}.{words}", builtins::PANIC_SHAPED);
    // SAFETY: as promised by the caller; the declaration is made in the module.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let mut parameters = vec![LLVMPointerTypeInContext(context, 0); 2];
        parameters.resize(2 + words, LLVMInt64TypeInContext(context));
        let (void, count) = (LLVMVoidTypeInContext(context), parameters.len() as u32);
        let ty = LLVMFunctionType(void, parameters.as_mut_ptr(), count, 0);
        let known = LLVMGetNamedFunctionWithLength(module, name.as_ptr().cast(), name.len());
        if !known.is_null() {
            return (ty, known);
        }
        let name = CString::new(name).expect("no NUL in a builtin's name");
        let function = LLVMAddFunction(module, name.as_ptr(), ty);
        // Not `nounwind`: see `lower_unwind`.
        for attribute in ["noreturn", "cold"] {
            let index = llvm_sys::LLVMAttributeFunctionIndex;
            ir::add_attribute_at(function, index, attribute, 0);
        }
        (ty, function)
    }
}

/// A word as 64 bits.
///
/// # Safety
/// The builder stands where the word's value is known.
unsafe fn build_word(builder: LLVMBuilderRef, context: LLVMContextRef, word: Word) -> LLVMValueRef {
    let name = c"".as_ptr();
    // SAFETY: as promised by the caller; every value is of a scalar type.
    unsafe {
        let long = LLVMInt64TypeInContext(context);
        let value = match word.source {
            Source::Value(value) => value,
            Source::Load(alloca, offset, ty) => {
                let mut index = [LLVMConstInt(long, offset, 0)];
                let byte = LLVMInt8TypeInContext(context);
                let at = match offset {
                    0 => alloca,
                    _ => LLVMBuildInBoundsGEP2(builder, byte, alloca, index.as_mut_ptr(), 1, name),
                };
                let load = LLVMBuildLoad2(builder, ty, at, name);
                LLVMSetAlignment(load, 1);
                load
            }
            Source::Length(len) => {
                let twice = LLVMBuildShl(builder, len, LLVMConstInt(long, 1, 0), name);
                LLVMBuildOr(builder, twice, LLVMConstInt(long, 1, 0), name)
            }
        };
        let ty = LLVMTypeOf(value);
        let bits = match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMPointerTypeKind => {
                return LLVMBuildPtrToInt(builder, value, long, name);
            }
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty),
            LLVMTypeKind::LLVMDoubleTypeKind => 64,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            _ => 16,
        };
        let int = LLVMIntTypeInContext(context, bits);
        let value = LLVMBuildBitCast(builder, value, int, name);
        if bits <= 64 {
            return LLVMBuildZExt(builder, value, long, name);
        }
        let half = match word.high {
            true => LLVMBuildLShr(builder, value, LLVMConstInt(int, 64, 0), name),
            false => value,
        };
        LLVMBuildTrunc(builder, half, long, name)
    }
}
