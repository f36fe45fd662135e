//! Instructions: opcodes, places, operands of each kind, flags.

use std::ffi::CString;

use llvm_sys::core::*;

use crate::builder::{Builder, IN_BOUNDS};
use crate::handles::{Block, Type, Value};
use crate::{IntPredicate, Opcode, ValueKind};

/// The fast-math flags of floating-point operations.
pub mod fast_math {
    /// Other orders of operations.
    pub const REASSOCIATE: u32 = llvm_sys::LLVMFastMathAllowReassoc;
    /// One operation for several, rounded once.
    pub const CONTRACT: u32 = llvm_sys::LLVMFastMathAllowContract;
    /// Zeros without a sign.
    pub const NO_SIGNED_ZEROS: u32 = llvm_sys::LLVMFastMathNoSignedZeros;
    /// Products with reciprocals for divisions.
    pub const RECIPROCAL: u32 = llvm_sys::LLVMFastMathAllowReciprocal;
    /// Approximations for functions.
    pub const APPROXIMATE: u32 = llvm_sys::LLVMFastMathApproxFunc;
}

/// What instructions do.
impl<'m> Value<'m> {
    /// The opcode, if the value is an instruction.
    pub fn opcode(self) -> Option<Opcode> {
        // SAFETY: only an instruction is asked.
        self.is_instruction().then(|| unsafe { LLVMGetInstructionOpcode(self.raw()) }.into())
    }

    #[track_caller]
    fn check_instruction(self) {
        self.check(self.is_instruction(), "instruction");
    }

    #[track_caller]
    pub(crate) fn check_is(self, opcode: Opcode, what: &str) {
        self.check(self.opcode() == Some(opcode), what);
    }

    /// Whether this is an instruction that stands in a block.
    pub fn is_placed(self) -> bool {
        // SAFETY: only an instruction is asked.
        self.is_instruction() && unsafe { !LLVMGetInstructionParent(self.raw()).is_null() }
    }

