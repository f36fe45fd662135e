//! Moves pointers into the target's address spaces.
//!
//! Rust has one kind of pointer, and so has the image. A GPU can use such a *generic* pointer, but
//! must find out at each access which memory it means. Before:
//! ```llvm
//! @table = internal constant [4 x float] [...]
//! define void @kernel(ptr align 4 %out) {
//!   %from = getelementptr float, ptr @table, i64 %i
//!   %v = load float, ptr %from
//!   store float %v, ptr %out
//! ```
//! After, for `nvptx64-nvidia-cuda`:
//! ```llvm
//! @table = internal addrspace(1) constant [4 x float] [...]
//! define ptx_kernel void @kernel(ptr addrspace(1) align 4 %out) {
//!   %from = getelementptr float, ptr addrspace(1) @table, i64 %i
//!   %v = load float, ptr addrspace(1) %from
//!   store float %v, ptr addrspace(1) %out
//! ```
//!
//! What is known: a kernel's pointers are to global memory, locals are private, and globals are
//! where the target's map ([`AddressSpaces`]) puts them. Each of these gets its own address space
//! and is cast back to generic for its users; LLVM's `infer-address-spaces` then moves the casts
//! towards the accesses, where they vanish. It looks at one function at a time, so this pass
//! belongs after inlining and scalar replacement, and a pointer that is loaded from memory, or that
//! comes into a function that was not inlined, stays generic: slower, never wrong.
//!
//! For a target with one memory (the CPU) nothing changes.

use std::collections::HashSet;
use std::mem::ManuallyDrop;

use inkwell::module::Module;
use inkwell::targets::{TargetMachine, TargetTriple};
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};

use crate::ir;
use crate::ir::function::{self, NewParameter};
use crate::pass::KernelError;
use crate::spec::target::{self, AddressSpaces};

/// Runs the pass for the target that a triple names; `kernels` are the names of the kernel functions. The module is for that
/// target from then on: triple and data layout are the target's.
///
/// # Errors
/// LLVM has no code generator for the triple, a kernel is used by other code, or LLVM's pass fails.
pub fn run(module: &Module<'_>, triple: &str, kernels: &HashSet<&str>) -> Result<(), KernelError> {
    let Some(spaces) = AddressSpaces::of_triple(triple) else {
        return Ok(());
    };
    module.set_triple(&TargetTriple::create(triple));
    let machine = target::of_module(module)?;
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    // SAFETY: the module is live and held by the caller; each of these leaves it valid.
    unsafe {
        move_globals(module, spaces);
        // Collected first: a converted kernel is a new function at the end of the list.
        let kernels: Vec<LLVMValueRef> = module
            .get_functions()
            .filter(|function| function.count_basic_blocks() > 0)
            .map(|function| function.as_value_ref())
            .filter(|&function| kernels.contains(ir::name_of(function).as_str()))
            .collect();
        for kernel in kernels {
            convert_kernel(kernel, spaces)?;
        }
        for function in module.get_functions() {
            // Collected first: other instructions go with an alloca.
            let mut allocas = ir::instructions(function.as_value_ref());
            allocas.retain(|&value| ir::opcode(value) == Some(LLVMOpcode::LLVMAlloca));
            for alloca in allocas {
                move_alloca(alloca);
            }
        }
    }
    infer(module, &machine)?;
    Ok(())
}

/// [`run`] over a module that LLVM's C interface knows.
///
/// # Errors
/// As for [`run`].
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
pub unsafe fn run_raw(
    module: LLVMModuleRef,
    triple: &str,
    kernels: &HashSet<&str>,
) -> Result<(), KernelError> {
    // SAFETY: the module is live, as promised by the caller, and not disposed of here: the wrapper is never dropped.
    let module = ManuallyDrop::new(unsafe { Module::new(module) });
    run(&module, triple, kernels)
}

/// Copies of by-value aggregates become registers where they can, then addresses are followed.
fn infer(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    let pipeline = "function(sroa,infer-address-spaces,instsimplify,dse,dce),strip-dead-prototypes";
    ir::run_llvm_passes_for(module, pipeline, Some(machine))
}

