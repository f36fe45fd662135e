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
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMTargetDataRef};
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode, LLVMTypeKind};

use crate::frontend::kernel_reachability;
use crate::ir;
use crate::spec::builtins;
use crate::spec::device::DeviceSpec;
use crate::spec::image::{Capability, KernelImage};

/// Fills in what is found out of each kernel.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, kernels: &mut [KernelImage]) {
    // A constant without bytes has one value.
    for constant in spec.spec_constants.iter().filter(|constant| !constant.default.is_empty()) {
        let Some(global) = module.get_global(&constant.symbol) else { continue };
        let reaching = kernel_reachability::functions_reaching(global.as_value_ref());
        let names: HashSet<String> = reaching.into_iter().map(ir::name_of).collect();
        for kernel in kernels.iter_mut() {
            let variant = kernel.offset_variant.as_ref();
            if names.contains(&kernel.name) || variant.is_some_and(|name| names.contains(name)) {
                kernel.spec_constants.push(constant.symbol.clone());
            }
        }
    }
    // SAFETY: the module is live and held by the caller, who does not change it meanwhile.
    let mut functions = unsafe {
        Functions { layout: LLVMGetModuleDataLayout(module.as_mut_ptr()), known: HashMap::new() }
    };
    for kernel in kernels {
        let names = [Some(&kernel.name), kernel.offset_variant.as_ref()];
        let roots: Vec<LLVMValueRef> = names
            .into_iter()
            .flatten()
            .filter_map(|name| Some(module.get_function(name)?.as_value_ref()))
            .collect();
        let reached = reached_from(&roots);
        let panics = [builtins::PANIC, builtins::PANIC_FORMAT];
        kernel.can_panic =
            reached.iter().any(|&function| panics.contains(&ir::name_of(function).as_str()));
        let mut imports: Vec<String> =
            reached.iter().map(|&function| ir::name_of(function)).collect();
        imports.retain(|name| spec.imports.contains(name));
        imports.sort();
        // What comes from elsewhere may panic.
        kernel.can_panic |= !imports.is_empty();
        kernel.imports = imports;
        kernel.capabilities =
            kernel.groups.is_some().then_some(Capability::Groups).into_iter().collect();
        for &function in &reached {
            kernel.capabilities.extend(&functions.get(function).capabilities);
        }
        if functions.has_cycle(&reached) {
            kernel.capabilities.insert(Capability::Recursion);
        }
    }
}

/// The functions that some can reach, themselves included, in the order in which they are found: over operands of
/// instructions, and over what constants and initialisers name.
fn reached_from(roots: &[LLVMValueRef]) -> Vec<LLVMValueRef> {
    let mut functions = Vec::new();
    let mut seen: HashSet<LLVMValueRef> = roots.iter().copied().collect();
    let mut stack = roots.to_vec();
    while let Some(value) = stack.pop() {
        // SAFETY: every value on the stack is a live constant, and operands of live values are live.
        unsafe {
            let users = if LLVMIsAFunction(value).is_null() {
                vec![value]
            } else {
                functions.push(value);
                ir::instructions(value)
            };
            for user in users {
                for index in 0..LLVMGetNumOperands(user) {
                    let operand = LLVMGetOperand(user, index as u32);
                    if !operand.is_null() && LLVMIsConstant(operand) != 0 && seen.insert(operand) {
                        stack.push(operand);
                    }
                }
            }
        }
    }
    functions
}

/// What is known of functions.
struct Functions {
    layout: LLVMTargetDataRef,
    known: HashMap<LLVMValueRef, Facts>,
}

#[derive(Clone, Debug, Default)]
struct Facts {
    capabilities: BTreeSet<Capability>,
    /// The functions that it calls.
    callees: Vec<LLVMValueRef>,
}

impl Functions {
    fn get(&mut self, function: LLVMValueRef) -> &Facts {
        let layout = self.layout;
        self.known.entry(function).or_insert_with(|| facts(function, layout))
    }

