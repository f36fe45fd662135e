//! Parameter propagation: clones of functions with additional parameters, passed down from the
//! kernels to where they are used.
//!
//! Some values belong to a launch (its offset, values of constants). A function in the middle of a
//! kernel gets them only through its callers. So each caller is cloned with the parameters
//! appended, and the clones pass them to each other. Bodies are cloned instruction by instruction;
//! attributes of functions and of calls stay, also those of `byval` arguments.

use std::collections::{HashMap, HashSet};

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex, LLVMOpcode, LLVMTailCallKind,
};

use crate::ir;

/// A function that is used other than by calls with its own parameters: nobody knows who calls it, or with what.
#[derive(Debug)]
pub(crate) struct ByAddress(pub LLVMValueRef);

/// Whether `user` calls `function` and uses it for nothing else.
pub(crate) fn only_calls(user: LLVMValueRef, function: LLVMValueRef) -> bool {
    if ir::opcode(user) != Some(LLVMOpcode::LLVMCall) || ir::callee(user) != Some(function) {
        return false;
    }
    // SAFETY: `user` is a live call, whose first operands are its arguments.
    unsafe {
        LLVMGetCalledFunctionType(user) == LLVMGlobalGetValueType(function)
            && (0..LLVMGetNumArgOperands(user)).all(|index| LLVMGetOperand(user, index) != function)
    }
}

/// The given functions and all that call them, directly or not, in the order of the module.
pub(crate) fn with_callers(
    module: LLVMModuleRef,
    functions: HashSet<LLVMValueRef>,
) -> Result<Vec<LLVMValueRef>, ByAddress> {
    let mut stack: Vec<LLVMValueRef> = functions.iter().copied().collect();
    let mut found = functions;
    let mut by_address = HashSet::new();
    while let Some(function) = stack.pop() {
        // SAFETY: the function is live.
        if unsafe { LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)) != 0 } {
            by_address.insert(function);
        }
        for user in ir::users(function) {
            if !only_calls(user, function) {
                by_address.insert(function);
            } else if found.insert(ir::parent_function(user)) {
                stack.push(ir::parent_function(user));
            }
        }
    }
    let in_order = |set: &HashSet<LLVMValueRef>| {
        ir::functions(module).into_iter().filter(|function| set.contains(function)).collect()
    };
    let by_address: Vec<_> = in_order(&by_address);
    match by_address.first() {
        Some(function) => Err(ByAddress(*function)),
        None => Ok(in_order(&found)),
    }
}

/// The copies of some functions.
pub(crate) struct Copies {
    copies: HashMap<LLVMValueRef, LLVMValueRef>,
    added: usize,
}

impl Copies {
    /// Makes the copies, without bodies: each is called like its original with `suffix`, and takes parameters of these names
    /// and types after the original's own. They are external; whoever calls this decides which stay so.
    ///
    /// # Safety
    /// `functions` are definitions of the live `module` without variable arguments.
    pub(crate) unsafe fn declare(
        module: LLVMModuleRef,
        functions: &[LLVMValueRef],
        suffix: &str,
        added: &[(&str, LLVMTypeRef)],
    ) -> Self {
        let mut copies = HashMap::new();
        for &function in functions {
            // SAFETY: as promised by the caller; all arrays are as long as LLVM is told.
            unsafe {
                let ty = LLVMGlobalGetValueType(function);
                let own = LLVMCountParamTypes(ty);
                let mut types = vec![std::ptr::null_mut(); own as usize];
                LLVMGetParamTypes(ty, types.as_mut_ptr());
                types.extend(added.iter().map(|(_, ty)| *ty));
                let returns = LLVMGetReturnType(ty);
                let ty = LLVMFunctionType(returns, types.as_mut_ptr(), types.len() as u32, 0);
                let copy = LLVMAddFunction(module, c"".as_ptr(), ty);
                let name = ir::name_of(function) + suffix;
                LLVMSetValueName2(copy, name.as_ptr().cast(), name.len());
                LLVMSetFunctionCallConv(copy, LLVMGetFunctionCallConv(function));
                LLVMSetUnnamedAddress(copy, LLVMGetUnnamedAddress(function));
                LLVMSetAlignment(copy, LLVMGetAlignment(function));
                let places = [LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex];
                for place in places.into_iter().chain(1..=own) {
                    let count = LLVMGetAttributeCountAtIndex(function, place);
                    let mut attributes = vec![std::ptr::null_mut(); count as usize];
                    LLVMGetAttributesAtIndex(function, place, attributes.as_mut_ptr());
                    for attribute in attributes {
                        LLVMAddAttributeAtIndex(copy, place, attribute);
                    }
                }
                for index in 0..own {
                    let name = ir::name_of(LLVMGetParam(function, index));
                    let param = LLVMGetParam(copy, index);
                    LLVMSetValueName2(param, name.as_ptr().cast(), name.len());
                }
                for ((name, _), index) in added.iter().zip(own..) {
                    let param = LLVMGetParam(copy, index);
                    LLVMSetValueName2(param, name.as_ptr().cast(), name.len());
                }
                copies.insert(function, copy);
            }
        }
        Self { copies, added: added.len() }
    }

