//! Clones a function with other parameters.

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// One parameter of the new function.
pub(crate) struct NewParameter {
    /// Its type.
    pub ty: LLVMTypeRef,
    /// The old parameter whose attributes and name it has.
    pub from: Option<u32>,
}

/// A function in place of another one, with other parameters: linkage, attributes, metadata, name and
/// body are the old one's. The body still uses the old function's parameters, so the caller
/// replaces those, then erases the old function.
///
/// # Safety
/// `old` is a definition in a live module, with no uses left.
pub(crate) unsafe fn with_parameters(
    old: LLVMValueRef,
    parameters: &[NewParameter],
) -> LLVMValueRef {
    // SAFETY: as promised by the caller; what is made here is made in the module of `old`.
    unsafe {
        let module = LLVMGetGlobalParent(old);
        let old_type = LLVMGlobalGetValueType(old);
        let mut types: Vec<LLVMTypeRef> = parameters.iter().map(|new| new.ty).collect();
        let ty = LLVMFunctionType(
            LLVMGetReturnType(old_type),
            types.as_mut_ptr(),
            types.len() as u32,
            LLVMIsFunctionVarArg(old_type),
        );
        let new = LLVMAddFunction(module, c"".as_ptr(), ty);
        LLVMSetLinkage(new, LLVMGetLinkage(old));
        LLVMSetVisibility(new, LLVMGetVisibility(old));
        LLVMSetUnnamedAddress(new, LLVMGetUnnamedAddress(old));
        LLVMSetFunctionCallConv(new, LLVMGetFunctionCallConv(old));
        LLVMSetAlignment(new, LLVMGetAlignment(old));
        LLVMSetSection(new, LLVMGetSection(old));
        copy_attributes(old, LLVMAttributeFunctionIndex, new, LLVMAttributeFunctionIndex);
        for (place, parameter) in parameters.iter().enumerate() {
            let Some(from) = parameter.from else { continue };
            copy_attributes(old, from + 1, new, place as u32 + 1);
            let mut length = 0;
            let name = LLVMGetValueName2(LLVMGetParam(old, from), &mut length);
            LLVMSetValueName2(LLVMGetParam(new, place as u32), name, length);
        }
        let mut count = 0;
        let metadata = LLVMGlobalCopyAllMetadata(old, &mut count);
        for index in 0..count as u32 {
            let kind = LLVMValueMetadataEntriesGetKind(metadata, index);
            LLVMGlobalSetMetadata(new, kind, LLVMValueMetadataEntriesGetMetadata(metadata, index));
        }
        LLVMDisposeValueMetadataEntries(metadata);
        LLVMGlobalClearMetadata(old);
        let mut block = LLVMGetFirstBasicBlock(old);
        while !block.is_null() {
            let next = LLVMGetNextBasicBlock(block);
            LLVMRemoveBasicBlockFromParent(block);
            LLVMAppendExistingBasicBlock(new, block);
            block = next;
        }
        let mut length = 0;
        let name = LLVMGetValueName2(old, &mut length);
        let name = std::slice::from_raw_parts(name.cast::<u8>(), length).to_vec();
        LLVMSetValueName2(old, c"".as_ptr(), 0);
        LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
        new
    }
}

/// # Safety
/// Both are live functions, and the indices are those of their parameters or of the function itself.
unsafe fn copy_attributes(from: LLVMValueRef, index: u32, to: LLVMValueRef, to_index: u32) {
    // SAFETY: as promised by the caller; the array is as long as LLVM says that it must be.
    unsafe {
        let count = LLVMGetAttributeCountAtIndex(from, index) as usize;
        let mut attributes = vec![std::ptr::null_mut(); count];
        LLVMGetAttributesAtIndex(from, index, attributes.as_mut_ptr());
        for attribute in attributes {
            LLVMAddAttributeAtIndex(to, to_index, attribute);
        }
    }
}
