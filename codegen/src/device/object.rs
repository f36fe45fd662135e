//! The object file that carries a crate's container.
//!
//! ```text
//! section hcf (alloc, retained)   __schism_hcf_<crate>:  the framed record
//!                                 __schism_hcf_<crate>_end:
//! .init_array                     registers the record with the runtime
//! .fini_array                     takes it out again, before the object is unloaded
//! ```
//!
//! The object is an ordinary member of the crate's rlib. Launch sites refer to its symbols, so a
//! linker that links a launch links the container; its name does not end like that of a codegen
//! unit, so link-time optimisation, which replaces those, keeps it.

use std::ffi::{CStr, CString};
use std::path::Path;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target_machine::*;
use llvm_sys::{LLVMLinkage, LLVMVisibility};
use rustc_codegen_ssa::CompiledModule;
use rustc_session::Session;
use rustc_session::config::OutputFilenames;
use schism_passes::frontend::import_host_symbols::THREAD_LOCAL;

use crate::device::half::Record;
use crate::device::work_products::SavedObject;
use crate::kernels::names::{container_begin, container_end};
use crate::rustc;

/// The section of containers.
const SECTION: &CStr = c"hcf";

/// Alignment of a record in bytes.
const ALIGNMENT: u32 = 16;

/// Writes the object; reports through the session and returns `None` if that fails.
pub(crate) fn write(
    sess: &Session,
    outputs: &OutputFilenames,
    record: &Record,
) -> Option<CompiledModule> {
    // SAFETY: the context, the module and the target machine live and die in this call.
    let bytes = unsafe { emit(&sess.target.llvm_target, record) };
    put(sess, outputs, &record.crate_id, |path| {
        std::fs::write(path, bytes?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    })
}

/// Copies the object of an earlier session; reports through the session and returns `None` if that
/// fails.
pub(crate) fn copy(
    sess: &Session,
    outputs: &OutputFilenames,
    saved: &SavedObject,
    crate_id: &str,
) -> Option<CompiledModule> {
    put(sess, outputs, crate_id, |path| {
        std::fs::copy(&saved.object, path).map(|_| ()).map_err(|error| {
            format!("cannot copy {} to {}: {error}", saved.object.display(), path.display())
        })
    })
}

/// Adds the object to the linker's inputs.
fn put(
    sess: &Session,
    outputs: &OutputFilenames,
    crate_id: &str,
    at: impl FnOnce(&Path) -> Result<(), String>,
) -> Option<CompiledModule> {
    let name = format!("schism-{crate_id}");
    let path = rustc::object_path(sess, outputs, &name);
    match at(&path) {
        Ok(()) => Some(rustc::compiled_module(name, path)),
        Err(message) => {
            sess.dcx().err(format!("schism: the container's object file failed: {message}"));
            None
        }
    }
}

/// The bytes of the object file.
///
/// # Safety
/// LLVM's target for `triple` has been initialised, as rustc does before any code generation.
unsafe fn emit(triple: &str, record: &Record) -> Result<Vec<u8>, String> {
    let triple = CString::new(triple).map_err(|error| error.to_string())?;
    // SAFETY: every object made here is disposed of here, users before what they use.
    unsafe {
        let context = LLVMContextCreate();
        let module = LLVMModuleCreateWithNameInContext(c"schism.container".as_ptr(), context);
        LLVMSetTarget(module, triple.as_ptr());
        define(module, record);
        let bytes = assemble(module, &triple);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
        bytes
    }
}

/// # Safety
/// `module` is live and empty.
unsafe fn define(module: LLVMModuleRef, record: &Record) {
    // SAFETY: everything is made in the live module and its context.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let pointer = LLVMPointerTypeInContext(context, 0);
        let void = LLVMVoidTypeInContext(context);
        let (begin, end) = (container_begin(&record.crate_id), container_end(&record.crate_id));

        let bytes =
            LLVMConstStringInContext2(context, record.bytes.as_ptr().cast(), record.bytes.len(), 1);
        let name = CString::new(begin).expect("made of a prefix and digits");
        let container = LLVMAddGlobal(module, LLVMTypeOf(bytes), name.as_ptr());
        LLVMSetInitializer(container, bytes);
        LLVMSetGlobalConstant(container, 1);
        LLVMSetAlignment(container, ALIGNMENT);
        LLVMSetSection(container, SECTION.as_ptr());
        LLVMSetVisibility(container, LLVMVisibility::LLVMHiddenVisibility);

        let byte = LLVMInt8TypeInContext(context);
        let length = LLVMConstInt(LLVMInt64TypeInContext(context), record.bytes.len() as u64, 0);
        let after = LLVMConstGEP2(byte, container, [length].as_mut_ptr(), 1);
        let name = CString::new(end).expect("made of a prefix and digits");
        let end = LLVMAddAlias2(module, byte, 0, after, name.as_ptr());
        LLVMSetVisibility(end, LLVMVisibility::LLVMHiddenVisibility);

        let host = define_host_table(module, record);
        let mut used = vec![container];
        for (section, function, callee, arguments) in [
            (c".init_array", c"schism.register", c"__schism_hcf_register", 3),
            (c".fini_array", c"schism.unregister", c"__schism_hcf_unregister", 1),
        ] {
            let mut parameters = [pointer, pointer, pointer];
            let callee_type = LLVMFunctionType(void, parameters.as_mut_ptr(), arguments, 0);
            let callee = LLVMAddFunction(module, callee.as_ptr(), callee_type);
            // A strong reference, so that a linker takes the runtime's definition out of its
            // archive; of default visibility, so that the runtime may live in a shared library.

            let function_type = LLVMFunctionType(void, std::ptr::null_mut(), 0, 0);
            let function = LLVMAddFunction(module, function.as_ptr(), function_type);
            LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, block);
            let mut values = [container, end, host];
            LLVMBuildCall2(
                builder,
                callee_type,
                callee,
                values.as_mut_ptr(),
                arguments,
                c"".as_ptr(),
            );
            LLVMBuildRetVoid(builder);
            LLVMDisposeBuilder(builder);

            let hook = LLVMAddGlobal(module, pointer, c"schism.hook".as_ptr());
            LLVMSetInitializer(hook, function);
            LLVMSetLinkage(hook, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetSection(hook, section.as_ptr());
            LLVMSetAlignment(hook, 8);
            used.push(hook);
        }

        // What is listed here gets the flag that keeps a section when a linker drops unused ones.
        let list = LLVMConstArray2(pointer, used.as_mut_ptr(), used.len() as u64);
        let global = LLVMAddGlobal(module, LLVMTypeOf(list), c"llvm.used".as_ptr());
        LLVMSetInitializer(global, list);
        LLVMSetLinkage(global, LLVMLinkage::LLVMAppendingLinkage);
        LLVMSetSection(global, c"llvm.metadata".as_ptr());
    }
}

