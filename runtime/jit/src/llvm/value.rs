//! Functions, instructions and their attributes.

use std::ffi::c_char;
use std::ptr::{NonNull, null_mut};

use llvm_sys::core::*;
use llvm_sys::prelude::{
    LLVMAttributeRef, LLVMBuilderRef, LLVMContextRef, LLVMTypeRef, LLVMValueRef,
};
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout};
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAttributeFunctionIndex, LLVMIntPredicate, LLVMLinkage, LLVMOpcode,
    LLVMTypeKind, LLVMUnnamedAddr, LLVMValue, LLVMVisibility,
};

use super::Context;

/// Where a function's own attributes are; those of parameter `i` are at `i + 1`.
pub const FUNCTION_INDEX: u32 = LLVMAttributeFunctionIndex;

/// A handle to a value of a live module. See the module's description for what its user sees to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(NonNull<LLVMValue>);

/// LLVM's number for an attribute; 0 if this LLVM does not know it.
pub fn attribute_kind(name: &str) -> u32 {
    // SAFETY: the length is the name's.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast::<c_char>(), name.len()) }
}

/// A type, as far as a kernel's parameter may have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// `void`.
    Void,
    /// An integer of so many bits.
    Integer(u32),
    /// A float of so many bits.
    Float(u32),
    /// A pointer, in this address space.
    Pointer(u32),
    /// Anything else.
    Other,
}

impl Value {
    /// The handle, unless it is null.
    pub fn new(raw: LLVMValueRef) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// LLVM's own handle.
    pub fn raw(self) -> LLVMValueRef {
        self.0.as_ptr()
    }

