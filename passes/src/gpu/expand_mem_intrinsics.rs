//! Expands large memset and memcpy intrinsics into loops of words. Runs in stage 2, for GPUs, after
//! optimisation.
//!
//! Before:
//! ```llvm
//!   call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 0, i64 1024, i1 false)
//! ```
//! After:
//! ```llvm
//! before:
//!   br label %words
//! words:
//!   %offset = phi i64 [ 0, %before ], [ %next, %words ]
//!   %to = getelementptr i8, ptr addrspace(5) %at, i64 %offset
//!   %to.0 = getelementptr i8, ptr addrspace(5) %to, i64 0
//!   store i64 0, ptr addrspace(5) %to.0, align 8
//!   %to.1 = getelementptr i8, ptr addrspace(5) %to, i64 8
//!   store i64 0, ptr addrspace(5) %to.1, align 8
//!   …                                              ; eight words in all
//!   %next = add nuw nsw i64 %offset, 64
//!   %more = icmp ult i64 %next, 1024
//!   br i1 %more, label %words, label %rest, !llvm.loop !0
//! rest:
//! ```
//!
//! For a GPU LLVM expands these into loops of bytes, whatever the alignment. Such a loop has eight
//! times as many accesses, and NVIDIA's assembler spends long on unrolling it. LLVM writes what is
//! smaller than `LARGE` word by word itself.

use inkwell::module::Module;
use llvm_sys::LLVMIntPredicate::LLVMIntULT;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::metadata;

/// Bytes from which on LLVM makes a loop.
const LARGE: u64 = 128;

/// The largest word, in bytes.
const WORD: u64 = 8;

/// Words per iteration.
const WORDS: u64 = 8;

/// No name.
const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Runs the pass over the module, which is one for a GPU.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module for a GPU, which nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    if ir::has_function_attribute(function, "optnone") {
        return;
    }
    for call in ir::instructions(function) {
        // SAFETY: the call is live: only those before it are gone.
        unsafe {
            if let Some(fill) = fill_of(call) {
                expand(call, &fill);
            }
        }
    }
}

/// What is filled or cloned.
struct Fill {
    to: LLVMValueRef,
    from: From,
    length: u64,
    /// The bytes of a word.
    word: u64,
}

/// What memory is filled with.
enum From {
    /// Bytes that are all the same.
    Byte(u8),
    /// Other memory.
    Memory(LLVMValueRef),
}

/// What a call fills or copies, if it is of a known size and large.
///
/// # Safety
/// The value is an instruction of a live function.
unsafe fn fill_of(call: LLVMValueRef) -> Option<Fill> {
    let name = ir::name_of(ir::callee(call)?);
    let is_copy = name.starts_with("llvm.memcpy.p");
    if !is_copy && !name.starts_with("llvm.memset.p") {
        return None;
    }
    // SAFETY: as promised by the caller; both functions have four parameters, of which the third is a number and the last a constant.
    unsafe {
        let operand = |index| LLVMGetOperand(call, index);
        let constant = |value| {
            let value = LLVMIsAConstantInt(value);
            (!value.is_null()).then(|| LLVMConstIntGetZExtValue(value))
        };
        let length = constant(operand(2))?;
        if length < LARGE || length > i64::MAX as u64 || constant(operand(3))? != 0 {
            return None;
        }
        let (to, other) = (operand(0), operand(1));
        let (from, align) = match is_copy {
            true => (From::Memory(other), alignment(call, 1).min(alignment(call, 2))),
            false => (From::Byte(constant(other)? as u8), alignment(call, 1)),
        };
        Some(Fill { to, from, length, word: align.min(WORD) })
    }
}

/// The alignment that a call says of an argument, counted from 1.
///
/// # Safety
/// The call is live and has the argument.
unsafe fn alignment(call: LLVMValueRef, argument: u32) -> u64 {
    // SAFETY: as promised by the caller; the attribute is one with a number.
    unsafe {
        let attribute = LLVMGetCallSiteEnumAttribute(call, argument, ir::enum_kind("align"));
        if attribute.is_null() { 1 } else { LLVMGetEnumAttributeValue(attribute).max(1) }
    }
}

