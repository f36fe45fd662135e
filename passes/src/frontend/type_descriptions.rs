//! Descriptions of types as constants: what a target reads in order to format a value.
//!
//! ```llvm
//! @schism.type.0 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 18, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
//! ```
//!
//! The layout is that of [`schism_message::Descriptor`], and of [`schism_message::Part`] for the
//! parts. A constant is named by its index in [`DeviceSpec::types`](crate::DeviceSpec::types), so
//! that passes that need the same one share it.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use schism_message::MAGIC;

use crate::spec::messages::TypeDescription;

/// Makes descriptions in a module.
pub(crate) struct Descriptors<'a> {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    types: &'a [TypeDescription],
}

impl<'a> Descriptors<'a> {
    /// # Safety
    /// The module is live as long as the result.
    pub(crate) unsafe fn new(module: LLVMModuleRef, types: &'a [TypeDescription]) -> Self {
        // SAFETY: as promised by the caller.
        Descriptors { module, context: unsafe { LLVMGetModuleContext(module) }, types }
    }

    /// The constant of a type, made if need be; null for an index that there is not.
    pub(crate) fn get(&self, index: usize) -> LLVMValueRef {
        let Some(described) = self.types.get(index) else { return self.null() };
        let name = format!("schism.type.{index}");
        // SAFETY: the module is live and everything is made in it. A type may have itself as a part, so the global is there
        // before its value is.
        unsafe {
            let known = LLVMGetNamedGlobalWithLength(self.module, name.as_ptr().cast(), name.len());
            if !known.is_null() {
                return known;
            }
            let (int, long, pointer) = self.field_types();
            let mut fields = [int, int, pointer, long, pointer, long];
            let ty = LLVMStructTypeInContext(self.context, fields.as_mut_ptr(), 6, 0);
            let name = std::ffi::CString::new(name).expect("a name without NUL");
            let global = private(LLVMAddGlobal(self.module, ty, name.as_ptr()));
            let (name, name_len) = self.text(&described.name);
            let parts: Vec<_> = described
                .parts
                .iter()
                .map(|part| {
                    let (name, name_len) = self.text(&part.name);
                    let name_len =
                        if part.name.is_empty() { self.long(part.size) } else { name_len };
                    let of = part.ty.map_or_else(|| self.null(), |index| self.get(index));
                    let mut fields = [self.long(part.value), of, name, name_len];
                    LLVMConstStructInContext(self.context, fields.as_mut_ptr(), 4, 0)
                })
                .collect();
            let kind = described.kind as u64 | (described.by as u64) << 8;
            let mut values = [
                LLVMConstInt(int, kind, 0),
                LLVMConstInt(int, MAGIC.into(), 0),
                name,
                name_len,
                self.list(parts),
                self.long(described.parts.len() as u64),
            ];
            let value = LLVMConstStructInContext(self.context, values.as_mut_ptr(), 6, 0);
            LLVMSetInitializer(global, value);
            global
        }
    }

    /// A private constant with bytes.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> LLVMValueRef {
        // SAFETY: the module is live; the bytes are passed with their length.
        unsafe {
            let value =
                LLVMConstStringInContext2(self.context, bytes.as_ptr().cast(), bytes.len(), 1);
            let name = c"schism.panic".as_ptr();
            let global = private(LLVMAddGlobal(self.module, LLVMTypeOf(value), name));
            LLVMSetInitializer(global, value);
            LLVMSetUnnamedAddress(global, llvm_sys::LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            LLVMSetAlignment(global, 1);
            global
        }
    }

    /// A text and its length.
    fn text(&self, text: &str) -> (LLVMValueRef, LLVMValueRef) {
        let at = if text.is_empty() { self.null() } else { self.bytes(text.as_bytes()) };
        (at, self.long(text.len() as u64))
    }

    fn list(&self, elements: Vec<LLVMValueRef>) -> LLVMValueRef {
        let mut elements = elements;
        let Some(&first) = elements.first() else { return self.null() };
        // SAFETY: the module is live; all elements are structs of one type.
        unsafe {
            let len = elements.len() as u64;
            let value = LLVMConstArray2(LLVMTypeOf(first), elements.as_mut_ptr(), len);
            let name = c"schism.type.parts".as_ptr();
            let global = private(LLVMAddGlobal(self.module, LLVMTypeOf(value), name));
            LLVMSetInitializer(global, value);
            LLVMSetUnnamedAddress(global, llvm_sys::LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            global
        }
    }

    fn field_types(&self) -> (LLVMTypeRef, LLVMTypeRef, LLVMTypeRef) {
        // SAFETY: the context is live.
        unsafe {
            (
                LLVMInt32TypeInContext(self.context),
                LLVMInt64TypeInContext(self.context),
                LLVMPointerTypeInContext(self.context, 0),
            )
        }
    }

    fn long(&self, value: u64) -> LLVMValueRef {
        // SAFETY: the type is of the live context.
        unsafe { LLVMConstInt(self.field_types().1, value, 0) }
    }

    fn null(&self) -> LLVMValueRef {
        // SAFETY: the type is of the live context.
        unsafe { LLVMConstNull(self.field_types().2) }
    }
}

/// # Safety
/// `global` is a new global of a live module.
unsafe fn private(global: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: as promised by the caller.
    unsafe {
        LLVMSetGlobalConstant(global, 1);
        LLVMSetLinkage(global, llvm_sys::LLVMLinkage::LLVMPrivateLinkage);
    }
    global
}
