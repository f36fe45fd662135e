//! Links functions without MIR from the standard library's bitcode.
//!
//! Before:
//! ```llvm
//! define void @kernel() { call void @core::str::converts::from_utf8(...) ... }
//! declare void @core::str::converts::from_utf8(ptr, ptr, i64)
//! ```
//! After:
//! ```llvm
//! define void @kernel() { call void @core::str::converts::from_utf8(...) ... }
//! define internal void @core::str::converts::from_utf8(ptr, ptr, i64) { ... }
//! ```
//!
//! The [`StdBodies`] knows which functions and constants of the standard library a kernel can have.
//! Only what is declared and in use is linked, with what that reaches in turn; a module of which
//! nothing is needed is not read. What comes in is the host's code, so it is shaped as the rest of
//! the module has been before: [`strip_host_attributes`], [`lower_unwind`], [`lower_panics`], and
//! so on.

use std::collections::HashSet;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMDiagnosticSeverity, LLVMLinkage};
use thiserror::Error;

use crate::frontend::freeze_initialisers;
use crate::frontend::kernel_reachability;
use crate::frontend::lower_formatters;
use crate::frontend::lower_panics;
use crate::frontend::lower_unwind;
use crate::frontend::mark_convergent;
use crate::frontend::simplify;
use crate::frontend::std_bodies::build_index::{PERSONALITY, aliases};
use crate::frontend::strip_host_attributes;
use crate::frontend::strip_instrumentation;
use crate::ir;
use crate::spec::std_bodies::bodies::StdBodies;
use crate::spec::std_bodies::index::Index;
use crate::spec::std_bodies::module::{ModuleRef, StdBodiesError};

/// Why bodies cannot be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// Their std_bodies has none after all.
    #[error(transparent)]
    StdBodies(#[from] StdBodiesError),
    /// LLVM cannot link a module.
    #[error("{} cannot be linked: {message}", path.display())]
    Link {
        /// Where the module is from.
        path: std::path::PathBuf,
        /// LLVM's message.
        message: String,
    },
    /// A pass of LLVM failed.
    #[error("{0}")]
    Pass(String),
}

/// Runs the pass; `kernels` are the names of the kernel functions. It stands after the cleanup, so
/// that nothing comes in for code that is dead, and cleans up after itself.
///
/// # Errors
/// See [`ImportError`].
pub fn run(
    module: &Module<'_>,
    std_bodies: Option<&StdBodies>,
    kernels: &HashSet<&str>,
) -> Result<(), ImportError> {
    let declared = declared_and_used(module);
    let Some(std_bodies) = std_bodies.filter(|_| !declared.is_empty()) else { return Ok(()) };
    let index = std_bodies.index()?;
    if !declared.iter().any(|name| index.bodies.contains_key(name)) {
        return Ok(());
    }
    // Messages are formatted by descriptions; formatting functions come only to code that formats.
    let formats = |declared: &[String]| declared.contains(&index.special.writer);
    let formatters = index.special.formatters.iter().map(|formatter| &*formatter.symbol);
    let panics = index.special.panics.iter().map(|panic| &*panic.symbol).chain([PERSONALITY]);
    if !formats(&declared) {
        let held = hold_back(module, panics.clone().chain(formatters));
        link_all(module, index, &mut |declared| !formats(declared))?;
        release(held);
    }
    if formats(&declared_and_used(module)) {
        let held = hold_back(module, panics);
        link_all(module, index, &mut |_| true)?;
        release(held);
    }
    strip_instrumentation::run(module);
    strip_host_attributes::run(module);
    mark_convergent::run(module);
    lower_unwind::run(module).map_err(ImportError::Pass)?;
    lower_formatters::run(module, &index.special.formatters, &index.special.types);
    lower_panics::run(module, &index.special.panics, &index.special.types);
    kernel_reachability::run(module, kernels).map_err(ImportError::Pass)?;
    freeze_initialisers::run(module);
    simplify::run(module).map_err(ImportError::Pass)
}

/// The names of functions and globals without a body that something uses.
fn declared_and_used(module: &Module<'_>) -> Vec<String> {
    let functions = module.get_functions().map(|function| function.as_value_ref());
    let globals = module.get_globals().map(|global| global.as_value_ref());
    functions
        .chain(globals)
        // SAFETY: the objects are live, and both questions change nothing.
        .filter(|&object| unsafe {
            LLVMIsDeclaration(object) != 0 && !LLVMGetFirstUse(object).is_null()
        })
        .map(ir::name_of)
        .filter(|name| !name.starts_with("llvm."))
        .collect()
}

/// Links what is declared, module by module, for as long as `go_on` says so of what is declared.
fn link_all(
    module: &Module<'_>,
    index: &Index,
    go_on: &mut dyn FnMut(&[String]) -> bool,
) -> Result<(), ImportError> {
    for (number, source) in index.modules.iter().enumerate() {
        // What earlier modules brought in may need this one.
        let needs = |name: &String| index.bodies.get(name) == Some(&number);
        let declared = declared_and_used(module);
        if !go_on(&declared) {
            break;
        }
        if declared.iter().any(needs) {
            link(module, source, index)?;
        }
    }
    Ok(())
}

