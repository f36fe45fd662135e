//! Removes what an instrumented build adds to code: counters, sanitizer checks, sleds.
//!
//! Before, with coverage, a sanitizer, control-flow integrity and so on:
//! ```llvm
//! define void @f(ptr %g) #0 !kcfi_type !2 {
//!   call void @llvm.instrprof.increment(ptr @__profn_f, i64 1, i32 1, i32 0)
//!   %good = call i1 @llvm.type.test(ptr %g, metadata !"_ZTSFvvE")
//!   call void %g() [ "kcfi"(i32 123) ]
//!   ret void
//! }
//! attributes #0 = { sanitize_address sspstrong "function-instrument"="xray-always" }
//! !llvm.module.flags = !{!0}
//! !0 = !{i32 8, !"cf-protection-branch", i32 1}
//! ```
//! After, `%good` being `true`:
//! ```llvm
//! define void @f(ptr %g) {
//!   call void %g()
//!   ret void
//! }
//! ```
//!
//! Counters, sleds, shadows and canaries belong to the host's process: a device has neither the
//! memory that they are in nor the runtime that reads them, and the code generators of stage 2 do
//! not know the intrinsics. The host half of the same functions keeps all of it, so reports speak
//! of each function once. Checks that the language asks for (bounds, overflow, debug assertions)
//! are no instrumentation, and stay.

use std::ffi::CStr;

use inkwell::attributes::AttributeLoc;
use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, FUNCTION_INDEX, IntoValue, ModuleRef, Opcode, Value};

/// Attributes of functions without a value.
const ATTRIBUTES: [&str; 22] = [
    "disable_sanitizer_instrumentation",
    "fn_ret_thunk_extern",
    "nocf_check",
    "noprofile",
    "nosanitize_bounds",
    "nosanitize_coverage",
    "safestack",
    "sanitize_address",
    "sanitize_alloc_token",
    "sanitize_hwaddress",
    "sanitize_memory",
    "sanitize_memtag",
    "sanitize_numerical_stability",
    "sanitize_realtime",
    "sanitize_realtime_blocking",
    "sanitize_thread",
    "sanitize_type",
    "shadowcallstack",
    "skipprofile",
    "ssp",
    "sspreq",
    "sspstrong",
];

/// How the names of those with a value begin.
const TEXT_ATTRIBUTES: [&str; 16] = [
    "branch-protection",
    "branch-target-enforcement",
    "fentry-call",
    "function-instrument",
    "guarded-control-stack",
    "instrument-function-",
    "mnop-mcount",
    "mrecord-mcount",
    "patchable-function",
    "profile-sample-accurate",
    "sanitize",
    "sign-return-address",
    "stack-protector-",
    "use-sample-profile",
    "xray-",
    "zero-call-used-regs",
];

/// How the names of intrinsics begin that only count.
const COUNTERS: [&str; 2] = ["llvm.instrprof.", "llvm.pseudoprobe"];

/// What is attached to functions and statics for the checks of calls.
const METADATA: [&str; 6] =
    ["callgraph", "func_sanitize", "kcfi_type", "pcsections", "type", "vcall_visibility"];

/// How the names of the flags of modules begin that ask for instrumentation.
const FLAGS: [&str; 14] = [
    "CFI Canonical Jump Tables",
    "CG Profile",
    "EnableSplitLTOUnit",
    "ProfileSummary",
    "Virtual Function Elim",
    "branch-target-enforcement",
    "cf-protection-",
    "cfi-normalize-integers",
    "function_return_thunk_extern",
    "guarded-control-stack",
    "indirect_branch_cs_prefix",
    "kcfi",
    "sign-return-address",
    "stack-protector-",
];

/// The list of a module's flags.
const MODULE_FLAGS: &CStr = c"llvm.module.flags";

/// What marks a call of which the callee's type is checked.
const KCFI: &[u8] = b"kcfi";

/// Removes it from a module.
pub(super) fn remove(module: &Module<'_>) {
    for function in module.get_functions() {
        for name in ATTRIBUTES {
            let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(name);
            // An LLVM that does not know the name has no number for it.
            if kind != 0 {
                function.remove_enum_attribute(AttributeLoc::Function, kind);
            }
        }
        remove_text_attributes(function.value());
    }
    let module = module.handle();
    for function in module.functions() {
        remove_intrinsic(function);
        for instruction in function.instructions() {
            remove_type_check(instruction);
        }
    }
    erase_metadata(module);
    remove_flags(module);
}

