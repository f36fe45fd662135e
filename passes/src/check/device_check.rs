//! Refuses what no device has, with every way on which kernels come to it.
//!
//! Runs after [`crate::frontend::simplify`]: what no kernel reaches raises nothing, and neither does what
//! folded away. Before:
//! ```llvm
//! define void @kernel() { call void @helper() ... }
//! define internal void @helper() { call i64 @write(i32 1, ptr %p, i64 4) ... }
//! declare i64 @write(i32, ptr, i64)
//! ```
//! After: a [`Violation`] that names `write` and its use in `helper`, and the [`Report`] that says where
//! `helper` is used.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode};

use crate::analysis::call_sites::{self, CallSite};
use crate::analysis::callees::{self, Foreign};
use crate::frontend::launch_offset::name_of_original;
use crate::ir;
use crate::spec::builtins;

/// Everything that was found in a module, with what a diagnostic needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, in the order of the module.
    pub violations: Vec<Violation>,
    /// Where each function is used, by symbol.
    pub uses: BTreeMap<String, Vec<Use>>,
    /// What the indices in [`Use::way`] mean.
    pub sites: Vec<CallSite>,
    /// The names of the kernels.
    pub kernels: Vec<String>,
}

/// Something in a kernel that no device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What it is.
    pub what: ViolationKind,
    /// The instructions that use it.
    pub uses: Vec<Use>,
}

/// An instruction that uses something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The function that it stands in, by symbol.
    pub function: String,
    /// The global through whose value it uses it, if it does not name it itself.
    pub through: Option<String>,
    /// Where it comes from: its own site first, then the call through which that was inlined, and so
    /// on. Empty when the module was not numbered.
    pub way: Vec<usize>,
}

/// The kinds of violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// A function without a body that no target provides.
    ExternalFunction(String),
    /// A global without a value.
    ExternalStatic(String),
    /// An intrinsic of LLVM that belongs to one CPU or that no target lowers.
    Intrinsic(String),
    /// Inline assembly.
    InlineAssembly,
    /// A thread-local variable.
    ThreadLocal(String),
    /// A static whose value can change: the device would have a copy of its own.
    MutableStatic(String),
    /// A call through a pointer that was a number: whatever it names lives on the host.
    UnknownFunction,
    /// A call through a pointer that the launch passes in, itself or in memory.
    HostFunction,
    /// A function that needs to know where the launch begins, and whose address is taken.
    OffsetByAddress(String),
    /// A function with a body that takes a variable number of arguments.
    VariadicFunction(String),
    /// A function that is exported needs what only a kernel has: the builtin or the specialization constant.
    OfKernels(String),
    /// Functions that call each other in a circle, in the order of the calls, where a target has no stack.
    Recursion(Vec<String>),
}

impl ViolationKind {
    /// The symbol that it is about, if it is about one.
    #[must_use]
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::ExternalFunction(symbol)
            | Self::ExternalStatic(symbol)
            | Self::Intrinsic(symbol)
            | Self::ThreadLocal(symbol)
            | Self::MutableStatic(symbol)
            | Self::VariadicFunction(symbol)
            | Self::OfKernels(symbol)
            | Self::OffsetByAddress(symbol) => Some(symbol),
            Self::Recursion(circle) => circle.first().map(String::as_str),
            Self::InlineAssembly | Self::UnknownFunction | Self::HostFunction => None,
        }
    }
}

impl Report {
    /// The functions on the shortest way from the one that contains `place` to a kernel, both included.
    #[must_use]
    pub fn chain(&self, place: &Use) -> Vec<String> {
        let mut came_from = vec![(place.function.as_str(), usize::MAX)];
        let mut seen = HashSet::from([place.function.as_str()]);
        let mut next = 0;
        while let Some(&(function, _)) = came_from.get(next) {
            if self.kernels.iter().any(|kernel| kernel == function) {
                let mut chain = Vec::new();
                let mut index = next;
                while let Some(&(function, previous)) = came_from.get(index) {
                    chain.push(function.to_owned());
                    index = previous;
                }
                chain.reverse();
                return chain;
            }
            for place in self.uses.get(function).into_iter().flatten() {
                if seen.insert(&place.function) {
                    came_from.push((&place.function, next));
                }
            }
            next += 1;
        }
        vec![place.function.clone()]
    }
}