/// Gives the functions that shall not come in a body for as long as others do: the linker keeps it.
fn hold_back<'a>(module: &Module<'_>, names: impl Iterator<Item = &'a str>) -> Vec<LLVMValueRef> {
    let mut held = Vec::new();
    // SAFETY: the module is live; a body is only given to a function that has none. The type of a
    // function that is not yet declared does not matter: whoever calls it brings his own.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        for name in names {
            let known = LLVMGetNamedFunctionWithLength(
                module.as_mut_ptr(),
                name.as_ptr().cast(),
                name.len(),
            );
            let function = if known.is_null() {
                let ty =
                    LLVMFunctionType(LLVMVoidTypeInContext(context), std::ptr::null_mut(), 0, 0);
                let Ok(name) = std::ffi::CString::new(name) else { continue };
                LLVMAddFunction(module.as_mut_ptr(), name.as_ptr(), ty)
            } else {
                known
            };
            if LLVMCountBasicBlocks(function) == 0 {
                let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderAtEnd(builder, block);
                LLVMBuildUnreachable(builder);
                LLVMDisposeBuilder(builder);
                held.push(function);
            }
        }
    }
    held
}

/// Takes the bodies of [`hold_back`] away again.
fn release(functions: Vec<LLVMValueRef>) {
    for function in functions {
        // SAFETY: the function is live and has the one block that it was given; nothing branches to
        // an entry block.
        unsafe {
            LLVMDeleteBasicBlock(LLVMGetEntryBasicBlock(function));
            if LLVMGetFirstUse(function).is_null() {
                LLVMDeleteFunction(function);
            }
        }
    }
}

/// Links what `module` declares and `source` defines, and what that needs.
fn link(module: &Module<'_>, source: &ModuleRef, index: &Index) -> Result<(), ImportError> {
    let mut unwanted = declared_and_used(module);
    unwanted.retain(|name| !index.bodies.contains_key(name));
    let bitcode = source.bitcode()?;
    // SAFETY: the module is live and its context outlives this call. The parsed module owns a copy
    // of the bitcode, reads functions out of it when the linker asks for them, and is consumed by
    // the linker. The diagnostic handler gets a pointer to `messages`, and is taken away before
    // that ends.
    unsafe {
        let context = LLVMGetModuleContext(module.as_mut_ptr());
        let mut messages = Vec::<String>::new();
        LLVMContextSetDiagnosticHandler(context, Some(note), (&raw mut messages).cast());
        let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
            bitcode.as_ptr().cast(),
            bitcode.len(),
            c"provided".as_ptr(),
        );
        let mut parsed = std::ptr::null_mut();
        let failed = LLVMGetBitcodeModuleInContext2(context, buffer, &mut parsed) != 0 || {
            make_optional(parsed);
            hide(parsed, &unwanted);
            LLVMLinkModules2(module.as_mut_ptr(), parsed) != 0
        };
        LLVMContextSetDiagnosticHandler(context, None, std::ptr::null_mut());
        if failed {
            return Err(ImportError::Link {
                path: source.path().to_owned(),
                message: messages.join("; "),
            });
        }
    }
    Ok(())
}

/// Lets the linker leave out what nobody needs.
///
/// # Safety
/// `source` is a live module.
unsafe fn make_optional(source: LLVMModuleRef) {
    // SAFETY: as promised by the caller; lists are collected before anything is removed.
    unsafe {
        let mut lists = Vec::new();
        let mut global = LLVMGetFirstGlobal(source);
        while !global.is_null() {
            if ir::name_of(global).starts_with("llvm.") {
                // What the host's linker must keep says nothing about what a kernel reaches.
                lists.push(global);
            } else {
                relink(global);
            }
            global = LLVMGetNextGlobal(global);
        }
        lists.into_iter().for_each(|list| LLVMDeleteGlobal(list));
        let mut function = LLVMGetFirstFunction(source);
        while !function.is_null() {
            relink(function);
            function = LLVMGetNextFunction(function);
        }
        aliases(source).into_iter().for_each(|alias| relink(alias));
        LLVMSetModuleInlineAsm2(source, c"".as_ptr(), 0);
    }
}

/// Gives what a kernel cannot have another name, so that the linker does not take it for what is
/// declared. Nothing that is wanted needs it.
///
/// # Safety
/// `source` is a live module.
unsafe fn hide(source: LLVMModuleRef, names: &[String]) {
    for name in names {
        let (text, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: as promised by the caller; the names are passed with their length.
        unsafe {
            for object in [
                LLVMGetNamedFunctionWithLength(source, text, length),
                LLVMGetNamedGlobalWithLength(source, text, length),
            ] {
                if !object.is_null() {
                    let hidden = b"schism.hidden";
                    LLVMSetValueName2(object, hidden.as_ptr().cast(), hidden.len());
                }
            }
        }
    }
}

/// # Safety
/// `object` is a live global value.
unsafe fn relink(object: LLVMValueRef) {
    // SAFETY: as promised by the caller.
    unsafe {
        let local = matches!(
            LLVMGetLinkage(object),
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        );
        if LLVMIsDeclaration(object) == 0 && !local {
            LLVMSetLinkage(object, LLVMLinkage::LLVMLinkOnceODRLinkage);
        }
    }
}

/// Keeps the errors among LLVM's messages. Without a handler, LLVM ends the process at an error.
extern "C" fn note(info: LLVMDiagnosticInfoRef, messages: *mut std::ffi::c_void) {
    // SAFETY: LLVM passes a live description and the pointer with which the handler was set, to a
    // vector that nothing else uses meanwhile; the text is cloned, then freed.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let message = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        (*messages.cast::<Vec<String>>()).push(message);
    }
}
