//! The processor that this process runs on.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use llvm_sys::core::LLVMDisposeMessage;
use llvm_sys::target_machine::{LLVMGetHostCPUFeatures, LLVMGetHostCPUName};

use crate::JitError;
use crate::llvm::Machine;

// The bindings' own functions for this are for all targets that LLVM might have, and the pinned one lacks some.
unsafe extern "C" {
    fn LLVMInitializeX86TargetInfo();
    fn LLVMInitializeX86Target();
    fn LLVMInitializeX86TargetMC();
    fn LLVMInitializeX86AsmPrinter();
    fn LLVMInitializeX86AsmParser();
}

const TRIPLE: &CStr = c"x86_64-unknown-linux-gnu";

struct Host {
    name: CString,
    features: CString,
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        // SAFETY: these only register the target, and `OnceLock` runs them once. The texts end with a NUL and are ours.
        unsafe {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
            LLVMInitializeX86AsmParser();
            let name = LLVMGetHostCPUName();
            let features = LLVMGetHostCPUFeatures();
            let host = Host {
                name: CStr::from_ptr(name).to_owned(),
                features: CStr::from_ptr(features).to_owned(),
            };
            LLVMDisposeMessage(name);
            LLVMDisposeMessage(features);
            host
        }
    })
}

/// LLVM's name for the processor, such as `znver3`.
#[must_use]
pub fn cpu_name() -> &'static str {
    host().name.to_str().unwrap_or("unknown")
}

/// The processor with every feature that it has, as `-C target-cpu=native` means it; vectors are as wide as LLVM prefers
/// for it.
pub fn machine() -> Result<Machine, JitError> {
    let host = host();
    Machine::new(TRIPLE, &host.name, &host.features).map_err(JitError::Internal)
}
