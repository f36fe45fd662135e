//! Places the local memory of a work-group in one symbol, with offsets for pointers.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr addrspace(3) align 4 %sums, i64 %n, ptr addrspace(3) align 16 %tile) {
//!   %memory = call ptr @__schism_local_memory()
//!   ...
//! ```
//! After:
//! ```llvm
//! @__schism_shared = external addrspace(3) global [0 x i8], align 128
//! define void @kernel(i32 %sums, i64 %n, i32 %tile) {
//!   %sums.at = getelementptr inbounds i8, ptr addrspace(3) @__schism_shared, i32 %sums
//!   %tile.at = getelementptr inbounds i8, ptr addrspace(3) @__schism_shared, i32 %tile
//!   ...                            ; with addrspacecast (ptr addrspace(3) @__schism_shared to ptr) for %memory
//! ```
//!
//! A launch on CUDA says how many bytes a group has, and a kernel finds them at an external symbol:
//! there is only one such block, so a pointer into it is an offset ([`places`] says which). The
//! symbol is as aligned as the most demanding user, which makes every offset that is a multiple of
//! its own alignment good.
//!
//! Targets whose launches take local pointers as arguments (the CPU, SPIR-V) do not run this pass.
//! It belongs before [`crate::gpu::address_spaces`], which follows the symbol's address to the
//! accesses.

use std::collections::HashSet;
use std::mem::ManuallyDrop;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::function::{self, NewParameter};
use crate::pass::KernelError;
use crate::spec::builtins::{DYNAMIC_ALIGN, LOCAL_MEMORY};

/// The symbol of a group's memory.
pub const SHARED: &std::ffi::CStr = c"__schism_shared";

/// The address space of a group's memory, on PTX and on AMD GCN.
const LOCAL: u32 = 3;

/// Where arrays of a size and an alignment go in a group's memory, the first at `begin` or after it, and
/// where the last one ends. An array without bytes is at 0.
///
/// ```
/// use schism_passes::local_to_shared::places;
///
/// assert_eq!(places(4, &[(12, 4), (0, 8), (64, 16)]), Some((vec![4, 0, 16], 80)));
/// assert_eq!(places(0, &[(u64::MAX, 1), (1, 1)]), None);
/// ```
///
/// `None` if the sum does not fit into 64 bits, or an alignment is no power of two.
#[must_use]
pub fn places(begin: u64, arrays: &[(u64, u64)]) -> Option<(Vec<u64>, u64)> {
    let mut end = begin;
    let mut offsets = Vec::with_capacity(arrays.len());
    for &(size, align) in arrays {
        if !align.is_power_of_two() {
            return None;
        }
        if size == 0 {
            offsets.push(0);
            continue;
        }
        let offset = end.checked_next_multiple_of(align)?;
        end = offset.checked_add(size)?;
        offsets.push(offset);
    }
    Some((offsets, end))
}

/// Runs the pass; `kernels` are the names of the kernel functions, `least_align` is the alignment that the arrays of
/// [`crate::frontend::allocate_local_memory`] need.
///
/// # Errors
/// A kernel with local pointers is used by other code.
pub fn run(
    module: &Module<'_>,
    kernels: &HashSet<&str>,
    least_align: u64,
) -> Result<(), KernelError> {
    // Collected first: a changed kernel is a new function at the end of the list.
    let kernels: Vec<LLVMValueRef> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0)
        .map(|function| function.as_value_ref())
        .filter(|&function| kernels.contains(ir::name_of(function).as_str()))
        .collect();
    // SAFETY: the module is live and held by the caller.
    unsafe {
        let memory = Memory {
            module: module.as_mut_ptr(),
            local: LLVMPointerTypeInContext(LLVMGetModuleContext(module.as_mut_ptr()), LOCAL),
            least_align: least_align.max(DYNAMIC_ALIGN),
        };
        for kernel in kernels {
            memory.take_offsets(kernel)?;
        }
        memory.resolve_builtin();
    }
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
    kernels: &HashSet<&str>,
    least_align: u64,
) -> Result<(), KernelError> {
    // SAFETY: the module is live, as promised by the caller, and not disposed of here: the wrapper is never dropped.
    let module = ManuallyDrop::new(unsafe { Module::new(module) });
    run(&module, kernels, least_align)
}

