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
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode};

use crate::ir;

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

unsafe extern "C" {
    /// `llvm::NamedMDNode::eraseFromParent()`: the C interface adds to such lists and takes nothing out of them.
    #[link_name = "_ZN4llvm11NamedMDNode15eraseFromParentEv"]
    fn erase_named_metadata(list: LLVMNamedMDNodeRef);
}

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    for function in module.get_functions() {
        for name in ATTRIBUTES {
            let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(name);
            // An LLVM that does not know the name has no number for it.
            if kind != 0 {
                function.remove_enum_attribute(AttributeLoc::Function, kind);
            }
        }
        // SAFETY: the function is one of the live module, which the caller holds.
        unsafe { remove_text_attributes(function.as_value_ref()) };
    }
    // SAFETY: the module is live and held by the caller.
    unsafe {
        let module = module.as_mut_ptr();
        for function in ir::functions(module) {
            remove_intrinsic(function);
            for instruction in ir::instructions(function) {
                remove_type_check(instruction);
            }
        }
        erase_metadata(module);
        remove_flags(module);
    }
}

/// Whether an instruction only counts for a profile: of the host's code, too.
pub(crate) fn is_counter(instruction: LLVMValueRef) -> bool {
    ir::opcode(instruction) == Some(LLVMOpcode::LLVMCall)
        && ir::callee(instruction).is_some_and(|callee| {
            let name = ir::name_of(callee);
            COUNTERS.iter().any(|start| name.starts_with(start))
        })
}

/// # Safety
/// `function` is live, and no other thread has its module.
unsafe fn remove_text_attributes(function: LLVMValueRef) {
    // SAFETY: as promised by the caller; the list has room for as many attributes as there are.
    unsafe {
        let place = LLVMAttributeFunctionIndex;
        let mut attributes =
            vec![std::ptr::null_mut(); LLVMGetAttributeCountAtIndex(function, place) as usize];
        LLVMGetAttributesAtIndex(function, place, attributes.as_mut_ptr());
        for attribute in attributes {
            if LLVMIsStringAttribute(attribute) == 0 {
                continue;
            }
            let mut length = 0;
            let name = LLVMGetStringAttributeKind(attribute, &mut length);
            let name = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
            if TEXT_ATTRIBUTES.iter().any(|start| name.starts_with(start.as_bytes())) {
                let name = name.to_vec();
                LLVMRemoveStringAttributeAtIndex(function, place, name.as_ptr().cast(), length);
            }
        }
    }
}

/// Removes the calls of an intrinsic that counts; those of one that asks whether an address is one of a type's are answered with yes.
///
/// # Safety
/// `function` is live, and no other thread has its module.
unsafe fn remove_intrinsic(function: LLVMValueRef) {
    let name = ir::name_of(function);
    let counts = COUNTERS.iter().any(|start| name.starts_with(start));
    let tests = matches!(&*name, "llvm.type.test" | "llvm.public.type.test");
    let loads = name == "llvm.type.checked.load";
    if !counts && !tests && !loads {
        return;
    }
    for call in ir::users(function) {
        if ir::opcode(call) != Some(LLVMOpcode::LLVMCall) || ir::callee(call) != Some(function) {
            continue;
        }
        // SAFETY: the call stands in the live module. What counts returns nothing; other results are replaced before the call goes.
        unsafe {
            if tests {
                LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), 1, 0));
            } else if loads {
                LLVMReplaceAllUsesWith(call, unchecked_load(call));
            }
            LLVMInstructionEraseFromParent(call);
        }
    }
}

/// What `llvm.type.checked.load` gives if the check is good: the pointer that lies at an offset from an address, and `true`.
///
/// # Safety
/// `call` is a live call of it.
unsafe fn unchecked_load(call: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: as promised by the caller; the type of the result is a structure of a pointer and a truth value.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(call));
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, call);
        let (byte, name) = (LLVMInt8TypeInContext(context), c"".as_ptr());
        let mut offset = [LLVMGetOperand(call, 1)];
        let base = LLVMGetOperand(call, 0);
        let address = LLVMBuildGEP2(builder, byte, base, offset.as_mut_ptr(), 1, name);
        let loaded = LLVMBuildLoad2(builder, LLVMPointerTypeInContext(context, 0), address, name);
        let good = LLVMConstInt(LLVMInt1TypeInContext(context), 1, 0);
        let pair = LLVMBuildInsertValue(builder, LLVMGetPoison(LLVMTypeOf(call)), loaded, 0, name);
        let pair = LLVMBuildInsertValue(builder, pair, good, 1, name);
        LLVMDisposeBuilder(builder);
        pair
    }
}

/// Replaces a call or an invoke whose callee's type is checked by one of which it is not.
///
/// # Safety
/// `call` is an instruction of a live module that no other thread has.
unsafe fn remove_type_check(call: LLVMValueRef) {
    let opcode = ir::opcode(call);
    if !matches!(opcode, Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)) {
        return;
    }
    // SAFETY: as promised by the caller. Each bundle is disposed of once; the new call takes the place of the old one, and all that it
    // says of itself, before that goes.
    unsafe {
        let count = LLVMGetNumOperandBundles(call);
        if count == 0 {
            return;
        }
        let mut bundles: Vec<LLVMOperandBundleRef> =
            (0..count).map(|index| LLVMGetOperandBundleAtIndex(call, index)).collect();
        let is_check = |bundle: LLVMOperandBundleRef| {
            let mut length = 0;
            let tag = LLVMGetOperandBundleTag(bundle, &mut length);
            std::slice::from_raw_parts(tag.cast::<u8>(), length) == KCFI
        };
        let checks: Vec<_> = bundles.iter().copied().filter(|bundle| is_check(*bundle)).collect();
        bundles.retain(|bundle| !checks.contains(bundle));
        if !checks.is_empty() {
            let new = call_with(call, &mut bundles);
            LLVMSetInstructionCallConv(new, LLVMGetInstructionCallConv(call));
            copy_attributes(call, new);
            if opcode == Some(LLVMOpcode::LLVMCall) {
                LLVMSetTailCallKind(new, LLVMGetTailCallKind(call));
            }
            LLVMInstructionSetDebugLoc(new, LLVMInstructionGetDebugLoc(call));
            LLVMReplaceAllUsesWith(call, new);
            LLVMInstructionEraseFromParent(call);
        }
        checks.into_iter().chain(bundles).for_each(|bundle| LLVMDisposeOperandBundle(bundle));
    }
}

