//! Attributes of functions, parameters, results and calls.
//!
//! Where an attribute is, is an index: [`FUNCTION_INDEX`], [`RETURN_INDEX`],
//! and `i + 1` for parameter `i`.

use std::ptr::null_mut;

use llvm_sys::core::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex};

use crate::Opcode;
use crate::ffi::lossy;
use crate::handles::{Attribute, Type, Value};

/// The index of a function's or a call's own attributes; those of parameter `i` are at `i + 1`.
pub const FUNCTION_INDEX: u32 = LLVMAttributeFunctionIndex;
/// The index of the attributes of a function's or a call's result.
pub const RETURN_INDEX: u32 = LLVMAttributeReturnIndex;

/// LLVM's number for an attribute; 0 if this LLVM does not know it.
pub fn enum_kind(name: &str) -> u32 {
    // SAFETY: the name is passed with its length.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// The number of an attribute that LLVM must know.
#[track_caller]
fn known_kind(name: &str) -> u32 {
    let kind = enum_kind(name);
    assert!(kind != 0, "internal error: LLVM has no attribute `{name}`");
    kind
}

impl<'m> Attribute<'m> {
    /// Whether it is only a text.
    pub fn is_string(self) -> bool {
        // SAFETY: the attribute is live.
        unsafe { LLVMIsStringAttribute(self.raw()) != 0 }
    }

    /// Whether its value is a type.
    pub fn is_type(self) -> bool {
        // SAFETY: the attribute is live.
        unsafe { LLVMIsTypeAttribute(self.raw()) != 0 }
    }

    fn is_enum(self) -> bool {
        // SAFETY: the attribute is live.
        unsafe { LLVMIsEnumAttribute(self.raw()) != 0 }
    }

    /// The kind: LLVM's number, or `None` if it is only a text.
    pub fn kind(self) -> Option<u32> {
        if self.is_string() {
            return None;
        }
        // SAFETY: the attribute is no text.
        Some(unsafe { LLVMGetEnumAttributeKind(self.raw()) })
    }

    /// Its number; 0 of one without.
    pub fn value(self) -> u64 {
        if !self.is_enum() {
            return 0;
        }
        // SAFETY: the attribute is one with a number, or without a value.
        unsafe { LLVMGetEnumAttributeValue(self.raw()) }
    }

    /// The type that is its value; `None` of all others.
    pub fn type_value(self) -> Option<Type<'m>> {
        if !self.is_type() {
            return None;
        }
        // SAFETY: the attribute's value is a type.
        Some(unsafe { Type::known(LLVMGetTypeAttributeValue(self.raw())) })
    }

    /// The name of one that is only a text; `None` of all others.
    pub fn string_name(self) -> Option<String> {
        if !self.is_string() {
            return None;
        }
        let mut length = 0;
        // SAFETY: the attribute is a text, of the length that LLVM tells, and is copied here.
        Some(unsafe {
            let start = LLVMGetStringAttributeKind(self.raw(), &mut length);
            lossy(start, length as usize)
        })
    }

    /// The value of one that is only a text; `None` of all others.
    pub fn string_value(self) -> Option<String> {
        if !self.is_string() {
            return None;
        }
        let mut length = 0;
        // SAFETY: the attribute is a text, of the length that LLVM tells, and is copied here.
        Some(unsafe {
            let start = LLVMGetStringAttributeValue(self.raw(), &mut length);
            lossy(start, length as usize)
        })
    }
}

/// Attributes of functions.
impl<'m> Value<'m> {
    #[track_caller]
    fn check_attributes(self) {
        self.check(self.is_function(), "function");
    }

