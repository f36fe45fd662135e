//! A context: its types, and the numbers that it gives to names.

use llvm_sys::core::*;

use crate::handles::{Attribute, ContextRef, Type, Value};

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $llvm:ident;)*) => {
        impl<'m> ContextRef<'m> {$(
            $(#[$doc])*
            pub fn $name(self) -> Type<'m> {
                // SAFETY: the context is live, and the type lives as long.
                unsafe { Type::known($llvm(self.raw())) }
            }
        )*}
    };
}

types! {
    /// `void`.
    void_type = LLVMVoidTypeInContext;
    /// `half`.
    half_type = LLVMHalfTypeInContext;
    /// `float`.
    float_type = LLVMFloatTypeInContext;
    /// `double`.
    double_type = LLVMDoubleTypeInContext;
}

impl<'m> ContextRef<'m> {
    /// inkwell's context.
    pub fn of(context: &'m inkwell::context::Context) -> Self {
        // SAFETY: inkwell's context is live while it is borrowed.
        unsafe { Self::known(context.raw()) }
    }

    /// `iN`.
    ///
    /// # Panics
    /// If LLVM has no such integers.
    #[track_caller]
    pub fn int_type(self, bits: u32) -> Type<'m> {
        assert!((1..=1 << 23).contains(&bits), "internal error: no integer has {bits} bits");
        // SAFETY: the context is live, and LLVM has such integers.
        unsafe { Type::known(LLVMIntTypeInContext(self.raw(), bits)) }
    }

    /// `ptr`, in an address space.
    pub fn pointer_type(self, space: u32) -> Type<'m> {
        // SAFETY: the context is live.
        unsafe { Type::known(LLVMPointerTypeInContext(self.raw(), space)) }
    }

    /// A structure of these fields.
    pub fn struct_type(self, fields: &[Type<'m>], is_packed: bool) -> Type<'m> {
        let mut fields: Vec<_> = fields.iter().map(|ty| ty.raw()).collect();
        let (start, count) = (fields.as_mut_ptr(), fields.len() as u32);
        // SAFETY: context and types are live, and the array is as long as LLVM is told.
        unsafe { Type::known(LLVMStructTypeInContext(self.raw(), start, count, is_packed.into())) }
    }

    /// A constant structure of these fields.
    pub fn const_struct(self, fields: &[Value<'m>], is_packed: bool) -> Value<'m> {
        for field in fields {
            field.check(field.is_constant(), "constant");
        }
        let mut fields: Vec<_> = fields.iter().map(|value| value.raw()).collect();
        let (start, count) = (fields.as_mut_ptr(), fields.len() as u32);
        // SAFETY: context and constants are live, and the array is as long as LLVM is told.
        unsafe {
            Value::known(LLVMConstStructInContext(self.raw(), start, count, is_packed.into()))
        }
    }

    /// A constant array of bytes, without a NUL after them.
    pub fn const_bytes(self, bytes: &[u8]) -> Value<'m> {
        // SAFETY: the context is live, and the bytes, which LLVM copies, are passed with their
        // length.
        unsafe {
            Value::known(LLVMConstStringInContext2(
                self.raw(),
                bytes.as_ptr().cast(),
                bytes.len(),
                1,
            ))
        }
    }

    /// LLVM's number for a kind of metadata.
    pub fn metadata_kind(self, name: &str) -> u32 {
        // SAFETY: the context is live, and the name is passed with its length.
        unsafe { LLVMGetMDKindIDInContext(self.raw(), name.as_ptr().cast(), name.len() as u32) }
    }

    /// LLVM's number for who an atomic access orders: a `syncscope`.
    pub fn sync_scope(self, name: &str) -> u32 {
        // SAFETY: the context is live, and the name is passed with its length.
        unsafe { LLVMGetSyncScopeID(self.raw(), name.as_ptr().cast(), name.len()) }
    }

    /// An attribute by LLVM's number for it, with its value: 0 for those without.
    pub fn enum_attribute(self, kind: u32, value: u64) -> Attribute<'m> {
        assert!(kind != 0, "internal error: LLVM has no such attribute");
        // SAFETY: the context is live, and LLVM knows the attribute.
        unsafe { Attribute::known(LLVMCreateEnumAttribute(self.raw(), kind, value)) }
    }

    /// An attribute with a type for a value, by LLVM's number for it.
    pub fn type_attribute(self, kind: u32, ty: Type<'m>) -> Attribute<'m> {
        assert!(kind != 0, "internal error: LLVM has no such attribute");
        // SAFETY: context and type are live, and LLVM knows the attribute.
        unsafe { Attribute::known(LLVMCreateTypeAttribute(self.raw(), kind, ty.raw())) }
    }

    /// An attribute that is only a text.
    pub fn string_attribute(self, name: &str, value: &str) -> Attribute<'m> {
        // SAFETY: the context is live, and the texts, which LLVM copies, are passed with their
        // lengths.
        unsafe {
            Attribute::known(LLVMCreateStringAttribute(
                self.raw(),
                name.as_ptr().cast(),
                name.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            ))
        }
    }
}