struct Memory {
    module: LLVMModuleRef,
    /// The type of a local pointer.
    local: LLVMTypeRef,
    least_align: u64,
}

impl Memory {
    /// The symbol, which is made when it is first needed, aligned to `align` or more.
    ///
    /// # Safety
    /// The module is live.
    unsafe fn symbol(&self, align: u64) -> LLVMValueRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let mut symbol = LLVMGetNamedGlobal(self.module, SHARED.as_ptr());
            if symbol.is_null() {
                let byte = LLVMInt8TypeInContext(LLVMGetModuleContext(self.module));
                let ty = LLVMArrayType2(byte, 0);
                symbol = LLVMAddGlobalInAddressSpace(self.module, ty, SHARED.as_ptr(), LOCAL);
                LLVMSetAlignment(symbol, self.least_align as u32);
            }
            let align = u64::from(LLVMGetAlignment(symbol)).max(align);
            LLVMSetAlignment(symbol, align as u32);
            symbol
        }
    }

    /// Makes a kernel take offsets in place of local pointers.
    ///
    /// # Safety
    /// `kernel` is a definition in the live module, which nobody else changes.
    unsafe fn take_offsets(&self, kernel: LLVMValueRef) -> Result<(), KernelError> {
        // SAFETY: as promised by the caller. The old function is deleted after its parameters have been replaced.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let count = LLVMCountParams(kernel);
            let is_local = |index| LLVMTypeOf(LLVMGetParam(kernel, index)) == self.local;
            if !(0..count).any(is_local) {
                return Ok(());
            }
            if !ir::users(kernel).is_empty() {
                return Err(KernelError::KernelIsUsed(ir::name_of(kernel)));
            }
            let offset = LLVMInt32TypeInContext(context);
            let parameters: Vec<NewParameter> = (0..count)
                .map(|index| {
                    let local = is_local(index);
                    let ty = if local { offset } else { LLVMTypeOf(LLVMGetParam(kernel, index)) };
                    // What is said of a pointer says nothing of a number.
                    NewParameter { ty, from: (!local).then_some(index) }
                })
                .collect();
            let new = function::with_parameters(kernel, &parameters);
            let builder = LLVMCreateBuilderInContext(context);
            let first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(new));
            LLVMPositionBuilderBefore(builder, first);
            for index in 0..count {
                let (old, parameter) = (LLVMGetParam(kernel, index), LLVMGetParam(new, index));
                if !is_local(index) {
                    LLVMReplaceAllUsesWith(old, parameter);
                    continue;
                }
                let align = LLVMGetEnumAttributeAtIndex(kernel, index + 1, ir::enum_kind("align"));
                let align = if align.is_null() { 1 } else { LLVMGetEnumAttributeValue(align) };
                let name = ir::name_of(old);
                LLVMSetValueName2(old, c"".as_ptr(), 0);
                LLVMSetValueName2(parameter, name.as_ptr().cast(), name.len());
                let mut offset = [parameter];
                let at = LLVMBuildInBoundsGEP2(
                    builder,
                    LLVMInt8TypeInContext(context),
                    self.symbol(align),
                    offset.as_mut_ptr(),
                    1,
                    c"local".as_ptr(),
                );
                LLVMReplaceAllUsesWith(old, at);
            }
            LLVMDisposeBuilder(builder);
            LLVMDeleteFunction(kernel);
            Ok(())
        }
    }

    /// Gives the builtin's callers the symbol's address.
    ///
    /// # Safety
    /// The module is live, and nobody else changes it.
    unsafe fn resolve_builtin(&self) {
        // SAFETY: as promised by the caller. A call is erased after its uses have been replaced.
        unsafe {
            let builtin = LLVMGetNamedFunctionWithLength(
                self.module,
                LOCAL_MEMORY.as_ptr().cast(),
                LOCAL_MEMORY.len(),
            );
            if builtin.is_null() {
                return;
            }
            for call in ir::users(builtin) {
                if ir::callee(call) == Some(builtin) {
                    let address = LLVMConstAddrSpaceCast(self.symbol(1), LLVMTypeOf(call));
                    LLVMReplaceAllUsesWith(call, address);
                    LLVMInstructionEraseFromParent(call);
                }
            }
            if ir::users(builtin).is_empty() {
                LLVMDeleteFunction(builtin);
            }
        }
    }
}
