//! Accessors over LLVM's C interface that inkwell has no form for.
//!
//! Everything here takes values of one module that the caller holds; none of it keeps a reference.

pub(crate) mod cfg;
pub(crate) mod clone;
pub(crate) mod function;
pub(crate) mod metadata;
pub(crate) mod parameters;

use std::collections::{BTreeSet, HashSet};
use std::ffi::{CStr, CString};

use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use inkwell::values::{AsValueRef, FunctionValue};
use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
    LLVMRunPassesOnFunction,
};
use llvm_sys::{LLVMOpcode, LLVMTypeKind, LLVMValueKind};

/// The name of a value; empty when it has none.
pub(crate) fn name_of(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: `value` is a live value; LLVM returns a pointer to `length` bytes that live as long.
    let bytes = unsafe {
        let data = LLVMGetValueName2(value, &mut length);
        std::slice::from_raw_parts(data.cast::<u8>(), length)
    };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The users of a value, as they are now: later changes do not disturb the list.
pub(crate) fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut users = Vec::new();
    // SAFETY: `value` is live, and nothing changes its use list during the walk.
    unsafe {
        let mut current = LLVMGetFirstUse(value);
        while !current.is_null() {
            users.push(LLVMGetUser(current));
            current = LLVMGetNextUse(current);
        }
    }
    users
}

/// Adds the functions with an instruction that uses `value`, itself or through constants.
pub(crate) fn functions_using(value: LLVMValueRef, functions: &mut BTreeSet<LLVMValueRef>) {
    let mut seen = HashSet::new();
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        for user in users(value) {
            if opcode(user).is_some() {
                functions.insert(parent_function(user));
            } else if seen.insert(user) {
                stack.push(user);
            }
        }
    }
}

/// The functions of a module, as they are now.
pub(crate) fn functions(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    // SAFETY: `module` is live, and nothing changes it during the walk.
    unsafe { list(LLVMGetFirstFunction(module), |function| LLVMGetNextFunction(function)) }
}

/// The blocks of a function, as they are now.
pub(crate) fn blocks(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: `function` is a live function, and nothing changes it during the walk.
    unsafe { list(LLVMGetFirstBasicBlock(function), |block| LLVMGetNextBasicBlock(block)) }
}

/// The instructions of a block, as they are now.
pub(crate) fn instructions_of(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: `block` is a live block, and nothing changes it during the walk.
    unsafe { list(LLVMGetFirstInstruction(block), |value| LLVMGetNextInstruction(value)) }
}

/// The instructions of a function, as they are now.
pub(crate) fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    blocks(function).into_iter().flat_map(instructions_of).collect()
}

/// The blocks that a block goes on at; one is there twice if two edges lead to it.
pub(crate) fn successors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the block is one of a live function; an index is below the number of the terminator's successors.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        if end.is_null() {
            return Vec::new();
        }
        (0..LLVMGetNumSuccessors(end)).map(|index| LLVMGetSuccessor(end, index)).collect()
    }
}

/// What a phi is when it is come to from a block, if it can be.
pub(crate) fn incoming(phi: LLVMValueRef, from: LLVMBasicBlockRef) -> Option<LLVMValueRef> {
    // SAFETY: the value is a live phi, and each index is below the number of its edges.
    unsafe {
        (0..LLVMCountIncoming(phi))
            .find(|&index| LLVMGetIncomingBlock(phi, index) == from)
            .map(|index| LLVMGetIncomingValue(phi, index))
    }
}

/// Runs a pass that looks at one function at a time over a module.
pub(crate) fn on_each_function(module: &Module<'_>, pass: unsafe fn(LLVMValueRef)) {
    for function in module.get_functions() {
        // SAFETY: the function is one of the live module, which the caller holds; a pass asks for no more.
        unsafe { pass(function.as_value_ref()) };
    }
}

/// The address space of a value that is an address.
pub(crate) fn address_space(value: LLVMValueRef) -> Option<u32> {
    // SAFETY: the value is live; only the type of a pointer is asked for its address space.
    unsafe {
        let ty = LLVMTypeOf(value);
        let is_pointer = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind;
        is_pointer.then(|| LLVMGetPointerAddressSpace(ty))
    }
}

