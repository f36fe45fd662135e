//! A processor that LLVM generates code for.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use llvm_sys::core::{
    LLVMDisposeMemoryBuffer, LLVMGetBufferSize, LLVMGetBufferStart, LLVMSetDataLayout,
    LLVMSetTarget,
};
use llvm_sys::target::{LLVMCopyStringRepOfTargetData, LLVMDisposeTargetData};
use llvm_sys::target_machine::{
    LLVMCodeGenFileType, LLVMCodeGenOptLevel, LLVMCodeModel, LLVMCreateTargetDataLayout,
    LLVMCreateTargetMachine, LLVMDisposeTargetMachine, LLVMGetHostCPUFeatures, LLVMGetHostCPUName,
    LLVMGetTargetFromTriple, LLVMGetTargetMachineFeatureString, LLVMRelocMode,
    LLVMTargetMachineEmitToMemoryBuffer, LLVMTargetMachineRef,
};

use crate::ffi::{bytes, take_message};
use crate::{AsModule, ModuleRef};

/// LLVM's name for the processor that this process runs on, and its features.
pub fn host_cpu() -> (String, String) {
    // SAFETY: both texts are ours.
    unsafe { (take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures())) }
}

/// What [`Machine::emit`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A relocatable object file.
    Object,
    /// Assembly text.
    Assembly,
}

/// A triple, a processor and its features, at the highest optimisation level.
#[derive(Debug)]
pub struct Machine {
    raw: LLVMTargetMachineRef,
    triple: CString,
    inline_threshold: Option<i32>,
    vectorises_loops: bool,
}

impl Machine {
    /// A machine for position-independent code whose parts are within 2 GiB of each other. The
    /// target must have been initialised.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn new(triple: &CStr, cpu: &CStr, features: &CStr) -> Result<Self, String> {
        let mut target = null_mut();
        let mut error = null_mut();
        // SAFETY: the texts are NUL-terminated and the two pointers are to live variables.
        if unsafe { LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut error) } != 0 {
            // SAFETY: on failure LLVM set `error` to a text that is ours.
            return Err(unsafe { take_message(error) });
        }
        // SAFETY: `target` was found, and the texts are NUL-terminated.
        let raw = unsafe {
            LLVMCreateTargetMachine(
                target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelSmall,
            )
        };
        if raw.is_null() {
            return Err(format!(
                "this LLVM has no code generator for {}",
                triple.to_string_lossy()
            ));
        }
        Ok(Self { raw, triple: triple.to_owned(), inline_threshold: None, vectorises_loops: true })
    }

    /// The same machine, for which LLVM inlines what costs no more than this (times a factor that
    /// the target has).
    pub fn with_inline_threshold(mut self, cost: i32) -> Self {
        self.inline_threshold = Some(cost);
        self
    }

    /// The same machine, for which LLVM neither vectorises nor interleaves loops.
    pub fn without_vectorised_loops(mut self) -> Self {
        self.vectorises_loops = false;
        self
    }

    /// Whether LLVM vectorises loops for the machine.
    pub fn vectorises_loops(&self) -> bool {
        self.vectorises_loops
    }

    /// What LLVM inlines for the machine; `None` if that is left to it.
    pub fn inline_threshold(&self) -> Option<i32> {
        self.inline_threshold
    }

    /// The processor's features in LLVM's form: `+avx2,-avx512f`.
    pub fn features(&self) -> String {
        // SAFETY: the machine is live, and LLVM's answer is a text that is ours.
        unsafe { take_message(LLVMGetTargetMachineFeatureString(self.raw)) }
    }

    /// The triple.
    pub fn triple(&self) -> &CStr {
        &self.triple
    }

    /// The data layout's text.
    pub fn data_layout(&self) -> CString {
        // SAFETY: `raw` is live; the layout and its text are new and disposed of here, after the
        // copy.
        unsafe {
            let layout = LLVMCreateTargetDataLayout(self.raw);
            let text = take_message(LLVMCopyStringRepOfTargetData(layout));
            LLVMDisposeTargetData(layout);
            CString::new(text).unwrap_or_default()
        }
    }

    /// Generates code. Changes the module: it cannot be compiled again.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn emit(&self, module: &impl AsModule, kind: FileKind) -> Result<Vec<u8>, String> {
        let mut error = null_mut();
        let mut buffer = null_mut();
        let kind = match kind {
            FileKind::Object => LLVMCodeGenFileType::LLVMObjectFile,
            FileKind::Assembly => LLVMCodeGenFileType::LLVMAssemblyFile,
        };
        // SAFETY: machine and module are live, and the two pointers are to live variables.
        let failed = unsafe {
            LLVMTargetMachineEmitToMemoryBuffer(
                self.raw,
                module.handle().raw(),
                kind,
                &mut error,
                &mut buffer,
            )
        };
        if failed != 0 {
            // SAFETY: on failure LLVM set `error` to a text that is ours.
            return Err(unsafe { take_message(error) });
        }
        // SAFETY: on success `buffer` is a live buffer that is ours; its bytes are copied before it
        // is disposed of.
        unsafe {
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let code = bytes(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            Ok(code)
        }
    }

    pub(crate) fn raw(&self) -> LLVMTargetMachineRef {
        self.raw
    }
}

impl ModuleRef<'_> {
    /// Makes the module one for a machine.
    pub fn set_machine(self, machine: &Machine) {
        let layout = machine.data_layout();
        // SAFETY: the module is live, and the texts, which LLVM copies, end with a NUL; the layout
        // is one that LLVM printed.
        unsafe {
            LLVMSetTarget(self.raw(), machine.triple().as_ptr());
            LLVMSetDataLayout(self.raw(), layout.as_ptr());
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: `raw` is live and ours.
        unsafe { LLVMDisposeTargetMachine(self.raw) };
    }
}