    /// The block that an instruction stands in.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    #[track_caller]
    pub fn block(self) -> Block<'m> {
        self.check(self.is_placed(), "instruction that stands in a block");
        // SAFETY: it is an instruction that stands in a block.
        unsafe { Block::known(LLVMGetInstructionParent(self.raw())) }
    }

    /// The function that an instruction stands in.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    #[track_caller]
    pub fn parent_function(self) -> Value<'m> {
        self.block().function()
    }

    /// The instruction after this one in its block.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    #[track_caller]
    pub fn next(self) -> Option<Value<'m>> {
        self.block();
        // SAFETY: it is an instruction that stands in a block.
        unsafe { Value::from_raw(LLVMGetNextInstruction(self.raw())) }
    }

    /// The instruction before this one in its block.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    #[track_caller]
    pub fn previous(self) -> Option<Value<'m>> {
        self.block();
        // SAFETY: it is an instruction that stands in a block.
        unsafe { Value::from_raw(LLVMGetPreviousInstruction(self.raw())) }
    }

    /// The successors of a terminator, with multiplicity; empty for all else.
    pub fn successors(self) -> Vec<Block<'m>> {
        (0..self.num_successors()).map(|index| self.successor(index)).collect()
    }

    /// How many edges lead on from a terminator; 0 for all else.
    pub fn num_successors(self) -> u32 {
        if !self.is_terminator() {
            return 0;
        }
        // SAFETY: it is a terminator.
        unsafe { LLVMGetNumSuccessors(self.raw()) }
    }

    /// The block that one of a terminator's edges leads to.
    ///
    /// # Panics
    /// If this is no terminator with so many edges.
    #[track_caller]
    pub fn successor(self, index: u32) -> Block<'m> {
        self.check(index < self.num_successors(), "terminator with so many successors");
        // SAFETY: it is a terminator with so many edges.
        unsafe { Block::known(LLVMGetSuccessor(self.raw(), index)) }
    }

    /// Has one of a terminator's edges lead to another block.
    ///
    /// # Panics
    /// If this is no terminator with so many edges.
    #[track_caller]
    pub fn set_successor(self, index: u32, block: Block<'m>) {
        self.check(index < self.num_successors(), "terminator with so many successors");
        // SAFETY: it is a terminator with so many edges.
        unsafe { LLVMSetSuccessor(self.raw(), index, block.raw()) };
    }

    /// Whether this is a branch with a condition.
    pub fn is_conditional(self) -> bool {
        // SAFETY: only a branch is asked.
        self.is_branch() && unsafe { LLVMIsConditional(self.raw()) != 0 }
    }

    /// The condition of a branch.
    ///
    /// # Panics
    /// If this is no branch with one.
    #[track_caller]
    pub fn condition(self) -> Value<'m> {
        self.check(self.is_conditional(), "branch with a condition");
        // SAFETY: it is such a branch.
        unsafe { Value::known(LLVMGetCondition(self.raw())) }
    }

    /// How a comparison of integers or pointers compares.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn icmp_predicate(self) -> IntPredicate {
        self.check_is(Opcode::ICmp, "comparison of integers");
        // SAFETY: it is a comparison of integers.
        unsafe { LLVMGetICmpPredicate(self.raw()) }.into()
    }

    /// The type that the indices of a `getelementptr` count, be it an instruction or an expression
    /// of constants.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn gep_source_type(self) -> Type<'m> {
        self.check(self.is_gep(), "getelementptr");
        // SAFETY: it is a `getelementptr`.
        unsafe { Type::known(LLVMGetGEPSourceElementType(self.raw())) }
    }

    /// What a `getelementptr` promises, as LLVM numbers it, be it an instruction or an expression
    /// of constants.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn gep_flags(self) -> u32 {
        self.check(self.is_gep(), "getelementptr");
        // SAFETY: it is a `getelementptr`.
        unsafe { LLVMGEPGetNoWrapFlags(self.raw()) }
    }

    /// Whether a `getelementptr` promises that it stays inside of an object.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn is_inbounds(self) -> bool {
        self.gep_flags() & IN_BOUNDS != 0
    }

    fn is_gep(self) -> bool {
        match self.kind() {
            ValueKind::Instruction => self.opcode() == Some(Opcode::GetElementPtr),
            ValueKind::ConstantExpr => self.const_opcode() == Opcode::GetElementPtr,
            _ => false,
        }
    }

    /// The parts of an address that is another one and one index: the other, the index, and how
    /// many bytes the index counts.
    pub fn element(self) -> Option<(Value<'m>, Value<'m>, u64)> {
        if self.opcode() != Some(Opcode::GetElementPtr) || self.num_operands() != 2 {
            return None;
        }
        let layout = self.parent_function().module().data_layout();
        let size = layout.abi_size(self.gep_source_type());
        Some((self.operand(0), self.operand(1), size))
    }

    /// The type of what an `alloca` makes room for.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn allocated_type(self) -> Type<'m> {
        self.check(self.is_alloca(), "alloca");
        // SAFETY: it is an `alloca`.
        unsafe { Type::known(LLVMGetAllocatedType(self.raw())) }
    }

    /// Whether an instruction takes stack that is not part of its function's frame.
    pub fn is_dynamic_alloca(self) -> bool {
        self.is_alloca()
            && (!self.operand(0).is_constant_int()
                || self.parent_function().entry() != self.block())
    }

    /// Whether an instruction loads from an address space.
    pub fn is_load_from(self, space: u32) -> bool {
        self.opcode() == Some(Opcode::Load) && self.operand(0).address_space() == Some(space)
    }

    /// Whether an instruction only computes a value of its operands, of integers, and the same one
    /// wherever it stands.
    pub fn is_integer_arithmetic(self) -> bool {
        use Opcode::*;
        matches!(
            self.opcode(),
            Some(
                Add | Sub
                    | Mul
                    | Shl
                    | LShr
                    | AShr
                    | And
                    | Or
                    | Xor
                    | ICmp
                    | ZExt
                    | SExt
                    | Trunc
                    | Select
                    | PtrToInt
                    | BitCast
            )
        )
    }
}

/// Phis.
impl<'m> Value<'m> {
    #[track_caller]
    fn check_phi(self) {
        self.check_is(Opcode::Phi, "phi");
    }

    /// How many edges a phi has.
    ///
    /// # Panics
    /// If this is no phi.
    #[track_caller]
    pub fn num_incoming(self) -> u32 {
        self.check_phi();
        // SAFETY: it is a phi.
        unsafe { LLVMCountIncoming(self.raw()) }
    }

