//! Where in the source an instruction comes from, however much was inlined and whether or not the
//! crate was built with debug information.
//!
//! Not part of the way of a good module: when the device check has found something, the module is
//! read once more, [`number`] gives every instruction a location of its own, and the passes run
//! again. Inlining keeps a location's way: after it, `way_of` tells for an instruction through
//! which calls it came to where it stands.
//!
//! Before:
//! ```llvm
//! define void @middle() { call void @write() ... }
//! define void @kernel() { call void @middle() ... }
//! ```
//! After [`number`], and after inlining:
//! ```llvm
//! define void @kernel() { call void @write(), !dbg !7 ... }
//! !7 = !DILocation(line: 1, scope: @middle, inlinedAt: !8)    ; site 0: `middle` calls `write`
//! !8 = !DILocation(line: 2, scope: @kernel)                   ; site 1: `kernel` calls `middle`
//! ```
//!
//! A site is named by its caller, its callee and its ordinal among the calls of that callee by that
//! caller, in the order in which the compiler made them: [`tag`] keeps this order, which the order
//! of blocks in a module does not tell.

use std::collections::HashMap;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::spec::report::{CallSite, SiteKind, SourceLocation};

/// The metadata on a call that is not the only one of its callee in its caller.
const TAG: &str = "schism.call";

/// The file of all numbers.
const FILE: &str = "schism.sites";

/// Keeps the order in which the compiler made the calls of each function by each caller. It is the
/// order of uses in a module fresh from the compiler, and gets lost when the module is written.
///
/// # Safety
/// `module` is live, no other thread has it, and nothing but the compiler's lowering has touched it.
pub unsafe fn tag(module: LLVMModuleRef) {
    // SAFETY: as promised by the caller; the walk changes no use list, as metadata is no use.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let kind = tag_kind(context);
        let number_type = LLVMInt32TypeInContext(context);
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            let mut by_caller: HashMap<LLVMValueRef, Vec<LLVMValueRef>> = HashMap::new();
            for user in ir::users(function) {
                if ir::callee(user) == Some(function) {
                    by_caller.entry(ir::parent_function(user)).or_default().push(user);
                }
            }
            for calls in by_caller.values().filter(|calls| calls.len() > 1) {
                // The list of uses starts with the newest.
                for (ordinal, &call) in calls.iter().rev().enumerate() {
                    let ordinal = LLVMConstInt(number_type, ordinal as u64, 0);
                    let mut operands = [LLVMValueAsMetadata(ordinal)];
                    let node = LLVMMDNodeInContext2(context, operands.as_mut_ptr(), 1);
                    LLVMSetMetadata(call, kind, LLVMMetadataAsValue(context, node));
                }
            }
            function = LLVMGetNextFunction(function);
        }
    }
}

/// Takes the marks of [`tag`] out again: they do not belong into an image.
pub fn untag(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller.
    let kind = unsafe { tag_kind(LLVMGetModuleContext(module.as_mut_ptr())) };
    for function in module.get_functions() {
        for instruction in ir::instructions(function.as_value_ref()) {
            // SAFETY: the instruction is live; null takes metadata away, if there is any.
            unsafe {
                if LLVMHasMetadata(instruction) != 0
                    && !LLVMGetMetadata(instruction, kind).is_null()
                {
                    LLVMSetMetadata(instruction, kind, std::ptr::null_mut());
                }
            }
        }
    }
}

/// Gives every instruction a location of its own: its line is one more than its index in what this
/// returns. The module's own debug information goes.
pub fn number(module: &Module<'_>) -> Vec<CallSite> {
    let mut sites = Vec::new();
    let mut numbered = Vec::new();
    for function in module.get_functions() {
        let function = function.as_value_ref();
        let caller = ir::name_of(function);
        let mut ordinals: HashMap<SiteKind, u32> = HashMap::new();
        for instruction in ir::instructions(function) {
            let kind = kind_of(instruction);
            let next = ordinals.entry(kind.clone()).or_default();
            let ordinal = tagged(instruction).unwrap_or(*next);
            *next += 1;
            numbered.push((function, instruction));
            let location = location_of(instruction);
            sites.push(CallSite { caller: caller.clone(), kind, ordinal, location });
        }
    }
    untag(module);
    // SAFETY: the module is live and held by the caller; all metadata is made in it and its context,
    // and the builder is disposed of after it has finished.
    unsafe {
        let module = module.as_mut_ptr();
        LLVMStripModuleDebugInfo(module);
        let context = LLVMGetModuleContext(module);
        let flag = "Debug Info Version";
        if LLVMGetModuleFlag(module, flag.as_ptr().cast(), flag.len()).is_null() {
            let version = u64::from(LLVMDebugMetadataVersion());
            let version = LLVMConstInt(LLVMInt32TypeInContext(context), version, 0);
            LLVMAddModuleFlag(
                module,
                llvm_sys::LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning,
                flag.as_ptr().cast(),
                flag.len(),
                LLVMValueAsMetadata(version),
            );
        }
        let builder = LLVMCreateDIBuilder(module);
        let scopes = Scopes::new(builder);
        let mut current = (std::ptr::null_mut(), std::ptr::null_mut());
        for (index, &(function, instruction)) in numbered.iter().enumerate() {
            if current.0 != function {
                current = (function, scopes.add(function));
            }
            let location = LLVMDIBuilderCreateDebugLocation(
                context,
                index as u32 + 1,
                0,
                current.1,
                std::ptr::null_mut(),
            );
            if ir::opcode(instruction) != Some(LLVMOpcode::LLVMPHI) {
                LLVMInstructionSetDebugLoc(instruction, location);
            }
        }
        LLVMDIBuilderFinalize(builder);
        LLVMDisposeDIBuilder(builder);
    }
    sites
}