/// Puts every global variable where the target has it. The users, initialisers among them, see it through a
/// constant cast.
///
/// # Safety
/// The module is live, and nobody else changes it.
unsafe fn move_globals(module: &Module<'_>, spaces: &AddressSpaces) {
    // SAFETY: as promised by the caller. A global is deleted after its uses have been replaced and its initialiser has
    // been given to its successor.
    unsafe {
        let generic = LLVMPointerTypeInContext(LLVMGetModuleContext(module.as_mut_ptr()), 0);
        let globals: Vec<LLVMValueRef> = module
            .get_globals()
            .map(|global| global.as_value_ref())
            .filter(|&global| {
                LLVMTypeOf(global) == generic
                    && LLVMIsThreadLocal(global) == 0
                    && !ir::name_of(global).starts_with("llvm.")
            })
            .collect();
        let mut moved = Vec::new();
        for old in globals {
            let constant = LLVMIsGlobalConstant(old) != 0;
            let space = if constant { spaces.constants } else { spaces.variables };
            let new = LLVMAddGlobalInAddressSpace(
                module.as_mut_ptr(),
                LLVMGlobalGetValueType(old),
                c"".as_ptr(),
                space,
            );
            LLVMSetLinkage(new, LLVMGetLinkage(old));
            LLVMSetVisibility(new, LLVMGetVisibility(old));
            LLVMSetUnnamedAddress(new, LLVMGetUnnamedAddress(old));
            LLVMSetGlobalConstant(new, LLVMIsGlobalConstant(old));
            LLVMSetExternallyInitialized(new, LLVMIsExternallyInitialized(old));
            LLVMSetAlignment(new, LLVMGetAlignment(old));
            LLVMSetSection(new, LLVMGetSection(old));
            let name = ir::name_of(old);
            LLVMSetValueName2(old, c"".as_ptr(), 0);
            LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
            LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(new, generic));
            moved.push((old, new));
        }
        for (old, new) in moved {
            let initialiser = LLVMGetInitializer(old);
            if !initialiser.is_null() {
                LLVMSetInitializer(new, initialiser);
            }
            LLVMDeleteGlobal(old);
        }
    }
}

/// Gives a kernel the target's calling convention and the target's kinds of parameters.
///
/// # Safety
/// `kernel` is a definition in a live module that nobody else changes.
unsafe fn convert_kernel(kernel: LLVMValueRef, spaces: &AddressSpaces) -> Result<(), KernelError> {
    if !ir::users(kernel).is_empty() {
        return Err(KernelError::KernelIsUsed(ir::name_of(kernel)));
    }
    // SAFETY: as promised by the caller. The old function is deleted after its parameters have been replaced.
    unsafe {
        let context = LLVMGetModuleContext(LLVMGetGlobalParent(kernel));
        let generic = LLVMPointerTypeInContext(context, 0);
        let byval = ir::enum_kind("byval");
        let parameters: Vec<(NewParameter, Option<LLVMTypeRef>)> = (0..LLVMCountParams(kernel))
            .map(|index| {
                let ty = LLVMTypeOf(LLVMGetParam(kernel, index));
                let attribute = LLVMGetEnumAttributeAtIndex(kernel, index + 1, byval);
                let bytes = (!attribute.is_null()).then(|| LLVMGetTypeAttributeValue(attribute));
                let ty = match (bytes, spaces.by_reference) {
                    (Some(_), None) => ty,
                    (Some(_), Some(space)) => LLVMPointerTypeInContext(context, space),
                    (None, _) if ty == generic => LLVMPointerTypeInContext(context, spaces.global),
                    (None, _) => ty,
                };
                (NewParameter { ty, from: Some(index) }, bytes)
            })
            .collect();
        let (parameters, bytes): (Vec<_>, Vec<_>) = parameters.into_iter().unzip();
        let new = function::with_parameters(kernel, &parameters);
        LLVMSetFunctionCallConv(new, spaces.kernel_convention);

        let builder = LLVMCreateBuilderInContext(context);
        let first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(new));
        LLVMPositionBuilderBefore(builder, first);
        for (index, bytes) in bytes.into_iter().enumerate() {
            let index = index as u32;
            let (old, parameter) = (LLVMGetParam(kernel, index), LLVMGetParam(new, index));
            let value = match bytes {
                Some(bytes) if spaces.by_reference.is_some() => refer(builder, new, index, bytes),
                _ if LLVMTypeOf(parameter) != LLVMTypeOf(old) => {
                    LLVMBuildAddrSpaceCast(builder, parameter, generic, c"".as_ptr())
                }
                _ => parameter,
            };
            LLVMReplaceAllUsesWith(old, value);
        }
        LLVMDisposeBuilder(builder);
        LLVMDeleteFunction(kernel);
        Ok(())
    }
}