/// The table of what kernels in the program's process need of it, in the order in which the container
/// lists it, with an entry in front that each program has; null if they need nothing.
///
/// References are weak: what the linker does not find is null, and a kernel that needs it is none.
/// Thread-local variables have no address in a table, but a function that returns that of the running
/// thread's.
///
/// # Safety
/// `module` is live.
unsafe fn define_host_table(module: LLVMModuleRef, record: &Record) -> LLVMValueRef {
    // SAFETY: everything is made in the live module and its context; names end with a NUL.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let pointer = LLVMPointerTypeInContext(context, 0);
        if record.host_symbols.is_empty() {
            return LLVMConstNull(pointer);
        }
        let byte = LLVMInt8TypeInContext(context);
        let name = |symbol: &str| CString::new(symbol).unwrap_or_default();
        let weak = |symbol: &str| {
            let symbol = name(symbol);
            let known = LLVMGetNamedGlobal(module, symbol.as_ptr());
            if !known.is_null() {
                return known;
            }
            let global = LLVMAddGlobal(module, byte, symbol.as_ptr());
            LLVMSetLinkage(global, LLVMLinkage::LLVMExternalWeakLinkage);
            global
        };
        let own_of_thread = |symbol: &str| {
            let variable = weak(symbol);
            LLVMSetThreadLocal(variable, 1);
            let ty = LLVMFunctionType(pointer, std::ptr::null_mut(), 0, 0);
            let function = LLVMAddFunction(module, c"schism.thread_local".as_ptr(), ty);
            LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, block);
            LLVMBuildRet(builder, variable);
            LLVMDisposeBuilder(builder);
            function
        };
        let entry = |symbol: &String| match symbol.strip_prefix(THREAD_LOCAL) {
            Some(variable) => own_of_thread(variable),
            None => weak(symbol),
        };
        let mut entries = vec![weak(&record.everywhere)];
        entries.extend(record.host_symbols.iter().map(entry));
        let table = LLVMConstArray2(pointer, entries.as_mut_ptr(), entries.len() as u64);
        let global = LLVMAddGlobal(module, LLVMTypeOf(table), c"schism.host".as_ptr());
        LLVMSetInitializer(global, table);
        LLVMSetGlobalConstant(global, 1);
        LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage);
        global
    }
}

/// # Safety
/// `module` is live, and the target for `triple` has been initialised.
unsafe fn assemble(module: LLVMModuleRef, triple: &CStr) -> Result<Vec<u8>, String> {
    // SAFETY: as promised by the caller; messages and buffers are copied, then disposed of.
    unsafe {
        let take = |message: *mut std::ffi::c_char| {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeMessage(message);
            text
        };
        let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        if LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut message) != 0 {
            return Err(take(message));
        }
        let machine = LLVMCreateTargetMachine(
            target,
            triple.as_ptr(),
            c"".as_ptr(),
            c"".as_ptr(),
            LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
            LLVMRelocMode::LLVMRelocPIC,
            LLVMCodeModel::LLVMCodeModelDefault,
        );
        let layout = LLVMCreateTargetDataLayout(machine);
        llvm_sys::target::LLVMSetModuleDataLayout(module, layout);
        llvm_sys::target::LLVMDisposeTargetData(layout);
        let mut buffer = std::ptr::null_mut();
        let failed = LLVMTargetMachineEmitToMemoryBuffer(
            machine,
            module,
            LLVMCodeGenFileType::LLVMObjectFile,
            &mut message,
            &mut buffer,
        );
        LLVMDisposeTargetMachine(machine);
        if failed != 0 {
            return Err(take(message));
        }
        let data = LLVMGetBufferStart(buffer).cast::<u8>();
        let bytes = std::slice::from_raw_parts(data, LLVMGetBufferSize(buffer)).to_vec();
        LLVMDisposeMemoryBuffer(buffer);
        Ok(bytes)
    }
}