/// The indices of the sites through which an instruction came to where it stands: its own first, then
/// the call through which its function was inlined, and so on. Empty in a module without numbers.
pub(crate) fn way_of(instruction: LLVMValueRef) -> Vec<usize> {
    let mut way = Vec::new();
    // SAFETY: the instruction is live, and the metadata of its location live as long; every location has
    // a scope, and a file's name has the length that comes with it.
    unsafe {
        let mut location = LLVMInstructionGetDebugLoc(instruction);
        while !location.is_null() {
            // Bodies that come in later have lines of their own, and line 0 is what LLVM gives an
            // instruction that it made of two.
            let mut length = 0;
            let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
            let name = if file.is_null() {
                std::ptr::null()
            } else {
                LLVMDIFileGetFilename(file, &mut length)
            };
            let ours = !name.is_null()
                && std::slice::from_raw_parts(name.cast::<u8>(), length as usize)
                    == FILE.as_bytes();
            if ours && let Some(index) = LLVMDILocationGetLine(location).checked_sub(1) {
                way.push(index as usize);
            }
            location = LLVMDILocationGetInlinedAt(location);
        }
    }
    way
}

/// What the scopes of all functions share.
struct Scopes {
    builder: LLVMDIBuilderRef,
    file: LLVMMetadataRef,
    ty: LLVMMetadataRef,
}

impl Scopes {
    /// # Safety
    /// `builder` is live, and lives as long as what this returns.
    unsafe fn new(builder: LLVMDIBuilderRef) -> Self {
        let name = FILE;
        // SAFETY: as promised by the caller; texts are passed with their lengths.
        unsafe {
            let file = LLVMDIBuilderCreateFile(
                builder,
                name.as_ptr().cast(),
                name.len(),
                name.as_ptr().cast(),
                0,
            );
            LLVMDIBuilderCreateCompileUnit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageRust,
                file,
                name.as_ptr().cast(),
                name.len(),
                0,
                name.as_ptr().cast(),
                0,
                0,
                name.as_ptr().cast(),
                0,
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindLineTablesOnly,
                0,
                1,
                0,
                name.as_ptr().cast(),
                0,
                name.as_ptr().cast(),
                0,
            );
            let ty = LLVMDIBuilderCreateSubroutineType(builder, file, std::ptr::null_mut(), 0, 0);
            Self { builder, file, ty }
        }
    }

    /// Makes a function's scope.
    ///
    /// # Safety
    /// `function` is a live definition without a scope.
    unsafe fn add(&self, function: LLVMValueRef) -> LLVMMetadataRef {
        let name = ir::name_of(function);
        // SAFETY: as promised by the caller; the builder lives.
        unsafe {
            let scope = LLVMDIBuilderCreateFunction(
                self.builder,
                self.file,
                name.as_ptr().cast(),
                name.len(),
                name.as_ptr().cast(),
                name.len(),
                self.file,
                0,
                self.ty,
                1,
                1,
                0,
                0,
                0,
            );
            LLVMSetSubprogram(function, scope);
            scope
        }
    }
}

fn kind_of(instruction: LLVMValueRef) -> SiteKind {
    if let Some(callee) = ir::callee(instruction) {
        return SiteKind::Call(ir::name_of(callee));
    }
    if !matches!(ir::opcode(instruction), Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)) {
        return SiteKind::Other;
    }
    // SAFETY: a call and an invoke have a called value.
    let assembly = unsafe { !LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)).is_null() };
    if assembly { SiteKind::Assembly } else { SiteKind::CallPointer }
}

/// The ordinal that [`tag`] gave a call.
fn tagged(instruction: LLVMValueRef) -> Option<u32> {
    // SAFETY: the instruction is live; each step is taken only where the one before has a result.
    unsafe {
        if LLVMHasMetadata(instruction) == 0 {
            return None;
        }
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let node = LLVMGetMetadata(instruction, tag_kind(context));
        if node.is_null() || LLVMGetMDNodeNumOperands(node) != 1 {
            return None;
        }
        let mut operand = std::ptr::null_mut();
        LLVMGetMDNodeOperands(node, &mut operand);
        (!operand.is_null() && !LLVMIsAConstantInt(operand).is_null())
            .then(|| LLVMConstIntGetZExtValue(operand) as u32)
    }
}

/// # Safety
/// `context` is live.
unsafe fn tag_kind(context: LLVMContextRef) -> u32 {
    // SAFETY: as promised by the caller; the name is passed with its length.
    unsafe { LLVMGetMDKindIDInContext(context, TAG.as_ptr().cast(), TAG.len() as u32) }
}

fn location_of(instruction: LLVMValueRef) -> Option<SourceLocation> {
    // SAFETY: the instruction is live; LLVM answers null or zero lengths where there is no
    // location.
    unsafe {
        if LLVMInstructionGetDebugLoc(instruction).is_null() {
            return None;
        }
        let text =
            |get: unsafe extern "C" fn(LLVMValueRef, *mut u32) -> *const std::ffi::c_char| {
                let mut length = 0;
                let data = get(instruction, &mut length);
                if data.is_null() {
                    return String::new();
                }
                let bytes = std::slice::from_raw_parts(data.cast::<u8>(), length as usize);
                String::from_utf8_lossy(bytes).into_owned()
            };
        let (directory, file) = (text(LLVMGetDebugLocDirectory), text(LLVMGetDebugLocFilename));
        let file = if file.starts_with('/') || directory.is_empty() {
            file
        } else {
            format!("{directory}/{file}")
        };
        Some(SourceLocation {
            file,
            line: LLVMGetDebugLocLine(instruction),
            column: LLVMGetDebugLocColumn(instruction),
        })
    }
}
