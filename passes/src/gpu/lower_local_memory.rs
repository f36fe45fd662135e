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

use schism_llvm::{Attribute, Builder, ModuleRef, Type, Value, enum_kind};

use crate::ir::function::{self, NewParameter};
use crate::pass::KernelError;
use crate::spec::builtins::{DYNAMIC_ALIGN, LOCAL_MEMORY};

/// The symbol of a group's memory.
pub const SHARED: &str = "__schism_shared";

/// The address space of a group's memory, on PTX and on AMD GCN.
const LOCAL: u32 = 3;

/// Where arrays of a size and an alignment go in a group's memory, the first at `begin` or after
/// it, and where the last one ends. An array without bytes is at 0.
///
/// ```
/// use schism_passes::gpu::lower_local_memory::places;
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

/// Runs the pass; `kernels` are the names of the kernel functions, `least_align` is the alignment
/// that the arrays of [`crate::frontend::allocate_local_memory`] need.
///
/// # Errors
/// A kernel with local pointers is used by other code.
pub fn run(
    module: ModuleRef<'_>,
    kernels: &HashSet<&str>,
    least_align: u64,
) -> Result<(), KernelError> {
    // Collected first: a changed kernel is a new function at the end of the list.
    let mut functions = module.functions();
    functions.retain(|function| function.num_blocks() > 0 && kernels.contains(&*function.name()));
    let memory = Memory {
        module,
        local: module.context().pointer_type(LOCAL),
        least_align: least_align.max(DYNAMIC_ALIGN),
    };
    for kernel in functions {
        memory.take_offsets(kernel)?;
    }
    memory.resolve_builtin();
    Ok(())
}

struct Memory<'m> {
    module: ModuleRef<'m>,
    /// The type of a local pointer.
    local: Type<'m>,
    least_align: u64,
}

impl<'m> Memory<'m> {
    /// The symbol, which is made when it is first needed, aligned to `align` or more.
    fn symbol(&self, align: u64) -> Value<'m> {
        let symbol = self.module.global(SHARED).unwrap_or_else(|| {
            let ty = self.module.context().int_type(8).array(0);
            let symbol = self.module.add_global_in(ty, SHARED, LOCAL);
            symbol.set_alignment(self.least_align as u32);
            symbol
        });
        let align = u64::from(symbol.alignment()).max(align);
        symbol.set_alignment(align as u32);
        symbol
    }

    /// Makes a kernel take offsets in place of local pointers.
    fn take_offsets(&self, kernel: Value<'m>) -> Result<(), KernelError> {
        let context = self.module.context();
        let count = kernel.num_params();
        let is_local = |index| kernel.param(index).ty() == self.local;
        if !(0..count).any(is_local) {
            return Ok(());
        }
        if !kernel.users().is_empty() {
            return Err(KernelError::KernelIsUsed(kernel.name()));
        }
        let offset = context.int_type(32);
        let parameters: Vec<NewParameter> = (0..count)
            .map(|index| {
                let local = is_local(index);
                let ty = if local { offset } else { kernel.param(index).ty() };
                // What is said of a pointer says nothing of a number.
                NewParameter { ty, from: (!local).then_some(index) }
            })
            .collect();
        let new = function::with_parameters(kernel, &parameters);
        let builder = Builder::new(context);
        let first = new.entry().begin();
        builder.position_before(first);
        for index in 0..count {
            let (old, parameter) = (kernel.param(index), new.param(index));
            if !is_local(index) {
                old.replace_uses(parameter);
                continue;
            }
            let align = kernel.enum_attribute(index + 1, enum_kind("align"));
            let align = align.map_or(1, Attribute::value);
            parameter.take_name(old);
            let at = builder
                .inbounds_gep(context.int_type(8), self.symbol(align), &[parameter])
                .with_name("local");
            old.replace_uses(at);
        }
        kernel.delete_function();
        Ok(())
    }

    /// Gives the builtin's callers the symbol's address.
    fn resolve_builtin(&self) {
        let Some(builtin) = self.module.function(LOCAL_MEMORY) else { return };
        for call in builtin.users() {
            if call.callee() == Some(builtin) {
                let address = self.symbol(1).const_addrspacecast(call.ty());
                call.replace_uses(address);
                call.erase();
            }
        }
        if builtin.users().is_empty() {
            builtin.delete_function();
        }
    }
}
