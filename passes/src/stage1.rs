//! Stage 1: the order of the passes over a device module.

use std::collections::HashSet;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use thiserror::Error;

use crate::device_check::Violation;
use crate::kernel_entry::KernelEntryError;
use crate::spec::DeviceSpec;
use crate::{
    builtins, cleanup, device_check, host_attributes, ir, ir_constants, kernel_entry, panics,
    reachability, unwind,
};

/// A finished device module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceImage {
    /// LLVM bitcode.
    pub bitcode: Vec<u8>,
    /// What is known of each kernel, in the order of the specification.
    pub kernels: Vec<KernelImage>,
    /// Functions that stage 2 must define, sorted.
    pub imported_symbols: Vec<String>,
}

/// What the passes found out about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// Its name.
    pub name: String,
    /// Whether it reaches a panic.
    pub can_panic: bool,
}

/// Why stage 1 has no device image.
#[derive(Debug, Error)]
pub enum Stage1Error {
    /// The module is no LLVM bitcode that this LLVM reads.
    #[error("the device module is not readable: {0}")]
    Parse(String),
    /// A pass of LLVM failed.
    #[error("pass `{pass}` failed: {message}")]
    Pass {
        /// The pass.
        pass: &'static str,
        /// LLVM's message.
        message: String,
    },
    /// A pass left IR that does not verify: a defect of that pass.
    #[error("pass `{pass}` left invalid IR: {message}")]
    Invalid {
        /// The pass.
        pass: &'static str,
        /// The verifier's message.
        message: String,
    },
    /// A kernel could not be made.
    #[error(transparent)]
    KernelEntry(#[from] KernelEntryError),
    /// Kernels reach what no device has.
    #[error("{} use(s) of what no device has", .0.len())]
    NotForDevices(Vec<Violation>),
}

/// Shapes a device module: bitcode in, device image out.
///
/// # Errors
/// See [`Stage1Error`].
pub fn run(bitcode: &[u8], spec: &DeviceSpec) -> Result<DeviceImage, Stage1Error> {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bitcode, "device");
    let module = Module::parse_bitcode_from_buffer(&buffer, &context)
        .map_err(|message| Stage1Error::Parse(message.to_string()))?;
    shape(&module, spec)?;

    let kernels = spec
        .kernels
        .iter()
        .map(|kernel| KernelImage {
            name: kernel.name.clone(),
            can_panic: reaches_panic(&module, &kernel.name),
        })
        .collect();
    let mut imported_symbols: Vec<String> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() == 0)
        .map(|function| ir::name_of(function.as_value_ref()))
        .filter(|name| !name.starts_with("llvm."))
        .collect();
    imported_symbols.sort();
    // Names of files and functions of the host's build do not belong into the image: they would
    // make its bytes depend on the directory of the build.
    module.set_source_file_name("device");
    module.set_name("device");
    let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
    Ok(DeviceImage { bitcode, kernels, imported_symbols })
}

/// Runs the passes over a parsed module.
///
/// # Errors
/// See [`Stage1Error`].
pub fn shape(module: &Module<'_>, spec: &DeviceSpec) -> Result<(), Stage1Error> {
    let kernels: HashSet<&str> = spec.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let llvm = |pass, result: Result<(), String>| {
        result.map_err(|message| Stage1Error::Pass { pass, message })
    };

    host_attributes::run(module);
    verify(module, "host-attributes")?;
    llvm("unwind", unwind::run(module))?;
    verify(module, "unwind")?;
    let constants = ir_constants::run(module, &spec.ir_constants, &spec.ir_constant_functions);
    llvm("ir-constants", constants)?;
    verify(module, "ir-constants")?;
    panics::run(module, &spec.panics);
    verify(module, "panics")?;
    kernel_entry::run(module, &spec.kernels)?;
    verify(module, "kernel-entry")?;
    llvm("reachability", reachability::run(module, &kernels))?;
    verify(module, "reachability")?;
    let violations = device_check::run_early(module, &kernels);
    if !violations.is_empty() {
        return Err(Stage1Error::NotForDevices(violations));
    }
    llvm("cleanup", cleanup::run(module))?;
    verify(module, "cleanup")?;
    let mut violations = device_check::run(module, &kernels);
    if !violations.is_empty() {
        // Inlining may show that what they stand in is dead.
        llvm("cleanup", cleanup::run_inlining(module))?;
        verify(module, "cleanup")?;
        violations = device_check::run(module, &kernels);
    }
    if !violations.is_empty() {
        return Err(Stage1Error::NotForDevices(violations));
    }
    module.strip_debug_info();
    Ok(())
}

/// LLVM's verifier, after each pass in builds with debug assertions and at the end in all.
fn verify(module: &Module<'_>, pass: &'static str) -> Result<(), Stage1Error> {
    if !cfg!(debug_assertions) && pass != "cleanup" {
        return Ok(());
    }
    module.verify().map_err(|message| Stage1Error::Invalid { pass, message: message.to_string() })
}

/// Whether a panic can be reached from a kernel, over uses of functions.
fn reaches_panic(module: &Module<'_>, kernel: &str) -> bool {
    let Some(panic) = module.get_function(builtins::PANIC) else { return false };
    let mut seen = HashSet::new();
    let mut stack = vec![panic.as_value_ref()];
    while let Some(value) = stack.pop() {
        if !seen.insert(value) {
            continue;
        }
        if ir::name_of(value) == kernel {
            return true;
        }
        for user in ir::users(value) {
            let in_function = ir::opcode(user).is_some();
            stack.push(if in_function { ir::parent_function(user) } else { user });
        }
    }
    false
}
