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
//! towards the accesses, where they vanish. A pointer in an aggregate that a kernel takes by value
//! and does not change is the host's, and so to global memory, too. The pass looks at one function
//! at a time, so it belongs after inlining and scalar replacement, and a pointer that is loaded from
//! other memory, or that comes into a function that was not inlined, stays generic: slower, never
//! wrong.
//!
//! For a target with one memory (the CPU) nothing changes.

use std::collections::HashSet;

use schism_llvm::{Attribute, Builder, ModuleRef, Opcode, Type, Value, enum_kind};

use crate::ir::function::{self, NewParameter};
use crate::llvm_passes;
use crate::pass::KernelError;
use crate::spec::target::{self, AddressSpaces};

/// Runs the pass for the target that a triple names; `kernels` are the names of the kernel
/// functions. The module is for that target from then on: triple and data layout are the target's.
///
/// # Errors
/// LLVM has no code generator for the triple, a kernel is used by other code, or LLVM's pass fails.
pub fn run(
    module: ModuleRef<'_>,
    triple: &str,
    kernels: &HashSet<&str>,
) -> Result<(), KernelError> {
    let Some(spaces) = AddressSpaces::of_triple(triple) else {
        return Ok(());
    };
    let machine = target::of_triple(triple)?;
    match spaces.layout {
        Some(layout) => {
            module.set_target(target::STAND_IN, &machine);
            module.set_data_layout(layout);
        }
        None => module.set_target(triple, &machine),
    }
    move_globals(module, spaces);
    // Collected first: a converted kernel is a new function at the end of the list.
    let mut converted = module.functions();
    converted.retain(|function| function.num_blocks() > 0 && kernels.contains(&*function.name()));
    let mut entries = Vec::new();
    for kernel in converted {
        entries.push(convert_kernel(kernel, spaces)?);
    }
    for function in module.functions() {
        // Collected first: other instructions go with an alloca.
        let mut allocas = function.instructions();
        allocas.retain(|&value| value.opcode() == Some(Opcode::Alloca));
        for alloca in allocas {
            move_alloca(alloca);
        }
    }
    // Copies of aggregates become registers where they can, then addresses are followed.
    module.run_passes_for(llvm_passes::PROMOTE_COPIES, Some(&machine))?;
    for entry in entries {
        move_pointers_in_aggregates(entry, spaces);
    }
    module.run_passes_for(llvm_passes::INFER_ADDRESS_SPACES, Some(&machine))?;
    Ok(())
}

/// Gives pointers that a kernel loads from an aggregate it was passed the address space of what they
/// point into.
fn move_pointers_in_aggregates(kernel: Value<'_>, spaces: &AddressSpaces) {
    let context = kernel.module().context();
    let (generic, global) = (context.pointer_type(0), context.pointer_type(spaces.global));
    let builder = Builder::new(context);
    for index in 0..kernel.num_params() {
        let is_aggregate = ["byval", "byref"]
            .into_iter()
            .any(|kind| kernel.enum_attribute(index + 1, enum_kind(kind)).is_some());
        let loads = is_aggregate.then(|| loads_if_only_read(kernel.param(index))).flatten();
        for load in loads.into_iter().flatten().filter(|load| load.ty() == generic) {
            let users = load.users();
            builder.position_before(load.next().expect("a load does not end its block"));
            let pointer = builder.addrspacecast(builder.addrspacecast(load, global), generic);
            for user in users {
                let uses = (0..user.num_operands()).filter(|&at| user.operand(at) == load);
                uses.for_each(|at| user.set_operand(at, pointer));
            }
        }
    }
}

/// All loads of an aggregate that is only read: it is not written, and its address is not kept.
fn loads_if_only_read(aggregate: Value<'_>) -> Option<Vec<Value<'_>>> {
    let (mut loads, mut addresses) = (Vec::new(), vec![aggregate]);
    while let Some(address) = addresses.pop() {
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::Load) => loads.push(user),
                Some(Opcode::GetElementPtr | Opcode::AddrSpaceCast) => addresses.push(user),
                Some(Opcode::Call) if user.calls_intrinsic(&["lifetime."]) => {}
                Some(Opcode::Call)
                    if user.calls_intrinsic(&["memcpy."]) && user.operand(0) != address => {}
                _ => return None,
            }
        }
    }
    Some(loads)
}

