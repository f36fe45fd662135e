//! What functions, global variables and aliases have in common, and global variables.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use llvm_sys::core::*;

use crate::{Linkage, ModuleRef, Type, UnnamedAddress, Value, Visibility};

impl<'m> Value<'m> {
    #[track_caller]
    fn check_global(self) {
        self.check(self.is_global(), "function, global variable or alias");
    }

    #[track_caller]
    fn check_object(self) {
        self.check(self.is_global_object(), "function or global variable");
    }

    #[track_caller]
    fn check_variable(self) {
        self.check(self.is_global_variable(), "global variable");
    }

    /// The module of a global.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn module(self) -> ModuleRef<'m> {
        self.check_global();
        // SAFETY: it is a global, of a module that lives as long as the handle.
        unsafe { ModuleRef::known(LLVMGetGlobalParent(self.raw())) }
    }

    /// A function's own type, or that of what a global variable holds.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn value_type(self) -> Type<'m> {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { Type::known(LLVMGlobalGetValueType(self.raw())) }
    }

    /// Whether a global has no definition here.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn is_declaration(self) -> bool {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMIsDeclaration(self.raw()) != 0 }
    }

    /// Who sees a global.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn linkage(self) -> Linkage {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMGetLinkage(self.raw()) }.into()
    }

    /// Changes a global's linkage. One that is local to the module has default visibility from then on: LLVM
    /// allows no other.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn set_linkage(self, linkage: Linkage) {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMSetLinkage(self.raw(), linkage.into()) };
    }

    /// Whether only this module sees a global.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn is_local(self) -> bool {
        matches!(self.linkage(), Linkage::Internal | Linkage::Private)
    }

    /// The visibility of a global.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn visibility(self) -> Visibility {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMGetVisibility(self.raw()) }.into()
    }

    /// Gives a global another visibility.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn set_visibility(self, visibility: Visibility) {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMSetVisibility(self.raw(), visibility.into()) };
    }

    /// Whether a global's address means something.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn unnamed_address(self) -> UnnamedAddress {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMGetUnnamedAddress(self.raw()) }.into()
    }

    /// Says whether a global's address means something.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn set_unnamed_address(self, unnamed: UnnamedAddress) {
        self.check_global();
        // SAFETY: it is a global.
        unsafe { LLVMSetUnnamedAddress(self.raw(), unnamed.into()) };
    }

    /// Makes a defined global visible in this module only, so that it goes away when nothing uses
    /// it.
    ///
    /// # Panics
    /// If this is no global.
    #[track_caller]
    pub fn set_internal(self) {
        self.set_visibility(Visibility::Default);
        self.set_linkage(Linkage::Internal);
        if self.is_global_object() {
            self.remove_comdat();
        }
    }

    /// Lets other modules see a defined global, by its address too.
    ///
    /// # Panics
    /// If this is neither a function nor a global variable.
    #[track_caller]
    pub fn set_external(self) {
        self.set_linkage(Linkage::External);
        self.set_visibility(Visibility::Hidden);
        self.set_unnamed_address(UnnamedAddress::No);
        self.remove_comdat();
    }

    /// Has the linker treat a function or a global variable on its own.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn remove_comdat(self) {
        self.check_object();
        // SAFETY: it is a function or a global variable, and LLVM takes a null for none.
        unsafe { llvm_sys::comdat::LLVMSetComdat(self.raw(), null_mut()) };
    }

    /// The section of an object file that a function or a global variable goes to; empty if it is
    /// left to LLVM.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn section(self) -> CString {
        self.check_object();
        // SAFETY: it is a function or a global variable; the text, if there is one, ends with a NUL
        // and is copied here.
        unsafe {
            let section = LLVMGetSection(self.raw());
            if section.is_null() { CString::default() } else { CStr::from_ptr(section).to_owned() }
        }
    }

    /// Says which section of an object file a function or a global variable goes to; the empty one
    /// leaves it to LLVM.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn set_section(self, section: &CStr) {
        self.check_object();
        // SAFETY: it is a function or a global variable, and LLVM copies the text.
        unsafe { LLVMSetSection(self.raw(), section.as_ptr()) };
    }

    /// What a global variable begins as, if it is defined here.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn initializer(self) -> Option<Value<'m>> {
        self.check_variable();
        // SAFETY: it is a global variable.
        unsafe { Value::from_raw(LLVMGetInitializer(self.raw())) }
    }

    /// Says what a global variable begins as.
    ///
    /// # Panics
    /// If this is no global variable, or `value` no constant of its type.
    #[track_caller]
    pub fn set_initializer(self, value: Value<'m>) {
        self.check_variable();
        let fits = value.is_constant() && value.ty() == self.value_type();
        value.check(fits, "constant of the global variable's type");
        // SAFETY: it is a global variable, and the value a constant of its type.
        unsafe { LLVMSetInitializer(self.raw(), value.raw()) };
    }

    /// Whether a global variable never changes.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn is_global_constant(self) -> bool {
        self.check_variable();
        // SAFETY: it is a global variable.
        unsafe { LLVMIsGlobalConstant(self.raw()) != 0 }
    }

    /// Says whether a global variable never changes.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn set_global_constant(self, is_constant: bool) {
        self.check_variable();
        // SAFETY: it is a global variable.
        unsafe { LLVMSetGlobalConstant(self.raw(), is_constant.into()) };
    }

    /// Whether a global variable exists once a thread.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn is_thread_local(self) -> bool {
        self.check_variable();
        // SAFETY: it is a global variable.
        unsafe { LLVMIsThreadLocal(self.raw()) != 0 }
    }

    /// Whether a global variable may have another value than its initialiser's when the program
    /// begins.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn is_externally_initialized(self) -> bool {
        self.check_variable();
        // SAFETY: it is a global variable.
        unsafe { LLVMIsExternallyInitialized(self.raw()) != 0 }
    }

    /// Says whether a global variable may have another value than its initialiser's when the
    /// program begins.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn set_externally_initialized(self, is_so: bool) {
        self.check_variable();
        // SAFETY: it is a global variable.
        unsafe { LLVMSetExternallyInitialized(self.raw(), is_so.into()) };
    }

    /// Removes a global variable from its module. What used it uses `poison`.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn delete_global(self) {
        self.check_variable();
        self.drop_uses();
        // SAFETY: it is a global variable that nothing uses, and the handle is consumed.
        unsafe { LLVMDeleteGlobal(self.raw()) };
    }

    /// What an alias stands for.
    ///
    /// # Panics
    /// If this is no alias.
    #[track_caller]
    pub fn aliasee(self) -> Value<'m> {
        self.check(self.is_alias(), "alias");
        // SAFETY: it is an alias.
        unsafe { Value::known(LLVMAliasGetAliasee(self.raw())) }
    }

    /// The fields of a structure that a global variable begins as: numbers, and `None` for all
    /// else. Empty if it is no structure.
    ///
    /// # Panics
    /// If this is no global variable.
    #[track_caller]
    pub fn initial_fields(self) -> Vec<Option<u64>> {
        match self.initializer() {
            Some(value) if value.is_constant_struct() => {
                value.operands().map(Value::as_unsigned).collect()
            }
            _ => Vec::new(),
        }
    }
}
