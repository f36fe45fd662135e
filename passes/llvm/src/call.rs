//! Calls: what they call, with what, and how.

use llvm_sys::core::*;

use crate::ffi::bytes;
use crate::{Block, Opcode, TailCallKind, Type, Value, ValueKind};

impl<'m> Value<'m> {
    #[track_caller]
    fn check_calls(self) {
        let calls = matches!(self.opcode(), Some(Opcode::Call | Opcode::Invoke | Opcode::CallBr));
        self.check(calls, "call");
    }

    /// The function that a call or an invoke calls directly; `None` for all else.
    pub fn callee(self) -> Option<Value<'m>> {
        if !matches!(self.opcode(), Some(Opcode::Call | Opcode::Invoke)) {
            return None;
        }
        let called = self.called_value();
        (called.kind() == ValueKind::Function).then_some(called)
    }

    /// The function that a call names, if the call has that function's type; `None` for all else.
    pub fn direct_callee(self) -> Option<Value<'m>> {
        if !self.is_call() {
            return None;
        }
        let called = self.called_value();
        (called.is_function() && self.called_type() == called.value_type()).then_some(called)
    }

    /// Whether this calls an intrinsic of LLVM's directly whose name, without `llvm.`, begins with one of these.
    pub fn calls_intrinsic(self, names: &[&str]) -> bool {
        self.callee().is_some_and(|callee| {
            let name = callee.name();
            let name = name.strip_prefix("llvm.");
            name.is_some_and(|name| names.iter().any(|start| name.starts_with(start)))
        })
    }

    /// Whether a call has an attribute, or the function that it calls.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn has_attribute_of_call(self, name: &str) -> bool {
        self.has_call_attribute(name)
            || self.callee().is_some_and(|callee| callee.has_function_attribute(name))
    }

    /// Whether this is a call of that function, with whatever type.
    pub fn calls(self, function: Value<'m>) -> bool {
        self.is_call() && self.called_value() == function
    }

    /// Whether this calls a function that it does not name.
    pub fn is_indirect_call(self) -> bool {
        if !self.is_call() {
            return false;
        }
        let called = self.called_value();
        !called.is_function() && !called.is_inline_assembly()
    }

    /// What a call calls: a function, assembly, or an address; `None` for all else, invokes too.
    pub fn called(self) -> Option<Value<'m>> {
        self.is_call().then(|| self.called_value())
    }

    /// What a call calls: a function, assembly, or an address.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn called_value(self) -> Value<'m> {
        self.check_calls();
        // SAFETY: it is a call.
        unsafe { Value::known(LLVMGetCalledValue(self.raw())) }
    }

    /// The type of what a call takes to be called.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn called_type(self) -> Type<'m> {
        self.check_calls();
        // SAFETY: it is a call.
        unsafe { Type::known(LLVMGetCalledFunctionType(self.raw())) }
    }

    /// How many arguments a call passes: its first operands.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn num_args(self) -> u32 {
        self.check_calls();
        // SAFETY: it is a call.
        unsafe { LLVMGetNumArgOperands(self.raw()) }
    }

    /// The arguments of a call.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn args(self) -> Vec<Value<'m>> {
        self.operands().take(self.num_args() as usize).collect()
    }

    /// The calling convention of a call.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn instruction_call_conv(self) -> u32 {
        self.check_calls();
        // SAFETY: it is a call.
        unsafe { LLVMGetInstructionCallConv(self.raw()) }
    }

    /// Gives a call another calling convention.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn set_instruction_call_conv(self, convention: u32) {
        self.check_calls();
        // SAFETY: it is a call.
        unsafe { LLVMSetInstructionCallConv(self.raw(), convention) };
    }

    /// Whether a call may reuse its caller's frame.
    ///
    /// # Panics
    /// If this is no call; an invoke is none here.
    #[track_caller]
    pub fn tail_call_kind(self) -> TailCallKind {
        self.check(self.is_call(), "call");
        // SAFETY: it is a call.
        unsafe { LLVMGetTailCallKind(self.raw()) }.into()
    }

    /// Says whether a call may reuse its caller's frame.
    ///
    /// # Panics
    /// If this is no call; an invoke is none here.
    #[track_caller]
    pub fn set_tail_call_kind(self, kind: TailCallKind) {
        self.check(self.is_call(), "call");
        // SAFETY: it is a call.
        unsafe { LLVMSetTailCallKind(self.raw(), kind.into()) };
    }

    /// The normal destination of an invoke.
    ///
    /// # Panics
    /// If this is no invoke.
    #[track_caller]
    pub fn normal_dest(self) -> Block<'m> {
        self.check_is(Opcode::Invoke, "invoke");
        // SAFETY: it is an invoke.
        unsafe { Block::known(LLVMGetNormalDest(self.raw())) }
    }

    /// The unwind destination of an invoke.
    ///
    /// # Panics
    /// If this is no invoke.
    #[track_caller]
    pub fn unwind_dest(self) -> Block<'m> {
        self.check_is(Opcode::Invoke, "invoke");
        // SAFETY: it is an invoke.
        unsafe { Block::known(LLVMGetUnwindDest(self.raw())) }
    }

    /// The tags of a call's operand bundles, in their order.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn bundle_tags(self) -> Vec<Vec<u8>> {
        self.check_calls();
        // SAFETY: it is a call, and each index is below the number of its bundles. The tag's bytes
        // are copied before the bundle goes.
        unsafe {
            (0..LLVMGetNumOperandBundles(self.raw()))
                .map(|index| {
                    let bundle = LLVMGetOperandBundleAtIndex(self.raw(), index);
                    let mut length = 0;
                    let tag = LLVMGetOperandBundleTag(bundle, &mut length);
                    let tag = bytes(tag.cast(), length).to_vec();
                    LLVMDisposeOperandBundle(bundle);
                    tag
                })
                .collect()
        }
    }

    /// The text of inline assembly.
    ///
    /// # Panics
    /// If this is none.
    #[track_caller]
    pub fn assembly_text(self) -> Vec<u8> {
        self.check(self.is_inline_assembly(), "inline assembly");
        let mut length = 0;
        // SAFETY: it is inline assembly; the bytes are copied here.
        unsafe {
            let text = LLVMGetInlineAsmAsmString(self.raw(), &mut length);
            bytes(text.cast(), length).to_vec()
        }
    }
}