    /// Whether direct calls among some functions, all that are reached from some kernel, come back to where they began.
    fn has_cycle(&mut self, functions: &[LLVMValueRef]) -> bool {
        // Depth first; a function is open while calls that it makes are followed.
        let (mut open, mut done) = (HashSet::new(), HashSet::new());
        for &root in functions {
            let mut stack = vec![(root, 0)];
            while let Some((function, next)) = stack.pop() {
                if next == 0 {
                    if done.contains(&function) {
                        continue;
                    }
                    open.insert(function);
                }
                match self.get(function).callees.get(next) {
                    Some(&callee) if open.contains(&callee) => return true,
                    Some(&callee) => stack.extend([(function, next + 1), (callee, 0)]),
                    None => {
                        open.remove(&function);
                        done.insert(function);
                    }
                }
            }
        }
        false
    }
}

fn facts(function: LLVMValueRef, layout: LLVMTargetDataRef) -> Facts {
    let mut facts = Facts::default();
    for instruction in ir::instructions(function) {
        // SAFETY: the instruction is live, and so are its operands and their types.
        unsafe {
            types(LLVMTypeOf(instruction), &mut facts.capabilities);
            for index in 0..LLVMGetNumOperands(instruction) {
                let operand = LLVMGetOperand(instruction, index as u32);
                if !operand.is_null() {
                    types(LLVMTypeOf(operand), &mut facts.capabilities);
                }
            }
            let atomic = match LLVMGetInstructionOpcode(instruction) {
                LLVMOpcode::LLVMLoad if is_atomic(instruction) => Some(LLVMTypeOf(instruction)),
                LLVMOpcode::LLVMStore if is_atomic(instruction) => {
                    Some(LLVMTypeOf(LLVMGetOperand(instruction, 0)))
                }
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                    Some(LLVMTypeOf(LLVMGetOperand(instruction, 1)))
                }
                LLVMOpcode::LLVMCall => {
                    let called = LLVMGetCalledValue(instruction);
                    if !LLVMIsAFunction(called).is_null() {
                        facts.callees.push(called);
                    } else if LLVMIsAInlineAsm(called).is_null() {
                        facts.capabilities.insert(Capability::IndirectCalls);
                    }
                    None
                }
                _ => None,
            };
            if atomic.is_some_and(|ty| LLVMABISizeOfType(layout, ty) >= 8) {
                facts.capabilities.insert(Capability::Atomic64);
            }
        }
    }
    facts
}

/// # Safety
/// `instruction` is a live load or store.
unsafe fn is_atomic(instruction: LLVMValueRef) -> bool {
    // SAFETY: as promised by the caller.
    unsafe { LLVMGetOrdering(instruction) != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic }
}

/// The capabilities of a type: what is computed with it must exist.
///
/// # Safety
/// `ty` is live.
unsafe fn types(ty: LLVMTypeRef, capabilities: &mut BTreeSet<Capability>) {
    // SAFETY: as promised by the caller; parts of a live type are live.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMDoubleTypeKind => drop(capabilities.insert(Capability::Fp64)),
            LLVMTypeKind::LLVMFP128TypeKind => drop(capabilities.insert(Capability::Fp128)),
            LLVMTypeKind::LLVMHalfTypeKind => drop(capabilities.insert(Capability::Fp16)),
            LLVMTypeKind::LLVMIntegerTypeKind if LLVMGetIntTypeWidth(ty) > 64 => {
                capabilities.insert(Capability::Int128);
            }
            LLVMTypeKind::LLVMVectorTypeKind | LLVMTypeKind::LLVMArrayTypeKind => {
                types(LLVMGetElementType(ty), capabilities);
            }
            LLVMTypeKind::LLVMStructTypeKind => {
                for index in 0..LLVMCountStructElementTypes(ty) {
                    types(LLVMStructGetTypeAtIndex(ty, index), capabilities);
                }
            }
            _ => {}
        }
    }
}
