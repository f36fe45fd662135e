//! Records what each kernel requires of a device and of the runtime.
//!
//! Changes nothing. For
//! ```llvm
//! define void @kernel(ptr %p) { ... call void @helper(ptr %p) ... }
//! define internal void @helper(ptr %p) { ... fadd double ... call void @__schism_panic(...) ... }
//! ```
//! it finds that `kernel` can panic and needs 64-bit floating point. In the same way it finds which
//! specialization constants a kernel reads, and which functions it has of other images.
//!
//! A function counts for a kernel that reaches it through calls or through constants, so what a
//! kernel could do counts, not what it will do.

use std::collections::{BTreeSet, HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{AsModule, DataLayout, IntoValue, Opcode, Type, TypeKind, Value};

use crate::analysis::cleanup::outside_cleanup;
use crate::check::{host_memory, recursion};
use crate::frontend::kernel_reachability;
use crate::spec::builtins;
use crate::spec::device::DeviceSpec;
use crate::spec::image::{Capability, KernelImage};

/// Fills in what is found out of each kernel.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, kernels: &mut [KernelImage]) {
    // A constant without bytes has one value.
    for constant in spec.spec_constants.iter().filter(|constant| !constant.default.is_empty()) {
        let Some(global) = module.get_global(&constant.symbol) else { continue };
        let reaching = kernel_reachability::functions_reaching(global.value());
        let names: HashSet<String> = reaching.into_iter().map(Value::name).collect();
        for kernel in kernels.iter_mut() {
            let variant = kernel.offset_variant.as_ref();
            if names.contains(&kernel.name) || variant.is_some_and(|name| names.contains(name)) {
                kernel.spec_constants.push(constant.symbol.clone());
            }
        }
    }
    let (layout, mut known) = (module.handle().data_layout(), HashMap::new());
    for kernel in kernels {
        let names = [Some(&kernel.name), kernel.offset_variant.as_ref()];
        let roots: Vec<Value<'_>> = names
            .into_iter()
            .flatten()
            .filter_map(|name| Some(module.get_function(name)?.value()))
            .collect();
        // What cleanup asks for beside that, it has where kernels unwind: on the CPU.
        let reached = reached_while(&roots, outside_cleanup);
        let panics = [builtins::PANIC, builtins::PANIC_FORMAT];
        kernel.can_panic =
            reached.iter().any(|&function| panics.contains(&function.name().as_str()));
        let with_cleanup = reached_from(&roots);
        let mut imports: Vec<String> =
            with_cleanup.iter().map(|&function| function.name()).collect();
        imports.retain(|name| spec.imports.contains(name));
        imports.sort();
        // What comes from elsewhere may panic.
        kernel.can_panic |= !imports.is_empty();
        kernel.imports = imports;
        kernel.capabilities.extend(kernel.groups.is_some().then_some(Capability::Groups));
        for &function in &reached {
            let own = known.entry(function).or_insert_with(|| capabilities(function, layout));
            kernel.capabilities.extend(own.iter());
        }
        if spec.host_memory.contains(&kernel.name) {
            if host_memory::updates_atomics(&reached) {
                kernel.capabilities.insert(Capability::HostAtomics);
            }
            if host_memory::constants_escape(&reached)
                || host_memory::statics_are_compared(&reached)
            {
                kernel.capabilities.insert(Capability::ConstantAddresses);
            }
        }
        if reached.iter().any(|function| builtins::HOST_HEAP.contains(&function.name().as_str())) {
            kernel.capabilities.insert(Capability::HostHeap);
        }
        if recursion::has_circle(&reached) {
            kernel.capabilities.insert(Capability::Recursion);
        }
    }
}

/// The functions that some can reach, themselves included, in the order in which they are found:
/// over operands of instructions, and over what constants and initialisers name.
pub(crate) fn reached_from<'m>(roots: &[Value<'m>]) -> Vec<Value<'m>> {
    reached_while(roots, Value::instructions)
}

/// The same by some of each function's instructions.
pub(crate) fn reached_while<'m>(
    roots: &[Value<'m>],
    instructions_of: impl Fn(Value<'m>) -> Vec<Value<'m>>,
) -> Vec<Value<'m>> {
    let mut functions = Vec::new();
    let mut seen: HashSet<Value<'m>> = roots.iter().copied().collect();
    let mut stack = roots.to_vec();
    while let Some(value) = stack.pop() {
        let users = if !value.is_function() {
            vec![value]
        } else {
            functions.push(value);
            instructions_of(value)
        };
        for user in users {
            for index in 0..user.num_operands() {
                let operand = user.operand(index);
                if operand.is_constant() && seen.insert(operand) {
                    stack.push(operand);
                }
            }
        }
    }
    functions
}

/// What a function asks for, its callees aside.
fn capabilities<'m>(function: Value<'m>, layout: DataLayout<'m>) -> BTreeSet<Capability> {
    let mut all = BTreeSet::new();
    for instruction in outside_cleanup(function) {
        types(instruction.ty(), &mut all);
        instruction.operands().for_each(|operand| types(operand.ty(), &mut all));
        let atomic = match instruction.opcode() {
            Some(Opcode::Load) if instruction.is_atomic() => Some(instruction.ty()),
            Some(Opcode::Store) if instruction.is_atomic() => Some(instruction.operand(0).ty()),
            Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => Some(instruction.operand(1).ty()),
            Some(Opcode::Call | Opcode::Invoke) => {
                let called = instruction.called_value();
                if !called.is_function() && !called.is_inline_assembly() {
                    all.insert(Capability::IndirectCalls);
                }
                None
            }
            _ => None,
        };
        if atomic.is_some_and(|ty| layout.abi_size(ty) >= 8) {
            all.insert(Capability::Atomic64);
        }
    }
    all
}

/// The capabilities of a type: what is computed with it must exist.
fn types(ty: Type<'_>, capabilities: &mut BTreeSet<Capability>) {
    match ty.kind() {
        TypeKind::Double => drop(capabilities.insert(Capability::Fp64)),
        TypeKind::Fp128 => drop(capabilities.insert(Capability::Fp128)),
        TypeKind::Half => drop(capabilities.insert(Capability::Fp16)),
        TypeKind::Integer if ty.int_width() > 64 => {
            capabilities.insert(Capability::Int128);
        }
        TypeKind::Vector | TypeKind::Array => {
            types(ty.element_type(), capabilities);
        }
        TypeKind::Struct => {
            for index in 0..ty.num_fields() {
                types(ty.field_type(index), capabilities);
            }
        }
        _ => {}
    }
}
