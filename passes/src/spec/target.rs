//! Target machines: what LLVM knows of the processors that stage 2 generates code for.

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, FileType, RelocMode, Target, TargetMachine, TargetTriple};
use llvm_sys::target::*;

/// Makes LLVM's code generators known that are used: the host's, and those of the devices. May be called often.
pub fn initialise() {
    static ONCE: Once = Once::new();
    // SAFETY: each function only registers one of libLLVM's own targets, and the guard calls them once.
    ONCE.call_once(|| unsafe {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUAsmPrinter();
    });
}

/// The machine for a module's triple, with a processor of which all newer ones understand the code.
///
/// # Errors
/// What LLVM says when it has no code generator for the triple.
pub fn of_module(module: &Module<'_>) -> Result<TargetMachine, String> {
    initialise();
    let triple = module.get_triple();
    let name = triple.as_str().to_string_lossy().into_owned();
    let processor = match name.split('-').next() {
        Some("nvptx64") => "sm_70",
        Some("amdgcn") => "gfx906",
        _ => "",
    };
    let target = Target::from_triple(&triple).map_err(|message| message.to_string())?;
    machine(&target, &triple, processor).ok_or_else(|| format!("no code generator for `{name}`"))
}

fn machine(target: &Target, triple: &TargetTriple, processor: &str) -> Option<TargetMachine> {
    let level = OptimizationLevel::Aggressive;
    target.create_target_machine(triple, processor, "", level, RelocMode::PIC, CodeModel::Default)
}

/// The assembly of a module, for its own triple.
///
/// # Errors
/// What LLVM says when it cannot generate code.
pub fn assembly(module: &Module<'_>) -> Result<String, String> {
    let machine = of_module(module)?;
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|message| message.to_string())?;
    Ok(String::from_utf8_lossy(buffer.as_slice()).trim_end_matches('\0').to_owned())
}