    /// The attributes of a function at an index.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn attributes(self, index: u32) -> Vec<Attribute<'m>> {
        self.check_attributes();
        // SAFETY: it is a function, and the array is as long as LLVM says that it must be.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.raw(), index);
            let mut attributes = vec![null_mut(); count as usize];
            LLVMGetAttributesAtIndex(self.raw(), index, attributes.as_mut_ptr());
            attributes.into_iter().map(|attribute| Attribute::known(attribute)).collect()
        }
    }

    /// The attribute that a function has at an index, by LLVM's number for it.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn enum_attribute(self, index: u32, kind: u32) -> Option<Attribute<'m>> {
        self.check_attributes();
        // SAFETY: it is a function.
        unsafe { Attribute::from_raw(LLVMGetEnumAttributeAtIndex(self.raw(), index, kind)) }
    }

    /// Adds an attribute to a function.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn add_attribute(self, index: u32, attribute: Attribute<'m>) {
        self.check_attributes();
        // SAFETY: it is a function, and the attribute is live.
        unsafe { LLVMAddAttributeAtIndex(self.raw(), index, attribute.raw()) };
    }

    /// Takes an attribute from a function, if it has it.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn remove_enum_attribute(self, index: u32, kind: u32) {
        self.check_attributes();
        // SAFETY: it is a function; LLVM accepts an attribute that it does not have.
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.raw(), index, kind) };
    }

    /// Adds an attribute to a function, by name, with its value: 0 for those without, and for
    /// `memory` that of none.
    ///
    /// # Panics
    /// If this is no function, or LLVM knows no such attribute.
    #[track_caller]
    pub fn add_attribute_at(self, index: u32, name: &str, value: u64) {
        self.add_attribute(index, self.context().enum_attribute(known_kind(name), value));
    }

    /// Adds an attribute of a function itself, as [`add_attribute_at`](Self::add_attribute_at)
    /// does.
    #[track_caller]
    pub fn add_function_attribute(self, name: &str, value: u64) {
        self.add_attribute_at(FUNCTION_INDEX, name, value);
    }

    /// Whether a function has an attribute.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn has_function_attribute(self, name: &str) -> bool {
        self.enum_attribute(FUNCTION_INDEX, enum_kind(name)).is_some()
    }

    /// Takes an attribute from a function, if it has it.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn remove_function_attribute(self, name: &str) {
        self.remove_enum_attribute(FUNCTION_INDEX, enum_kind(name));
    }

    /// An attribute of a function that is only a text.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn string_attribute(self, index: u32, name: &str) -> Option<Attribute<'m>> {
        self.check_attributes();
        // SAFETY: it is a function, and the name is passed with its length.
        unsafe {
            Attribute::from_raw(LLVMGetStringAttributeAtIndex(
                self.raw(),
                index,
                name.as_ptr().cast(),
                name.len() as u32,
            ))
        }
    }

    /// Adds an attribute of a function that is only a text.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn add_string_attribute(self, name: &str, value: &str) {
        self.add_attribute(FUNCTION_INDEX, self.context().string_attribute(name, value));
    }

    /// Takes an attribute that is only a text from a function, if it has it.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn remove_string_attribute(self, name: &str) {
        self.check_attributes();
        // SAFETY: it is a function, and the name is passed with its length; LLVM accepts an
        // attribute that it does not have.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.raw(),
                FUNCTION_INDEX,
                name.as_ptr().cast(),
                name.len() as u32,
            );
        }
    }

    /// The attribute of this name that a value has as a parameter of its function.
    pub fn parameter_attribute(self, name: &str) -> Option<Attribute<'m>> {
        let index = self.param_index()?;
        self.param_function().enum_attribute(index + 1, enum_kind(name))
    }

    /// Says that a parameter of a function is a multiple of `align`, if no more is said of it.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn align_parameter(self, param: u32, align: u64) {
        let kind = known_kind("align");
        let known = self.enum_attribute(param + 1, kind);
        if known.is_none_or(|known| known.value() < align) {
            self.add_attribute(param + 1, self.context().enum_attribute(kind, align));
        }
    }

    /// The size of a `byval` parameter's pointee in bytes; `None` if the parameter is not one.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn byval_size(self, param: u32) -> Option<u64> {
        let ty = self.enum_attribute(param + 1, enum_kind("byval"))?.type_value()?;
        Some(self.module().data_layout().abi_size(ty))
    }

    /// Marks a builtin that gives the same value all through a work-item.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn mark_pure(self) {
        for attribute in ["nounwind", "willreturn", "memory"] {
            // For `memory` the value 0 is `memory(none)`.
            self.add_function_attribute(attribute, 0);
        }
    }
}

/// Attributes of calls. A call's callee may have further ones.
impl<'m> Value<'m> {
    #[track_caller]
    fn check_call(self) {
        let calls = matches!(self.opcode(), Some(Opcode::Call | Opcode::Invoke | Opcode::CallBr));
        self.check(calls, "call");
    }

    /// The attributes of a call at an index.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn call_attributes(self, index: u32) -> Vec<Attribute<'m>> {
        self.check_call();
        // SAFETY: it is a call, and the array is as long as LLVM says that it must be.
        unsafe {
            let count = LLVMGetCallSiteAttributeCount(self.raw(), index);
            let mut attributes = vec![null_mut(); count as usize];
            LLVMGetCallSiteAttributes(self.raw(), index, attributes.as_mut_ptr());
            attributes.into_iter().map(|attribute| Attribute::known(attribute)).collect()
        }
    }

    /// The attribute that a call has at an index, by LLVM's number for it.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn call_enum_attribute(self, index: u32, kind: u32) -> Option<Attribute<'m>> {
        self.check_call();
        // SAFETY: it is a call.
        unsafe { Attribute::from_raw(LLVMGetCallSiteEnumAttribute(self.raw(), index, kind)) }
    }

    /// Adds an attribute to a call.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn add_call_attribute_at(self, index: u32, attribute: Attribute<'m>) {
        self.check_call();
        // SAFETY: it is a call, and the attribute is live.
        unsafe { LLVMAddCallSiteAttribute(self.raw(), index, attribute.raw()) };
    }

    /// Takes an attribute from a call, if it has it itself.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn remove_call_enum_attribute(self, index: u32, kind: u32) {
        self.check_call();
        // SAFETY: it is a call; LLVM accepts an attribute that it does not have.
        unsafe { LLVMRemoveCallSiteEnumAttribute(self.raw(), index, kind) };
    }

    /// Whether a call has an attribute itself.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn has_call_attribute(self, name: &str) -> bool {
        self.call_enum_attribute(FUNCTION_INDEX, enum_kind(name)).is_some()
    }

    /// Adds an attribute without a value to a call.
    ///
    /// # Panics
    /// If this is no call, or LLVM knows no such attribute.
    #[track_caller]
    pub fn add_call_attribute(self, name: &str) {
        let attribute = self.context().enum_attribute(known_kind(name), 0);
        self.add_call_attribute_at(FUNCTION_INDEX, attribute);
    }

    /// Takes an attribute from a call, if it has it itself.
    ///
    /// # Panics
    /// If this is no call.
    #[track_caller]
    pub fn remove_call_attribute(self, name: &str) {
        self.remove_call_enum_attribute(FUNCTION_INDEX, enum_kind(name));
    }

    /// Gives a call the attributes of another one: those of its result, of its first parameters,
    /// and its own.
    ///
    /// # Panics
    /// If one of them is no call.
    #[track_caller]
    pub fn copy_call_attributes(self, from: Value<'m>) {
        let parameters = from.num_args();
        for index in (0..=parameters).chain([FUNCTION_INDEX]) {
            for attribute in from.call_attributes(index) {
                self.add_call_attribute_at(index, attribute);
            }
        }
    }
}
