//! Types.

use llvm_sys::core::*;

use crate::TypeKind;
use crate::ffi::take_message;
use crate::handles::{ContextRef, Type, Value};

impl<'m> Type<'m> {
    #[track_caller]
    fn check(self, is_so: bool, what: &str) {
        assert!(is_so, "internal error: this is no {what}: {}", self.text());
    }

    /// The type, as LLVM writes it.
    pub fn text(self) -> String {
        // SAFETY: the type is live; the text is ours.
        unsafe { take_message(LLVMPrintTypeToString(self.raw())) }
    }

    /// What the type is.
    pub fn kind(self) -> TypeKind {
        // SAFETY: the type is live.
        unsafe { LLVMGetTypeKind(self.raw()) }.into()
    }

    /// The context.
    pub fn context(self) -> ContextRef<'m> {
        // SAFETY: the type is live, and its context outlives it.
        unsafe { ContextRef::known(LLVMGetTypeContext(self.raw())) }
    }

    /// Whether values of the type have a size.
    pub fn is_sized(self) -> bool {
        // SAFETY: the type is live.
        unsafe { LLVMTypeIsSized(self.raw()) != 0 }
    }

    /// Panics unless values of the type have a size.
    #[track_caller]
    pub(crate) fn check_sized(self) {
        self.check(self.is_sized(), "type of values with a size");
    }

    /// How many bits an integer has.
    ///
    /// # Panics
    /// If this is no integer's type.
    #[track_caller]
    pub fn int_width(self) -> u32 {
        self.check(self.kind() == TypeKind::Integer, "integer type");
        // SAFETY: it is an integer's type.
        unsafe { LLVMGetIntTypeWidth(self.raw()) }
    }

    /// A pointer's address space.
    ///
    /// # Panics
    /// If this is no pointer's type.
    #[track_caller]
    pub fn address_space(self) -> u32 {
        self.check(self.kind() == TypeKind::Pointer, "pointer type");
        // SAFETY: it is a pointer's type.
        unsafe { LLVMGetPointerAddressSpace(self.raw()) }
    }

    /// The type of an array's or a vector's elements.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn element_type(self) -> Type<'m> {
        let has =
            matches!(self.kind(), TypeKind::Array | TypeKind::Vector | TypeKind::ScalableVector);
        self.check(has, "array or vector type");
        // SAFETY: it is an array's or a vector's type.
        unsafe { Type::known(LLVMGetElementType(self.raw())) }
    }

    /// How many elements an array has.
    ///
    /// # Panics
    /// If this is no array's type.
    #[track_caller]
    pub fn array_length(self) -> u64 {
        self.check(self.kind() == TypeKind::Array, "array type");
        // SAFETY: it is an array's type.
        unsafe { LLVMGetArrayLength2(self.raw()) }
    }

    /// How many elements a vector has.
    ///
    /// # Panics
    /// If this is no vector's type.
    #[track_caller]
    pub fn vector_size(self) -> u32 {
        let has = matches!(self.kind(), TypeKind::Vector | TypeKind::ScalableVector);
        self.check(has, "vector type");
        // SAFETY: it is a vector's type.
        unsafe { LLVMGetVectorSize(self.raw()) }
    }

    /// How many fields a structure has.
    ///
    /// # Panics
    /// If this is no structure's type.
    #[track_caller]
    pub fn num_fields(self) -> u32 {
        self.check(self.kind() == TypeKind::Struct, "structure type");
        // SAFETY: it is a structure's type.
        unsafe { LLVMCountStructElementTypes(self.raw()) }
    }

    /// The type of a structure's field.
    ///
    /// # Panics
    /// If this is no structure's type, or has no such field.
    #[track_caller]
    pub fn field_type(self, index: u32) -> Type<'m> {
        self.check(index < self.num_fields(), "structure type with so many fields");
        // SAFETY: the structure has the field.
        unsafe { Type::known(LLVMStructGetTypeAtIndex(self.raw(), index)) }
    }

    #[track_caller]
    fn check_function(self) {
        self.check(self.kind() == TypeKind::Function, "function type");
    }

    /// What a function returns.
    ///
    /// # Panics
    /// If this is no function's type.
    #[track_caller]
    pub fn return_type(self) -> Type<'m> {
        self.check_function();
        // SAFETY: it is a function's type.
        unsafe { Type::known(LLVMGetReturnType(self.raw())) }
    }

    /// How many parameters a function has.
    ///
    /// # Panics
    /// If this is no function's type.
    #[track_caller]
    pub fn num_param_types(self) -> u32 {
        self.check_function();
        // SAFETY: it is a function's type.
        unsafe { LLVMCountParamTypes(self.raw()) }
    }

    /// The types of a function's parameters.
    ///
    /// # Panics
    /// If this is no function's type.
    #[track_caller]
    pub fn param_types(self) -> Vec<Type<'m>> {
        let mut types = vec![std::ptr::null_mut(); self.num_param_types() as usize];
        // SAFETY: it is a function's type, and the array has room for as many types as it has
        // parameters.
        unsafe {
            LLVMGetParamTypes(self.raw(), types.as_mut_ptr());
            types.into_iter().map(|ty| Type::known(ty)).collect()
        }
    }

    /// Whether this is a number whose vectors lie in memory as arrays do: of integers, those of 8, 16, 32 and
    /// 64 bits.
    pub fn is_plain_number(self) -> bool {
        match self.kind() {
            TypeKind::Integer => matches!(self.int_width(), 8 | 16 | 32 | 64),
            TypeKind::Half | TypeKind::Float | TypeKind::Double => true,
            _ => false,
        }
    }

    /// Whether a function takes more arguments than its parameters.
    ///
    /// # Panics
    /// If this is no function's type.
    #[track_caller]
    pub fn is_variadic(self) -> bool {
        self.check_function();
        // SAFETY: it is a function's type.
        unsafe { LLVMIsFunctionVarArg(self.raw()) != 0 }
    }

    /// The type of functions that return this one.
    ///
    /// # Panics
    /// If a function cannot return or take such values.
    #[track_caller]
    pub fn function(self, params: &[Type<'m>], is_variadic: bool) -> Type<'m> {
        let is_first_class =
            |kind| !matches!(kind, TypeKind::Function | TypeKind::Label | TypeKind::Metadata);
        self.check(is_first_class(self.kind()), "type that a function can return");
        for ty in params {
            let kind = ty.kind();
            let is_good = !matches!(kind, TypeKind::Function | TypeKind::Void);
            ty.check(is_good, "type that a parameter can have");
        }
        let mut params: Vec<_> = params.iter().map(|ty| ty.raw()).collect();
        let (start, count) = (params.as_mut_ptr(), params.len() as u32);
        // SAFETY: all types are live, of kinds that a function can have, and the array is as long
        // as LLVM is told.
        unsafe { Type::known(LLVMFunctionType(self.raw(), start, count, is_variadic.into())) }
    }

    #[track_caller]
    pub(crate) fn check_element(self) {
        let is_good = !matches!(
            self.kind(),
            TypeKind::Void
                | TypeKind::Label
                | TypeKind::Metadata
                | TypeKind::Function
                | TypeKind::Token
        );
        self.check(is_good, "type that an element can have");
    }

    /// The type of arrays of this one.
    ///
    /// # Panics
    /// If an array cannot have such elements.
    #[track_caller]
    pub fn array(self, length: u64) -> Type<'m> {
        self.check_element();
        // SAFETY: an array can have such elements.
        unsafe { Type::known(LLVMArrayType2(self.raw(), length)) }
    }

    /// The type of vectors of this one.
    ///
    /// # Panics
    /// If a vector cannot have such elements, or if it shall have none.
    #[track_caller]
    pub fn vector(self, length: u32) -> Type<'m> {
        let is_good = matches!(
            self.kind(),
            TypeKind::Integer
                | TypeKind::Pointer
                | TypeKind::Half
                | TypeKind::BFloat
                | TypeKind::Float
                | TypeKind::Double
        );
        self.check(is_good && length > 0, "type that a vector's elements can have");
        // SAFETY: a vector can have such elements.
        unsafe { Type::known(LLVMVectorType(self.raw(), length)) }
    }

    /// The zero of this type: 0, a null pointer, an aggregate of these.
    ///
    /// # Panics
    /// If the type has none.
    #[track_caller]
    pub fn zero(self) -> Value<'m> {
        let has = !matches!(
            self.kind(),
            TypeKind::Void
                | TypeKind::Label
                | TypeKind::Metadata
                | TypeKind::Function
                | TypeKind::X86Amx
        );
        self.check(has, "type with a zero");
        // SAFETY: the type has a zero.
        unsafe { Value::known(LLVMConstNull(self.raw())) }
    }

    /// `undef` of this type.
    ///
    /// # Panics
    /// If it is no type of values.
    #[track_caller]
    pub fn undef(self) -> Value<'m> {
        self.check_values();
        // SAFETY: the type is one of values.
        unsafe { Value::known(LLVMGetUndef(self.raw())) }
    }

    /// `poison` of this type.
    ///
    /// # Panics
    /// If it is no type of values.
    #[track_caller]
    pub fn poison(self) -> Value<'m> {
        self.check_values();
        // SAFETY: the type is one of values.
        unsafe { Value::known(LLVMGetPoison(self.raw())) }
    }

    #[track_caller]
    fn check_values(self) {
        let has = !matches!(
            self.kind(),
            TypeKind::Void | TypeKind::Label | TypeKind::Metadata | TypeKind::Function
        );
        self.check(has, "type of values");
    }
}
