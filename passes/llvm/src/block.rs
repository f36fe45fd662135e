//! Basic blocks: where control goes, and what stands in them.

use std::ffi::{CStr, CString};

use llvm_sys::core::*;

use crate::Opcode;
use crate::builder::Builder;
use crate::ffi::list;
use crate::handles::{Block, ContextRef, Value};

impl<'m> Block<'m> {
    /// The block as a value: what branches have for operands.
    pub fn as_value(self) -> Value<'m> {
        // SAFETY: the block is live.
        unsafe { Value::known(LLVMBasicBlockAsValue(self.raw())) }
    }

    /// The name; empty when it has none.
    pub fn name(self) -> String {
        // SAFETY: the block is live; its name ends with a NUL, and is copied here.
        unsafe { CStr::from_ptr(LLVMGetBasicBlockName(self.raw())) }.to_string_lossy().into_owned()
    }

    /// The context.
    pub fn context(self) -> ContextRef<'m> {
        self.as_value().context()
    }

    /// The function that the block is in.
    ///
    /// # Panics
    /// If it was taken out of its function.
    #[track_caller]
    pub fn function(self) -> Value<'m> {
        // SAFETY: the block is live.
        unsafe { Value::known(LLVMGetBasicBlockParent(self.raw())) }
    }

    /// What the block ends in, if it ends already.
    pub fn terminator(self) -> Option<Value<'m>> {
        // SAFETY: the block is live.
        unsafe { Value::from_raw(LLVMGetBasicBlockTerminator(self.raw())) }
    }

    /// What the block of a finished function ends in.
    ///
    /// # Panics
    /// If it does not end yet.
    #[track_caller]
    pub fn end(self) -> Value<'m> {
        self.terminator().expect("internal error: a block without an end")
    }

    /// The first instruction, if there is any.
    pub fn first(self) -> Option<Value<'m>> {
        // SAFETY: the block is live.
        unsafe { Value::from_raw(LLVMGetFirstInstruction(self.raw())) }
    }

    /// The first instruction of a block that has one.
    ///
    /// # Panics
    /// If it has none.
    #[track_caller]
    pub fn begin(self) -> Value<'m> {
        self.first().expect("internal error: an empty block")
    }

    /// The first instruction that is no phi, of a block that ends.
    ///
    /// # Panics
    /// If it has phis only.
    #[track_caller]
    pub fn first_non_phi(self) -> Value<'m> {
        let mut first = self.instructions().into_iter();
        first
            .find(|instruction| instruction.opcode() != Some(Opcode::Phi))
            .expect("internal error: a block without an end")
    }

    /// The instructions, as they are now.
    pub fn instructions(self) -> Vec<Value<'m>> {
        // SAFETY: the block is live, and nothing changes it during the walk.
        unsafe {
            let first = LLVMGetFirstInstruction(self.raw());
            let all = list(first, |value| LLVMGetNextInstruction(value));
            all.into_iter().map(|value| Value::known(value)).collect()
        }
    }

    /// The phis, as they are now.
    pub fn phis(self) -> Vec<Value<'m>> {
        let mut all = self.instructions();
        all.retain(|instruction| instruction.opcode() == Some(Opcode::Phi));
        all
    }

    /// The successors, with multiplicity.
    pub fn successors(self) -> Vec<Block<'m>> {
        self.terminator().map(Value::successors).unwrap_or_default()
    }

    /// Makes a new block before this one.
    #[track_caller]
    pub fn insert_before(self, name: &str) -> Block<'m> {
        self.function();
        let name = CString::new(name).unwrap_or_default();
        let context = self.context().raw();
        // SAFETY: the block is in a function, and the name ends with a NUL.
        unsafe { Block::known(LLVMInsertBasicBlockInContext(context, self.raw(), name.as_ptr())) }
    }

    /// Moves the block after another one of the same function.
    ///
    /// # Panics
    /// If they are not of one function.
    #[track_caller]
    pub fn move_after(self, other: Block<'m>) {
        assert!(self.function() == other.function(), "internal error: blocks of two functions");
        if self != other {
            // SAFETY: both are different blocks of one function.
            unsafe { LLVMMoveBasicBlockAfter(self.raw(), other.raw()) };
        }
    }

    /// Makes the block another function's: it follows all others there. What it uses of its old
    /// function is the caller's to replace.
    #[track_caller]
    pub fn move_to(self, function: Value<'m>) {
        function.check(function.is_function(), "function");
        self.function();
        // SAFETY: the block is in a function, and goes to a live one.
        unsafe {
            LLVMRemoveBasicBlockFromParent(self.raw());
            LLVMAppendExistingBasicBlock(function.raw(), self.raw());
        }
    }

    /// Takes the edges from a block out of the phis here.
    pub fn forget_edge(self, from: Block<'m>) {
        for phi in self.phis() {
            let (values, blocks): (Vec<_>, Vec<_>) =
                phi.incoming_edges().into_iter().filter(|(_, block)| *block != from).unzip();
            let replacement = if values.is_empty() {
                phi.ty().poison()
            } else {
                let new = Builder::before(phi).phi(phi.ty());
                for (value, block) in values.into_iter().zip(blocks) {
                    new.add_incoming(value, block);
                }
                new
            };
            phi.replace_uses(replacement);
            phi.erase();
        }
    }

    /// Makes the branch at the end of the block an unconditional one, to one of its successors.
    ///
    /// # Panics
    /// If `next` is none of them.
    #[track_caller]
    pub fn always_go_to(self, next: Block<'m>) {
        let end = self.end();
        let successors = self.successors();
        assert!(successors.contains(&next), "internal error: no successor of the block");
        for other in successors.into_iter().filter(|other| *other != next) {
            other.forget_edge(self);
        }
        Builder::before(end).br(next);
        end.erase();
    }

    /// Removes the block and what stands in it. What used values of it uses `poison`.
    ///
    /// # Panics
    /// If it has a predecessor but itself, or a phi has it as an incoming block.
    #[track_caller]
    pub fn delete(self) {
        let value = self.as_value();
        for user in value.users() {
            let goes_here = user.is_instruction() && user.block() != self;
            value.check(!goes_here, "block that control does not come to");
        }
        for next in self.successors().into_iter().filter(|next| *next != self) {
            let comes_from = |phi: &Value<'m>| phi.incoming(self).is_some();
            value.check(!next.phis().iter().any(comes_from), "block that no phi knows");
        }
        for instruction in self.instructions() {
            instruction.drop_uses();
        }
        // SAFETY: the block is live, nothing outside of it uses it or what stands in it, and its
        // handle is consumed.
        unsafe { LLVMDeleteBasicBlock(self.raw()) };
    }
}