/// Whether an instruction loads from an address space.
pub(crate) fn is_load_from(instruction: LLVMValueRef, space: u32) -> bool {
    opcode(instruction) == Some(LLVMOpcode::LLVMLoad)
        && operands(instruction).next().and_then(address_space) == Some(space)
}

/// The operands of an instruction, in their order.
pub(crate) fn operands(instruction: LLVMValueRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: the instruction is live, and each index is below the number of its operands.
    unsafe {
        (0..LLVMGetNumOperands(instruction) as u32)
            .map(move |index| LLVMGetOperand(instruction, index))
    }
}

/// Whether an instruction only computes a value of its operands, of integers, and the same one wherever it stands.
pub(crate) fn is_integer_arithmetic(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    matches!(
        opcode(instruction),
        Some(
            LLVMAdd
                | LLVMSub
                | LLVMMul
                | LLVMShl
                | LLVMLShr
                | LLVMAShr
                | LLVMAnd
                | LLVMOr
                | LLVMXor
                | LLVMICmp
                | LLVMZExt
                | LLVMSExt
                | LLVMTrunc
                | LLVMSelect
                | LLVMPtrToInt
                | LLVMBitCast
        )
    )
}

/// A list of LLVM's: the first element, then each one's next.
fn list<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let some = |element: *mut T| (!element.is_null()).then_some(element);
    std::iter::successors(some(first), |element| some(next(*element))).collect()
}

/// The parts of an address that is another one and one index: the other, the index, and how many bytes the index counts.
pub(crate) fn element(address: LLVMValueRef) -> Option<(LLVMValueRef, LLVMValueRef, u64)> {
    // SAFETY: a `getelementptr` of a live module has a pointer and, if it has two operands, an index.
    unsafe {
        if opcode(address) != Some(LLVMOpcode::LLVMGetElementPtr)
            || LLVMGetNumOperands(address) != 2
        {
            return None;
        }
        let layout = LLVMGetModuleDataLayout(LLVMGetGlobalParent(parent_function(address)));
        let size = LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(address));
        Some((LLVMGetOperand(address, 0), LLVMGetOperand(address, 1), size))
    }
}

/// The attribute of this name that a value has as a parameter of its function.
pub(crate) fn parameter_attribute(value: LLVMValueRef, name: &str) -> Option<LLVMAttributeRef> {
    // SAFETY: the value is live; only a parameter is asked for its function. The number of a parameter's attributes is one more than
    // its own.
    unsafe {
        if LLVMIsAArgument(value).is_null() {
            return None;
        }
        let function = LLVMGetParamParent(value);
        let place =
            (0..LLVMCountParams(function)).find(|&place| LLVMGetParam(function, place) == value)?;
        let attribute = LLVMGetEnumAttributeAtIndex(function, place + 1, enum_kind(name));
        (!attribute.is_null()).then_some(attribute)
    }
}

/// The opcode of a value if it is an instruction.
pub(crate) fn opcode(value: LLVMValueRef) -> Option<LLVMOpcode> {
    // SAFETY: both calls accept any live value.
    unsafe { (!LLVMIsAInstruction(value).is_null()).then(|| LLVMGetInstructionOpcode(value)) }
}

/// The function that a call or invoke calls directly.
pub(crate) fn callee(value: LLVMValueRef) -> Option<LLVMValueRef> {
    if !matches!(opcode(value), Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)) {
        return None;
    }
    // SAFETY: `value` is a call or an invoke, which both have a called value.
    unsafe {
        let called = LLVMGetCalledValue(value);
        (LLVMGetValueKind(called) == LLVMValueKind::LLVMFunctionValueKind).then_some(called)
    }
}

/// The function that contains an instruction.
pub(crate) fn parent_function(instruction: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: the caller passes an instruction that stands in a function.
    unsafe { LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction)) }
}