impl fmt::Display for Report {
    /// How many there are, then a line for each use: the functions on the way to a kernel, and in a numbered
    /// module the calls through which the instruction came to where it stands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses = |violation: &Violation| violation.uses.len().max(1);
        let count: usize = self.violations.iter().map(uses).sum();
        write!(f, "{count} use(s) of what no device has")?;
        for violation in &self.violations {
            if violation.uses.is_empty() {
                write!(f, "\nviolation: {:?}, in constants alone", violation.what)?;
            }
            for place in &violation.uses {
                let chain = self.chain(place);
                write!(f, "\nviolation: {:?}, chain: {chain:?}", violation.what)?;
                for site in place.way.iter().filter_map(|&index| self.sites.get(index)) {
                    write!(f, ", {site}")?;
                }
            }
        }
        Ok(())
    }
}

/// Keeps [`crate::frontend::simplify`] from reading the values with which the program starts out of statics that
/// can change, and from forgetting writes into those that no kernel reads. Before:
/// ```llvm
/// @counter = internal global i64 5
/// ```
/// After:
/// ```llvm
/// @counter = global i64 5
/// ```
pub fn hold_statics(module: &Module<'_>) {
    for global in module.get_globals() {
        let value = global.as_value_ref();
        if changes(value) || is_thread_local(value) {
            // SAFETY: the global is live; a declaration keeps its linkage.
            unsafe {
                if LLVMIsDeclaration(value) == 0 {
                    LLVMSetLinkage(value, LLVMLinkage::LLVMExternalLinkage);
                }
            }
        }
    }
}

/// Removes what [`hold_statics`] has held and nothing uses.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn release_statics(module: &Module<'_>) -> Result<(), String> {
    let mut any = false;
    for global in module.get_globals() {
        let value = global.as_value_ref();
        if changes(value) || is_thread_local(value) {
            any = true;
            // SAFETY: the global is live; a declaration keeps its linkage.
            unsafe {
                if LLVMIsDeclaration(value) == 0 {
                    LLVMSetLinkage(value, LLVMLinkage::LLVMInternalLinkage);
                }
            }
        }
    }
    if any { ir::run_llvm_passes(module, "globaldce") } else { Ok(()) }
}

/// Runs the check. `imports` are functions that other images define, sorted.
pub fn run(module: &Module<'_>, imports: &[String]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut assembly = Vec::new();
    let (mut unknown, mut of_host) = (Vec::new(), Vec::new());
    for function in module.get_functions() {
        let value = function.as_value_ref();
        let name = ir::name_of(value);
        if function.count_basic_blocks() == 0 {
            let what = if name.starts_with("llvm.") {
                if is_neutral_intrinsic(&name) {
                    continue;
                }
                ViolationKind::Intrinsic(name)
            } else if builtins::is_builtin(&name)
                || builtins::is_library_function(&name)
                || imports.contains(&name)
            {
                continue;
            } else {
                ViolationKind::ExternalFunction(name)
            };
            report(value, what, &mut violations);
            continue;
        }
        // SAFETY: the function is live.
        if unsafe { LLVMIsFunctionVarArg(LLVMGlobalGetValueType(value)) } != 0 {
            report(value, ViolationKind::VariadicFunction(name), &mut violations);
        }
        for instruction in ir::instructions(value) {
            if is_inline_assembly(instruction) {
                assembly.push(use_at(instruction, None));
                continue;
            }
            match callees::foreign(instruction) {
                Some(Foreign::Number) => unknown.push(use_at(instruction, None)),
                Some(Foreign::Host) => of_host.push(use_at(instruction, None)),
                None => {}
            }
        }
    }
    let found = [
        (ViolationKind::InlineAssembly, assembly),
        (ViolationKind::UnknownFunction, unknown),
        (ViolationKind::HostFunction, of_host),
    ];
    for (what, uses) in found {
        if !uses.is_empty() {
            violations.push(Violation { what, uses });
        }
    }
    for global in module.get_globals() {
        let value = global.as_value_ref();
        let name = ir::name_of(value);
        // SAFETY: the global is live.
        let declared = unsafe { LLVMIsDeclaration(value) != 0 };
        let what = if is_thread_local(value) {
            ViolationKind::ThreadLocal(name)
        } else if declared {
            ViolationKind::ExternalStatic(name)
        } else if changes(value) {
            ViolationKind::MutableStatic(name)
        } else {
            continue;
        };
        report(value, what, &mut violations);
    }
    violations
}

/// Where each function of the module is used; a copy of a function counts as the function.
pub fn uses(module: &Module<'_>) -> BTreeMap<String, Vec<Use>> {
    let mut all: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for function in module.get_functions() {
        let value = function.as_value_ref();
        let uses = uses_of(value);
        if !uses.is_empty() {
            all.entry(name_of_original(value)).or_default().extend(uses);
        }
    }
    all
}

/// A violation for an object, if an instruction uses it.
fn report(object: LLVMValueRef, what: ViolationKind, violations: &mut Vec<Violation>) {
    let uses = uses_of(object);
    if !uses.is_empty() {
        violations.push(Violation { what, uses });
    }
}

