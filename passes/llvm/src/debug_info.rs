//! Places in the source: those that instructions have, and new ones.

use std::ptr::null_mut;

use llvm_sys::core::{
    LLVMGetDebugLocColumn, LLVMGetDebugLocDirectory, LLVMGetDebugLocFilename, LLVMGetDebugLocLine,
};
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::{LLVMDIBuilderRef, LLVMValueRef};

use crate::ffi::lossy;
use crate::{Metadata, ModuleRef, Value};

/// A place in the source: LLVM's `DILocation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'m>(Metadata<'m>);

impl<'m> Location<'m> {
    /// The place of the call that was inlined here, if one was.
    pub fn inlined_at(self) -> Option<Location<'m>> {
        // SAFETY: it is a place, and what it was inlined at is one.
        unsafe { Metadata::from_raw(LLVMDILocationGetInlinedAt(self.0.raw())).map(Location) }
    }

    /// What it is in: a function, or a part of one.
    pub fn scope(self) -> Metadata<'m> {
        // SAFETY: it is a place, which has a scope.
        unsafe { Metadata::known(LLVMDILocationGetScope(self.0.raw())) }
    }

    /// The line, from 1; 0 if it is none in particular.
    pub fn line(self) -> u32 {
        // SAFETY: it is a place.
        unsafe { LLVMDILocationGetLine(self.0.raw()) }
    }

    /// The name of the file; empty if it is not known.
    pub fn file_name(self) -> String {
        let mut length = 0;
        // SAFETY: a place's scope is one that may have a file; the name has the length that comes
        // with it, and is copied here.
        unsafe {
            let file = LLVMDIScopeGetFile(self.scope().raw());
            if file.is_null() {
                return String::new();
            }
            let name = LLVMDIFileGetFilename(file, &mut length);
            lossy(name, length as usize)
        }
    }
}

/// Which part of a place's text is asked for.
type TextOf = unsafe extern "C" fn(LLVMValueRef, *mut u32) -> *const std::ffi::c_char;

impl<'m> Value<'m> {
    /// An instruction's place in the source, if it has one.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn debug_loc(self) -> Option<Location<'m>> {
        self.check(self.is_instruction(), "instruction");
        // SAFETY: it is an instruction.
        unsafe { Metadata::from_raw(LLVMInstructionGetDebugLoc(self.raw())).map(Location) }
    }

    /// Gives an instruction another place in the source, or none.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn set_debug_loc(self, location: Option<Location<'m>>) {
        self.check(self.is_instruction(), "instruction");
        let location = location.map_or(null_mut(), |location| location.0.raw());
        // SAFETY: it is an instruction, and LLVM takes a null for none.
        unsafe { LLVMInstructionSetDebugLoc(self.raw(), location) };
    }

    /// Directory, file, line and column of an instruction's place in the source, if it has one.
    ///
    /// # Panics
    /// If this is no instruction.
    #[track_caller]
    pub fn source_position(self) -> Option<(String, String, u32, u32)> {
        self.debug_loc()?;
        let text = |get: TextOf| {
            let mut length = 0;
            // SAFETY: it is an instruction with a place; the text has the length that comes with
            // it, and is copied here.
            unsafe {
                let start = get(self.raw(), &mut length);
                lossy(start, length as usize)
            }
        };
        let (directory, file) = (text(LLVMGetDebugLocDirectory), text(LLVMGetDebugLocFilename));
        // SAFETY: it is an instruction with a place.
        let [line, column] =
            unsafe { [LLVMGetDebugLocLine(self.raw()), LLVMGetDebugLocColumn(self.raw())] };
        Some((directory, file, line, column))
    }

    /// The description of a function, if it has one.
    ///
    /// # Panics
    /// If this is no function.
    #[track_caller]
    pub fn subprogram(self) -> Option<Metadata<'m>> {
        self.check(self.is_function(), "function");
        // SAFETY: it is a function.
        unsafe { Metadata::from_raw(LLVMGetSubprogram(self.raw())) }
    }

    /// Gives a function a description.
    ///
    /// # Panics
    /// If this is no function, or the metadata no description of one.
    #[track_caller]
    pub fn set_subprogram(self, description: Metadata<'m>) {
        self.check(self.is_function(), "function");
        self.check(description.is_subprogram(), "function for such a description");
        // SAFETY: it is a function, and gets a function's description.
        unsafe { LLVMSetSubprogram(self.raw(), description.raw()) };
    }
}

/// Describes the functions of a module, so that its instructions can have lines of one file. The
/// description is complete when this goes.
#[derive(Debug)]
pub struct LineScopes<'m> {
    builder: LLVMDIBuilderRef,
    module: ModuleRef<'m>,
    file: Metadata<'m>,
    ty: Metadata<'m>,
}

impl<'m> LineScopes<'m> {
    /// For a module without debug information, whose lines are of a file of this name.
    pub fn new(module: ModuleRef<'m>, file: &str) -> Self {
        module.declare_debug_info();
        let (start, length) = (file.as_ptr().cast(), file.len());
        // SAFETY: the module is live, and so is the builder; texts are passed with their lengths.
        unsafe {
            let builder = LLVMCreateDIBuilder(module.raw());
            let file = LLVMDIBuilderCreateFile(builder, start, length, start, 0);
            LLVMDIBuilderCreateCompileUnit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageRust,
                file,
                start,
                length,
                0,
                start,
                0,
                0,
                start,
                0,
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindLineTablesOnly,
                0,
                1,
                0,
                start,
                0,
                start,
                0,
            );
            let ty = LLVMDIBuilderCreateSubroutineType(builder, file, null_mut(), 0, 0);
            Self { builder, module, file: Metadata::known(file), ty: Metadata::known(ty) }
        }
    }

    /// Describes a function that is described by nothing yet.
    ///
    /// # Panics
    /// If this is no definition.
    #[track_caller]
    pub fn describe(&self, function: Value<'m>) -> Metadata<'m> {
        function.entry();
        let name = function.name();
        let (start, length) = (name.as_ptr().cast(), name.len());
        let (file, ty) = (self.file.raw(), self.ty.raw());
        // SAFETY: the builder is live, and the name is passed with its length.
        let scope = unsafe {
            Metadata::known(LLVMDIBuilderCreateFunction(
                self.builder,
                file,
                start,
                length,
                start,
                length,
                file,
                0,
                ty,
                1,
                1,
                0,
                0,
                0,
            ))
        };
        function.set_subprogram(scope);
        scope
    }

    /// A line of a function, by the description that [`describe`](Self::describe) gave.
    ///
    /// # Panics
    /// If that is none.
    #[track_caller]
    pub fn line(&self, line: u32, scope: Metadata<'m>) -> Location<'m> {
        assert!(scope.is_subprogram(), "internal error: no description of a function");
        let context = self.module.context().raw();
        // SAFETY: context and scope are live.
        unsafe {
            let scope = scope.raw();
            let location = LLVMDIBuilderCreateDebugLocation(context, line, 0, scope, null_mut());
            Location(Metadata::known(location))
        }
    }
}

impl Drop for LineScopes<'_> {
    fn drop(&mut self) {
        // SAFETY: the builder is ours.
        unsafe {
            LLVMDIBuilderFinalize(self.builder);
            LLVMDisposeDIBuilder(self.builder);
        }
    }
}