/// Whether an instruction only counts for a profile: of the host's code, too.
pub(crate) fn is_counter(instruction: Value<'_>) -> bool {
    instruction.opcode() == Some(Opcode::Call)
        && instruction.callee().is_some_and(|callee| {
            let name = callee.name();
            COUNTERS.iter().any(|start| name.starts_with(start))
        })
}

fn remove_text_attributes(function: Value<'_>) {
    for attribute in function.attributes(FUNCTION_INDEX) {
        let Some(name) = attribute.string_name() else { continue };
        if TEXT_ATTRIBUTES.iter().any(|start| name.starts_with(start)) {
            function.remove_string_attribute(&name);
        }
    }
}

/// Removes the calls of an intrinsic that counts; those of one that asks whether an address is one
/// of a type's are answered with yes.
fn remove_intrinsic(function: Value<'_>) {
    let name = function.name();
    let counts = COUNTERS.iter().any(|start| name.starts_with(start));
    let tests = matches!(&*name, "llvm.type.test" | "llvm.public.type.test");
    let loads = name == "llvm.type.checked.load";
    if !counts && !tests && !loads {
        return;
    }
    for call in function.users() {
        if call.opcode() != Some(Opcode::Call) || call.callee() != Some(function) {
            continue;
        }
        if tests {
            call.replace_uses(call.ty().const_int(1, false));
        } else if loads {
            call.replace_uses(unchecked_load(call));
        }
        call.erase();
    }
}

/// What `llvm.type.checked.load` gives if the check is good: the pointer that lies at an offset
/// from an address, and `true`.
fn unchecked_load(call: Value<'_>) -> Value<'_> {
    let context = call.ty().context();
    let builder = Builder::before(call);
    let address = builder.gep(context.int_type(8), call.operand(0), &[call.operand(1)]);
    let loaded = builder.load(context.pointer_type(0), address);
    let good = context.int_type(1).const_int(1, false);
    let pair = builder.insert_value(call.ty().poison(), loaded, 0);
    builder.insert_value(pair, good, 1)
}

/// Replaces a call or an invoke whose callee's type is checked by one of which it is not.
fn remove_type_check(call: Value<'_>) {
    let opcode = call.opcode();
    if !matches!(opcode, Some(Opcode::Call | Opcode::Invoke)) {
        return;
    }
    if !call.bundle_tags().iter().any(|tag| tag == KCFI) {
        return;
    }
    let (ty, callee) = (call.called_type(), call.called_value());
    let new = Builder::before(call).call_like(call, ty, callee, &call.args(), |tag| tag != KCFI);
    new.set_instruction_call_conv(call.instruction_call_conv());
    new.copy_call_attributes(call);
    if opcode == Some(Opcode::Call) {
        new.set_tail_call_kind(call.tail_call_kind());
    }
    new.set_debug_loc(call.debug_loc());
    call.replace_uses(new);
    call.erase();
}

fn erase_metadata(module: ModuleRef<'_>) {
    let context = module.context();
    let kinds = METADATA.map(|name| context.metadata_kind(name));
    let mut objects = module.functions();
    for global in module.globals() {
        objects.push(global);
    }
    for object in objects {
        kinds.iter().for_each(|kind| object.erase_global_metadata(*kind));
    }
}

fn remove_flags(module: ModuleRef<'_>) {
    let flags = module.named_metadata(MODULE_FLAGS);
    let kept: Vec<_> = flags.iter().copied().filter(|flag| !is_instrument(*flag)).collect();
    if kept.len() != flags.len() {
        module.set_named_metadata(MODULE_FLAGS, &kept);
    }
}

/// Whether a flag of a module asks for instrumentation. LLVM's own function for the name of a flag
/// ends the process at some kinds.
fn is_instrument(flag: Value<'_>) -> bool {
    // The kind, the name, the value.
    let Some(&Some(name)) = flag.md_operands().get(1) else { return false };
    let Some(name) = name.md_text() else { return false };
    FLAGS.iter().any(|start| name.starts_with(start.as_bytes()))
}
