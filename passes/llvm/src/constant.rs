//! Constants: their values, and how they are made.

use llvm_sys::core::*;

use crate::{Opcode, Type, TypeKind, Value};

impl<'m> Value<'m> {
    /// The value of a constant integer of 64 bits or fewer, without a sign; `None` of all else.
    pub fn as_unsigned(self) -> Option<u64> {
        let is_one = self.is_constant_int() && self.ty().int_width() <= 64;
        is_one.then(|| self.zext_value())
    }

    /// The value of a constant integer of 64 bits or fewer, with its sign; `None` of all else.
    pub fn as_signed(self) -> Option<i64> {
        let is_one = self.is_constant_int() && self.ty().int_width() <= 64;
        is_one.then(|| self.sext_value())
    }

    /// The value of a constant integer, extended by zeros; of one with more bits the lowest 64.
    ///
    /// # Panics
    /// If this is no constant integer.
    #[track_caller]
    pub fn zext_value(self) -> u64 {
        self.check(self.is_constant_int(), "constant integer");
        // SAFETY: it is a constant integer. Of a longer one LLVM reads the first word.
        unsafe { LLVMConstIntGetZExtValue(self.raw()) }
    }

    /// The value of a constant integer, extended by its sign; of one with more bits the lowest 64.
    ///
    /// # Panics
    /// If this is no constant integer.
    #[track_caller]
    pub fn sext_value(self) -> i64 {
        self.check(self.is_constant_int(), "constant integer");
        // SAFETY: it is a constant integer. Of a longer one LLVM reads the first word.
        unsafe { LLVMConstIntGetSExtValue(self.raw()) }
    }

    /// The value of a constant floating-point number, rounded to 64 bits; `None` of all else.
    pub fn as_float(self) -> Option<f64> {
        if !self.is_constant_float() {
            return None;
        }
        let mut inexact = 0;
        // SAFETY: it is such a constant, and the pointer is to a live variable.
        Some(unsafe { LLVMConstRealGetDouble(self.raw(), &raw mut inexact) })
    }

    /// The bits of a constant floating-point number of at most 64 bits.
    pub fn float_bits(self) -> Option<u64> {
        let bits = match self.ty().kind() {
            TypeKind::Half | TypeKind::BFloat => 16,
            TypeKind::Float => 32,
            TypeKind::Double => 64,
            _ => return None,
        };
        if !self.is_constant_float() {
            return None;
        }
        let integer = self.context().int_type(bits);
        // SAFETY: it is a constant number, and the type is the integer of as many bits.
        unsafe { Value::known(LLVMConstBitCast(self.raw(), integer.raw())) }.as_unsigned()
    }

    /// The operation of an expression of constants.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn const_opcode(self) -> Opcode {
        self.check(self.is_constant_expression(), "constant expression");
        // SAFETY: it is a constant expression.
        unsafe { LLVMGetConstOpcode(self.raw()) }.into()
    }

    /// An element of a constant aggregate, if it has it.
    ///
    /// # Panics
    /// If this is no constant.
    #[track_caller]
    pub fn aggregate_element(self, index: u32) -> Option<Value<'m>> {
        self.check(self.is_a_constant(), "constant");
        // SAFETY: it is a constant; LLVM answers null for an element that it does not have.
        unsafe { Value::from_raw(LLVMGetAggregateElement(self.raw(), index)) }
    }

    /// The address of a constant address in another address space.
    ///
    /// # Panics
    /// If this is no constant pointer, or `ty` no type of pointers.
    #[track_caller]
    pub fn const_addrspacecast(self, ty: Type<'m>) -> Value<'m> {
        let is_one = self.is_constant()
            && self.ty().kind() == TypeKind::Pointer
            && ty.kind() == TypeKind::Pointer;
        self.check(is_one, "constant pointer");
        if self.ty() == ty {
            return self;
        }
        // SAFETY: a constant pointer becomes one of another type of pointers.
        unsafe { Value::known(LLVMConstAddrSpaceCast(self.raw(), ty.raw())) }
    }
}

impl<'m> Type<'m> {
    /// An integer of this type; `is_signed` says how it is extended to more than 64 bits. Of fewer
    /// bits the lower ones count.
    ///
    /// # Panics
    /// If this is no integer's type.
    #[track_caller]
    pub fn const_int(self, value: u64, is_signed: bool) -> Value<'m> {
        self.int_width();
        // SAFETY: the type is an integer's.
        unsafe { Value::known(LLVMConstInt(self.raw(), value, is_signed.into())) }
    }

    /// A floating-point number of this type.
    ///
    /// # Panics
    /// If this is no floating-point type.
    #[track_caller]
    pub fn const_float(self, value: f64) -> Value<'m> {
        let is_float = matches!(
            self.kind(),
            TypeKind::Half
                | TypeKind::BFloat
                | TypeKind::Float
                | TypeKind::Double
                | TypeKind::Fp128
                | TypeKind::X86Fp80
                | TypeKind::PpcFp128
        );
        assert!(is_float, "internal error: this is no floating-point type: {}", self.text());
        // SAFETY: the type is a floating-point one.
        unsafe { Value::known(LLVMConstReal(self.raw(), value)) }
    }

    /// A constant array of elements of this type.
    ///
    /// # Panics
    /// If one of them is no constant of this type.
    #[track_caller]
    pub fn const_array(self, elements: &[Value<'m>]) -> Value<'m> {
        for element in elements {
            let is_one = element.is_constant() && element.ty() == self;
            element.check(is_one, "constant of the element's type");
        }
        let mut elements: Vec<_> = elements.iter().map(|value| value.raw()).collect();
        let (start, count) = (elements.as_mut_ptr(), elements.len() as u64);
        // SAFETY: all elements are constants of this type, and the array is as long as LLVM is
        // told.
        unsafe { Value::known(LLVMConstArray2(self.raw(), start, count)) }
    }

    /// Inline assembly of this function type.
    ///
    /// # Panics
    /// If this is no function's type.
    #[track_caller]
    pub fn inline_assembly(
        self,
        text: &str,
        constraints: &str,
        has_side_effects: bool,
        is_align_stack: bool,
        dialect: crate::AsmDialect,
    ) -> Value<'m> {
        self.is_variadic();
        // SAFETY: the type is a function's, and the texts, which LLVM copies, are passed with their
        // lengths.
        unsafe {
            Value::known(LLVMGetInlineAsm(
                self.raw(),
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                has_side_effects.into(),
                is_align_stack.into(),
                dialect.into(),
                0,
            ))
        }
    }
}
