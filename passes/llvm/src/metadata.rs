//! Metadata: nodes, kinds, and what has them.

use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

use llvm_sys::LLVMOpaqueMetadata;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{
    LLVMGetMetadataKind, LLVMMetadataKind, LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode,
};
use llvm_sys::prelude::LLVMMetadataRef;

use crate::ffi::bytes;
use crate::{ContextRef, Value};

/// Metadata of a context that lives at least for `'m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Metadata<'m>(NonNull<LLVMOpaqueMetadata>, PhantomData<&'m ()>);

impl<'m> Metadata<'m> {
    /// The handle of metadata, unless it is null.
    ///
    /// # Safety
    /// `raw` is null or metadata that lives for `'m`.
    pub(crate) unsafe fn from_raw(raw: LLVMMetadataRef) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self(raw, PhantomData))
    }

    /// The handle of metadata that LLVM cannot have left out.
    ///
    /// # Safety
    /// `raw` is null, which panics, or metadata that lives for `'m`.
    #[track_caller]
    pub(crate) unsafe fn known(raw: LLVMMetadataRef) -> Self {
        // SAFETY: as promised by the caller.
        unsafe { Self::from_raw(raw) }.expect("internal error: LLVM gave no metadata")
    }

    pub(crate) fn raw(self) -> LLVMMetadataRef {
        self.0.as_ptr()
    }

    /// Which class of LLVM's it is.
    pub(crate) fn class(self) -> LLVMMetadataKind {
        // SAFETY: the metadata is live.
        unsafe { LLVMGetMetadataKind(self.raw()) }
    }

    /// Whether it describes a function of the source.
    pub fn is_subprogram(self) -> bool {
        matches!(self.class(), LLVMMetadataKind::LLVMDISubprogramMetadataKind)
    }

    /// The metadata as a value: what [`Value::set_metadata`] takes.
    pub fn as_value(self, context: ContextRef<'m>) -> Value<'m> {
        // SAFETY: the context and its metadata are live.
        unsafe { Value::known(LLVMMetadataAsValue(context.raw(), self.raw())) }
    }
}

/// A node that stands for another one until that is made.
#[derive(Debug)]
pub struct TemporaryNode<'m>(Metadata<'m>);

impl<'m> TemporaryNode<'m> {
    /// The node, to be an operand meanwhile.
    pub fn metadata(&self) -> Metadata<'m> {
        self.0
    }

    /// Has all that use it use the other one, and removes it.
    pub fn replace_with(self, node: Metadata<'m>) {
        assert!(self.0 != node, "internal error: a node in place of itself");
        // SAFETY: it is a temporary node, which LLVM disposes of here, and the handle is consumed.
        unsafe { LLVMMetadataReplaceAllUsesWith(self.0.raw(), node.raw()) };
    }
}

impl<'m> ContextRef<'m> {
    /// Metadata that is a text.
    pub fn md_string(self, text: &str) -> Metadata<'m> {
        // SAFETY: the context is live, and the text, which LLVM copies, is passed with its length.
        unsafe {
            Metadata::known(LLVMMDStringInContext2(self.raw(), text.as_ptr().cast(), text.len()))
        }
    }

    /// A node of these operands.
    pub fn md_node(self, operands: &[Metadata<'m>]) -> Metadata<'m> {
        let mut operands: Vec<_> = operands.iter().map(|operand| operand.raw()).collect();
        let (start, count) = (operands.as_mut_ptr(), operands.len());
        // SAFETY: context and operands are live, and the array is as long as LLVM is told.
        unsafe { Metadata::known(LLVMMDNodeInContext2(self.raw(), start, count)) }
    }

    /// A node that stands for another one until that is made.
    pub fn temporary_node(self) -> TemporaryNode<'m> {
        // SAFETY: the context is live, and the node has no operands.
        TemporaryNode(unsafe { Metadata::known(LLVMTemporaryMDNode(self.raw(), null_mut(), 0)) })
    }
}