/// Makes the loop in the place of the call.
///
/// # Safety
/// The call is live and what is described.
unsafe fn expand(call: LLVMValueRef, fill: &Fill) {
    // SAFETY: as promised by the caller. What stands in front of the call moves to a block of its own, which takes over its predecessors; so the
    // block that is left is still where the next ones are come from. Without its end nothing follows it, so that their phis stay. The
    // call gives nothing, so nothing uses it.
    unsafe {
        let rest = LLVMGetInstructionParent(call);
        let context = LLVMGetTypeContext(LLVMTypeOf(call));
        let builder = LLVMCreateBuilderInContext(context);
        let before = LLVMInsertBasicBlockInContext(context, rest, NAME);
        let words = LLVMInsertBasicBlockInContext(context, rest, NAME);
        let end = LLVMGetBasicBlockTerminator(rest);
        LLVMInstructionRemoveFromParent(end);
        LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(rest), LLVMBasicBlockAsValue(before));
        LLVMPositionBuilderAtEnd(builder, rest);
        LLVMInsertIntoBuilder(builder, end);
        LLVMPositionBuilderAtEnd(builder, before);
        let mut is_early = true;
        for instruction in ir::instructions_of(rest) {
            is_early &= instruction != call;
            // Variables stay in the block that a function begins with: only there they have a place of their own.
            if is_early || ir::opcode(instruction) == Some(LLVMOpcode::LLVMAlloca) {
                LLVMInstructionRemoveFromParent(instruction);
                LLVMInsertIntoBuilder(builder, instruction);
            }
        }
        LLVMBuildBr(builder, words);

        let emitter = FillEmitter { context, builder, fill };
        let stride = WORDS * fill.word;
        let whole = fill.length / stride * stride;
        LLVMPositionBuilderAtEnd(builder, words);
        let offset = LLVMBuildPhi(builder, emitter.long(), NAME);
        emitter.words(offset, (0..WORDS).map(|word| (word * fill.word, fill.word)));
        let next = LLVMBuildNUWAdd(builder, offset, emitter.number(stride), NAME);
        LLVMSetNSW(next, 1);
        let more = LLVMBuildICmp(builder, LLVMIntULT, next, emitter.number(whole), NAME);
        let end = LLVMBuildCondBr(builder, more, words, rest);
        let (mut values, mut blocks) = ([emitter.number(0), next], [before, words]);
        LLVMAddIncoming(offset, values.as_mut_ptr(), blocks.as_mut_ptr(), 2);
        // Neither here nor by the assembler.
        metadata::mark(end, "llvm.loop.unroll.disable", None);

        LLVMPositionBuilderBefore(builder, call);
        let left = fill.length - whole;
        let bytes = left / fill.word * fill.word..left;
        let words = (0..left / fill.word).map(|word| (word * fill.word, fill.word));
        emitter.words(emitter.number(whole), words.chain(bytes.map(|byte| (byte, 1))));
        LLVMDisposeBuilder(builder);
        LLVMInstructionEraseFromParent(call);
    }
}

/// Makes the instructions.
struct FillEmitter<'a> {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    fill: &'a Fill,
}

impl FillEmitter<'_> {
    fn long(&self) -> LLVMTypeRef {
        // SAFETY: the context is live.
        unsafe { LLVMInt64TypeInContext(self.context) }
    }

    fn number(&self, value: u64) -> LLVMValueRef {
        // SAFETY: the type is an integer's.
        unsafe { LLVMConstInt(self.long(), value, 0) }
    }

    /// Fills words, which are so many bytes behind an offset and have so many bytes. All are loaded before the first is stored.
    ///
    /// # Safety
    /// The builder is at a place where the offset is known, and both memories.
    unsafe fn words(&self, offset: LLVMValueRef, words: impl Iterator<Item = (u64, u64)>) {
        // SAFETY: as promised by the caller; words begin at multiples of their size, from an address with that alignment or a larger one.
        unsafe {
            let at = |memory, offset| {
                let byte = LLVMInt8TypeInContext(self.context);
                let mut offsets = [offset];
                LLVMBuildGEP2(self.builder, byte, memory, offsets.as_mut_ptr(), 1, NAME)
            };
            let to = at(self.fill.to, offset);
            let from = match self.fill.from {
                From::Byte(byte) => From::Byte(byte),
                From::Memory(memory) => From::Memory(at(memory, offset)),
            };
            let values: Vec<_> = words
                .map(|(place, size)| {
                    let ty = LLVMIntTypeInContext(self.context, 8 * size as u32);
                    let value = match from {
                        From::Byte(byte) => {
                            let word = u64::from_ne_bytes([byte; 8]);
                            LLVMConstInt(ty, word & (u64::MAX >> (64 - 8 * size)), 0)
                        }
                        From::Memory(memory) => {
                            let place = at(memory, self.number(place));
                            let load = LLVMBuildLoad2(self.builder, ty, place, NAME);
                            LLVMSetAlignment(load, size as u32);
                            load
                        }
                    };
                    (place, size, value)
                })
                .collect();
            for (place, size, value) in values {
                let place = at(to, self.number(place));
                let store = LLVMBuildStore(self.builder, value, place);
                LLVMSetAlignment(store, size as u32);
            }
        }
    }
}
