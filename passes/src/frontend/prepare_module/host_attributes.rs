//! Removes attributes that only mean something to the host's code generator.
//!
//! Before:
//! ```llvm
//! define internal void @f() unnamed_addr #0 { ... }
//! attributes #0 = { noinline optnone uwtable "probe-stack"="inline-asm" "target-cpu"="x86-64" }
//! ```
//! After:
//! ```llvm
//! define internal void @f() unnamed_addr { ... }
//! ```
//!
//! A device's code generator would warn about a foreign `target-cpu`, emit stack probes or unwind
//! tables. `noinline` goes too: on a device inlining decides whether captures live in registers,
//! and Rust's `#[inline(never)]` is advice about the host's code size. Functions that must stay
//! calls carry `noinline` again after the pass that needs them so. Hints that
//! `core::hint::spin_loop` gives to the host's CPU, such as `llvm.x86.sse2.pause`, become calls of
//! `__schism_pause`, for the device's own hint.

use inkwell::attributes::AttributeLoc;
use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, FUNCTION_INDEX, IntoValue, ModuleRef, Opcode, Value};

use crate::spec::builtins::PAUSE;

const ENUM_ATTRIBUTES: [&str; 7] =
    ["uwtable", "noinline", "optnone", "noredzone", "nonlazybind", "naked", "minsize"];

const STRING_ATTRIBUTES: [&str; 9] = [
    "target-cpu",
    "target-features",
    "tune-cpu",
    "probe-stack",
    "stack-probe-size",
    "frame-pointer",
    "min-legal-vector-width",
    "no-trapping-math",
    "no-jump-tables",
];

/// How long a device is asked to wait: as a CPU's hint takes, or a little more, since more work-items
/// look at the same place.
const NANOSECONDS: u64 = 64;

/// `memory(inaccessiblemem: readwrite)`, as a number.
const INACCESSIBLE_MEMORY: u64 = 3 << 2;

/// Hints to the host's CPU that a loop waits: no operands that matter, no result.
const HINTS: [&str; 3] = ["llvm.x86.sse2.pause", "llvm.aarch64.hint", "llvm.arm.hint"];

/// Removes them from a module. Code for the program's own process (`in_process`) keeps what a function needs of the processor, calls of rare code, and the processor's own hints.
pub(super) fn remove(module: &Module<'_>, in_process: bool) {
    for function in module.get_functions() {
        let is_rare = in_process && function.value().has_function_attribute("cold");
        for name in ENUM_ATTRIBUTES {
            if name == "noinline" && is_rare {
                continue;
            }
            let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(name);
            function.remove_enum_attribute(AttributeLoc::Function, kind);
        }
        for name in STRING_ATTRIBUTES {
            if name == "target-features" && in_process {
                continue;
            }
            function.remove_string_attribute(AttributeLoc::Function, name);
        }
    }
    for instruction in module.get_functions().flat_map(|f| f.value().instructions()) {
        if matches!(instruction.opcode(), Some(Opcode::Call | Opcode::Invoke)) {
            // A call site may repeat what its callee says.
            let kind = inkwell::attributes::Attribute::get_named_enum_kind_id("noinline");
            instruction.remove_call_enum_attribute(FUNCTION_INDEX, kind);
        }
    }
    for name in HINTS.into_iter().filter(|_| !in_process) {
        let Some(hint) = module.get_function(name) else { continue };
        for user in hint.value().users() {
            if user.opcode() == Some(Opcode::Call) {
                pause_before(module.handle(), user);
                user.erase();
            }
        }
    }
    // Inline assembly at module level belongs to the host: nothing in a kernel can reach it.
    module.set_inline_assembly("");
}

/// Asks the device to wait a little before an instruction.
fn pause_before<'m>(module: ModuleRef<'m>, instruction: Value<'m>) {
    let number = module.context().int_type(32);
    let ty = module.context().void_type().function(&[number], false);
    let function = module.function(PAUSE).unwrap_or_else(|| {
        let function = module.add_function(PAUSE, ty);
        function.add_function_attribute("nounwind", 0);
        function.add_function_attribute("memory", INACCESSIBLE_MEMORY);
        function
    });
    Builder::before(instruction).call(ty, function, &[number.const_int(NANOSECONDS, false)]);
}
