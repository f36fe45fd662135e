//! Vectors, switches, and the promises that instructions lose when they run where they did not.

use llvm_sys::core::*;

use crate::{Block, Builder, FloatPredicate, Opcode, Type, TypeKind, Value};

impl<'m> Type<'m> {
    /// Whether this is a vector of a fixed size.
    pub fn is_vector(self) -> bool {
        self.kind() == TypeKind::Vector
    }
}

impl<'m> Value<'m> {
    /// How a comparison of floating-point numbers compares.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn fcmp_predicate(self) -> FloatPredicate {
        self.check_is(Opcode::FCmp, "comparison of floating-point numbers");
        // SAFETY: it is a comparison of floating-point numbers.
        unsafe { LLVMGetFCmpPredicate(self.raw()) }.into()
    }

    /// The cases of a `switch`: the constants and where each leads. The first successor is that of
    /// all other values.
    ///
    /// # Panics
    /// If this is no `switch`.
    #[track_caller]
    pub fn switch_cases(self) -> Vec<(Value<'m>, Block<'m>)> {
        self.check_is(Opcode::Switch, "switch");
        let case = |index: u32| {
            // SAFETY: it is a switch, and the index that of a successor after the first.
            let value = unsafe { Value::known(LLVMGetSwitchCaseValue(self.raw(), index)) };
            (value, self.successor(index))
        };
        (1..self.num_successors()).map(case).collect()
    }

    /// The indices of an `extractvalue` or an `insertvalue`.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn aggregate_indices(self) -> Vec<u32> {
        let is_one = matches!(self.opcode(), Some(Opcode::ExtractValue | Opcode::InsertValue));
        self.check(is_one, "extractvalue or insertvalue");
        // SAFETY: it has indices, as many as LLVM says, which are copied here.
        unsafe {
            let count = LLVMGetNumIndices(self.raw()) as usize;
            std::slice::from_raw_parts(LLVMGetIndices(self.raw()), count).to_vec()
        }
    }

    /// Says how the address that is a call's argument is aligned.
    ///
    /// # Panics
    /// If this is no call, or the alignment no power of two.
    #[track_caller]
    pub fn align_argument(self, argument: u32, align: u32) {
        self.check(self.is_call() && align.is_power_of_two(), "call with such an argument");
        let kind = crate::enum_kind("align");
        let attribute = self.context().enum_attribute(kind, align.into());
        self.add_call_attribute_at(argument + 1, attribute);
    }

    /// Takes away all that an instruction promises beside its operation: that it does not wrap, is
    /// exact, stays inside of an object, and metadata about its result. Where a promise was broken,
    /// the result was `poison`.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn drop_promises(self) {
        use Opcode::*;
        let opcode = self.opcode();
        self.check(opcode.is_some(), "instruction");
        // SAFETY: each flag is cleared on an instruction of a kind that can have it.
        unsafe {
            match opcode {
                Some(Add | Sub | Mul | Shl | Trunc) => {
                    LLVMSetNUW(self.raw(), 0);
                    LLVMSetNSW(self.raw(), 0);
                }
                Some(UDiv | SDiv | LShr | AShr) => LLVMSetExact(self.raw(), 0),
                Some(ZExt | UIToFP) => LLVMSetNNeg(self.raw(), 0),
                Some(Or) => LLVMSetIsDisjoint(self.raw(), 0),
                Some(ICmp) => LLVMSetICmpSameSign(self.raw(), 0),
                Some(GetElementPtr) => LLVMGEPSetNoWrapFlags(self.raw(), 0),
                _ => {}
            }
        }
        if matches!(opcode, Some(Load | Call)) {
            for kind in ["range", "nonnull", "noundef", "align", "dereferenceable", "nofpclass"] {
                self.remove_metadata(self.context().metadata_kind(kind));
            }
        }
    }

    /// A constant vector of these elements.
    ///
    /// # Panics
    /// If there are no elements, or one is no constant, or they are of different types.
    #[track_caller]
    pub fn const_vector(elements: &[Value<'m>]) -> Value<'m> {
        assert!(!elements.is_empty(), "internal error: a vector without elements");
        for element in elements {
            let is_good = element.is_constant() && element.ty() == elements[0].ty();
            element.check(is_good, "constant of the vector's type");
        }
        let mut raw: Vec<_> = elements.iter().map(|element| element.raw()).collect();
        // SAFETY: all are constants of one type, and the array is as long as LLVM is told.
        unsafe { Value::known(LLVMConstVector(raw.as_mut_ptr(), raw.len() as u32)) }
    }
}

impl<'m> Builder<'m> {
    /// A vector of elements of two others, by their number; those of the second count on.
    ///
    /// # Panics
    /// If the vectors are none, or of two types, or a number is too large.
    #[track_caller]
    pub fn shuffle(&self, a: Value<'m>, b: Value<'m>, elements: &[u32]) -> Value<'m> {
        let ty = a.ty();
        a.check(ty.is_vector() && b.ty() == ty, "vector of the other one's type");
        let count = ty.vector_size();
        assert!(
            elements.iter().all(|&element| element < 2 * count),
            "internal error: no such element"
        );
        let index = a.context().int_type(32);
        let numbers: Vec<_> =
            elements.iter().map(|&one| index.const_int(one.into(), false)).collect();
        let mask = Value::const_vector(&numbers);
        self.shuffle_by(a, b, mask)
    }

    /// As many copies of a value as the vector has elements.
    #[track_caller]
    pub fn splat(&self, value: Value<'m>, lanes: u32) -> Value<'m> {
        if value.is_constant() && !value.is_constant_expression() && !value.is_global() {
            return Value::const_vector(&vec![value; lanes as usize]);
        }
        let ty = value.ty().vector(lanes);
        let index = value.context().int_type(32);
        let first = self.insert_element(ty.poison(), value, index.zero());
        let mask = index.vector(lanes).zero();
        self.shuffle_by(first, ty.poison(), mask)
    }

    fn shuffle_by(&self, a: Value<'m>, b: Value<'m>, mask: Value<'m>) -> Value<'m> {
        // SAFETY: the builder has a place, both vectors are of one type, and the mask is a constant
        // vector of numbers below the number of their elements.
        unsafe {
            Value::known(LLVMBuildShuffleVector(
                self.raw_builder(),
                a.raw(),
                b.raw(),
                mask.raw(),
                c"".as_ptr(),
            ))
        }
    }

    /// Continues at one block for each of some constants, and at another one for all other values.
    ///
    /// # Panics
    /// If a case is no constant of the value's type.
    #[track_caller]
    pub fn switch(&self, value: Value<'m>, other: Block<'m>, cases: &[(Value<'m>, Block<'m>)]) {
        for (case, _) in cases {
            case.check(case.is_constant_int() && case.ty() == value.ty(), "case of the switch");
        }
        // SAFETY: the builder has a place, and all cases are constants of the value's type.
        unsafe {
            let raw = self.raw_builder();
            let switch = LLVMBuildSwitch(raw, value.raw(), other.raw(), cases.len() as u32);
            for (case, block) in cases {
                LLVMAddCase(switch, case.raw(), block.raw());
            }
        }
    }
}

impl<'m> Value<'m> {
    /// The numbers of the elements that a `shufflevector` takes, those of its second vector after
    /// those of the first; `None` is an element of any value.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn shuffle_mask(self) -> impl Iterator<Item = Option<u32>> {
        self.check(self.opcode() == Some(Opcode::ShuffleVector), "`shufflevector`");
        // SAFETY: it is one.
        let count = unsafe { LLVMGetNumMaskElements(self.raw()) };
        // SAFETY: it is one, and has as many elements. One of any value is negative.
        (0..count).map(move |index| unsafe { LLVMGetMaskValue(self.raw(), index) }.try_into().ok())
    }
}