/// Puts every global variable where the target has it. The users, initialisers among them, see it
/// through a constant cast.
fn move_globals(module: ModuleRef<'_>, spaces: &AddressSpaces) {
    let generic = module.context().pointer_type(0);
    let mut globals = module.globals();
    globals.retain(|global| {
        global.ty() == generic && !global.is_thread_local() && !global.name().starts_with("llvm.")
    });
    let mut moved = Vec::new();
    for old in globals {
        let constant = old.is_global_constant();
        let space = if constant { spaces.constants } else { spaces.variables };
        let new = module.add_global_in(old.value_type(), "", space);
        new.set_linkage(old.linkage());
        new.set_visibility(old.visibility());
        new.set_unnamed_address(old.unnamed_address());
        new.set_global_constant(old.is_global_constant());
        new.set_externally_initialized(old.is_externally_initialized());
        new.set_alignment(old.alignment());
        new.set_section(&old.section());
        new.take_name(old);
        old.replace_uses(new.const_addrspacecast(generic));
        moved.push((old, new));
    }
    for (old, new) in moved {
        if let Some(initialiser) = old.initializer() {
            new.set_initializer(initialiser);
        }
        old.delete_global();
    }
}

/// Gives a kernel the target's calling convention and the target's kinds of parameters.
fn convert_kernel<'m>(kernel: Value<'m>, spaces: &AddressSpaces) -> Result<Value<'m>, KernelError> {
    if !kernel.users().is_empty() {
        return Err(KernelError::KernelIsUsed(kernel.name()));
    }
    let context = kernel.module().context();
    let generic = context.pointer_type(0);
    let byval = enum_kind("byval");
    let parameters: Vec<(NewParameter, Option<Type<'_>>)> = (0..kernel.num_params())
        .map(|index| {
            let ty = kernel.param(index).ty();
            let attribute = kernel.enum_attribute(index + 1, byval);
            let bytes = attribute.and_then(Attribute::type_value);
            let ty = match (bytes, spaces.by_reference) {
                (Some(_), None) => ty,
                (Some(_), Some(space)) => context.pointer_type(space),
                (None, _) if ty == generic => context.pointer_type(spaces.global),
                (None, _) => ty,
            };
            (NewParameter { ty, from: Some(index) }, bytes)
        })
        .collect();
    let (parameters, bytes): (Vec<_>, Vec<_>) = parameters.into_iter().unzip();
    let new = function::with_parameters(kernel, &parameters);
    new.set_call_conv(spaces.kernel_convention);

    let builder = Builder::new(context);
    let first = new.entry().begin();
    builder.position_before(first);
    for (index, bytes) in bytes.into_iter().enumerate() {
        let index = index as u32;
        let (old, parameter) = (kernel.param(index), new.param(index));
        let value = match bytes {
            Some(bytes) if spaces.by_reference.is_some() => refer(&builder, new, index, bytes),
            _ if parameter.ty() != old.ty() => builder.addrspacecast(parameter, generic),
            _ => parameter,
        };
        old.replace_uses(value);
    }
    kernel.delete_function();
    Ok(new)
}

/// A parameter by value becomes one by reference to memory that must not change, and the body works
/// on a copy.
fn refer<'m>(builder: &Builder<'m>, function: Value<'m>, index: u32, bytes: Type<'m>) -> Value<'m> {
    let context = bytes.context();
    let align = function.enum_attribute(index + 1, enum_kind("align"));
    let align = align.map_or(1, |align| align.value() as u32);
    function.remove_enum_attribute(index + 1, enum_kind("byval"));
    let byref = context.type_attribute(enum_kind("byref"), bytes);
    function.add_attribute(index + 1, byref);
    let copy = builder.alloca(bytes).with_name("copy");
    copy.set_alignment(align);
    let layout = function.module().data_layout();
    let size = layout.abi_size(bytes);
    let size = context.int_type(64).const_int(size, false);
    builder.memcpy(copy, align, function.param(index), align, size);
    let generic = context.pointer_type(0);
    if copy.ty() == generic {
        return copy;
    }
    builder.addrspacecast(copy, generic)
}

/// Re-creates a local in the memory that the data layout has for locals.
fn move_alloca(old: Value<'_>) {
    let _context = old.ty().context();
    let builder = Builder::before(old);
    // LLVM's builder takes the address space from the data layout.
    let (ty, count) = (old.allocated_type(), old.operand(0));
    let new = builder.array_alloca(ty, count);
    if new.ty() == old.ty() {
        new.erase();
        return;
    }
    new.set_alignment(old.alignment());
    new.take_name(old);
    for user in old.users() {
        // These take the local itself, not a cast of it.
        let Some(callee) = user.callee().filter(|_| user.calls_intrinsic(&["lifetime."])) else {
            continue;
        };
        let callee = callee.module().intrinsic(callee.intrinsic_id(), &[new.ty()]);
        builder.position_before(user);
        builder.call_function(callee, &[new]);
        user.erase();
    }
    builder.position_before(old);
    let cast = builder.addrspacecast(new, old.ty());
    old.replace_uses(cast);
    old.erase();
}
