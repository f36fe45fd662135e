//! Functions: parameters, blocks, calling conventions.

use std::ffi::CString;

use llvm_sys::core::*;

use crate::ffi::list;
use crate::{Block, Opcode, Value};

impl<'m> Value<'m> {
    #[track_caller]
    fn check_function(self) {
        self.check(self.is_function(), "function");
    }

    /// How many parameters a function has.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn num_params(self) -> u32 {
        self.check_function();
        // SAFETY: it is a function.
        unsafe { LLVMCountParams(self.raw()) }
    }

    /// A function's parameter.
    ///
    /// # Panics
    /// If this is no function, or has no such parameter.
    #[track_caller]
    pub fn param(self, index: u32) -> Value<'m> {
        self.check(index < self.num_params(), "function with so many parameters");
        // SAFETY: the function has the parameter.
        unsafe { Value::known(LLVMGetParam(self.raw(), index)) }
    }

    /// A function's parameters.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn params(self) -> Vec<Value<'m>> {
        (0..self.num_params()).map(|index| self.param(index)).collect()
    }

    /// The function that a parameter is of.
    ///
    /// # Panics
    /// If this is no parameter.
    #[track_caller]
    pub fn param_function(self) -> Value<'m> {
        self.check(self.is_argument(), "parameter");
        // SAFETY: it is a parameter.
        unsafe { Value::known(LLVMGetParamParent(self.raw())) }
    }

    /// Which parameter of its function this is; `None` of all else.
    pub fn param_index(self) -> Option<u32> {
        if !self.is_argument() {
            return None;
        }
        let function = self.param_function();
        (0..function.num_params()).find(|&index| function.param(index) == self)
    }

    /// A function's calling convention; 0 is C's.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn call_conv(self) -> u32 {
        self.check_function();
        // SAFETY: it is a function.
        unsafe { LLVMGetFunctionCallConv(self.raw()) }
    }

    /// Gives a function another calling convention.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn set_call_conv(self, convention: u32) {
        self.check_function();
        // SAFETY: it is a function.
        unsafe { LLVMSetFunctionCallConv(self.raw(), convention) };
    }

    /// LLVM's number for a function that is an intrinsic; 0 for all others.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn intrinsic_id(self) -> u32 {
        self.check_function();
        // SAFETY: it is a function.
        unsafe { LLVMGetIntrinsicID(self.raw()) }
    }

    /// Whether this is a function that LLVM knows as an intrinsic.
    pub fn is_intrinsic(self) -> bool {
        self.is_function() && self.intrinsic_id() != 0
    }

    /// Whether a function decides at landing pads by another one.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn has_personality(self) -> bool {
        self.check_function();
        // SAFETY: it is a function.
        unsafe { LLVMHasPersonalityFn(self.raw()) != 0 }
    }

    /// The function by which another one decides at landing pads.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn personality(self) -> Option<Value<'m>> {
        if !self.has_personality() {
            return None;
        }
        // SAFETY: it is a function with a personality.
        Some(unsafe { Value::known(LLVMGetPersonalityFn(self.raw())) })
    }

    /// Has a function decide at landing pads by no other one.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn remove_personality(self) {
        self.check_function();
        // SAFETY: it is a function, and LLVM takes a null for none.
        unsafe { LLVMSetPersonalityFn(self.raw(), std::ptr::null_mut()) };
    }

    /// Has a function decide at landing pads as another one does.
    ///
    /// # Panics
    /// If one of them is no function.
    #[track_caller]
    pub fn copy_personality(self, from: Value<'m>) {
        self.check_function();
        if from.has_personality() {
            // SAFETY: both are functions, of one context, and the other one has a personality.
            unsafe { LLVMSetPersonalityFn(self.raw(), LLVMGetPersonalityFn(from.raw())) };
        }
    }

    /// How many blocks a function has; 0 if it is only declared.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn num_blocks(self) -> u32 {
        self.check_function();
        // SAFETY: it is a function.
        unsafe { LLVMCountBasicBlocks(self.raw()) }
    }

    /// A function's blocks, as they are now.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn blocks(self) -> Vec<Block<'m>> {
        self.check_function();
        // SAFETY: it is a function, and nothing changes it during the walk.
        unsafe {
            let all =
                list(LLVMGetFirstBasicBlock(self.raw()), |block| LLVMGetNextBasicBlock(block));
            all.into_iter().map(|block| Block::known(block)).collect()
        }
    }

    /// The block that a function begins in.
    ///
    /// # Panics
    /// If this is no function with a body.
    #[track_caller]
    pub fn entry(self) -> Block<'m> {
        self.check(self.num_blocks() > 0, "function with a body");
        // SAFETY: it is a function with a body.
        unsafe { Block::known(LLVMGetEntryBasicBlock(self.raw())) }
    }

    /// A function's instructions, as they are now.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn instructions(self) -> Vec<Value<'m>> {
        self.blocks().into_iter().flat_map(Block::instructions).collect()
    }

    /// A function's local variables, as they are now. Other instructions may be removed while these are
    /// visited.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn allocas(self) -> Vec<Value<'m>> {
        self.instructions().into_iter().filter(|it| it.is_alloca()).collect()
    }

    /// Gives a function one more block.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn append_block(self, name: &str) -> Block<'m> {
        self.check_function();
        let name = CString::new(name).unwrap_or_default();
        let context = self.context().raw();
        // SAFETY: it is a function, and the name ends with a NUL.
        unsafe { Block::known(LLVMAppendBasicBlockInContext(context, self.raw(), name.as_ptr())) }
    }

    /// Removes a function from its module. What used it uses `poison`.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn delete_function(self) {
        self.check_function();
        self.drop_uses();
        // SAFETY: it is a function that nothing uses, and the handle is consumed.
        unsafe { LLVMDeleteFunction(self.raw()) };
    }

    /// Makes every user of a function use `other`, a pointer, but for the calls of it.
    ///
    /// # Panics
    /// If this is no function, or the types differ.
    #[track_caller]
    pub fn replace_address(self, other: Value<'m>) {
        self.check_function();
        let calls: Vec<_> = self.users().into_iter().filter(|user| user.calls(self)).collect();
        self.replace_uses(other);
        for call in calls {
            // A call's last operand is what it calls.
            call.set_operand(call.num_operands() - 1, self);
        }
    }

    /// Takes away what a function does when something unwinds through it, where nothing does: it
    /// has no invokes, and so no landing pads.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn remove_unwinding(self) {
        if !self.has_personality() {
            return;
        }
        for instruction in self.instructions() {
            if instruction.opcode() == Some(Opcode::Resume) {
                crate::Builder::before(instruction).unreachable();
                instruction.erase();
            }
        }
        self.remove_personality();
    }
}