    /// What a phi is when control comes by one of its edges.
    ///
    /// # Panics
    /// If this is no phi with so many edges.
    #[track_caller]
    pub fn incoming_value(self, index: u32) -> Value<'m> {
        self.check(index < self.num_incoming(), "phi with so many edges");
        // SAFETY: it is a phi with so many edges.
        unsafe { Value::known(LLVMGetIncomingValue(self.raw(), index)) }
    }

    /// Where one of a phi's edges begins.
    ///
    /// # Panics
    /// If this is no phi with so many edges.
    #[track_caller]
    pub fn incoming_block(self, index: u32) -> Block<'m> {
        self.check(index < self.num_incoming(), "phi with so many edges");
        // SAFETY: it is a phi with so many edges.
        unsafe { Block::known(LLVMGetIncomingBlock(self.raw(), index)) }
    }

    /// The values of a phi, each with the block that control comes from.
    ///
    /// # Panics
    /// If this is no phi.
    #[track_caller]
    pub fn incoming_edges(self) -> Vec<(Value<'m>, Block<'m>)> {
        let edges = 0..self.num_incoming();
        edges.map(|index| (self.incoming_value(index), self.incoming_block(index))).collect()
    }

    /// What a phi is when control comes from a block, if it can.
    ///
    /// # Panics
    /// If this is no phi.
    #[track_caller]
    pub fn incoming(self, from: Block<'m>) -> Option<Value<'m>> {
        (0..self.num_incoming())
            .find(|&index| self.incoming_block(index) == from)
            .map(|index| self.incoming_value(index))
    }

    /// Gives a phi one more edge.
    ///
    /// # Panics
    /// If this is no phi, or the value not of its type.
    #[track_caller]
    pub fn add_incoming(self, value: Value<'m>, from: Block<'m>) {
        self.check_phi();
        value.check(value.ty() == self.ty(), "value of the phi's type");
        // SAFETY: it is a phi, the value is of its type, and both arrays have one element.
        unsafe {
            LLVMAddIncoming(self.raw(), [value.raw()].as_mut_ptr(), [from.raw()].as_mut_ptr(), 1)
        };
    }

    /// Where an instruction uses one of its operands: a phi does so where control comes from.
    ///
    /// # Panics
    /// If this is no instruction with so many operands.
    #[track_caller]
    pub fn used_at(self, index: u32) -> Block<'m> {
        match self.opcode() {
            Some(Opcode::Phi) => self.incoming_block(index),
            _ => self.block(),
        }
    }

    /// The blocks in which the instructions are that use a value, once for each use; a phi uses it
    /// where control comes from.
    pub fn use_blocks(self) -> Vec<Block<'m>> {
        let mut places = Vec::new();
        for user in self.users() {
            for (operand, index) in user.operands().zip(0..) {
                if operand == self {
                    places.push(user.used_at(index));
                }
            }
        }
        places
    }
}

/// Flags.
impl<'m> Value<'m> {
    /// Whether this is a floating-point operation, which has [flags](fast_math).
    pub fn has_fast_math(self) -> bool {
        // SAFETY: LLVM answers for any live value.
        unsafe { LLVMCanValueUseFastMathFlags(self.raw()) != 0 }
    }

    /// The fast-math flags of a floating-point operation; 0 for all other values.
    pub fn fast_math_flags(self) -> u32 {
        if !self.has_fast_math() {
            return 0;
        }
        // SAFETY: it is a floating-point operation.
        unsafe { LLVMGetFastMathFlags(self.raw()) }
    }

