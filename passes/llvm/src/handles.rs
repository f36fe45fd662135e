//! Handles of what LLVM's C interface refers to by an address. Each lives no longer than what it
//! came from; what they can do is in the file of its concern.

use std::marker::PhantomData;
use std::ptr::NonNull;

use llvm_sys::prelude::{
    LLVMAttributeRef, LLVMBasicBlockRef, LLVMContextRef, LLVMTypeRef, LLVMValueRef,
};
use llvm_sys::{LLVMBasicBlock, LLVMContext, LLVMOpaqueAttributeRef, LLVMType, LLVMValue};

/// A value of a module that lives at least for `'m`: a function, a global, an instruction, a
/// parameter, a constant.
///
/// A handle is small and can be copied. What every handle of this crate asks of its user is at the
/// top of the [crate](crate).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value<'m>(NonNull<LLVMValue>, PhantomData<&'m ()>);

impl Value<'_> {
    /// The handle of a value, unless it is null.
    ///
    /// # Safety
    /// `raw` is null or a value that lives for `'m`.
    pub unsafe fn from_raw(raw: LLVMValueRef) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self(raw, PhantomData))
    }

    /// The handle of a value that LLVM cannot have left out.
    ///
    /// # Safety
    /// `raw` is null, which panics, or a value that lives for `'m`.
    #[track_caller]
    pub(crate) unsafe fn known(raw: LLVMValueRef) -> Self {
        // SAFETY: as promised by the caller.
        unsafe { Self::from_raw(raw) }.expect("internal error: LLVM gave no value")
    }

    /// LLVM's own handle.
    pub fn raw(self) -> LLVMValueRef {
        self.0.as_ptr()
    }
}

/// A context that lives at least for `'m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextRef<'m>(NonNull<LLVMContext>, PhantomData<&'m ()>);

impl ContextRef<'_> {
    /// The handle of a context.
    ///
    /// # Safety
    /// `raw` is null, which panics, or a context that lives for `'m`.
    pub(crate) unsafe fn known(raw: LLVMContextRef) -> Self {
        Self(NonNull::new(raw).expect("internal error: LLVM gave no context"), PhantomData)
    }

    /// LLVM's own handle.
    pub fn raw(self) -> LLVMContextRef {
        self.0.as_ptr()
    }
}

/// A type of a context that lives at least for `'m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type<'m>(NonNull<LLVMType>, PhantomData<&'m ()>);

impl Type<'_> {
    /// The handle of a type.
    ///
    /// # Safety
    /// `raw` is null, which panics, or a type that lives for `'m`.
    #[track_caller]
    pub(crate) unsafe fn known(raw: LLVMTypeRef) -> Self {
        Self(NonNull::new(raw).expect("internal error: LLVM gave no type"), PhantomData)
    }

    /// LLVM's own handle.
    pub fn raw(self) -> LLVMTypeRef {
        self.0.as_ptr()
    }
}

/// A basic block of a function of a module that lives at least for `'m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block<'m>(NonNull<LLVMBasicBlock>, PhantomData<&'m ()>);

impl Block<'_> {
    /// The handle of a block, unless it is null.
    ///
    /// # Safety
    /// `raw` is null or a block that lives for `'m`.
    pub unsafe fn from_raw(raw: LLVMBasicBlockRef) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self(raw, PhantomData))
    }

    /// The handle of a block that LLVM cannot have left out.
    ///
    /// # Safety
    /// `raw` is null, which panics, or a block that lives for `'m`.
    #[track_caller]
    pub(crate) unsafe fn known(raw: LLVMBasicBlockRef) -> Self {
        // SAFETY: as promised by the caller.
        unsafe { Self::from_raw(raw) }.expect("internal error: LLVM gave no block")
    }

    /// LLVM's own handle.
    pub fn raw(self) -> LLVMBasicBlockRef {
        self.0.as_ptr()
    }
}

/// An attribute of a context that lives at least for `'m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attribute<'m>(NonNull<LLVMOpaqueAttributeRef>, PhantomData<&'m ()>);

impl Attribute<'_> {
    /// The handle of an attribute, unless it is null.
    ///
    /// # Safety
    /// `raw` is null or an attribute that lives for `'m`.
    pub(crate) unsafe fn from_raw(raw: LLVMAttributeRef) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self(raw, PhantomData))
    }

    /// The handle of an attribute that LLVM cannot have left out.
    ///
    /// # Safety
    /// `raw` is null, which panics, or an attribute that lives for `'m`.
    #[track_caller]
    pub(crate) unsafe fn known(raw: LLVMAttributeRef) -> Self {
        // SAFETY: as promised by the caller.
        unsafe { Self::from_raw(raw) }.expect("internal error: LLVM gave no attribute")
    }

    /// LLVM's own handle.
    pub(crate) fn raw(self) -> LLVMAttributeRef {
        self.0.as_ptr()
    }
}