/// Removes a block's terminator and what follows it, and ends the block with `unreachable` instead,
/// starting at `instruction`: everything from there on is gone.
pub(crate) fn cut_block_at(instruction: LLVMValueRef) {
    // SAFETY: `instruction` stands in a block of a live module. Uses of the removed values are
    // replaced by poison first, phi nodes of the successors lose their edge from this block by
    // the verifier-preserving route: `unreachable` is inserted, and the rest of the block is
    // removed last to first, so no removed value has a use left.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let block = LLVMGetInstructionParent(instruction);
        let terminator = LLVMGetBasicBlockTerminator(block);
        if !terminator.is_null() {
            for index in 0..LLVMGetNumSuccessors(terminator) {
                forget_edge(LLVMGetSuccessor(terminator, index), block);
            }
        }
        let mut doomed = Vec::new();
        let mut current = instruction;
        while !current.is_null() {
            doomed.push(current);
            current = LLVMGetNextInstruction(current);
        }
        for &value in doomed.iter().rev() {
            let ty = LLVMTypeOf(value);
            if LLVMGetTypeKind(ty) != llvm_sys::LLVMTypeKind::LLVMVoidTypeKind {
                LLVMReplaceAllUsesWith(value, LLVMGetPoison(ty));
            }
            LLVMInstructionEraseFromParent(value);
        }
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, block);
        LLVMBuildUnreachable(builder);
        LLVMDisposeBuilder(builder);
    }
}

/// Removes an invoke whose result nobody uses: control goes on at its normal destination.
pub(crate) fn replace_invoke_by_branch(invoke: LLVMValueRef) {
    debug_assert_eq!(opcode(invoke), Some(LLVMOpcode::LLVMInvoke));
    // SAFETY: `invoke` is an invoke in a live module without uses; the edge to its landing pad is
    // taken out of the phi nodes there before the branch takes its place.
    unsafe {
        let block = LLVMGetInstructionParent(invoke);
        let (normal, unwind) = (LLVMGetNormalDest(invoke), LLVMGetUnwindDest(invoke));
        forget_edge(unwind, block);
        let builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(LLVMGetGlobalParent(
            LLVMGetBasicBlockParent(block),
        )));
        LLVMPositionBuilderBefore(builder, invoke);
        LLVMBuildBr(builder, normal);
        LLVMDisposeBuilder(builder);
        LLVMInstructionEraseFromParent(invoke);
    }
}

/// Where an instruction uses one of its operands: a phi does so where it is come from.
///
/// # Safety
/// The user is an instruction of a live function, and the index below the number of its operands.
pub(crate) unsafe fn used_at(user: LLVMValueRef, index: u32) -> LLVMBasicBlockRef {
    // SAFETY: as promised by the caller; a phi has as many edges as operands.
    unsafe {
        match opcode(user) {
            Some(LLVMOpcode::LLVMPHI) => LLVMGetIncomingBlock(user, index),
            _ => LLVMGetInstructionParent(user),
        }
    }
}

/// The blocks in which a value is used, once for each use.
pub(crate) fn uses(value: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    let mut places = Vec::new();
    for user in users(value) {
        // SAFETY: what uses an instruction is an instruction; each index is below the number of its operands.
        unsafe {
            for index in 0..LLVMGetNumOperands(user) as u32 {
                if LLVMGetOperand(user, index) == value {
                    places.push(used_at(user, index));
                }
            }
        }
    }
    places
}

/// The phis of a block.
pub(crate) fn phis(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    let mut all = instructions_of(block);
    all.retain(|&instruction| opcode(instruction) == Some(LLVMOpcode::LLVMPHI));
    all
}

/// Lets a block that ends in a branch go on at one of its successors only.
///
/// # Safety
/// The block is one of a live function, and `next` is one of its successors.
pub(crate) unsafe fn always_go_to(block: LLVMBasicBlockRef, next: LLVMBasicBlockRef) {
    // SAFETY: as promised by the caller; a branch has no uses.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        for other in successors(block).into_iter().filter(|other| *other != next) {
            forget_edge(other, block);
        }
        let function = LLVMGetBasicBlockParent(block);
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(function)));
        LLVMPositionBuilderBefore(builder, end);
        LLVMBuildBr(builder, next);
        LLVMDisposeBuilder(builder);
        LLVMInstructionEraseFromParent(end);
    }
}