    /// Sets the fast-math flags of a floating-point operation.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn set_fast_math_flags(self, flags: u32) {
        self.check(self.has_fast_math(), "floating-point operation");
        // SAFETY: it is a floating-point operation.
        unsafe { LLVMSetFastMathFlags(self.raw(), flags) };
    }

    fn may_wrap(self) -> bool {
        use Opcode::*;
        matches!(self.opcode(), Some(Add | Sub | Mul | Shl | Trunc))
    }

    /// Whether an operation of integers promises not to wrap as one without signs; false for all
    /// else.
    pub fn is_nuw(self) -> bool {
        // SAFETY: only an operation that may promise it is asked.
        self.may_wrap() && unsafe { LLVMGetNUW(self.raw()) != 0 }
    }

    /// Says whether an operation of integers promises not to wrap as one with signs.
    ///
    /// # Panics
    /// If it cannot.
    #[track_caller]
    pub fn set_nsw(self, is_so: bool) {
        self.check(self.may_wrap(), "operation that may wrap");
        // SAFETY: it is an operation that may promise it.
        unsafe { LLVMSetNSW(self.raw(), is_so.into()) };
    }

    /// Lets an addition, subtraction, multiplication or shift promise that it does not wrap as an
    /// unsigned one, or not.
    ///
    /// # Panics
    /// If it cannot.
    #[track_caller]
    pub fn set_nuw(self, is_so: bool) {
        self.check(self.may_wrap(), "operation that may wrap");
        // SAFETY: it is an operation that may promise it.
        unsafe { LLVMSetNUW(self.raw(), is_so.into()) };
    }

    fn may_be_nneg(self) -> bool {
        matches!(self.opcode(), Some(Opcode::ZExt | Opcode::UIToFP))
    }

    /// Whether an extension promises that what it extends is not negative; false for all else.
    pub fn is_nneg(self) -> bool {
        // SAFETY: only an operation that may promise it is asked.
        self.may_be_nneg() && unsafe { LLVMGetNNeg(self.raw()) != 0 }
    }

    /// Says whether an extension promises that what it extends is not negative.
    ///
    /// # Panics
    /// If it cannot.
    #[track_caller]
    pub fn set_nneg(self, is_so: bool) {
        self.check(self.may_be_nneg(), "extension");
        // SAFETY: it is an operation that may promise it.
        unsafe { LLVMSetNNeg(self.raw(), is_so.into()) };
    }

    /// Whether an `or` promises that no bit is set in both operands; false for all else.
    pub fn is_disjoint(self) -> bool {
        // SAFETY: only an `or` is asked.
        self.opcode() == Some(Opcode::Or) && unsafe { LLVMGetIsDisjoint(self.raw()) != 0 }
    }
}

/// Changes.
impl<'m> Value<'m> {
    /// A copy of an instruction, which stands nowhere: [`Builder::insert`] gives it a place.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn duplicate(self) -> Value<'m> {
        self.check_instruction();
        // SAFETY: it is an instruction.
        unsafe { Value::known(LLVMInstructionClone(self.raw())) }
    }

    /// Takes an instruction out of its block; [`Builder::insert`] gives it another place.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    #[track_caller]
    pub fn remove_from_block(self) {
        self.block();
        // SAFETY: it is an instruction that stands in a block.
        unsafe { LLVMInstructionRemoveFromParent(self.raw()) };
    }

    /// Removes an instruction. What used it uses `poison`.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    #[track_caller]
    pub fn erase(self) {
        self.block();
        self.drop_uses();
        // SAFETY: it is an instruction that stands in a block and that nothing uses, and the handle
        // is consumed.
        unsafe { LLVMInstructionEraseFromParent(self.raw()) };
    }

    /// Exchanges an instruction for a value of its type.
    ///
    /// # Panics
    /// If this is no instruction that stands in a block, or the types differ.
    #[track_caller]
    pub fn replace_with(self, value: Value<'m>) {
        self.block();
        self.replace_uses(value);
        self.erase();
    }

    /// Removes this instruction and all after it in its block, and ends the block with
    /// `unreachable` instead.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    pub fn cut_block(self) {
        let block = self.block();
        for next in block.successors() {
            next.forget_edge(block);
        }
        let mut doomed = block.instructions();
        if let Some(first) = doomed.iter().position(|&instruction| instruction == self) {
            doomed.drain(..first);
        }
        doomed.into_iter().rev().for_each(Value::erase);
        Builder::at_end(block).unreachable();
    }

    /// Replaces an invoke by a branch to its normal destination. What used its result uses
    /// `poison`.
    ///
    /// # Panics
    /// If this is no invoke.
    pub fn replace_invoke_by_branch(self) {
        let normal = self.normal_dest();
        self.unwind_dest().forget_edge(self.block());
        Builder::before(self).br(normal);
        self.erase();
    }

    /// Moves what stands before an instruction of a block to a new block, which branches
    /// to the old one; all edges to the old one lead to it.
    ///
    /// # Panics
    /// If this is no instruction, or stands nowhere.
    pub fn split_before(self) -> Block<'m> {
        let block = self.block();
        let head = block.insert_before("");
        for user in block.as_value().users() {
            for (next, index) in user.successors().into_iter().zip(0..) {
                if next == block {
                    user.set_successor(index, head);
                }
            }
        }
        let builder = Builder::at_end(head);
        for moved in block.instructions().into_iter().take_while(|&it| it != self) {
            let name = CString::new(moved.name()).unwrap_or_default();
            moved.remove_from_block();
            builder.insert_with_name(moved, &name);
        }
        builder.br(block);
        head
    }
}