impl<'m> Value<'m> {
    /// A constant, or a node that is a value, as metadata.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn as_metadata(self) -> Metadata<'m> {
        self.check(self.is_constant() || self.is_metadata(), "constant or node of metadata");
        // SAFETY: it is a constant, or metadata, which LLVM takes out of the value.
        unsafe { Metadata::known(LLVMValueAsMetadata(self.raw())) }
    }

    #[track_caller]
    fn check_has_metadata(self) {
        self.check(self.is_instruction(), "instruction");
    }

    /// Whether an instruction has metadata, its place in the source included.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn has_metadata(self) -> bool {
        self.check_has_metadata();
        // SAFETY: it is an instruction.
        unsafe { LLVMHasMetadata(self.raw()) != 0 }
    }

    /// An instruction's metadata of a kind, by LLVM's number for it.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn metadata(self, kind: u32) -> Option<Value<'m>> {
        self.check_has_metadata();
        // SAFETY: it is an instruction.
        unsafe { Value::from_raw(LLVMGetMetadata(self.raw(), kind)) }
    }

    /// An instruction's metadata of a kind, by name.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn named_kind_metadata(self, kind: &str) -> Option<Value<'m>> {
        self.metadata(self.context().metadata_kind(kind))
    }

    /// Gives an instruction metadata of a kind, by LLVM's number for it.
    ///
    /// # Panics
    /// If this is no instruction, or `node` no node of metadata.
    #[track_caller]
    pub fn set_metadata(self, kind: u32, node: Value<'m>) {
        self.check_has_metadata();
        node.check(node.is_metadata(), "node of metadata");
        // SAFETY: it is an instruction, and gets a node.
        unsafe { LLVMSetMetadata(self.raw(), kind, node.raw()) };
    }

    /// Takes an instruction's metadata of a kind away, if it has any.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn remove_metadata(self, kind: u32) {
        self.check_has_metadata();
        // SAFETY: it is an instruction, and LLVM takes a null for none.
        unsafe { LLVMSetMetadata(self.raw(), kind, null_mut()) };
    }

    /// All metadata of an instruction with their kinds, but for its place in the source.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn metadata_entries(self) -> Vec<(u32, Metadata<'m>)> {
        self.check_has_metadata();
        let mut count = 0;
        // SAFETY: it is an instruction; each index is below the number of entries, which are
        // disposed of after the last use.
        unsafe {
            let entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(self.raw(), &mut count);
            take_entries(entries, count)
        }
    }

    #[track_caller]
    fn check_global_object(self) {
        self.check(self.is_global_object(), "function or global variable");
    }

    /// All metadata of a function or a global variable with their kinds.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn global_metadata(self) -> Vec<(u32, Metadata<'m>)> {
        self.check_global_object();
        let mut count = 0;
        // SAFETY: it is one of these; each index is below the number of entries, which are disposed
        // of after the last use.
        unsafe {
            let entries = LLVMGlobalCopyAllMetadata(self.raw(), &mut count);
            take_entries(entries, count)
        }
    }

    /// Gives a function or a global variable metadata of a kind.
    ///
    /// # Panics
    /// If this is neither, or the metadata no node.
    #[track_caller]
    pub fn set_global_metadata(self, kind: u32, node: Metadata<'m>) {
        self.check_global_object();
        let as_value = node.as_value(self.context());
        as_value.check(as_value.is_metadata(), "node of metadata");
        // SAFETY: it is one of these, and gets a node.
        unsafe { LLVMGlobalSetMetadata(self.raw(), kind, node.raw()) };
    }

    /// Takes the metadata of a kind from a function or a global variable, if it has any.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn erase_global_metadata(self, kind: u32) {
        self.check_global_object();
        // SAFETY: it is one of these.
        unsafe { LLVMGlobalEraseMetadata(self.raw(), kind) };
    }

    /// Takes all metadata from a function or a global variable.
    ///
    /// # Panics
    /// If this is neither.
    #[track_caller]
    pub fn clear_global_metadata(self) {
        self.check_global_object();
        // SAFETY: it is one of these.
        unsafe { LLVMGlobalClearMetadata(self.raw()) };
    }

    /// The operands of a node of metadata; `None` for each that is null.
    ///
    /// # Panics
    /// If this is no node.
    #[track_caller]
    pub fn md_operands(self) -> Vec<Option<Value<'m>>> {
        self.check(self.is_metadata(), "node of metadata");
        // SAFETY: it is a node, and the array has room for as many operands as it has.
        unsafe {
            let mut operands = vec![null_mut(); LLVMGetMDNodeNumOperands(self.raw()) as usize];
            LLVMGetMDNodeOperands(self.raw(), operands.as_mut_ptr());
            operands.into_iter().map(|operand| Value::from_raw(operand)).collect()
        }
    }

    /// The bytes of metadata that is a text; `None` of all else.
    pub fn md_text(self) -> Option<Vec<u8>> {
        let mut length = 0;
        // SAFETY: LLVM answers null for what is no text; the bytes of one are copied here.
        unsafe {
            let text = LLVMGetMDString(self.raw(), &mut length);
            (!text.is_null()).then(|| bytes(text.cast(), length as usize).to_vec())
        }
    }
}

/// The entries of a list, which goes.
///
/// # Safety
/// `entries` has so many, of metadata that live for `'m`, and is the caller's.
unsafe fn take_entries<'m>(
    entries: *mut llvm_sys::prelude::LLVMValueMetadataEntry,
    count: usize,
) -> Vec<(u32, Metadata<'m>)> {
    // SAFETY: as promised by the caller.
    unsafe {
        let all = (0..count as u32)
            .map(|index| {
                let node = LLVMValueMetadataEntriesGetMetadata(entries, index);
                (LLVMValueMetadataEntriesGetKind(entries, index), Metadata::known(node))
            })
            .collect();
        LLVMDisposeValueMetadataEntries(entries);
        all
    }
}