    /// The copy of a function.
    pub(crate) fn of(&self, function: LLVMValueRef) -> Option<LLVMValueRef> {
        self.copies.get(&function).copied()
    }

    /// The parameters that a copy has more than its original.
    ///
    /// # Safety
    /// `copy` is one of these copies, alive.
    unsafe fn added(&self, copy: LLVMValueRef) -> Vec<LLVMValueRef> {
        // SAFETY: as promised by the caller; the indices are below the count.
        unsafe {
            let count = LLVMCountParams(copy);
            (count - self.added as u32..count).map(|index| LLVMGetParam(copy, index)).collect()
        }
    }

    /// Copies the body of `function` into its copy. Where `replace` gives a value for an instruction, made of the added
    /// parameters, that stands for the instruction.
    ///
    /// # Safety
    /// `function` is one of the originals, alive and unchanged, and its copy has no body yet.
    pub(crate) unsafe fn fill(
        &self,
        function: LLVMValueRef,
        replace: impl Fn(LLVMValueRef, &[LLVMValueRef]) -> Option<LLVMValueRef>,
    ) {
        let copy = self.copies[&function];
        // SAFETY: as promised by the caller. Every value made here is put into the copy; operands of the originals that are
        // the function's own (parameters, blocks, instructions) are all replaced below.
        unsafe {
            let context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
            let builder = LLVMCreateBuilderInContext(context);
            let added = self.added(copy);
            let mut values: HashMap<LLVMValueRef, LLVMValueRef> = HashMap::new();
            for index in 0..LLVMCountParams(function) {
                values.insert(LLVMGetParam(function, index), LLVMGetParam(copy, index));
            }
            let mut blocks = HashMap::new();
            for block in ir::blocks(function) {
                let new =
                    LLVMAppendBasicBlockInContext(context, copy, LLVMGetBasicBlockName(block));
                blocks.insert(block, new);
                values.insert(LLVMBasicBlockAsValue(block), LLVMBasicBlockAsValue(new));
            }
            let (mut made, mut phis) = (Vec::new(), Vec::new());
            for block in ir::blocks(function) {
                LLVMPositionBuilderAtEnd(builder, blocks[&block]);
                for old in ir::instructions_of(block) {
                    if let Some(value) = replace(old, &added) {
                        values.insert(old, value);
                        continue;
                    }
                    if ir::opcode(old) == Some(LLVMOpcode::LLVMPHI) {
                        let phi = LLVMBuildPhi(builder, LLVMTypeOf(old), c"".as_ptr());
                        finish(old, phi);
                        phis.push((old, phi));
                        values.insert(old, phi);
                        continue;
                    }
                    let callee = ir::callee(old).and_then(|callee| self.of(callee));
                    let new = match callee {
                        Some(callee) => call(builder, old, callee, &added),
                        None => {
                            let new = LLVMInstructionClone(old);
                            LLVMInsertIntoBuilder(builder, new);
                            LLVMInstructionSetDebugLoc(new, LLVMInstructionGetDebugLoc(old));
                            loosen(new);
                            new
                        }
                    };
                    let name = ir::name_of(old);
                    LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
                    made.push(new);
                    values.insert(old, new);
                }
            }
            for new in made {
                for index in 0..LLVMGetNumOperands(new) as u32 {
                    if let Some(&value) = values.get(&LLVMGetOperand(new, index)) {
                        LLVMSetOperand(new, index, value);
                    }
                }
            }
            for (old, phi) in phis {
                for index in 0..LLVMCountIncoming(old) {
                    let value = LLVMGetIncomingValue(old, index);
                    let mut value = values.get(&value).copied().unwrap_or(value);
                    let mut block = blocks[&LLVMGetIncomingBlock(old, index)];
                    LLVMAddIncoming(phi, &mut value, &mut block, 1);
                }
            }
            LLVMDisposeBuilder(builder);
        }
    }
}