    /// The name, empty if it has none.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: the value is live (`Value`'s contract), and its name's bytes are copied before anything changes.
        unsafe {
            let start = LLVMGetValueName2(self.raw(), &mut len);
            if start.is_null() || len == 0 {
                return String::new();
            }
            String::from_utf8_lossy(std::slice::from_raw_parts(start.cast(), len)).into_owned()
        }
    }

    /// Renames. LLVM appends a number if the name is taken.
    pub fn set_name(self, name: &str) {
        // SAFETY: the value is live, and LLVM copies the bytes.
        unsafe { LLVMSetValueName2(self.raw(), name.as_ptr().cast(), name.len()) };
    }

    /// Whether a global has no definition here.
    pub fn is_declaration(self) -> bool {
        // SAFETY: the value is live; callers have a function, global or alias.
        unsafe { LLVMIsDeclaration(self.raw()) != 0 }
    }

    /// Whether a global variable exists once a thread.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: the value is live; callers have a global variable.
        unsafe { LLVMIsThreadLocal(self.raw()) != 0 }
    }

    /// Whether LLVM knows the function as an intrinsic.
    pub fn is_intrinsic(self) -> bool {
        // SAFETY: the value is live; callers have a function.
        unsafe { LLVMGetIntrinsicID(self.raw()) != 0 }
    }

    /// Makes a defined global visible in this module only, so that it goes away when nothing uses it.
    pub fn set_internal(self) {
        // SAFETY: the value is live; callers have a defined global. An internal one has default visibility and no group.
        unsafe {
            LLVMSetVisibility(self.raw(), LLVMVisibility::LLVMDefaultVisibility);
            LLVMSetLinkage(self.raw(), LLVMLinkage::LLVMInternalLinkage);
            if LLVMIsAGlobalObject(self.raw()).is_null() {
                return;
            }
            llvm_sys::comdat::LLVMSetComdat(self.raw(), null_mut());
        }
    }

    /// Lets other modules see a defined global.
    pub fn set_external(self) {
        // SAFETY: the value is live; callers have a defined function.
        unsafe {
            LLVMSetLinkage(self.raw(), LLVMLinkage::LLVMExternalLinkage);
            LLVMSetVisibility(self.raw(), LLVMVisibility::LLVMHiddenVisibility);
            LLVMSetUnnamedAddress(self.raw(), LLVMUnnamedAddr::LLVMNoUnnamedAddr);
            llvm_sys::comdat::LLVMSetComdat(self.raw(), null_mut());
        }
    }

    /// A function's return type.
    pub fn return_kind(self) -> TypeKind {
        // SAFETY: the value is live; callers have a function.
        unsafe { type_kind(LLVMGetReturnType(LLVMGlobalGetValueType(self.raw()))) }
    }

    /// A function's type.
    pub fn function_type(self) -> LLVMTypeRef {
        // SAFETY: the value is live; callers have a function.
        unsafe { LLVMGlobalGetValueType(self.raw()) }
    }

    /// The type of a function, as LLVM writes it.
    pub fn function_type_text(self) -> String {
        // SAFETY: the type is a live function's; the text is copied before it is freed.
        unsafe {
            let text = LLVMPrintTypeToString(self.function_type());
            let copy = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
            LLVMDisposeMessage(text);
            copy
        }
    }

    /// Whether a function takes more arguments than its parameters.
    pub fn is_variadic(self) -> bool {
        // SAFETY: the value is live; callers have a function.
        unsafe { LLVMIsFunctionVarArg(self.function_type()) != 0 }
    }

    /// A function's calling convention; 0 is C's.
    pub fn calling_convention(self) -> u32 {
        // SAFETY: the value is live; callers have a function.
        unsafe { LLVMGetFunctionCallConv(self.raw()) }
    }

    /// A function's parameters.
    pub fn params(self) -> Vec<Value> {
        // SAFETY: the value is live; callers have a function; `LLVMGetParam` is asked for indices below the count.
        unsafe {
            (0..LLVMCountParams(self.raw()))
                .filter_map(|index| Self::new(LLVMGetParam(self.raw(), index)))
                .collect()
        }
    }

    /// A function's parameters' types.
    pub fn param_kinds(self) -> Vec<TypeKind> {
        // SAFETY: the value is live; callers have a function; `LLVMGetParam` is asked for indices below the count.
        unsafe {
            (0..LLVMCountParams(self.raw()))
                .map(|index| type_kind(LLVMTypeOf(LLVMGetParam(self.raw(), index))))
                .collect()
        }
    }

    /// A function's attributes at a place.
    pub fn attributes(self, index: u32) -> Vec<LLVMAttributeRef> {
        // SAFETY: the value is live; callers have a function; the array is as long as LLVM says that it must be.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.raw(), index);
            let mut attributes = vec![null_mut(); count as usize];
            LLVMGetAttributesAtIndex(self.raw(), index, attributes.as_mut_ptr());
            attributes
        }
    }

    /// Adds an attribute taken from another value of the same context.
    pub fn add_attribute(self, index: u32, attribute: LLVMAttributeRef) {
        // SAFETY: the value is live; callers have a function, a place that it has, and an attribute of its context.
        unsafe { LLVMAddAttributeAtIndex(self.raw(), index, attribute) };
    }

    /// Says that a parameter of a function is a multiple of `align`, if no more is said of it.
    pub fn align_parameter(self, context: &Context, param: u32, align: u64) {
        // SAFETY: the value is live; callers have a function, one of its parameters that is a pointer, and its context.
        unsafe {
            let kind = attribute_kind("align");
            let known = LLVMGetEnumAttributeAtIndex(self.raw(), param + 1, kind);
            if known.is_null() || LLVMGetEnumAttributeValue(known) < align {
                let attribute = LLVMCreateEnumAttribute(context.raw(), kind, align);
                LLVMAddAttributeAtIndex(self.raw(), param + 1, attribute);
            }
        }
    }

    /// Adds a function attribute that has no value.
    pub fn add_function_attribute(self, context: &Context, name: &str) {
        // SAFETY: the value is live; callers have a function and its context, and the name of an attribute without value.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(context.raw(), attribute_kind(name), 0);
            LLVMAddAttributeAtIndex(self.raw(), FUNCTION_INDEX, attribute);
        }
    }

    /// Whether a function has an attribute that LLVM defines.
    pub fn has_function_attribute(self, name: &str) -> bool {
        // SAFETY: the value is live; callers have a function.
        unsafe {
            !LLVMGetEnumAttributeAtIndex(self.raw(), FUNCTION_INDEX, attribute_kind(name)).is_null()
        }
    }

    /// Removes a function attribute that LLVM defines.
    pub fn remove_function_attribute(self, name: &str) {
        // SAFETY: the value is live; callers have a function. An absent attribute is no error.
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.raw(), FUNCTION_INDEX, attribute_kind(name)) };
    }

    /// Removes a function attribute that is only a text.
    pub fn remove_text_attribute(self, name: &str) {
        // SAFETY: as in `remove_function_attribute`; the length is the name's.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.raw(),
                FUNCTION_INDEX,
                name.as_ptr().cast(),
                name.len() as u32,
            );
        }
    }

    /// Adds a function attribute that is only a text.
    pub fn add_text_attribute(self, context: &Context, name: &str, value: &str) {
        // SAFETY: the value is a live function of the context; the lengths are those of the texts.
        unsafe {
            let attribute = LLVMCreateStringAttribute(
                context.raw(),
                name.as_ptr().cast(),
                name.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            );
            LLVMAddAttributeAtIndex(self.raw(), FUNCTION_INDEX, attribute);
        }
    }

    /// The size of a `byval` parameter's pointee in bytes; `None` if the parameter is not one.
    pub fn byval_size(self, param: u32) -> Option<u64> {
        // SAFETY: the value is live; callers have a function and one of its parameters; a `byval` attribute has a type,
        // which the verifier has seen to be sized.
        unsafe {
            let kind = attribute_kind("byval");
            let attribute = LLVMGetEnumAttributeAtIndex(self.raw(), param + 1, kind);
            if attribute.is_null() {
                return None;
            }
            let layout = LLVMGetModuleDataLayout(LLVMGetGlobalParent(self.raw()));
            Some(LLVMABISizeOfType(layout, LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// A function's instructions, in the order of its text.
    pub fn instructions(self) -> Vec<Value> {
        let mut instructions = Vec::new();
        // SAFETY: the value is live; callers have a function; every block and instruction that the walk reaches is live.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(self.raw());
            while !block.is_null() {
                let mut instruction = LLVMGetFirstInstruction(block);
                while let Some(value) = Self::new(instruction) {
                    instructions.push(value);
                    instruction = LLVMGetNextInstruction(instruction);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
        instructions
    }

    /// An instruction's operation.
    pub fn opcode(self) -> LLVMOpcode {
        // SAFETY: the value is live; callers have an instruction.
        unsafe { LLVMGetInstructionOpcode(self.raw()) }
    }

    /// The function that an instruction is in.
    pub fn parent_function(self) -> Option<Value> {
        // SAFETY: the value is live; an instruction of a module is in a block, which is in a function.
        unsafe {
            if LLVMIsAInstruction(self.raw()).is_null() {
                return None;
            }
            Self::new(LLVMGetBasicBlockParent(LLVMGetInstructionParent(self.raw())))
        }
    }

    /// The instruction after this one in its block.
    pub fn next_instruction(self) -> Option<Value> {
        // SAFETY: the value is live; callers have an instruction.
        Self::new(unsafe { LLVMGetNextInstruction(self.raw()) })
    }

    /// The function that a call names, if the call has that function's type. `None` for everything else.
    pub fn direct_callee(self) -> Option<Value> {
        // SAFETY: the value is live, and each function is asked of the kind of value that it is for.
        unsafe {
            if LLVMIsACallInst(self.raw()).is_null() {
                return None;
            }
            let callee = LLVMGetCalledValue(self.raw());
            if LLVMIsAFunction(callee).is_null() {
                return None;
            }
            let same = LLVMGetCalledFunctionType(self.raw()) == LLVMGlobalGetValueType(callee);
            if same { Self::new(callee) } else { None }
        }
    }

    /// What a call calls: a function, assembly, or an address. `None` for everything else.
    pub fn callee(self) -> Option<Value> {
        // SAFETY: the value is live, and only a call is asked for its callee.
        unsafe {
            if LLVMIsACallInst(self.raw()).is_null() {
                return None;
            }
            Self::new(LLVMGetCalledValue(self.raw()))
        }
    }

    /// Whether this is a function.
    pub fn is_function(self) -> bool {
        // SAFETY: the value is live.
        unsafe { !LLVMIsAFunction(self.raw()).is_null() }
    }

    /// Whether this is assembly that is called.
    pub fn is_inline_assembly(self) -> bool {
        // SAFETY: the value is live.
        unsafe { !LLVMIsAInlineAsm(self.raw()).is_null() }
    }

    /// Whether an instruction takes stack that is not part of its function's frame.
    pub fn is_dynamic_alloca(self) -> bool {
        // SAFETY: the value is live, and each function is asked of the kind of value that it is for.
        unsafe {
            if LLVMIsAAllocaInst(self.raw()).is_null() {
                return false;
            }
            let block = LLVMGetInstructionParent(self.raw());
            LLVMIsAConstantInt(LLVMGetOperand(self.raw(), 0)).is_null()
                || LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)) != block
        }
    }

    /// Whether this calls a function that it does not name.
    pub fn is_indirect_call(self) -> bool {
        // SAFETY: the value is live, and each function is asked of the kind of value that it is for.
        unsafe {
            if LLVMIsACallInst(self.raw()).is_null() {
                return false;
            }
            let callee = LLVMGetCalledValue(self.raw());
            LLVMIsAFunction(callee).is_null() && LLVMIsAInlineAsm(callee).is_null()
        }
    }

    /// Whether this is a call of that function, with whatever type.
    pub fn names(self, function: Value) -> bool {
        // SAFETY: the value is live, and only a call is asked for its callee.
        unsafe {
            !LLVMIsACallInst(self.raw()).is_null()
                && LLVMGetCalledValue(self.raw()) == function.raw()
        }
    }

    /// Makes every user of a function use `other`, a pointer, but for the calls of it.
    pub fn replace_address(self, other: Value) {
        let calls: Vec<Value> = self.users().into_iter().filter(|user| user.names(self)).collect();
        self.replace_uses(other);
        for call in calls {
            // SAFETY: both are live, and a call's last operand is what it calls.
            unsafe {
                let last = LLVMGetNumOperands(call.raw()) as u32 - 1;
                LLVMSetOperand(call.raw(), last, self.raw());
            }
        }
    }

    /// Adds an attribute without value to a call.
    pub fn add_call_attribute(self, context: &Context, name: &str) {
        // SAFETY: the value is live; callers have a call, and its context.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(context.raw(), attribute_kind(name), 0);
            LLVMAddCallSiteAttribute(self.raw(), FUNCTION_INDEX, attribute);
        }
    }

    /// Removes an attribute that LLVM defines from a call.
    pub fn remove_call_attribute(self, name: &str) {
        // SAFETY: the value is live; callers have a call. An absent attribute is no error.
        unsafe {
            LLVMRemoveCallSiteEnumAttribute(self.raw(), FUNCTION_INDEX, attribute_kind(name));
        }
    }

    /// An operand; callers know that there are more than `index`.
    pub fn operand(self, index: u32) -> Option<Value> {
        // SAFETY: the value is live; callers have a user with that operand.
        Self::new(unsafe { LLVMGetOperand(self.raw(), index) })
    }

    /// The value of a constant integer of 64 bits or fewer, with its sign.
    pub fn constant(self) -> Option<i64> {
        // SAFETY: a live value; only a constant integer of such a width is asked for its value.
        unsafe {
            let is_one = !LLVMIsAConstantInt(self.raw()).is_null()
                && LLVMGetIntTypeWidth(LLVMTypeOf(self.raw())) <= 64;
            is_one.then(|| LLVMConstIntGetSExtValue(self.raw()))
        }
    }

    /// Everything that uses the value; twice, if it does so twice.
    pub fn users(self) -> Vec<Value> {
        // SAFETY: the value is live, and so are its uses until something changes, which nothing does during the walk.
        unsafe {
            std::iter::successors(NonNull::new(LLVMGetFirstUse(self.raw())), |u| {
                NonNull::new(LLVMGetNextUse(u.as_ptr()))
            })
            .filter_map(|u| Self::new(LLVMGetUser(u.as_ptr())))
            .collect()
        }
    }

    /// Makes every user use `other`, a value of the same type.
    pub fn replace_uses(self, other: Value) {
        // SAFETY: both are live; callers have values of one type.
        unsafe { LLVMReplaceAllUsesWith(self.raw(), other.raw()) };
    }

    /// Whether a load or a store is volatile.
    pub fn is_volatile(self) -> bool {
        // SAFETY: the value is live; callers have a load or a store.
        unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// The fields of a struct that a global variable begins as: numbers, and `None` for all else. Empty if it is no struct.
    pub fn initial_fields(self) -> Vec<Option<u64>> {
        // SAFETY: the value is live, callers have a global variable, and each function is asked of the kind that it is for.
        unsafe {
            let value = LLVMGetInitializer(self.raw());
            if value.is_null() || LLVMIsAConstantStruct(value).is_null() {
                return Vec::new();
            }
            let count = LLVMGetNumOperands(value) as u32;
            (0..count)
                .map(|index| {
                    let field = LLVMGetOperand(value, index);
                    let is_number = !LLVMIsAConstantInt(field).is_null()
                        && LLVMGetIntTypeWidth(LLVMTypeOf(field)) <= 64;
                    is_number.then(|| LLVMConstIntGetZExtValue(field))
                })
                .collect()
        }
    }

    /// Makes an access of a local volatile, so that the local stays in memory; does nothing to all else.
    pub fn keep_in_local(self) {
        // SAFETY: the value is live, callers have an instruction, and each function is asked of the kind that it is for.
        unsafe {
            let place = match self.opcode() {
                LLVMOpcode::LLVMLoad => 0,
                LLVMOpcode::LLVMStore => 1,
                _ => return,
            };
            if !LLVMIsAAllocaInst(LLVMGetOperand(self.raw(), place)).is_null() {
                LLVMSetVolatile(self.raw(), 1);
            }
        }
    }

    /// Whether a load or a store is atomic.
    pub fn is_atomic(self) -> bool {
        // SAFETY: the value is live; callers have a load or a store.
        unsafe { LLVMGetOrdering(self.raw()) != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic }
    }

    /// Whether this compares a generic pointer and a constant for their order.
    pub fn orders_address_and_constant(self) -> bool {
        // SAFETY: the value is live; callers have an instruction. A comparison has two operands of one type.
        unsafe {
            if LLVMGetInstructionOpcode(self.raw()) != LLVMOpcode::LLVMICmp {
                return false;
            }
            let equality = [LLVMIntPredicate::LLVMIntEQ, LLVMIntPredicate::LLVMIntNE];
            let operands = [0, 1].map(|index| LLVMGetOperand(self.raw(), index));
            type_kind(LLVMTypeOf(operands[0])) == TypeKind::Pointer(0)
                && operands.into_iter().any(|operand| LLVMIsConstant(operand) != 0)
                && !equality.contains(&LLVMGetICmpPredicate(self.raw()))
        }
    }

    /// Lets an atomic access or a fence order only what one kind of observer sees: LLVM's `syncscope`.
    pub fn set_scope(self, context: &Context, scope: &str) {
        // SAFETY: the value is live; callers have an atomic access or a fence, and its context; the length is the name's.
        unsafe {
            let id = LLVMGetSyncScopeID(context.raw(), scope.as_ptr().cast(), scope.len());
            LLVMSetAtomicSyncScopeID(self.raw(), id);
        }
    }

    /// The scope of an atomic access or a fence, as LLVM numbers them.
    pub fn scope(self) -> u32 {
        // SAFETY: the value is live; callers have an atomic access or a fence.
        unsafe { LLVMGetAtomicSyncScopeID(self.raw()) }
    }

    /// The order of an atomic access or a fence.
    pub fn ordering(self) -> LLVMAtomicOrdering {
        // SAFETY: as above.
        unsafe { LLVMGetOrdering(self.raw()) }
    }

    /// Gives an atomic access or a fence another order, which it can have.
    pub fn set_ordering(self, ordering: LLVMAtomicOrdering) {
        // SAFETY: as above.
        unsafe { LLVMSetOrdering(self.raw(), ordering) };
    }

    /// Whether an atomic access or a fence has this scope.
    pub fn has_scope(self, context: &Context, scope: &str) -> bool {
        // SAFETY: as above.
        unsafe {
            let id = LLVMGetSyncScopeID(context.raw(), scope.as_ptr().cast(), scope.len());
            LLVMGetAtomicSyncScopeID(self.raw()) == id
        }
    }

    /// Attaches metadata, which is of the same context.
    pub fn set_metadata(self, kind: u32, node: LLVMValueRef) {
        // SAFETY: the value is live; callers have an instruction, and a live node of its context.
        unsafe { LLVMSetMetadata(self.raw(), kind, node) };
    }

    /// Removes a function from its module and frees it.
    ///
    /// # Safety
    /// The value is a function without users, and no copy of this handle is used again.
    pub unsafe fn delete_function(self) {
        // SAFETY: the caller promises all that LLVM asks for.
        unsafe { LLVMDeleteFunction(self.raw()) };
    }

    /// Takes away what a function does when something unwinds through it. Callers have one that nothing unwinds through: it has
    /// no invokes, and so no landing pads.
    pub fn remove_unwinding(self, context: &Context) {
        // SAFETY: the value is live; callers have a function of the context. Nothing uses a `resume`, and no handle of one is kept.
        unsafe {
            if LLVMHasPersonalityFn(self.raw()) == 0 {
                return;
            }
            for instruction in self.instructions() {
                if instruction.opcode() == LLVMOpcode::LLVMResume {
                    LLVMBuildUnreachable(Builder::before(context, instruction).raw);
                    instruction.erase();
                }
            }
            LLVMSetPersonalityFn(self.raw(), null_mut());
        }
    }

    /// Removes an instruction from its block and frees it.
    ///
    /// # Safety
    /// The value is an instruction without users, and no copy of this handle is used again.
    pub unsafe fn erase(self) {
        // SAFETY: the caller promises all that LLVM asks for.
        unsafe { LLVMInstructionEraseFromParent(self.raw()) };
    }
}

/// What a type is.
///
/// # Safety
/// The type is live.
unsafe fn type_kind(raw: LLVMTypeRef) -> TypeKind {
    // SAFETY: the caller promises a live type; each further question is asked of the kind that it is for.
    unsafe {
        match LLVMGetTypeKind(raw) {
            LLVMTypeKind::LLVMVoidTypeKind => TypeKind::Void,
            LLVMTypeKind::LLVMIntegerTypeKind => TypeKind::Integer(LLVMGetIntTypeWidth(raw)),
            LLVMTypeKind::LLVMHalfTypeKind => TypeKind::Float(16),
            LLVMTypeKind::LLVMFloatTypeKind => TypeKind::Float(32),
            LLVMTypeKind::LLVMDoubleTypeKind => TypeKind::Float(64),
            LLVMTypeKind::LLVMPointerTypeKind => TypeKind::Pointer(LLVMGetPointerAddressSpace(raw)),
            _ => TypeKind::Other,
        }
    }
}

/// Inserts instructions.
pub struct Builder {
    raw: LLVMBuilderRef,
    context: LLVMContextRef,
}

impl Builder {
    /// A builder that inserts before an instruction.
    pub fn before(context: &Context, instruction: Value) -> Self {
        // SAFETY: the context and the instruction are live.
        unsafe {
            let raw = LLVMCreateBuilderInContext(context.raw());
            LLVMPositionBuilderBefore(raw, instruction.raw());
            Self { raw, context: context.raw() }
        }
    }

    /// Calls a function with arguments of its parameters' types. Gives the call, which is its result if the function has one.
    pub fn call(&self, callee: Value, arguments: &[Value]) -> Option<Value> {
        let mut arguments: Vec<_> = arguments.iter().map(|value| value.raw()).collect();
        // SAFETY: all values are live, the builder has a place, and callers pass what the callee's type asks for.
        unsafe {
            Value::new(LLVMBuildCall2(
                self.raw,
                callee.function_type(),
                callee.raw(),
                arguments.as_mut_ptr(),
                arguments.len() as u32,
                c"".as_ptr(),
            ))
        }
    }

    /// `a * b + c` in two operations, for floats or vectors of one type.
    pub fn multiply_add(&self, a: Value, b: Value, c: Value) -> Option<Value> {
        // SAFETY: all values are live and, as callers see to, of one floating-point type; the builder has a place.
        unsafe {
            let product = LLVMBuildFMul(self.raw, a.raw(), b.raw(), c"".as_ptr());
            Value::new(LLVMBuildFAdd(self.raw, product, c.raw(), c"".as_ptr()))
        }
    }

    /// A fence with a scope that LLVM has a number for.
    pub fn fence(&self, ordering: LLVMAtomicOrdering, scope: u32) {
        // SAFETY: the builder has a place.
        unsafe { LLVMBuildFenceSyncScope(self.raw, ordering, scope, c"".as_ptr()) };
    }

    /// What a comparison of two pointers is as one of two numbers of 64 bits.
    pub fn compare_as_numbers(&self, comparison: Value) -> Value {
        // SAFETY: the context is live, the builder has a place, and callers have a comparison of pointers.
        let result = unsafe {
            let long = LLVMInt64TypeInContext(self.context);
            let [left, right] = [0, 1].map(|index| {
                let operand = LLVMGetOperand(comparison.raw(), index);
                LLVMBuildPtrToInt(self.raw, operand, long, c"".as_ptr())
            });
            let predicate = LLVMGetICmpPredicate(comparison.raw());
            LLVMBuildICmp(self.raw, predicate, left, right, c"".as_ptr())
        };
        Value::new(result).unwrap_or(comparison)
    }

    /// Returns an `i32`.
    pub fn return_i32(&self, value: u32) {
        // SAFETY: the context is live and the builder has a place.
        unsafe {
            let value = LLVMConstInt(LLVMInt32TypeInContext(self.context), u64::from(value), 0);
            LLVMBuildRet(self.raw, value);
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: `raw` is ours.
        unsafe { LLVMDisposeBuilder(self.raw) };
    }
}

/// The kind of an attribute: its number, or `None` if it is only a text.
pub fn kind_of(attribute: LLVMAttributeRef) -> Option<u32> {
    // SAFETY: callers have a live attribute, and the kind is only asked of one that is not a text.
    unsafe {
        if LLVMIsStringAttribute(attribute) != 0 {
            None
        } else {
            Some(LLVMGetEnumAttributeKind(attribute))
        }
    }
}
