//! Making instructions.

use std::cell::Cell;
use std::ffi::CStr;
use std::marker::PhantomData;

use llvm_sys::core::*;
use llvm_sys::prelude::LLVMBuilderRef;

use crate::ffi::bytes;
use crate::handles::{Block, ContextRef, Type, Value};
use crate::{AtomicOrdering, AtomicRMWBinOp, FloatPredicate, IntPredicate, Opcode, TypeKind};

/// Makes instructions at a place, and gives what they compute. What can be computed of constants
/// is: then no instruction is made.
#[derive(Debug)]
pub struct Builder<'m> {
    raw: LLVMBuilderRef,
    /// Whether it was told a place.
    placed: Cell<bool>,
    module: PhantomData<&'m ()>,
}

/// LLVM's number for the promise of a `getelementptr` that it stays inside of an object.
pub(crate) const IN_BOUNDS: u32 = 1;

/// Instructions of one kind have no name: [`Value::with_name`] gives one.
const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

macro_rules! two_operands {
    ($($(#[$doc:meta])* $name:ident = $llvm:ident;)*) => {
        impl<'m> Builder<'m> {$(
            $(#[$doc])*
            ///
            /// # Panics
            /// If the types differ.
            #[track_caller]
            pub fn $name(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
                same_type(a, b);
                // SAFETY: the builder has a place, and the operands are of one type.
                unsafe { Value::known($llvm(self.raw(), a.raw(), b.raw(), NO_NAME)) }
            }
        )*}
    };
}

two_operands! {
    /// `a + b`, of integers.
    add = LLVMBuildAdd;
    /// `a + b`, of integers without signs, which promise not to wrap.
    nuw_add = LLVMBuildNUWAdd;
    /// `a + b`, of integers with signs, which promise not to wrap.
    nsw_add = LLVMBuildNSWAdd;
    /// `a - b`, of integers.
    sub = LLVMBuildSub;
    /// `a * b`, of integers.
    mul = LLVMBuildMul;
    /// `a / b`, of integers without signs.
    udiv = LLVMBuildUDiv;
    /// `a % b`, of integers without signs.
    urem = LLVMBuildURem;
    /// `a << b`.
    shl = LLVMBuildShl;
    /// `a >> b`, filled by zeros.
    lshr = LLVMBuildLShr;
    /// `a & b`.
    and = LLVMBuildAnd;
    /// `a | b`.
    or = LLVMBuildOr;
    /// `a ^ b`.
    xor = LLVMBuildXor;
    /// `a + b`, of floating-point numbers.
    fadd = LLVMBuildFAdd;
    /// `a * b`, of floating-point numbers.
    fmul = LLVMBuildFMul;
}

macro_rules! one_operand {
    ($($(#[$doc:meta])* $name:ident = $llvm:ident;)*) => {
        impl<'m> Builder<'m> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, value: Value<'m>) -> Value<'m> {
                // SAFETY: the builder has a place, and the operand is live.
                unsafe { Value::known($llvm(self.raw(), value.raw(), NO_NAME)) }
            }
        )*}
    };
}

one_operand! {
    /// `-a`, of an integer.
    neg = LLVMBuildNeg;
    /// `!a`, of an integer: each bit.
    not = LLVMBuildNot;
    /// `-a`, of a floating-point number.
    fneg = LLVMBuildFNeg;
    /// `a`, or any one value if it is `poison`.
    freeze = LLVMBuildFreeze;
    /// Whether a pointer is null.
    is_null = LLVMBuildIsNull;
}

macro_rules! casts {
    ($($(#[$doc:meta])* $name:ident = $llvm:ident;)*) => {
        impl<'m> Builder<'m> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
                // SAFETY: the builder has a place, and value and type are live.
                unsafe { Value::known($llvm(self.raw(), value.raw(), ty.raw(), NO_NAME)) }
            }
        )*}
    };
}

casts! {
    /// The lower bits of an integer.
    trunc = LLVMBuildTrunc;
    /// An integer of more bits, filled by zeros.
    zext = LLVMBuildZExt;
    /// An integer of more bits, filled by its sign.
    sext = LLVMBuildSExt;
    /// A floating-point number of fewer bits.
    fptrunc = LLVMBuildFPTrunc;
    /// A floating-point number of more bits.
    fpext = LLVMBuildFPExt;
    /// The number that a pointer is.
    ptrtoint = LLVMBuildPtrToInt;
    /// The same bits as another type.
    bitcast = LLVMBuildBitCast;
    /// A pointer in another address space.
    addrspacecast = LLVMBuildAddrSpaceCast;
}

#[track_caller]
fn same_type(a: Value<'_>, b: Value<'_>) {
    b.check(a.ty() == b.ty(), "operand of the same type as the other one");
}

#[track_caller]
fn pointer(value: Value<'_>) {
    value.check(value.ty().kind() == TypeKind::Pointer, "pointer");
}

/// Panics unless a value is an address or a vector of addresses.
#[track_caller]
fn pointers(value: Value<'_>) {
    let ty = value.ty();
    let is_vector = matches!(ty.kind(), TypeKind::Vector | TypeKind::ScalableVector);
    let of = if is_vector { ty.element_type() } else { ty };
    value.check(of.kind() == TypeKind::Pointer, "pointer");
}

#[track_caller]
fn condition(value: Value<'_>) {
    let ty = value.ty();
    value.check(ty.kind() == TypeKind::Integer && ty.int_width() == 1, "condition");
}

impl<'m> Builder<'m> {
    /// A builder without a place, of a context.
    pub fn new(context: ContextRef<'m>) -> Self {
        // SAFETY: the context is live.
        let raw = unsafe { LLVMCreateBuilderInContext(context.raw()) };
        Self { raw, placed: Cell::new(false), module: PhantomData }
    }

    /// A builder before an instruction.
    ///
    /// # Panics
    /// If that is no instruction, or stands nowhere.
    #[track_caller]
    pub fn before(instruction: Value<'m>) -> Self {
        let builder = Self::new(instruction.context());
        builder.position_before(instruction);
        builder
    }

    /// A builder at the end of a block.
    pub fn at_end(block: Block<'m>) -> Self {
        let builder = Self::new(block.context());
        builder.position_at_end(block);
        builder
    }

    /// Continues before an instruction. What is made has its place in the source.
    ///
    /// # Panics
    /// If that is no instruction, or stands nowhere.
    #[track_caller]
    pub fn position_before(&self, instruction: Value<'m>) {
        instruction.block();
        self.placed.set(true);
        // SAFETY: it is an instruction that stands in a block.
        unsafe { LLVMPositionBuilderBefore(self.raw, instruction.raw()) };
    }

    /// Continues at the end of a block.
    pub fn position_at_end(&self, block: Block<'m>) {
        self.placed.set(true);
        // SAFETY: the block is live.
        unsafe { LLVMPositionBuilderAtEnd(self.raw, block.raw()) };
    }

    /// LLVM's builder, which has a place, for the other files of the crate.
    #[track_caller]
    pub(crate) fn raw_builder(&self) -> LLVMBuilderRef {
        self.raw()
    }

    /// LLVM's builder, which has a place.
    #[track_caller]
    fn raw(&self) -> LLVMBuilderRef {
        assert!(self.placed.get(), "internal error: a builder without a place");
        self.raw
    }

    /// Gives an instruction that stands nowhere this place.
    ///
    /// # Panics
    /// If this is no instruction, or stands somewhere.
    #[track_caller]
    pub fn insert(&self, instruction: Value<'m>) {
        self.insert_with_name(instruction, c"");
    }

    /// The same, with a name.
    #[track_caller]
    pub fn insert_with_name(&self, instruction: Value<'m>, name: &CStr) {
        let is_free = instruction.is_instruction() && !instruction.is_placed();
        instruction.check(is_free, "instruction that stands nowhere");
        // SAFETY: the builder has a place, and the instruction none.
        unsafe { LLVMInsertIntoBuilderWithName(self.raw(), instruction.raw(), name.as_ptr()) };
    }

    /// An operation of two operands, by its opcode.
    ///
    /// # Panics
    /// If it is no such operation, or the types differ.
    #[track_caller]
    pub fn binary(&self, opcode: Opcode, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        use Opcode::*;
        let is_one = matches!(
            opcode,
            Add | Sub
                | Mul
                | UDiv
                | SDiv
                | URem
                | SRem
                | Shl
                | LShr
                | AShr
                | And
                | Or
                | Xor
                | FAdd
                | FSub
                | FMul
                | FDiv
                | FRem
        );
        assert!(is_one, "internal error: no operation of two operands: {opcode:?}");
        same_type(a, b);
        // SAFETY: the builder has a place, and the operation takes two operands of one type.
        unsafe {
            Value::known(LLVMBuildBinOp(self.raw(), opcode.into(), a.raw(), b.raw(), NO_NAME))
        }
    }

    /// A cast, by its opcode.
    ///
    /// # Panics
    /// If it is none.
    #[track_caller]
    pub fn cast(&self, opcode: Opcode, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        use Opcode::*;
        let is_one = matches!(
            opcode,
            Trunc
                | ZExt
                | SExt
                | FPToUI
                | FPToSI
                | UIToFP
                | SIToFP
                | FPTrunc
                | FPExt
                | PtrToInt
                | PtrToAddr
                | IntToPtr
                | BitCast
                | AddrSpaceCast
        );
        assert!(is_one, "internal error: no cast: {opcode:?}");
        // SAFETY: the builder has a place, and value and type are live.
        unsafe {
            Value::known(LLVMBuildCast(self.raw(), opcode.into(), value.raw(), ty.raw(), NO_NAME))
        }
    }

    /// An integer in another number of bits, with its sign or without.
    #[track_caller]
    pub fn int_cast(&self, value: Value<'m>, ty: Type<'m>, is_signed: bool) -> Value<'m> {
        // SAFETY: the builder has a place, and value and type are live.
        unsafe {
            let is_signed = is_signed.into();
            Value::known(LLVMBuildIntCast2(self.raw(), value.raw(), ty.raw(), is_signed, NO_NAME))
        }
    }

    /// A comparison of integers or pointers.
    ///
    /// # Panics
    /// If the types differ.
    #[track_caller]
    pub fn icmp(&self, predicate: IntPredicate, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        same_type(a, b);
        // SAFETY: the builder has a place, and the operands are of one type.
        unsafe {
            Value::known(LLVMBuildICmp(self.raw(), predicate.into(), a.raw(), b.raw(), NO_NAME))
        }
    }

    /// A comparison of floating-point numbers.
    ///
    /// # Panics
    /// If the types differ.
    #[track_caller]
    pub fn fcmp(&self, predicate: FloatPredicate, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        same_type(a, b);
        // SAFETY: the builder has a place, and the operands are of one type.
        unsafe {
            Value::known(LLVMBuildFCmp(self.raw(), predicate.into(), a.raw(), b.raw(), NO_NAME))
        }
    }

    /// One value if a condition holds, and another if not.
    ///
    /// # Panics
    /// If the types differ.
    #[track_caller]
    pub fn select(&self, condition: Value<'m>, then: Value<'m>, other: Value<'m>) -> Value<'m> {
        same_type(then, other);
        // SAFETY: the builder has a place, and the operands are of one type.
        unsafe {
            let (condition, then, other) = (condition.raw(), then.raw(), other.raw());
            Value::known(LLVMBuildSelect(self.raw(), condition, then, other, NO_NAME))
        }
    }

    /// A phi without edges yet.
    #[track_caller]
    pub fn phi(&self, ty: Type<'m>) -> Value<'m> {
        // SAFETY: the builder has a place, and the type is live.
        unsafe { Value::known(LLVMBuildPhi(self.raw(), ty.raw(), NO_NAME)) }
    }

    /// Room on the stack for a value.
    ///
    /// # Panics
    /// If values of the type have no size.
    #[track_caller]
    pub fn alloca(&self, ty: Type<'m>) -> Value<'m> {
        ty.check_sized();
        // SAFETY: the builder has a place, and values of the type a size.
        unsafe { Value::known(LLVMBuildAlloca(self.raw(), ty.raw(), NO_NAME)) }
    }

    /// Room on the stack for several values.
    ///
    /// # Panics
    /// If values of the type have no size.
    #[track_caller]
    pub fn array_alloca(&self, ty: Type<'m>, count: Value<'m>) -> Value<'m> {
        ty.check_sized();
        // SAFETY: the builder has a place, and values of the type a size.
        unsafe { Value::known(LLVMBuildArrayAlloca(self.raw(), ty.raw(), count.raw(), NO_NAME)) }
    }

    /// What lies at an address.
    ///
    /// # Panics
    /// If that is no pointer, or values of the type have no size.
    #[track_caller]
    pub fn load(&self, ty: Type<'m>, address: Value<'m>) -> Value<'m> {
        ty.check_sized();
        pointer(address);
        // SAFETY: the builder has a place, the address is a pointer, and values of the type have a
        // size.
        unsafe { Value::known(LLVMBuildLoad2(self.raw(), ty.raw(), address.raw(), NO_NAME)) }
    }

    /// Has a value lie at an address.
    ///
    /// # Panics
    /// If that is no pointer, or the value has no size.
    #[track_caller]
    pub fn store(&self, value: Value<'m>, address: Value<'m>) -> Value<'m> {
        value.ty().check_sized();
        pointer(address);
        // SAFETY: the builder has a place, the address is a pointer, and the value has a size.
        unsafe { Value::known(LLVMBuildStore(self.raw(), value.raw(), address.raw())) }
    }

    /// An address, by indices that count values of a type; of a vector of addresses a vector.
    ///
    /// # Panics
    /// If that is no pointer, or values of the type have no size.
    #[track_caller]
    pub fn gep(&self, ty: Type<'m>, address: Value<'m>, indices: &[Value<'m>]) -> Value<'m> {
        self.gep_with_flags(ty, address, indices, 0)
    }

    /// The same, which promises to stay inside of what `address` points into.
    #[track_caller]
    pub fn inbounds_gep(
        &self,
        ty: Type<'m>,
        address: Value<'m>,
        indices: &[Value<'m>],
    ) -> Value<'m> {
        self.gep_with_flags(ty, address, indices, IN_BOUNDS)
    }

    /// The same, with promises as LLVM numbers them ([`Value::gep_flags`]).
    #[track_caller]
    fn gep_with_flags(
        &self,
        ty: Type<'m>,
        address: Value<'m>,
        indices: &[Value<'m>],
        flags: u32,
    ) -> Value<'m> {
        ty.check_sized();
        pointers(address);
        let mut indices: Vec<_> = indices.iter().map(|index| index.raw()).collect();
        let (start, count) = (indices.as_mut_ptr(), indices.len() as u32);
        // SAFETY: the builder has a place, the address is a pointer or a vector of these, and the
        // array is as long as LLVM is told.
        unsafe {
            Value::known(LLVMBuildGEPWithNoWrapFlags(
                self.raw(),
                ty.raw(),
                address.raw(),
                start,
                count,
                NO_NAME,
                flags,
            ))
        }
    }

    /// Copies bytes that do not overlap.
    ///
    /// # Panics
    /// If one of the addresses is no pointer.
    #[track_caller]
    pub fn memcpy(
        &self,
        to: Value<'m>,
        to_align: u32,
        from: Value<'m>,
        from_align: u32,
        size: Value<'m>,
    ) -> Value<'m> {
        pointer(to);
        pointer(from);
        let good = |align: u32| align == 0 || align.is_power_of_two();
        to.check(good(to_align) && good(from_align), "address with such an alignment");
        // SAFETY: the builder has a place, and the addresses are pointers, with alignments that
        // LLVM knows.
        unsafe {
            let (to, from, size) = (to.raw(), from.raw(), size.raw());
            Value::known(LLVMBuildMemCpy(self.raw(), to, to_align, from, from_align, size))
        }
    }

    /// A part of a structure or an array.
    ///
    /// # Panics
    /// If it has no such part.
    #[track_caller]
    pub fn extract_value(&self, aggregate: Value<'m>, index: u32) -> Value<'m> {
        part(aggregate, index);
        // SAFETY: the builder has a place, and the value such a part.
        unsafe { Value::known(LLVMBuildExtractValue(self.raw(), aggregate.raw(), index, NO_NAME)) }
    }

    /// A structure or an array with another part.
    ///
    /// # Panics
    /// If it has no such part, or one of another type.
    #[track_caller]
    pub fn insert_value(&self, aggregate: Value<'m>, value: Value<'m>, index: u32) -> Value<'m> {
        value.check(part(aggregate, index) == value.ty(), "value of the part's type");
        // SAFETY: the builder has a place, and the value such a part, of this type.
        unsafe {
            let (aggregate, value) = (aggregate.raw(), value.raw());
            Value::known(LLVMBuildInsertValue(self.raw(), aggregate, value, index, NO_NAME))
        }
    }

    /// An element of a vector.
    ///
    /// # Panics
    /// If the value is none.
    #[track_caller]
    pub fn extract_element(&self, vector: Value<'m>, index: Value<'m>) -> Value<'m> {
        vector.ty().vector_size();
        // SAFETY: the builder has a place, and the value is a vector.
        unsafe {
            Value::known(LLVMBuildExtractElement(self.raw(), vector.raw(), index.raw(), NO_NAME))
        }
    }

    /// A vector with another element.
    ///
    /// # Panics
    /// If the value is no vector of such elements.
    #[track_caller]
    pub fn insert_element(
        &self,
        vector: Value<'m>,
        value: Value<'m>,
        index: Value<'m>,
    ) -> Value<'m> {
        vector.ty().vector_size();
        value.check(vector.ty().element_type() == value.ty(), "value of the element's type");
        // SAFETY: the builder has a place, and the value is a vector of such elements.
        unsafe {
            let (vector, value, index) = (vector.raw(), value.raw(), index.raw());
            Value::known(LLVMBuildInsertElement(self.raw(), vector, value, index, NO_NAME))
        }
    }

    /// A call of what has a function type.
    ///
    /// # Panics
    /// If the arguments are not those that the type asks for.
    #[track_caller]
    pub fn call(&self, ty: Type<'m>, callee: Value<'m>, args: &[Value<'m>]) -> Value<'m> {
        arguments(ty, callee, args);
        let mut args: Vec<_> = args.iter().map(|value| value.raw()).collect();
        let (start, count) = (args.as_mut_ptr(), args.len() as u32);
        // SAFETY: the builder has a place, and the arguments are those that the type asks for.
        unsafe {
            Value::known(LLVMBuildCall2(self.raw(), ty.raw(), callee.raw(), start, count, NO_NAME))
        }
    }

    /// A call of a function.
    ///
    /// # Panics
    /// If it is none, or the arguments are not those that it asks for.
    #[track_caller]
    pub fn call_function(&self, function: Value<'m>, args: &[Value<'m>]) -> Value<'m> {
        self.call(function.value_type(), function, args)
    }

    /// A call with one operand bundle.
    ///
    /// # Panics
    /// If the arguments are not those that the type asks for.
    #[track_caller]
    pub fn call_with_bundle(
        &self,
        function: Value<'m>,
        args: &[Value<'m>],
        tag: &str,
        operands: &[Value<'m>],
    ) -> Value<'m> {
        let ty = function.value_type();
        arguments(ty, function, args);
        let mut args: Vec<_> = args.iter().map(|value| value.raw()).collect();
        let mut operands: Vec<_> = operands.iter().map(|value| value.raw()).collect();
        let (args, count) = (args.as_mut_ptr(), args.len() as u32);
        // SAFETY: the builder has a place, and the arguments are those that the type asks for. All
        // arrays are as long as LLVM is told; the bundle is disposed of after the call is made.
        unsafe {
            let start = operands.as_mut_ptr();
            let bundle = LLVMCreateOperandBundle(
                tag.as_ptr().cast(),
                tag.len(),
                start,
                operands.len() as u32,
            );
            let call = LLVMBuildCallWithOperandBundles(
                self.raw(),
                ty.raw(),
                function.raw(),
                args,
                count,
                [bundle].as_mut_ptr(),
                1,
                NO_NAME,
            );
            LLVMDisposeOperandBundle(bundle);
            Value::known(call)
        }
    }

    /// A call with those of another call's operand bundles whose tags are wanted; an invoke where
    /// that is one, with the same destinations. Nothing else of the other call is taken over.
    ///
    /// # Panics
    /// If that is no call, or the arguments are not those that the type asks for.
    #[track_caller]
    pub fn call_like(
        &self,
        old: Value<'m>,
        ty: Type<'m>,
        callee: Value<'m>,
        args: &[Value<'m>],
        keeps: impl Fn(&[u8]) -> bool,
    ) -> Value<'m> {
        arguments(ty, callee, args);
        old.num_args();
        let mut args: Vec<_> = args.iter().map(|value| value.raw()).collect();
        let (start, count) = (args.as_mut_ptr(), args.len() as u32);
        // SAFETY: the builder has a place, `old` is a call, and the arguments are those that the
        // type asks for. Each index is below the number of bundles; these are disposed of after the
        // call is made.
        unsafe {
            let (mut bundles, others): (Vec<_>, Vec<_>) = (0..LLVMGetNumOperandBundles(old.raw()))
                .map(|index| LLVMGetOperandBundleAtIndex(old.raw(), index))
                .partition(|&bundle| {
                    let mut length = 0;
                    let tag = LLVMGetOperandBundleTag(bundle, &mut length);
                    keeps(bytes(tag.cast(), length))
                });
            let (first, number) = (bundles.as_mut_ptr(), bundles.len() as u32);
            let new = if old.opcode() == Some(Opcode::Invoke) {
                LLVMBuildInvokeWithOperandBundles(
                    self.raw(),
                    ty.raw(),
                    callee.raw(),
                    start,
                    count,
                    old.normal_dest().raw(),
                    old.unwind_dest().raw(),
                    first,
                    number,
                    NO_NAME,
                )
            } else {
                LLVMBuildCallWithOperandBundles(
                    self.raw(),
                    ty.raw(),
                    callee.raw(),
                    start,
                    count,
                    first,
                    number,
                    NO_NAME,
                )
            };
            for bundle in bundles.into_iter().chain(others) {
                LLVMDisposeOperandBundle(bundle);
            }
            Value::known(new)
        }
    }

    /// An `atomicrmw`.
    ///
    /// # Panics
    /// If the address is no pointer.
    #[track_caller]
    pub fn atomic_rmw(
        &self,
        operation: AtomicRMWBinOp,
        address: Value<'m>,
        value: Value<'m>,
        ordering: AtomicOrdering,
        scope: u32,
    ) -> Value<'m> {
        pointer(address);
        value.ty().check_sized();
        // SAFETY: the builder has a place, the address is a pointer, and the value has a size.
        unsafe {
            Value::known(LLVMBuildAtomicRMWSyncScope(
                self.raw(),
                operation.into(),
                address.raw(),
                value.raw(),
                ordering.into(),
                scope,
            ))
        }
    }

    /// A `cmpxchg`, with its orders on success and on failure.
    ///
    /// # Panics
    /// If the address is no pointer, or the values' types differ.
    #[track_caller]
    pub fn atomic_cmpxchg(
        &self,
        address: Value<'m>,
        expected: Value<'m>,
        new: Value<'m>,
        [success, failure]: [AtomicOrdering; 2],
        scope: u32,
    ) -> Value<'m> {
        pointer(address);
        same_type(expected, new);
        new.ty().check_sized();
        // SAFETY: the builder has a place, the address is a pointer, and the values are of one type
        // with a size.
        unsafe {
            Value::known(LLVMBuildAtomicCmpXchgSyncScope(
                self.raw(),
                address.raw(),
                expected.raw(),
                new.raw(),
                success.into(),
                failure.into(),
                scope,
            ))
        }
    }

    /// A fence, with a scope as LLVM numbers it.
    #[track_caller]
    pub fn fence(&self, ordering: AtomicOrdering, scope: u32) -> Value<'m> {
        // SAFETY: the builder has a place.
        unsafe {
            Value::known(LLVMBuildFenceSyncScope(self.raw(), ordering.into(), scope, NO_NAME))
        }
    }

    /// A branch.
    #[track_caller]
    pub fn br(&self, block: Block<'m>) -> Value<'m> {
        // SAFETY: the builder has a place, and the block is live.
        unsafe { Value::known(LLVMBuildBr(self.raw(), block.raw())) }
    }

    /// A branch by a condition.
    ///
    /// # Panics
    /// If the value is none.
    #[track_caller]
    pub fn cond_br(&self, value: Value<'m>, then: Block<'m>, other: Block<'m>) -> Value<'m> {
        condition(value);
        // SAFETY: the builder has a place, the blocks are live, and the value is a condition.
        unsafe { Value::known(LLVMBuildCondBr(self.raw(), value.raw(), then.raw(), other.raw())) }
    }

    /// Returns nothing.
    #[track_caller]
    pub fn ret_void(&self) -> Value<'m> {
        // SAFETY: the builder has a place.
        unsafe { Value::known(LLVMBuildRetVoid(self.raw())) }
    }

    /// Returns a value.
    #[track_caller]
    pub fn ret(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: the builder has a place, and the value is live.
        unsafe { Value::known(LLVMBuildRet(self.raw(), value.raw())) }
    }

    /// Says that control never comes here.
    #[track_caller]
    pub fn unreachable(&self) -> Value<'m> {
        // SAFETY: the builder has a place.
        unsafe { Value::known(LLVMBuildUnreachable(self.raw())) }
    }
}

/// The type of a part of a structure or an array.
#[track_caller]
fn part<'m>(aggregate: Value<'m>, index: u32) -> Type<'m> {
    let ty = aggregate.ty();
    if ty.kind() == TypeKind::Struct {
        return ty.field_type(index);
    }
    aggregate.check(u64::from(index) < ty.array_length(), "array of so many elements");
    ty.element_type()
}

/// Panics unless a call of this type may pass these arguments.
#[track_caller]
fn arguments(ty: Type<'_>, callee: Value<'_>, args: &[Value<'_>]) {
    pointer(callee);
    let params = ty.param_types();
    let enough = args.len() == params.len() || args.len() > params.len() && ty.is_variadic();
    callee.check(enough, "callee of so many arguments");
    for (arg, param) in args.iter().zip(params) {
        arg.check(arg.ty() == param, "argument of the parameter's type");
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: the builder is ours.
        unsafe { LLVMDisposeBuilder(self.raw) };
    }
}
