//! Modules: what is in them, and what they are made of.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};

use inkwell::targets::TargetMachine;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::{LLVMGetBitcodeModuleInContext2, LLVMParseBitcodeInContext2};
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMDebugMetadataVersion, LLVMStripModuleDebugInfo};
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::{LLVMModuleRef, LLVMNamedMDNodeRef, LLVMValueRef};
use llvm_sys::{LLVMModule, LLVMModuleFlagBehavior};

use crate::ffi::{bytes, list, take_message};
use crate::{ContextRef, DataLayout, Linkage, Type, Value};

/// A module that is borrowed for `'m`, and that may be changed meanwhile, as inkwell's may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleRef<'m>(NonNull<LLVMModule>, PhantomData<&'m ()>);

/// A borrowed module as inkwell's.
#[derive(Debug)]
pub struct View<'m>(ManuallyDrop<inkwell::module::Module<'m>>);

impl<'m> Deref for View<'m> {
    type Target = inkwell::module::Module<'m>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// What has a module.
pub trait AsModule {
    /// The module, for as long as its owner is borrowed.
    fn handle(&self) -> ModuleRef<'_>;
}

impl AsModule for inkwell::module::Module<'_> {
    fn handle(&self) -> ModuleRef<'_> {
        ModuleRef::of(self)
    }
}

unsafe extern "C" {
    /// `llvm::NamedMDNode::eraseFromParent()`: the C interface adds to such lists and takes nothing
    /// out of them.
    #[link_name = "_ZN4llvm11NamedMDNode15eraseFromParentEv"]
    fn erase_named_metadata(list: LLVMNamedMDNodeRef);
}

/// LLVM's number for an intrinsic, named without types; 0 if this LLVM does not know it.
pub fn intrinsic_id(name: &str) -> u32 {
    // SAFETY: the name is passed with its length.
    unsafe { LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) }
}

impl<'m> ModuleRef<'m> {
    /// inkwell's module.
    pub fn of(module: &'m inkwell::module::Module<'_>) -> Self {
        // SAFETY: inkwell's module is live while it is borrowed.
        unsafe { Self::known(module.as_mut_ptr()) }
    }

    /// A module of LLVM's own.
    ///
    /// # Safety
    /// `raw` is null, which panics, or a module that lives for `'m`, and that nothing else changes
    /// while handles of it are used.
    pub unsafe fn from_raw(raw: LLVMModuleRef) -> Self {
        // SAFETY: as promised by the caller.
        unsafe { Self::known(raw) }
    }

    /// As [`from_raw`](Self::from_raw).
    #[track_caller]
    pub(crate) unsafe fn known(raw: LLVMModuleRef) -> Self {
        Self(NonNull::new(raw).expect("internal error: LLVM gave no module"), PhantomData)
    }

