//! Values of any kind: names, types, uses, and which kind a value is.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use inkwell::values::AsValueRef;
use llvm_sys::core::*;

use crate::ffi::{bytes, lossy, take_message};
use crate::handles::{ContextRef, Type, Value};
use crate::{TypeKind, ValueKind};

/// Panics with a text that says which precondition a caller has broken.
#[cold]
#[track_caller]
fn broken(value: Value<'_>, what: &str) -> ! {
    // SAFETY: the value is live, and the text is ours.
    let text = unsafe { take_message(LLVMPrintValueToString(value.raw())) };
    let text: String = text.chars().take(200).collect();
    panic!("internal error: this is no {what}: {text}");
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({:p})", self.raw())
    }
}

/// What inkwell holds a value as.
pub trait IntoValue<'m> {
    /// The value.
    fn value(self) -> Value<'m>;
}

macro_rules! into_value {
    ($($kind:ident)*) => {$(
        impl<'m> IntoValue<'m> for inkwell::values::$kind<'m> {
            fn value(self) -> Value<'m> {
                // SAFETY: inkwell's value is live for its lifetime.
                unsafe { Value::known(self.as_value_ref()) }
            }
        }
    )*};
}
into_value! { FunctionValue GlobalValue InstructionValue BasicValueEnum IntValue PointerValue }

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $llvm:ident;)*) => {
        impl Value<'_> {$(
            $(#[$doc])*
            pub fn $name(self) -> bool {
                // SAFETY: LLVM answers for any live value.
                unsafe { !$llvm(self.raw()).is_null() }
            }
        )*}
    };
}

kinds! {
    /// Whether this is an instruction.
    is_instruction = LLVMIsAInstruction;
    /// Whether this ends a block.
    is_terminator = LLVMIsATerminatorInst;
    /// Whether this is a branch.
    is_branch = LLVMIsABranchInst;
    /// Whether this is a call.
    is_call = LLVMIsACallInst;
    /// Whether this takes memory of the stack.
    is_alloca = LLVMIsAAllocaInst;
    /// Whether this is a parameter of a function.
    is_argument = LLVMIsAArgument;
    /// Whether this is a constant of any kind; functions and globals are constants.
    is_a_constant = LLVMIsAConstant;
    /// Whether this is a constant integer.
    is_constant_int = LLVMIsAConstantInt;
    /// Whether this is a constant floating-point number.
    is_constant_float = LLVMIsAConstantFP;
    /// Whether this is an operation on constants.
    is_constant_expression = LLVMIsAConstantExpr;
    /// Whether this is a constant structure that is not all zero.
    is_constant_struct = LLVMIsAConstantStruct;
    /// Whether this is a constant array that is not all zero, nor of plain numbers.
    is_constant_array = LLVMIsAConstantArray;
    /// Whether this is a constant vector that is not all zero, nor of plain numbers.
    is_constant_vector = LLVMIsAConstantVector;
    /// Whether this is a function.
    is_function = LLVMIsAFunction;
    /// Whether this is a global variable.
    is_global_variable = LLVMIsAGlobalVariable;
    /// Whether this is a function, a global variable, an alias or an ifunc.
    is_global = LLVMIsAGlobalValue;
    /// Whether this is a function or a global variable.
    is_global_object = LLVMIsAGlobalObject;
    /// Whether this is an alias.
    is_alias = LLVMIsAGlobalAlias;
    /// Whether this is inline assembly.
    is_inline_assembly = LLVMIsAInlineAsm;
    /// Whether this has operands.
    is_user = LLVMIsAUser;
    /// Whether this is metadata that is a call's argument.
    is_metadata = LLVMIsAMDNode;
    /// Whether this is a basic block.
    is_block = LLVMIsABasicBlock;
}

impl<'m> Value<'m> {
    /// Panics if this is not what `is_so` asks for.
    #[track_caller]
    pub(crate) fn check(self, is_so: bool, what: &str) {
        if !is_so {
            broken(self, what);
        }
    }

    /// What the value is.
    pub fn kind(self) -> ValueKind {
        // SAFETY: the value is live.
        unsafe { LLVMGetValueKind(self.raw()) }.into()
    }