/// Makes the same call or invoke in front of one, with other bundles.
///
/// # Safety
/// `call` is a call or an invoke of a live module that no other thread has.
unsafe fn call_with(call: LLVMValueRef, bundles: &mut [LLVMOperandBundleRef]) -> LLVMValueRef {
    // SAFETY: as promised by the caller; the operands begin with the arguments.
    unsafe {
        let (ty, callee) = (LLVMGetCalledFunctionType(call), LLVMGetCalledValue(call));
        let count = LLVMGetNumArgOperands(call);
        let mut arguments: Vec<_> = (0..count).map(|index| LLVMGetOperand(call, index)).collect();
        let (arguments, name) = (arguments.as_mut_ptr(), c"".as_ptr());
        let (bundles, bundle_count) = (bundles.as_mut_ptr(), bundles.len() as u32);
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(callee)));
        LLVMPositionBuilderBefore(builder, call);
        let new = if ir::opcode(call) == Some(LLVMOpcode::LLVMInvoke) {
            let (normal, unwind) = (LLVMGetNormalDest(call), LLVMGetUnwindDest(call));
            LLVMBuildInvokeWithOperandBundles(
                builder,
                ty,
                callee,
                arguments,
                count,
                normal,
                unwind,
                bundles,
                bundle_count,
                name,
            )
        } else {
            LLVMBuildCallWithOperandBundles(
                builder,
                ty,
                callee,
                arguments,
                count,
                bundles,
                bundle_count,
                name,
            )
        };
        LLVMDisposeBuilder(builder);
        new
    }
}

/// # Safety
/// Both are calls or invokes of one live module, with the same arguments.
unsafe fn copy_attributes(from: LLVMValueRef, to: LLVMValueRef) {
    // SAFETY: as promised by the caller; each list has room for as many attributes as there are.
    unsafe {
        let parameters = LLVMGetNumArgOperands(from);
        for place in (0..=parameters).chain([LLVMAttributeFunctionIndex]) {
            let count = LLVMGetCallSiteAttributeCount(from, place) as usize;
            let mut attributes = vec![std::ptr::null_mut(); count];
            LLVMGetCallSiteAttributes(from, place, attributes.as_mut_ptr());
            for attribute in attributes {
                LLVMAddCallSiteAttribute(to, place, attribute);
            }
        }
    }
}

/// # Safety
/// `module` is live, and no other thread has it.
unsafe fn erase_metadata(module: LLVMModuleRef) {
    // SAFETY: as promised by the caller; the names are passed with their lengths.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let kinds = METADATA
            .map(|name| LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32));
        let mut objects = ir::functions(module);
        let mut global = LLVMGetFirstGlobal(module);
        while !global.is_null() {
            objects.push(global);
            global = LLVMGetNextGlobal(global);
        }
        for object in objects {
            kinds.iter().for_each(|kind| LLVMGlobalEraseMetadata(object, *kind));
        }
    }
}

/// # Safety
/// `module` is live, and no other thread has it.
unsafe fn remove_flags(module: LLVMModuleRef) {
    let list = MODULE_FLAGS;
    // SAFETY: as promised by the caller. The flags are read before the list goes: they belong to the context, and the list only refers to
    // them.
    unsafe {
        let count = LLVMGetNamedMetadataNumOperands(module, list.as_ptr()) as usize;
        let mut flags = vec![std::ptr::null_mut(); count];
        LLVMGetNamedMetadataOperands(module, list.as_ptr(), flags.as_mut_ptr());
        let kept: Vec<_> = flags.into_iter().filter(|flag| !is_instrument(*flag)).collect();
        if kept.len() == count {
            return;
        }
        erase_named_metadata(LLVMGetNamedMetadata(module, list.as_ptr(), list.count_bytes()));
        for flag in kept {
            LLVMAddNamedMetadataOperand(module, list.as_ptr(), flag);
        }
    }
}

/// Whether a flag of a module asks for instrumentation. LLVM's own function for the name of a flag ends the process at some kinds.
///
/// # Safety
/// `flag` is a live node of metadata.
unsafe fn is_instrument(flag: LLVMValueRef) -> bool {
    // SAFETY: as promised by the caller; the list has room for as many operands as there are, and a text is null for what is none.
    unsafe {
        let mut parts = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(flag) as usize];
        LLVMGetMDNodeOperands(flag, parts.as_mut_ptr());
        // The kind, the name, the value.
        let Some(&name) = parts.get(1).filter(|name| !name.is_null()) else { return false };
        let mut length = 0;
        let text = LLVMGetMDString(name, &mut length);
        if text.is_null() {
            return false;
        }
        let name = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
        FLAGS.iter().any(|start| name.starts_with(start.as_bytes()))
    }
}
