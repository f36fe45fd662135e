//! Loop metadata: the node at the latch of a loop.

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;

/// LLVM's name for what is known of a loop.
const LOOP: &str = "llvm.loop";

/// Tells a property of a loop, and a number if it has one, unless something is told of the loop already.
///
/// # Safety
/// `end` is the terminator of a loop's latch in a live module.
pub(crate) unsafe fn mark(end: LLVMValueRef, property: &str, number: Option<usize>) {
    // SAFETY: as promised by the caller. The node names itself, as LLVM wants it of a loop's; what stands for it until it is there
    // goes with that.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(end));
        let kind = LLVMGetMDKindIDInContext(context, LOOP.as_ptr().cast(), LOOP.len() as u32);
        if !LLVMGetMetadata(end, kind).is_null() {
            return;
        }
        let mut parts =
            vec![LLVMMDStringInContext2(context, property.as_ptr().cast(), property.len())];
        parts.extend(number.map(|number| {
            let number = LLVMConstInt(LLVMInt32TypeInContext(context), number as u64, 0);
            LLVMValueAsMetadata(number)
        }));
        let told = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
        let itself = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
        let mut parts = [itself, told];
        let node = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
        LLVMMetadataReplaceAllUsesWith(itself, node);
        LLVMSetMetadata(end, kind, LLVMMetadataAsValue(context, node));
    }
}
