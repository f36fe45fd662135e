//! Refuses what no device has, with every use of it.
//!
//! Runs after [`crate::frontend::simplify`]: what no kernel reaches raises nothing, and neither
//! does what folded away. Before:
//! ```llvm
//! define void @kernel() { call void @helper() ... }
//! define internal void @helper() { call i64 @write(i32 1, ptr %p, i64 4) ... }
//! declare i64 @write(i32, ptr, i64)
//! ```
//! After: a [`Violation`] that names `write` and its use in `helper`, and the
//! [`Report`](crate::spec::report::Report) that says where `helper` is used.

use inkwell::module::Module;
use schism_llvm::{IntoValue, Opcode, Value};

use crate::analysis::callees::{self, Foreign};
use crate::analysis::effects::{family, is_of_one_architecture};
use crate::analysis::statics::{is_mutable, is_thread_local};
use crate::analysis::uses::{use_at, uses_of};
use crate::spec::builtins;
use crate::spec::report::{Violation, ViolationKind};

/// Runs the check. `imports` are functions that other images define, sorted.
pub fn run(module: &Module<'_>, imports: &[String]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut assembly = Vec::new();
    let (mut unknown, mut of_host) = (Vec::new(), Vec::new());
    for function in module.get_functions() {
        let value = function.value();
        let name = value.name();
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
        if value.value_type().is_variadic() {
            report(value, ViolationKind::VariadicFunction(name), &mut violations);
        }
        for instruction in value.instructions() {
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
        let value = global.value();
        let name = value.name();
        let declared = value.is_declaration();
        let what = if is_thread_local(value) {
            ViolationKind::ThreadLocal(name)
        } else if declared {
            ViolationKind::ExternalStatic(name)
        } else if is_mutable(value) {
            ViolationKind::MutableStatic(name)
        } else {
            continue;
        };
        report(value, what, &mut violations);
    }
    violations
}

/// A violation for an object, if an instruction uses it.
fn report(object: Value<'_>, what: ViolationKind, violations: &mut Vec<Violation>) {
    let uses = uses_of(object);
    if !uses.is_empty() {
        violations.push(Violation { what, uses });
    }
}

/// Whether every target can have an intrinsic of LLVM: all but those of one architecture and those
/// that ask for the host's stack, exceptions, threads or coroutines. Those that go through a list
/// of arguments (`va_start`) are only good in functions that are refused for taking one.
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

pub(crate) fn is_inline_assembly(instruction: Value<'_>) -> bool {
    if instruction.opcode() != Some(Opcode::Call) {
        return false;
    }
    let called = instruction.called_value();
    if !called.is_inline_assembly() {
        return false;
    }
    !called.assembly_text().is_empty()
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