/// The violation that a user of something is: an instruction, or a constant with its uses.
pub(crate) fn violation_of_use(user: LLVMValueRef, what: ViolationKind) -> Violation {
    let uses = if ir::opcode(user).is_some() { vec![use_at(user, None)] } else { uses_of(user) };
    Violation { what, uses }
}

/// The instructions that use an object, itself or through constants.
pub(crate) fn uses_of(object: LLVMValueRef) -> Vec<Use> {
    let mut seen = HashSet::from([object]);
    let mut queue = VecDeque::from([(object, None)]);
    let mut uses = Vec::new();
    while let Some((value, through)) = queue.pop_front() {
        // The list of uses starts with the newest.
        for user in ir::users(value).into_iter().rev() {
            if !seen.insert(user) {
                continue;
            }
            // SAFETY: a user is live.
            let (is_function, is_global) = unsafe {
                (!LLVMIsAFunction(user).is_null(), !LLVMIsAGlobalVariable(user).is_null())
            };
            if ir::opcode(user).is_some() {
                uses.push(use_at(user, through.clone()));
            } else if is_global {
                queue.push_back((user, Some(ir::name_of(user))));
            } else if !is_function {
                // A constant expression. (A function uses its personality, and no instruction does.)
                queue.push_back((user, through.clone()));
            }
        }
    }
    uses
}

pub(crate) fn use_at(instruction: LLVMValueRef, through: Option<String>) -> Use {
    Use {
        function: name_of_original(ir::parent_function(instruction)),
        through,
        way: call_sites::way_of(instruction),
    }
}

fn changes(global: LLVMValueRef) -> bool {
    // SAFETY: the global is live.
    unsafe { LLVMIsDeclaration(global) == 0 && LLVMIsGlobalConstant(global) == 0 }
}

fn is_thread_local(global: LLVMValueRef) -> bool {
    // SAFETY: the global is live.
    unsafe { LLVMIsThreadLocal(global) != 0 }
}

/// Whether an intrinsic of LLVM belongs to one architecture.
pub(crate) fn is_of_one_architecture(name: &str) -> bool {
    const ARCHITECTURES: [&str; 14] = [
        "aarch64",
        "amdgcn",
        "arm",
        "bpf",
        "hexagon",
        "loongarch",
        "mips",
        "nvvm",
        "ppc",
        "r600",
        "riscv",
        "s390",
        "wasm",
        "x86",
    ];
    ARCHITECTURES.contains(&family(name))
}

/// Whether every target can have an intrinsic of LLVM: all but those of one architecture and those that
/// ask for the host's stack, exceptions, threads or coroutines. Those that go through a list of arguments
/// (`va_start`) are only good in functions that are refused for taking one.
fn is_neutral_intrinsic(name: &str) -> bool {
    const HOST: [&str; 14] = [
        "addressofreturnaddress",
        "clear_cache",
        "coro",
        "eh",
        "frameaddress",
        "gcread",
        "gcroot",
        "gcwrite",
        "init",
        "read_register",
        "read_volatile_register",
        "returnaddress",
        "sponentry",
        "write_register",
    ];
    !is_of_one_architecture(name) && !HOST.contains(&family(name))
}

/// The first part of an intrinsic's name.
fn family(name: &str) -> &str {
    name.strip_prefix("llvm.").unwrap_or(name).split('.').next().unwrap_or_default()
}

pub(crate) fn is_inline_assembly(instruction: LLVMValueRef) -> bool {
    if ir::opcode(instruction) != Some(LLVMOpcode::LLVMCall) {
        return false;
    }
    // SAFETY: the instruction is a call, which has a called value. An empty template is
    // `core::hint::black_box`'s and the like: an optimisation barrier that every target can have.
    unsafe {
        let called = LLVMGetCalledValue(instruction);
        if LLVMIsAInlineAsm(called).is_null() {
            return false;
        }
        let mut length = 0;
        LLVMGetInlineAsmAsmString(called, &mut length);
        length != 0
    }
}

#[cfg(test)]
mod tests {
    use super::is_neutral_intrinsic;

    #[test]
    fn intrinsics_of_one_architecture_are_not_neutral() {
        for name in ["llvm.x86.sse.rcp.ps", "llvm.nvvm.barrier0", "llvm.eh.typeid.for.p0"] {
            assert!(!is_neutral_intrinsic(name), "{name}");
        }
        for name in ["llvm.sqrt.f32", "llvm.memcpy.p0.p0.i64", "llvm.vector.reduce.add.v4i32"] {
            assert!(is_neutral_intrinsic(name), "{name}");
        }
    }
}
