//! LLVM's own passes, and its targets.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;
use std::sync::Once;

use inkwell::targets::TargetMachine;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::target::*;
use llvm_sys::target_machine::LLVMTargetMachineRef;
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMPassBuilderOptionsRef,
    LLVMPassBuilderOptionsSetInlinerThreshold, LLVMPassBuilderOptionsSetLoopInterleaving,
    LLVMPassBuilderOptionsSetLoopUnrolling, LLVMPassBuilderOptionsSetLoopVectorization,
    LLVMPassBuilderOptionsSetMergeFunctions, LLVMPassBuilderOptionsSetSLPVectorization,
    LLVMRunPasses, LLVMRunPassesOnFunction,
};

use crate::{Machine, ModuleRef, Value};

/// How LLVM's passes run.
#[derive(Clone, Copy, Default)]
struct Tuning {
    /// As for code that is to be fast: loops and straight code are vectorised, loops unrolled,
    /// equal functions merged.
    optimizes: bool,
    /// Whether loops are vectorised and interleaved, if it [optimizes](Self::optimizes).
    vectorizes_loops: bool,
    /// What LLVM inlines costs no more than this; `None` leaves it to LLVM.
    inline_threshold: Option<i32>,
}

impl<'m> ModuleRef<'m> {
    /// Runs LLVM's own passes, given in the syntax of `opt -passes=`. Handles of what they remove
    /// must not be used again.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn run_passes(self, pipeline: &str) -> Result<(), String> {
        self.run_passes_for(pipeline, None)
    }

    /// The same, for passes that ask what the target can do.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn run_passes_for(
        self,
        pipeline: &str,
        machine: Option<&TargetMachine>,
    ) -> Result<(), String> {
        let machine = machine.map_or(null_mut(), TargetMachine::as_mut_ptr);
        // SAFETY: the machine, if there is one, is live.
        unsafe { self.run_tuned(pipeline, machine, Tuning::default()) }
    }

    /// The same, as for code that is to be fast: loops and straight code are vectorised, loops
    /// unrolled, equal functions merged, unless the machine says otherwise.
    ///
    /// # Errors
    /// LLVM's message.
    pub fn run_optimizing_passes(
        self,
        pipeline: &str,
        machine: Option<&Machine>,
    ) -> Result<(), String> {
        let tuning = Tuning {
            optimizes: true,
            vectorizes_loops: machine.is_none_or(Machine::vectorises_loops),
            inline_threshold: machine.and_then(Machine::inline_threshold),
        };
        let machine = machine.map_or(null_mut(), Machine::raw);
        // SAFETY: the machine, if there is one, is live.
        unsafe { self.run_tuned(pipeline, machine, tuning) }
    }

    /// # Safety
    /// `machine` is null or live.
    unsafe fn run_tuned(
        self,
        pipeline: &str,
        machine: LLVMTargetMachineRef,
        tuning: Tuning,
    ) -> Result<(), String> {
        // SAFETY: the module is live, and the machine as promised by the caller.
        run(pipeline, tuning, |text, options| unsafe {
            LLVMRunPasses(self.raw(), text, machine, options)
        })
    }
}

impl Value<'_> {
    /// Runs LLVM's own passes over one function. Handles of what they remove must not be used
    /// again.
    ///
    /// # Errors
    /// LLVM's message.
    ///
    /// # Panics
    /// If this is no function with a body.
    #[track_caller]
    pub fn run_passes(self, pipeline: &str) -> Result<(), String> {
        self.entry();
        // SAFETY: it is a function with a body.
        run(pipeline, Tuning::default(), |text, options| unsafe {
            LLVMRunPassesOnFunction(self.raw(), text, null_mut(), options)
        })
    }
}

fn run(
    pipeline: &str,
    tuning: Tuning,
    run: impl FnOnce(*const c_char, LLVMPassBuilderOptionsRef) -> LLVMErrorRef,
) -> Result<(), String> {
    let text = CString::new(pipeline).map_err(|error| error.to_string())?;
    // SAFETY: the options are disposed of after the run; an error message is copied, then freed.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        if tuning.optimizes {
            let loops = tuning.vectorizes_loops.into();
            LLVMPassBuilderOptionsSetLoopVectorization(options, loops);
            LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
            // The same pass does that, and looks at each loop for it.
            LLVMPassBuilderOptionsSetLoopInterleaving(options, loops);
            LLVMPassBuilderOptionsSetLoopUnrolling(options, 1);
            LLVMPassBuilderOptionsSetMergeFunctions(options, 1);
        }
        if let Some(threshold) = tuning.inline_threshold {
            LLVMPassBuilderOptionsSetInlinerThreshold(options, threshold);
        }
        let error = run(text.as_ptr(), options);
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return Ok(());
        }
        let message = LLVMGetErrorMessage(error);
        let owned = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(owned)
    }
}

/// Makes LLVM's code generator for x86 known. May be called often.
pub fn initialize_x86() {
    static ONCE: Once = Once::new();
    // SAFETY: each function only registers a part of one of libLLVM's own targets, and the guard
    // calls them once.
    ONCE.call_once(|| unsafe {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeX86AsmParser();
    });
}

/// Makes LLVM's code generator for NVIDIA's GPUs known. May be called often.
pub fn initialize_nvptx() {
    static ONCE: Once = Once::new();
    // SAFETY: as above.
    ONCE.call_once(|| unsafe {
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
    });
}

/// Makes LLVM's code generators known that are used: the host's, and those of the devices. May be
/// called often.
pub fn initialize_targets() {
    static ONCE: Once = Once::new();
    initialize_x86();
    initialize_nvptx();
    // SAFETY: as above.
    ONCE.call_once(|| unsafe {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUAsmPrinter();
    });
}