/// Rebuilds the phi nodes of `successor` without the edge from `from`.
///
/// # Safety
/// Both blocks belong to one live function.
unsafe fn forget_edge(successor: LLVMBasicBlockRef, from: LLVMBasicBlockRef) {
    // SAFETY: as promised by the caller; every phi is replaced before it is erased.
    unsafe {
        let mut phi = LLVMGetFirstInstruction(successor);
        while !phi.is_null() && LLVMGetInstructionOpcode(phi) == LLVMOpcode::LLVMPHI {
            let next = LLVMGetNextInstruction(phi);
            let (mut values, mut blocks) = (Vec::new(), Vec::new());
            for index in 0..LLVMCountIncoming(phi) {
                let block = LLVMGetIncomingBlock(phi, index);
                if block != from {
                    values.push(LLVMGetIncomingValue(phi, index));
                    blocks.push(block);
                }
            }
            let ty = LLVMTypeOf(phi);
            let replacement = if values.is_empty() {
                LLVMGetPoison(ty)
            } else {
                let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(ty));
                LLVMPositionBuilderBefore(builder, phi);
                let new = LLVMBuildPhi(builder, ty, c"".as_ptr());
                LLVMAddIncoming(new, values.as_mut_ptr(), blocks.as_mut_ptr(), values.len() as u32);
                LLVMDisposeBuilder(builder);
                new
            };
            LLVMReplaceAllUsesWith(phi, replacement);
            LLVMInstructionEraseFromParent(phi);
            phi = next;
        }
    }
}

/// Adds an attribute without a value to a function.
pub(crate) fn add_attribute(function: FunctionValue<'_>, name: &str, value: u64) {
    let function = function.as_value_ref();
    add_attribute_at(function, llvm_sys::LLVMAttributeFunctionIndex, name, value);
}

/// Adds an enum attribute at an attribute index of a function.
pub(crate) fn add_attribute_at(function: LLVMValueRef, index: u32, name: &str, value: u64) {
    // SAFETY: `function` is live; the attribute is made in its own context.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        debug_assert_ne!(kind, 0, "LLVM has no attribute {name}");
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        LLVMAddAttributeAtIndex(function, index, LLVMCreateEnumAttribute(context, kind, value));
    }
}

/// Adds an attribute without a value to a call or an invoke.
pub(crate) fn add_call_attribute(call: LLVMValueRef, name: &str) {
    // SAFETY: `call` is a call or invoke of a live module; the attribute is made in its context.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        debug_assert_ne!(kind, 0, "LLVM has no attribute {name}");
        let context = LLVMGetTypeContext(LLVMTypeOf(LLVMGetCalledValue(call)));
        let attribute = LLVMCreateEnumAttribute(context, kind, 0);
        LLVMAddCallSiteAttribute(call, llvm_sys::LLVMAttributeFunctionIndex, attribute);
    }
}

/// Takes an attribute without a value from a function.
pub(crate) fn remove_function_attribute(function: LLVMValueRef, name: &str) {
    // SAFETY: `function` is live; LLVM accepts an attribute that it does not have.
    unsafe {
        let place = llvm_sys::LLVMAttributeFunctionIndex;
        LLVMRemoveEnumAttributeAtIndex(function, place, enum_kind(name));
    }
}

/// Takes an attribute without a value from a call or an invoke; its callee may have it still.
pub(crate) fn remove_call_attribute(call: LLVMValueRef, name: &str) {
    // SAFETY: `call` is a live call or invoke; LLVM accepts an attribute that it does not have.
    unsafe {
        let place = llvm_sys::LLVMAttributeFunctionIndex;
        LLVMRemoveCallSiteEnumAttribute(call, place, enum_kind(name));
    }
}