/// A parameter by value becomes one by reference to memory that must not change, and the body works on a copy.
///
/// # Safety
/// `builder` stands in the entry block of `function`, which is live and has a parameter `index` that is `byval`.
unsafe fn refer(
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    index: u32,
    bytes: LLVMTypeRef,
) -> LLVMValueRef {
    // SAFETY: as promised by the caller.
    unsafe {
        let context = LLVMGetTypeContext(bytes);
        let align = LLVMGetEnumAttributeAtIndex(function, index + 1, ir::enum_kind("align"));
        let align = if align.is_null() { 1 } else { LLVMGetEnumAttributeValue(align) as u32 };
        LLVMRemoveEnumAttributeAtIndex(function, index + 1, ir::enum_kind("byval"));
        let byref = LLVMCreateTypeAttribute(context, ir::enum_kind("byref"), bytes);
        LLVMAddAttributeAtIndex(function, index + 1, byref);
        let copy = LLVMBuildAlloca(builder, bytes, c"copy".as_ptr());
        LLVMSetAlignment(copy, align);
        let layout = LLVMGetModuleDataLayout(LLVMGetGlobalParent(function));
        let size = LLVMABISizeOfType(layout, bytes);
        let size = LLVMConstInt(LLVMInt64TypeInContext(context), size, 0);
        LLVMBuildMemCpy(builder, copy, align, LLVMGetParam(function, index), align, size);
        let generic = LLVMPointerTypeInContext(context, 0);
        if LLVMTypeOf(copy) == generic {
            return copy;
        }
        LLVMBuildAddrSpaceCast(builder, copy, generic, c"".as_ptr())
    }
}

/// Re-creates a local in the memory that the data layout has for locals.
///
/// # Safety
/// `old` is an alloca in a live module that nobody else changes.
unsafe fn move_alloca(old: LLVMValueRef) {
    // SAFETY: as promised by the caller. The old instruction is erased after its uses have been replaced.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(old));
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, old);
        // LLVM's builder takes the address space from the data layout.
        let (ty, count) = (LLVMGetAllocatedType(old), LLVMGetOperand(old, 0));
        let new = LLVMBuildArrayAlloca(builder, ty, count, c"".as_ptr());
        if LLVMTypeOf(new) == LLVMTypeOf(old) {
            LLVMInstructionEraseFromParent(new);
            LLVMDisposeBuilder(builder);
            return;
        }
        LLVMSetAlignment(new, LLVMGetAlignment(old));
        let name = ir::name_of(old);
        LLVMSetValueName2(old, c"".as_ptr(), 0);
        LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
        for user in ir::users(old) {
            // These take the local itself, not a cast of it.
            let Some(intrinsic) = ir::callee(user).map(|callee| LLVMGetIntrinsicID(callee)) else {
                continue;
            };
            if !["llvm.lifetime.start", "llvm.lifetime.end"]
                .iter()
                .any(|name| LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) == intrinsic)
            {
                continue;
            }
            let mut overload = [LLVMTypeOf(new)];
            let module = LLVMGetGlobalParent(ir::parent_function(user));
            let callee = LLVMGetIntrinsicDeclaration(module, intrinsic, overload.as_mut_ptr(), 1);
            LLVMPositionBuilderBefore(builder, user);
            let mut operands = [new];
            let ty = LLVMGlobalGetValueType(callee);
            LLVMBuildCall2(builder, ty, callee, operands.as_mut_ptr(), 1, c"".as_ptr());
            LLVMInstructionEraseFromParent(user);
        }
        LLVMPositionBuilderBefore(builder, old);
        let cast = LLVMBuildAddrSpaceCast(builder, new, LLVMTypeOf(old), c"".as_ptr());
        LLVMReplaceAllUsesWith(old, cast);
        LLVMInstructionEraseFromParent(old);
        LLVMDisposeBuilder(builder);
    }
}
