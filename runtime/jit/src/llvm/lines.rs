//! Places in the source.
//!
//! An image that was made with them describes its functions, and each instruction has the place that it is from. A function that stage 2
//! puts around a kernel is described by nothing, and code generators name no places in such a function. So when it has taken in the
//! kernel, it takes over the kernel's description:
//! ```llvm
//! define ptx_kernel void @entry(ptr %0) {
//!   store i32 1, ptr %0, !dbg !8
//! !8 = !DILocation(line: 2, column: 3, scope: !4)
//! ```
//! becomes
//! ```llvm
//! define ptx_kernel void @entry(ptr %0) !dbg !4 {
//!   store i32 1, ptr %0, !dbg !8
//! ```
//! What is not from the kernel keeps no place.

use llvm_sys::debuginfo::{
    LLVMDILocationGetInlinedAt, LLVMDILocationGetScope, LLVMGetMetadataKind, LLVMGetSubprogram,
    LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc, LLVMMetadataKind, LLVMSetSubprogram,
};
use llvm_sys::prelude::{LLVMMetadataRef, LLVMValueRef};

use super::{Module, Value};

impl Module<'_> {
    /// Has a function take over the description of what it has taken in. Code of modules without places does not change.
    pub fn adopt_lines(&self, function: &str) {
        let Some(function) = self.function(function) else { return };
        let instructions = function.instructions();
        // SAFETY: the function and its instructions are live, and so is all metadata that they have.
        let Some(description) = instructions.iter().find_map(|at| unsafe { origin(at.raw()) })
        else {
            return;
        };
        // SAFETY: as above; callers have a function.
        let is_taken = |other: Value| unsafe { LLVMGetSubprogram(other.raw()) } == description;
        let taken = self.functions().into_iter().any(is_taken);
        if !taken {
            // SAFETY: as above; no other function has this description.
            unsafe { LLVMSetSubprogram(function.raw(), description) };
        }
        for instruction in instructions {
            // SAFETY: as above.
            unsafe {
                if taken || origin(instruction.raw()) != Some(description) {
                    LLVMInstructionSetDebugLoc(instruction.raw(), std::ptr::null_mut());
                }
            }
        }
    }
}

/// The description of the function that an instruction was in before others took it in; `None` if it has no place.
///
/// # Safety
/// The instruction is live.
unsafe fn origin(instruction: LLVMValueRef) -> Option<LLVMMetadataRef> {
    // SAFETY: the caller's promise; places have scopes, and live as long as instructions have them.
    unsafe {
        let mut place = LLVMInstructionGetDebugLoc(instruction);
        if place.is_null() {
            return None;
        }
        loop {
            let outer = LLVMDILocationGetInlinedAt(place);
            if outer.is_null() {
                break;
            }
            place = outer;
        }
        let scope = LLVMDILocationGetScope(place);
        // Stage 1 leaves no other scopes.
        let kind = LLVMGetMetadataKind(scope);
        matches!(kind, LLVMMetadataKind::LLVMDISubprogramMetadataKind).then_some(scope)
    }
}