/// Calls the copy of a function as `old` calls the function, with the added parameters. The other operands are still the
/// original's.
///
/// # Safety
/// `old` is a live call of the original, and `builder` stands at a block's end.
unsafe fn call(
    builder: LLVMBuilderRef,
    old: LLVMValueRef,
    copy: LLVMValueRef,
    added: &[LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: as promised by the caller; bundles are disposed of after the call is built, and arrays are as long as told.
    unsafe {
        let own = LLVMGetNumArgOperands(old);
        let mut arguments: Vec<_> = (0..own).map(|index| LLVMGetOperand(old, index)).collect();
        arguments.extend(added);
        let mut bundles: Vec<_> = (0..LLVMGetNumOperandBundles(old))
            .map(|index| LLVMGetOperandBundleAtIndex(old, index))
            .collect();
        let new = LLVMBuildCallWithOperandBundles(
            builder,
            LLVMGlobalGetValueType(copy),
            copy,
            arguments.as_mut_ptr(),
            arguments.len() as u32,
            bundles.as_mut_ptr(),
            bundles.len() as u32,
            c"".as_ptr(),
        );
        for bundle in bundles {
            LLVMDisposeOperandBundle(bundle);
        }
        LLVMSetInstructionCallConv(new, LLVMGetInstructionCallConv(old));
        LLVMSetTailCallKind(new, LLVMGetTailCallKind(old));
        let places = [LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex];
        for place in places.into_iter().chain(1..=own) {
            let count = LLVMGetCallSiteAttributeCount(old, place);
            let mut attributes = vec![std::ptr::null_mut(); count as usize];
            LLVMGetCallSiteAttributes(old, place, attributes.as_mut_ptr());
            for attribute in attributes {
                LLVMAddCallSiteAttribute(new, place, attribute);
            }
        }
        finish(old, new);
        new
    }
}

/// Gives an instruction what the one that it stands for has beside its operands: flags, metadata, place, name.
///
/// # Safety
/// Both are live instructions of one kind and type.
unsafe fn finish(old: LLVMValueRef, new: LLVMValueRef) {
    // SAFETY: as promised by the caller; the entries are disposed of after the last use.
    unsafe {
        if LLVMCanValueUseFastMathFlags(old) != 0 {
            LLVMSetFastMathFlags(new, LLVMGetFastMathFlags(old));
        }
        let context = LLVMGetTypeContext(LLVMTypeOf(old));
        let mut count = 0;
        let entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(old, &mut count);
        for index in 0..count as u32 {
            let kind = LLVMValueMetadataEntriesGetKind(entries, index);
            let node = LLVMValueMetadataEntriesGetMetadata(entries, index);
            LLVMSetMetadata(new, kind, LLVMMetadataAsValue(context, node));
        }
        LLVMDisposeValueMetadataEntries(entries);
        LLVMInstructionSetDebugLoc(new, LLVMInstructionGetDebugLoc(old));
        let name = ir::name_of(old);
        LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
    }
}

/// A call that must reuse its caller's frame needs parameters like its caller's, which has more of them now.
///
/// # Safety
/// `instruction` is a live instruction.
unsafe fn loosen(instruction: LLVMValueRef) {
    // SAFETY: as promised by the caller; the kind is asked of calls only.
    unsafe {
        if ir::opcode(instruction) == Some(LLVMOpcode::LLVMCall)
            && LLVMGetTailCallKind(instruction) == LLVMTailCallKind::LLVMTailCallKindMustTail
        {
            LLVMSetTailCallKind(instruction, LLVMTailCallKind::LLVMTailCallKindTail);
        }
    }
}