/// A builtin that gives the same value all through a work-item, declared where it is not.
///
/// # Safety
/// `module` is live, and `ty` is a function type of its context.
pub(crate) unsafe fn declare_pure_builtin(
    module: LLVMModuleRef,
    name: &str,
    ty: LLVMTypeRef,
) -> LLVMValueRef {
    // SAFETY: as promised by the caller.
    unsafe {
        let known = LLVMGetNamedFunctionWithLength(module, name.as_ptr().cast(), name.len());
        if !known.is_null() {
            return known;
        }
        let text = CString::new(name).expect("no NUL in a builtin's name");
        let function = LLVMAddFunction(module, text.as_ptr(), ty);
        mark_pure(function);
        function
    }
}

/// Whether a call or an invoke has an attribute itself; its callee may have it, too.
pub(crate) fn has_call_attribute(call: LLVMValueRef, name: &str) -> bool {
    let place = llvm_sys::LLVMAttributeFunctionIndex;
    // SAFETY: `call` is a live call or invoke.
    unsafe { !LLVMGetCallSiteEnumAttribute(call, place, enum_kind(name)).is_null() }
}

/// Whether a function has an attribute.
pub(crate) fn has_function_attribute(function: LLVMValueRef, name: &str) -> bool {
    let place = llvm_sys::LLVMAttributeFunctionIndex;
    // SAFETY: `function` is live.
    unsafe { !LLVMGetEnumAttributeAtIndex(function, place, enum_kind(name)).is_null() }
}

/// LLVM's number for an attribute.
pub(crate) fn enum_kind(name: &str) -> u32 {
    // SAFETY: the name is passed with its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// Marks a builtin that gives the same value all through a work-item.
pub(crate) fn mark_pure(function: LLVMValueRef) {
    for attribute in ["nounwind", "willreturn", "memory"] {
        // For `memory` the value 0 is `memory(none)`.
        add_attribute_at(function, llvm_sys::LLVMAttributeFunctionIndex, attribute, 0);
    }
}

/// Runs LLVM's own passes, given as a pipeline, over the module.
pub(crate) fn run_llvm_passes(module: &Module<'_>, pipeline: &str) -> Result<(), String> {
    run_llvm_passes_for(module, pipeline, None)
}

/// The same, for passes that ask what the target can do.
pub(crate) fn run_llvm_passes_for(
    module: &Module<'_>,
    pipeline: &str,
    machine: Option<&TargetMachine>,
) -> Result<(), String> {
    let machine = machine.map_or(std::ptr::null_mut(), TargetMachine::as_mut_ptr);
    // SAFETY: the module and the machine, if there is one, are live.
    unsafe {
        run_passes(pipeline, |text, options| {
            LLVMRunPasses(module.as_mut_ptr(), text, machine, options)
        })
    }
}

/// Runs LLVM's own passes, given as a pipeline, over one function.
///
/// # Safety
/// `function` is a definition in a live module.
pub(crate) unsafe fn run_llvm_passes_on(
    function: LLVMValueRef,
    pipeline: &str,
) -> Result<(), String> {
    // SAFETY: as promised by the caller.
    unsafe {
        run_passes(pipeline, |text, options| {
            LLVMRunPassesOnFunction(function, text, std::ptr::null_mut(), options)
        })
    }
}

/// # Safety
/// `run` may be called with a pipeline and options that live through the call.
unsafe fn run_passes(
    pipeline: &str,
    run: impl FnOnce(
        *const std::ffi::c_char,
        llvm_sys::transforms::pass_builder::LLVMPassBuilderOptionsRef,
    ) -> llvm_sys::error::LLVMErrorRef,
) -> Result<(), String> {
    let text = CString::new(pipeline).expect("pipelines are written in this crate, without NUL");
    // SAFETY: the options are disposed of after the run; an error message is cloned, then freed.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = run(text.as_ptr(), options);
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return Ok(());
        }
        let message = LLVMGetErrorMessage(error);
        let owned = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(owned)
    }
}