    /// The module as inkwell's. That remembers what it has once seen of a module, so each look asks
    /// for a new one.
    pub fn view(self) -> View<'m> {
        // SAFETY: the module lives for `'m`, and its owner, not this view, disposes of it.
        View(ManuallyDrop::new(unsafe { inkwell::module::Module::new(self.raw()) }))
    }

    /// LLVM's own handle.
    pub fn raw(self) -> LLVMModuleRef {
        self.0.as_ptr()
    }

    /// The context.
    pub fn context(self) -> ContextRef<'m> {
        // SAFETY: the module is live, and its context outlives it.
        unsafe { ContextRef::known(LLVMGetModuleContext(self.raw())) }
    }

    /// How data lie in memory.
    pub fn data_layout(self) -> DataLayout<'m> {
        // SAFETY: the module is live.
        unsafe { DataLayout::of(self.raw()) }
    }

    /// The text of the data layout, empty if the module has none.
    pub fn data_layout_text(self) -> String {
        // SAFETY: the module is live, and the text lives in it until the layout changes; it is
        // copied here.
        unsafe { CStr::from_ptr(LLVMGetDataLayoutStr(self.raw())) }.to_string_lossy().into_owned()
    }

    /// The triple's text, empty if the module has none.
    pub fn triple(self) -> String {
        // SAFETY: the module is live, and the text lives in it until the triple changes; it is
        // copied here.
        unsafe { CStr::from_ptr(LLVMGetTarget(self.raw())) }.to_string_lossy().into_owned()
    }

    /// Makes the module one for a machine: its data layout, and the triple as it is written here.
    pub fn set_target(self, triple: &str, machine: &TargetMachine) {
        let layout = machine.get_target_data().get_data_layout();
        let triple = c_name(triple);
        // SAFETY: the module is live, and the texts, which LLVM copies, end with a NUL; the layout
        // is one that LLVM printed.
        unsafe {
            LLVMSetTarget(self.raw(), triple.as_ptr());
            LLVMSetDataLayout(self.raw(), layout.as_str().as_ptr());
        }
    }

    /// Gives the module another data layout.
    ///
    /// # Panics
    /// If the text has a NUL.
    #[track_caller]
    pub fn set_data_layout(self, layout: &str) {
        let layout = CString::new(layout).expect("internal error: a layout with a NUL");
        // SAFETY: the module is live, and the text ends with a NUL.
        unsafe { LLVMSetDataLayout(self.raw(), layout.as_ptr()) };
    }

    /// Makes the module one for what another module is for.
    pub fn set_target_of(self, other: ModuleRef<'_>) {
        if self.raw() == other.raw() {
            return;
        }
        // SAFETY: both modules are live, and the texts, which LLVM copies, live in the other one.
        unsafe {
            LLVMSetTarget(self.raw(), LLVMGetTarget(other.raw()));
            LLVMSetDataLayout(self.raw(), LLVMGetDataLayoutStr(other.raw()));
        }
    }

    /// All functions, declarations too, as they are now.
    pub fn functions(self) -> Vec<Value<'m>> {
        // SAFETY: the module is live, and nothing changes it during the walk.
        unsafe { self.all(LLVMGetFirstFunction(self.raw()), LLVMGetNextFunction) }
    }

    /// All global variables, as they are now.
    pub fn globals(self) -> Vec<Value<'m>> {
        // SAFETY: as in `functions`.
        unsafe { self.all(LLVMGetFirstGlobal(self.raw()), LLVMGetNextGlobal) }
    }

    /// All aliases, as they are now.
    pub fn aliases(self) -> Vec<Value<'m>> {
        // SAFETY: as in `functions`.
        unsafe { self.all(LLVMGetFirstGlobalAlias(self.raw()), LLVMGetNextGlobalAlias) }
    }

    /// All ifuncs, as they are now.
    pub fn ifuncs(self) -> Vec<Value<'m>> {
        // SAFETY: as in `functions`.
        unsafe { self.all(LLVMGetFirstGlobalIFunc(self.raw()), LLVMGetNextGlobalIFunc) }
    }

    /// # Safety
    /// `first` and what `next` gives are null or globals of this module.
    unsafe fn all(
        self,
        first: LLVMValueRef,
        next: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef,
    ) -> Vec<Value<'m>> {
        // SAFETY: as promised by the caller.
        unsafe {
            let all = list(first, |global| next(global));
            all.into_iter().map(|global| Value::known(global)).collect()
        }
    }

    /// The function of a name.
    pub fn function(self, name: &str) -> Option<Value<'m>> {
        let (start, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: the module is live, and the name is passed with its length.
        unsafe { Value::from_raw(LLVMGetNamedFunctionWithLength(self.raw(), start, length)) }
    }

    /// The global variable of a name.
    pub fn global(self, name: &str) -> Option<Value<'m>> {
        let (start, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: the module is live, and the name is passed with its length.
        unsafe { Value::from_raw(LLVMGetNamedGlobalWithLength(self.raw(), start, length)) }
    }

    /// Declares a function. LLVM appends a number to the name if it is taken.
    ///
    /// # Panics
    /// If the type is no function's.
    #[track_caller]
    pub fn add_function(self, name: &str, ty: Type<'m>) -> Value<'m> {
        ty.is_variadic();
        let name = c_name(name);
        // SAFETY: the module is live, the type a function's, and the name ends with a NUL.
        unsafe { Value::known(LLVMAddFunction(self.raw(), name.as_ptr(), ty.raw())) }
    }

    /// Declares a global variable, in the address space that the data layout has for them. LLVM
    /// appends a number to the name if it is taken.
    ///
    /// # Panics
    /// If no variable can hold such values.
    #[track_caller]
    pub fn add_global(self, ty: Type<'m>, name: &str) -> Value<'m> {
        ty.check_sized();
        let name = c_name(name);
        // SAFETY: the module is live, values of the type have a size, and the name ends with a NUL.
        unsafe { Value::known(LLVMAddGlobal(self.raw(), ty.raw(), name.as_ptr())) }
    }

    /// The same, in another address space.
    #[track_caller]
    pub fn add_global_in(self, ty: Type<'m>, name: &str, space: u32) -> Value<'m> {
        // A variable that is only declared may hold values without a size.
        ty.check_element();
        let (name, raw) = (c_name(name), self.raw());
        // SAFETY: the module is live, a variable can hold such values, and the name ends with a
        // NUL.
        unsafe { Value::known(LLVMAddGlobalInAddressSpace(raw, ty.raw(), name.as_ptr(), space)) }
    }

    /// A builtin that gives the same value all through a work-item, declared where it is not.
    #[track_caller]
    pub fn declare_pure_builtin(self, name: &str, ty: Type<'m>) -> Value<'m> {
        self.function(name).unwrap_or_else(|| {
            let function = self.add_function(name, ty);
            function.mark_pure();
            function
        })
    }

    /// The declaration of an intrinsic by LLVM's number for it, for these types of those of its
    /// operands that it does not fix.
    ///
    /// # Panics
    /// If LLVM has no such intrinsic, or fixes all types and is given one.
    #[track_caller]
    pub fn intrinsic(self, id: u32, types: &[Type<'m>]) -> Value<'m> {
        self.context().check_intrinsic(id, types);
        let mut types: Vec<_> = types.iter().map(|ty| ty.raw()).collect();
        let (start, count) = (types.as_mut_ptr(), types.len());
        // SAFETY: the module is live, LLVM knows the intrinsic, and the array is as long as LLVM is
        // told.
        unsafe { Value::known(LLVMGetIntrinsicDeclaration(self.raw(), id, start, count)) }
    }

    /// Removes all debug information.
    pub fn strip_debug_info(self) {
        // SAFETY: the module is live.
        unsafe { LLVMStripModuleDebugInfo(self.raw()) };
    }

    /// Says in a flag of the module which version of debug information it has, if that was not
    /// said.
    pub fn declare_debug_info(self) {
        let flag = "Debug Info Version";
        let (start, length) = (flag.as_ptr().cast(), flag.len());
        // SAFETY: the module is live, and the flag's name is passed with its length.
        unsafe {
            if !LLVMGetModuleFlag(self.raw(), start, length).is_null() {
                return;
            }
            let version = u64::from(LLVMDebugMetadataVersion());
            let version = self.context().int_type(32).const_int(version, false).as_metadata();
            let behavior = LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
            LLVMAddModuleFlag(self.raw(), behavior, start, length, version.raw());
        }
    }

    /// Assembly at module level, empty if there is none.
    pub fn inline_assembly(self) -> Vec<u8> {
        let mut length = 0;
        // SAFETY: the module is live and owns the bytes, which are copied here.
        unsafe {
            let start = LLVMGetModuleInlineAsm(self.raw(), &mut length);
            bytes(start.cast(), length).to_vec()
        }
    }

    /// Removes assembly at module level.
    pub fn remove_inline_assembly(self) {
        // SAFETY: the module is live, and the text has no bytes.
        unsafe { LLVMSetModuleInlineAsm2(self.raw(), c"".as_ptr(), 0) };
    }

    /// The operands of a named node of metadata; empty if there is none of that name.
    pub fn named_metadata(self, name: &CStr) -> Vec<Value<'m>> {
        // SAFETY: the module is live and the name ends with a NUL; the array is as long as LLVM
        // says that it must be.
        unsafe {
            let count = LLVMGetNamedMetadataNumOperands(self.raw(), name.as_ptr());
            let mut nodes = vec![null_mut(); count as usize];
            LLVMGetNamedMetadataOperands(self.raw(), name.as_ptr(), nodes.as_mut_ptr());
            nodes.into_iter().map(|node| Value::known(node)).collect()
        }
    }

    /// Gives a named node of metadata these operands and no others; without any it goes.
    ///
    /// # Panics
    /// If one of them is no node.
    #[track_caller]
    pub fn set_named_metadata(self, name: &CStr, nodes: &[Value<'m>]) {
        for node in nodes {
            node.check(node.is_metadata(), "node of metadata");
        }
        // SAFETY: the module is live and the name ends with a NUL. The list only refers to nodes,
        // which belong to the context. Its handle is not used again.
        unsafe {
            let list = LLVMGetNamedMetadata(self.raw(), name.as_ptr(), name.count_bytes());
            if !list.is_null() {
                erase_named_metadata(list);
            }
            for node in nodes {
                LLVMAddNamedMetadataOperand(self.raw(), name.as_ptr(), node.raw());
            }
        }
    }

    /// Whether the module obeys LLVM's rules; if not, what it breaks.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn verify(self) -> Result<(), String> {
        let mut error = null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        // SAFETY: the module is live and `error` is a live variable, set to a text that is ours in
        // either case.
        unsafe {
            let broken = LLVMVerifyModule(self.raw(), action, &mut error);
            let text = take_message(error);
            if broken != 0 { Err(text) } else { Ok(()) }
        }
    }

    /// LLVM's assembly of the module.
    pub fn print(self) -> String {
        // SAFETY: the module is live, and the text is ours.
        unsafe { take_message(LLVMPrintModuleToString(self.raw())) }
    }

    /// Lets the linker leave out those definitions that the module it links to does not need.
    pub fn make_optional(self) {
        for global in self.globals().into_iter().chain(self.functions()).chain(self.aliases()) {
            if !global.is_declaration() && !global.is_local() {
                global.set_linkage(Linkage::LinkOnceODR);
            }
        }
    }

    /// Moves everything of `other` in here; declarations and definitions of one name become one.
    /// `false` if they do not fit together: the context's handler of diagnostics was told why.
    #[must_use]
    pub fn link(self, other: Module<'m>) -> bool {
        assert!(
            self.context() == other.handle().context(),
            "internal error: modules of two contexts"
        );
        let raw = other.raw.as_ptr();
        std::mem::forget(other);
        // SAFETY: both modules are live and of one context; LLVM disposes of the second, which is
        // forgotten above.
        unsafe { LLVMLinkModules2(self.raw(), raw) == 0 }
    }
}

impl<'m> ContextRef<'m> {
    #[track_caller]
    fn check_intrinsic(self, id: u32, types: &[Type<'m>]) {
        // SAFETY: LLVM answers for any number of an intrinsic.
        let fits = id != 0 && unsafe { LLVMIntrinsicIsOverloaded(id) != 0 } != types.is_empty();
        assert!(fits, "internal error: no such intrinsic: {id}");
    }

    /// The type of an intrinsic by LLVM's number for it, for these types of those of its operands
    /// that it does not fix.
    ///
    /// # Panics
    /// If LLVM has no such intrinsic, or fixes all types and is given one.
    #[track_caller]
    pub fn intrinsic_type(self, id: u32, types: &[Type<'m>]) -> Type<'m> {
        self.check_intrinsic(id, types);
        let mut types: Vec<_> = types.iter().map(|ty| ty.raw()).collect();
        let (start, count) = (types.as_mut_ptr(), types.len());
        // SAFETY: the context is live, LLVM knows the intrinsic, and the array is as long as LLVM
        // is told.
        unsafe { Type::known(LLVMIntrinsicGetType(self.raw(), id, start, count)) }
    }
}

/// A name for LLVM, which ends at the first NUL.
fn c_name(name: &str) -> CString {
    let name = name.split('\0').next().unwrap_or_default();
    CString::new(name).unwrap_or_default()
}

/// A module that is ours, of a context that outlives it.
#[derive(Debug)]
pub struct Module<'c> {
    raw: NonNull<LLVMModule>,
    context: PhantomData<&'c ()>,
}

impl AsModule for Module<'_> {
    fn handle(&self) -> ModuleRef<'_> {
        // SAFETY: the module is live while it is borrowed.
        unsafe { ModuleRef::known(self.raw.as_ptr()) }
    }
}

impl<'c> Module<'c> {
    /// # Safety
    /// `raw` is null or a module of a context that lives for `'c`, and only the caller's.
    unsafe fn own(raw: LLVMModuleRef) -> Option<Self> {
        Some(Self { raw: NonNull::new(raw)?, context: PhantomData })
    }

    /// An empty module.
    pub fn new(context: ContextRef<'c>, name: &CStr) -> Self {
        // SAFETY: the context is live and the name ends with a NUL.
        unsafe {
            let raw = LLVMModuleCreateWithNameInContext(name.as_ptr(), context.raw());
            Self::own(raw).expect("internal error: LLVM gave no module")
        }
    }

    /// Reads bitcode: what a function does only when the linker asks for it. So the module is for
    /// being [linked](ModuleRef::link), and its functions seem to be empty until then. `None` if it
    /// is no bitcode: the context's handler of diagnostics was told why.
    pub fn from_bitcode_lazily(
        context: ContextRef<'c>,
        bitcode: &'c [u8],
        name: &CStr,
    ) -> Option<Self> {
        let mut raw = null_mut();
        let (start, length) = (bitcode.as_ptr().cast(), bitcode.len());
        // SAFETY: the context is live and `raw` is a live variable; the buffer borrows bytes that
        // live as long as the module can. A module has its buffer; where there is none, the buffer
        // stays ours.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRange(start, length, name.as_ptr(), 0);
            if LLVMGetBitcodeModuleInContext2(context.raw(), buffer, &mut raw) != 0 || raw.is_null()
            {
                LLVMDisposeMemoryBuffer(buffer);
                return None;
            }
            Self::own(raw)
        }
    }

    /// Reads bitcode. The module is not verified. `None` if it is no bitcode: the context's handler
    /// of diagnostics was told why.
    pub fn from_bitcode(context: ContextRef<'c>, bitcode: &[u8]) -> Option<Self> {
        let mut raw = null_mut();
        let (start, length) = (bitcode.as_ptr().cast(), bitcode.len());
        // SAFETY: the context is live and `raw` is a live variable. The buffer borrows `bitcode`,
        // which outlives it: it is disposed of here, and the parsed module keeps no reference to it
        // (only LLVM's lazy reader does).
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRange(start, length, c"image".as_ptr(), 0);
            let failed = LLVMParseBitcodeInContext2(context.raw(), buffer, &mut raw);
            LLVMDisposeMemoryBuffer(buffer);
            if failed != 0 { None } else { Self::own(raw) }
        }
    }

    /// Reads LLVM's assembly.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn from_text(context: ContextRef<'c>, text: &str) -> Result<Self, String> {
        let (mut raw, mut error) = (null_mut(), null_mut());
        let (start, length) = (text.as_ptr().cast(), text.len());
        // SAFETY: the copy ends with a NUL as the reader wants it; the buffer stays ours and the
        // module keeps nothing of it. On failure LLVM sets `error` to a text that is ours.
        unsafe {
            let name = c"text".as_ptr();
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(start, length, name);
            let failed = LLVMParseIRInContext2(context.raw(), buffer, &mut raw, &mut error);
            LLVMDisposeMemoryBuffer(buffer);
            if failed != 0 {
                return Err(take_message(error));
            }
            Self::own(raw).ok_or_else(String::new)
        }
    }

    /// A copy.
    pub fn duplicate(&self) -> Self {
        // SAFETY: the module is live, and the copy is of the same context.
        unsafe {
            let raw = LLVMCloneModule(self.raw.as_ptr());
            Self::own(raw).expect("internal error: LLVM gave no module")
        }
    }

    /// The context, for as long as it lives.
    pub fn owner(&self) -> ContextRef<'c> {
        // SAFETY: the module is live, and its context lives for `'c`.
        unsafe { ContextRef::known(LLVMGetModuleContext(self.raw.as_ptr())) }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module is live and ours, and its context outlives it by the borrow.
        unsafe { LLVMDisposeModule(self.raw.as_ptr()) };
    }
}