    /// The name; empty when it has none.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the value is live; LLVM returns a pointer to `length` bytes, which are copied
        // here.
        unsafe { lossy(LLVMGetValueName2(self.raw(), &mut length), length) }
    }

    /// Renames. LLVM appends a number if the name is taken; what cannot have a name does not get
    /// one.
    pub fn set_name(self, name: impl AsRef<str>) {
        let name = name.as_ref();
        // SAFETY: the value is live, and LLVM copies the bytes.
        unsafe { LLVMSetValueName2(self.raw(), name.as_ptr().cast(), name.len()) };
    }

    /// The same value, named if it is an instruction: what folds to a constant has no name.
    pub fn with_name(self, name: &str) -> Self {
        if self.is_instruction() {
            self.set_name(name);
        }
        self
    }

    /// Takes over the name of another value, which loses it.
    pub fn take_name(self, from: Value<'_>) {
        let mut length = 0;
        // SAFETY: both values are live. The bytes are copied before the other name goes.
        unsafe {
            let name = LLVMGetValueName2(from.raw(), &mut length);
            let name = bytes(name.cast(), length).to_vec();
            LLVMSetValueName2(from.raw(), c"".as_ptr(), 0);
            LLVMSetValueName2(self.raw(), name.as_ptr().cast(), name.len());
        }
    }

    /// Gives the value the name of another one, which keeps it: LLVM appends a number if both are
    /// in one scope.
    pub fn copy_name(self, from: Value<'_>) {
        let mut length = 0;
        // SAFETY: both values are live. The bytes are copied, as renaming may move them.
        unsafe {
            let name = LLVMGetValueName2(from.raw(), &mut length);
            let name = bytes(name.cast(), length).to_vec();
            LLVMSetValueName2(self.raw(), name.as_ptr().cast(), name.len());
        }
    }

    /// The type.
    pub fn ty(self) -> Type<'m> {
        // SAFETY: a live value has a type, which lives as long as the context.
        unsafe { Type::known(LLVMTypeOf(self.raw())) }
    }

    /// The context.
    pub fn context(self) -> ContextRef<'m> {
        self.ty().context()
    }

    /// Whether this is a constant in LLVM's sense: functions and globals are constants.
    pub fn is_constant(self) -> bool {
        // SAFETY: the value is live.
        unsafe { LLVMIsConstant(self.raw()) != 0 }
    }

    /// Whether this is the zero of its type: 0, a null pointer, an aggregate of these.
    pub fn is_zero(self) -> bool {
        // SAFETY: the value is live.
        unsafe { LLVMIsNull(self.raw()) != 0 }
    }

    /// Whether this is `undef` or `poison`.
    pub fn is_undef(self) -> bool {
        // SAFETY: the value is live.
        unsafe { LLVMIsUndef(self.raw()) != 0 }
    }

    /// Whether this is `poison`, which is `undef`, too.
    pub fn is_poison(self) -> bool {
        // SAFETY: the value is live.
        unsafe { LLVMIsPoison(self.raw()) != 0 }
    }

    /// The address space of an address; `None` of all else.
    pub fn address_space(self) -> Option<u32> {
        let ty = self.ty();
        (ty.kind() == TypeKind::Pointer).then(|| ty.address_space())
    }

    /// Whether anything uses the value.
    pub fn is_used(self) -> bool {
        // SAFETY: the value is live. Numbers and the like have no list of uses, and LLVM answers
        // null.
        unsafe { !LLVMGetFirstUse(self.raw()).is_null() }
    }

    /// The users, as they are now: later changes do not disturb the list. One is there twice if it
    /// uses the value twice.
    pub fn users(self) -> Vec<Value<'m>> {
        let mut users = Vec::new();
        // SAFETY: the value is live, and nothing changes its use list during the walk.
        unsafe {
            let mut current = LLVMGetFirstUse(self.raw());
            while !current.is_null() {
                users.push(Value::known(LLVMGetUser(current)));
                current = LLVMGetNextUse(current);
            }
        }
        users
    }

    /// Adds the functions with an instruction that uses the value, itself or through constants.
    pub fn functions_using(self, functions: &mut BTreeSet<Value<'m>>) {
        let mut seen = HashSet::new();
        let mut stack = vec![self];
        while let Some(value) = stack.pop() {
            for user in value.users() {
                if user.is_instruction() {
                    functions.insert(user.parent_function());
                } else if seen.insert(user) {
                    stack.push(user);
                }
            }
        }
    }

    /// How many operands the value has; 0 if it is not of a kind that has any.
    pub fn num_operands(self) -> u32 {
        if !self.is_user() {
            return 0;
        }
        // SAFETY: the value has operands.
        unsafe { LLVMGetNumOperands(self.raw()) as u32 }
    }

    /// An operand.
    ///
    /// # Panics
    /// Unless there are more than `index` operands.
    #[track_caller]
    pub fn operand(self, index: u32) -> Value<'m> {
        self.check(index < self.num_operands(), "user with so many operands");
        // SAFETY: the index is below the number of operands.
        unsafe { Value::known(LLVMGetOperand(self.raw(), index)) }
    }

    /// An operand, if the value has so many.
    pub fn get_operand(self, index: u32) -> Option<Value<'m>> {
        (index < self.num_operands()).then(|| self.operand(index))
    }

    /// The operands, in their order.
    pub fn operands(self) -> impl DoubleEndedIterator<Item = Value<'m>> + ExactSizeIterator {
        // SAFETY: each index is below the number of operands.
        (0..self.num_operands())
            .map(move |index| unsafe { Value::known(LLVMGetOperand(self.raw(), index)) })
    }

    /// Exchanges an operand for a value of the same type.
    ///
    /// # Panics
    /// Unless this is an instruction with more than `index` operands, and the types agree.
    #[track_caller]
    pub fn set_operand(self, index: u32, value: Value<'m>) {
        // Constants are one for all of a context, so LLVM does not let them change in this way.
        self.check(self.is_instruction(), "instruction");
        let old = self.operand(index);
        value.check(old.ty() == value.ty(), "value of the operand's type");
        // SAFETY: the index is below the number of operands, and the types agree.
        unsafe { LLVMSetOperand(self.raw(), index, value.raw()) };
    }

    /// Makes every user use `other`, a value of the same type.
    ///
    /// # Panics
    /// If the types differ, or both are the same value.
    #[track_caller]
    pub fn replace_uses(self, other: Value<'m>) {
        other.check(self.ty() == other.ty(), "value of the same type as what it replaces");
        other.check(self != other, "other value than the one that it replaces");
        // SAFETY: both are live, of one type, and different.
        unsafe { LLVMReplaceAllUsesWith(self.raw(), other.raw()) };
    }

    /// Has nothing use the value any more: what did, uses `poison`.
    pub(crate) fn drop_uses(self) {
        if self.is_used() && !matches!(self.ty().kind(), TypeKind::Void | TypeKind::Label) {
            // SAFETY: both are live, of one type.
            unsafe { LLVMReplaceAllUsesWith(self.raw(), LLVMGetPoison(self.ty().raw())) };
        }
    }
}
