//! How data lie in memory.

use std::marker::PhantomData;

use llvm_sys::prelude::LLVMModuleRef;
use llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMPointerSizeForAS,
    LLVMSizeOfTypeInBits, LLVMTargetDataRef,
};

use crate::{Type, TypeKind, Value};

/// The data layout of a module that lives at least for `'m`.
#[derive(Clone, Copy, Debug)]
pub struct DataLayout<'m>(LLVMTargetDataRef, PhantomData<&'m ()>);

impl<'m> DataLayout<'m> {
    /// The layout of a module.
    ///
    /// # Safety
    /// The module lives for `'m`.
    pub(crate) unsafe fn of(module: LLVMModuleRef) -> Self {
        // SAFETY: as promised by the caller.
        Self(unsafe { LLVMGetModuleDataLayout(module) }, PhantomData)
    }

    /// The distance of two values of a type in an array, in bytes.
    ///
    /// # Panics
    /// If the type has no size.
    #[track_caller]
    pub fn abi_size(self, ty: Type<'m>) -> u64 {
        ty.check_sized();
        // SAFETY: the layout is live, and the type has a size.
        unsafe { LLVMABISizeOfType(self.0, ty.raw()) }
    }

    /// How many bits a value of a type has.
    ///
    /// # Panics
    /// If the type has no size.
    #[track_caller]
    pub fn size_in_bits(self, ty: Type<'m>) -> u64 {
        ty.check_sized();
        // SAFETY: the layout is live, and the type has a size.
        unsafe { LLVMSizeOfTypeInBits(self.0, ty.raw()) }
    }

    /// How many bytes a pointer into an address space has.
    pub fn pointer_size(self, space: u32) -> u32 {
        // SAFETY: the layout is live.
        unsafe { LLVMPointerSizeForAS(self.0, space) }
    }

    /// Where a structure's field begins, in bytes.
    ///
    /// # Panics
    /// If the type is no structure with such a field and a size.
    #[track_caller]
    pub fn offset_of(self, ty: Type<'m>, field: u32) -> u64 {
        ty.check_sized();
        ty.field_type(field);
        // SAFETY: the layout is live, and the structure has the field and a size.
        unsafe { LLVMOffsetOfElement(self.0, ty.raw(), field) }
    }

    /// The offset in bytes that a `getelementptr` adds to its base; `None` if that
    /// depends on anything, or is no 64-bit number.
    ///
    /// # Panics
    /// If this is no `getelementptr`.
    #[track_caller]
    pub fn constant_offset(self, address: Value<'m>) -> Option<i64> {
        let mut ty = address.gep_source_type();
        let mut bytes = 0_i64;
        for (at, index) in address.operands().skip(1).enumerate() {
            if at > 0 {
                if ty.kind() == TypeKind::Struct {
                    let field = u32::try_from(index.as_unsigned()?).ok()?;
                    bytes = bytes.checked_add_unsigned(self.offset_of(ty, field))?;
                    ty = ty.field_type(field);
                    continue;
                }
                ty = ty.element_type();
            }
            let size = i64::try_from(self.abi_size(ty)).ok()?;
            bytes = bytes.checked_add(index.as_signed()?.checked_mul(size)?)?;
        }
        Some(bytes)
    }
}
