//! Stage 1: bitcode in, device image out. The passes and their order are in [`crate::pipeline`].

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use schism_llvm::{AsModule, IntoValue};
use thiserror::Error;

use crate::analysis::call_sites;
use crate::analysis::structural_hash::{self, ModuleText};
use crate::frontend::{import_host_symbols, kernel_reachability, line_tables, split_images};
use crate::pass::{PassContext, PassError};
use crate::pipeline::{self, PipelineError, Step};
use crate::spec::device::DeviceSpec;
use crate::spec::image::{KernelImage, StructuralHash};
use crate::spec::report::{Lints, Report};

/// A finished device module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceImage {
    /// The module, divided as the specification says; each kernel is in one of them.
    pub parts: Vec<ImagePart>,
    /// What is known of each kernel, in the order of the specification.
    pub kernels: Vec<KernelImage>,
    /// What makes them slow.
    pub lints: Lints,
}

/// One module of a device image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePart {
    /// LLVM bitcode.
    pub bitcode: Vec<u8>,
    /// The kernels in it, by their indices.
    pub kernels: Vec<usize>,
    /// The symbols of its kernels and of their variants, in the kernels' order, and then of the
    /// functions that are exported.
    pub exported_symbols: Vec<String>,
    /// Functions that other images must define, sorted.
    pub imported_symbols: Vec<String>,
}

/// Why stage 1 has no device image.
#[derive(Debug, Error)]
pub enum Stage1Error {
    /// The module is no LLVM bitcode that this LLVM reads.
    #[error("the device module is not readable: {0}")]
    Parse(String),
    /// A pass failed, or refused the module.
    #[error(transparent)]
    Passes(#[from] PipelineError),
}

impl Stage1Error {
    /// What no device has, if that is why.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Passes(PipelineError::NotForDevices(report)) => Some(report),
            _ => None,
        }
    }
}

/// Shapes a device module: bitcode in, device image out. A refusal does not say where in the source
/// each use comes from: [`explain`] does.
///
/// # Errors
/// See [`Stage1Error`].
pub fn run(bitcode: &[u8], cx: &mut PassContext<'_>) -> Result<DeviceImage, Stage1Error> {
    let context = Context::create();
    let module = read(&context, bitcode, cx)?;
    shape(&module, cx)?;
    finish(&context, bitcode, module, cx)
}

/// A module in the middle of [`run`]: what comes next may be done several times, each time for fewer
/// kernels.
#[derive(Debug)]
pub struct Begun {
    bitcode: Vec<u8>,
    /// What is known of each kernel, in the order of the specification.
    pub kernels: Vec<KernelImage>,
}

/// Does the first part of what [`run`] does, which depends little on how many kernels there are.
///
/// # Errors
/// See [`Stage1Error`].
pub fn begin(bitcode: &[u8], cx: &mut PassContext<'_>) -> Result<Begun, Stage1Error> {
    let context = Context::create();
    let module = read(&context, bitcode, cx)?;
    shape_by(&module, pipeline::stage1_in_two().0, cx)?;
    let start = cx.start();
    let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
    cx.note("(keep the module)", start);
    Ok(Begun { bitcode, kernels: cx.kernels.clone() })
}

/// Does the rest for the kernels of a specification. `bitcode` is what was begun with.
///
/// # Errors
/// See [`Stage1Error`].
pub fn go_on(
    begun: &Begun,
    bitcode: &[u8],
    cx: &mut PassContext<'_>,
) -> Result<DeviceImage, Stage1Error> {
    let start = cx.start();
    let context = Context::create();
    let module = parse(&context, &begun.bitcode)?;
    for kernel in &mut cx.kernels {
        let known = begun.kernels.iter().find(|known| known.name == kernel.name);
        kernel.clone_from(known.ok_or_else(|| {
            failed("kernel-reachability", format!("`{}` was not there before", kernel.name))
        })?);
    }
    cx.note("(read the module)", start);
    if begun.kernels.len() != cx.kernels.len() {
        kernel_reachability::run(&module, &cx.roots())
            .map_err(|message| failed("kernel-reachability", message))?;
    }
    pipeline::run(&module, pipeline::stage1_in_two().1, cx)?;
    finish(&context, bitcode, module, cx)
}

fn parse<'c>(context: &'c Context, bitcode: &[u8]) -> Result<Module<'c>, Stage1Error> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(bitcode, "device");
    Module::parse_bitcode_from_buffer(&buffer, context)
        .map_err(|message| Stage1Error::Parse(message.to_string()))
}

/// The module as the passes take it.
fn read<'c>(
    context: &'c Context,
    bitcode: &[u8],
    cx: &mut PassContext<'_>,
) -> Result<Module<'c>, Stage1Error> {
    let start = cx.start();
    let module = parse(context, bitcode)?;
    call_sites::untag(&module);
    if cx.spec.lines {
        line_tables::reduce(&module).map_err(|message| failed("line-tables", message))?;
    } else {
        // Reports read the module again; without them it only makes each pass slower.
        module.strip_debug_info();
    }
    cx.note("(read the module)", start);
    Ok(module)
}

/// What comes after the passes.
fn finish<'c>(
    context: &'c Context,
    bitcode: &[u8],
    module: Module<'c>,
    cx: &mut PassContext<'_>,
) -> Result<DeviceImage, Stage1Error> {
    if !cx.lints.findings.is_empty() {
        locate_lints(bitcode, cx);
    }
    let start = cx.start();
    let module = if cx.spec.lines {
        line_tables::run(context, module).map_err(|message| failed("line-tables", message))?
    } else {
        module
    };
    // Names of files and functions of the host's build do not belong into the image: they would
    // make its bytes depend on the directory of the build.
    module.set_source_file_name("device");
    module.set_name("device");
    note_structural_hashes(&module, cx);
    cx.note("(hash the kernels)", start);
    let start = cx.start();
    let mut parts = Vec::new();
    let mut divided = split_images::parts(cx.spec.split, &cx.spec.kernels, &cx.kernels);
    let exports = cx.spec.exports.as_slice();
    if divided.len() > 1 {
        for kernels in divided {
            parts.push(part(&module, kernels, &[], cx)?);
        }
        // Of what is exported there is one definition, in its own image.
        if !exports.is_empty() {
            parts.push(part(&module, Vec::new(), exports, cx)?);
        }
    } else {
        parts.push(part(&module, divided.pop().unwrap_or_default(), exports, cx)?);
    }
    cx.note("(split and write the module)", start);
    Ok(DeviceImage { parts, kernels: cx.kernels.clone(), lints: cx.lints.clone() })
}

/// Removes kernels that are not listed, and what only these reach. Functions that format have bodies
/// for them; for those that are listed they are only declared.
fn leave_to_others(module: &Module<'_>, spec: &DeviceSpec) -> Result<(), String> {
    let entries = spec.kernels.iter().map(|kernel| kernel.entry.as_str());
    let roots = entries.chain(spec.exports.iter().map(String::as_str)).collect();
    for formatter in &spec.formatters {
        let function = module.handle().function(&formatter.symbol);
        if let Some(function) = function.filter(|function| !function.is_declaration()) {
            import_host_symbols::declare(module.handle(), function);
        }
    }
    kernel_reachability::run(module, &roots)
}

/// The kernels of a device module that run in the program's own process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessImage {
    /// LLVM bitcode.
    pub bitcode: Vec<u8>,
    /// What they need of the host, sorted: see [`import_host_symbols`].
    pub host_symbols: Vec<String>,
    /// What each kernel is, in the order of the specification.
    pub structural_hashes: Vec<Option<StructuralHash>>,
}

/// Shapes the kernels of a device module that run in the program's own process.
///
/// # Errors
/// See [`Stage1Error`].
pub fn run_in_process(
    bitcode: &[u8],
    cx: &mut PassContext<'_>,
) -> Result<ProcessImage, Stage1Error> {
    let context = Context::create();
    let module = parse(&context, bitcode)?;
    call_sites::untag(&module);
    module.strip_debug_info();
    pipeline::run(&module, pipeline::STAGE1_IN_PROCESS, cx)?;
    module.set_source_file_name("device");
    module.set_name("device");
    let text = structural_hash::text(&module);
    let parsed = ModuleText::of(&text, &[]);
    let hash = |kernel: &KernelImage| parsed.of_kernel([kernel.name.as_str()]);
    Ok(ProcessImage {
        bitcode: module.write_bitcode_to_memory().as_slice().to_vec(),
        host_symbols: import_host_symbols::imports(&module),
        structural_hashes: cx.kernels.iter().map(hash).collect(),
    })
}

/// What LLVM says of work that is no pass of the table.
fn failed(pass: &'static str, message: String) -> PipelineError {
    PassError { pass, source: message.into() }.into()
}

/// Notes what each kernel is.
fn note_structural_hashes(module: &Module<'_>, cx: &mut PassContext<'_>) {
    let text = structural_hash::text(module);
    let known: Vec<&str> =
        cx.spec.spec_constants.iter().map(|constant| constant.symbol.as_str()).collect();
    let parsed = ModuleText::of(&text, &known);
    for kernel in &mut cx.kernels {
        let functions = [Some(&kernel.name), kernel.offset_variant.as_ref()];
        kernel.structural_hash =
            parsed.of_kernel(functions.into_iter().flatten().map(String::as_str));
    }
}

/// The module with some of the kernels, by their indices, and of the functions that are exported.
fn part(
    module: &Module<'_>,
    kernels: Vec<usize>,
    exports: &[String],
    cx: &PassContext<'_>,
) -> Result<ImagePart, Stage1Error> {
    let exported_symbols: Vec<String> = kernels
        .iter()
        .map(|&index| &cx.kernels[index])
        .flat_map(|kernel| [Some(&kernel.name), kernel.offset_variant.as_ref()])
        .flatten()
        .chain(exports)
        .cloned()
        .collect();
    let copy;
    let whole = kernels.len() == cx.kernels.len() && exports.len() == cx.spec.exports.len();
    let module = if whole {
        module
    } else {
        copy = module.clone();
        split_images::keep(&copy, &exported_symbols.iter().map(String::as_str).collect())
            .map_err(|message| failed("split-images", message))?;
        &copy
    };
    let mut imported_symbols: Vec<String> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() == 0)
        .map(|function| function.value().name())
        .filter(|name| cx.spec.imports.contains(name))
        .collect();
    imported_symbols.sort();
    let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
    Ok(ImagePart { bitcode, kernels, exported_symbols, imported_symbols })
}

/// Runs the passes once more over a module that they have refused, this time with every instruction
/// numbered, so that the report says where in the source each use comes from. Other errors stay what
/// they are.
pub fn explain(bitcode: &[u8], cx: &PassContext<'_>, error: Stage1Error) -> Stage1Error {
    if error.report().is_none() {
        return error;
    }
    let context = Context::create();
    if let Ok(module) = parse(&context, bitcode) {
        let mut cx = PassContext::new(cx.spec);
        cx.sites = call_sites::number(&module);
        if let Err(error @ PipelineError::NotForDevices(_)) = shape(&module, &mut cx) {
            return error.into();
        }
    }
    // The numbers change nothing that the passes look at; the first answer stands in any case.
    error
}

/// Runs the passes once more over a module with costs, this time with every instruction numbered,
/// so that the findings say where in the source they come from.
fn locate_lints(bitcode: &[u8], cx: &mut PassContext<'_>) {
    let start = cx.start();
    let context = Context::create();
    if let Ok(module) = parse(&context, bitcode) {
        let mut numbered = PassContext::new(cx.spec);
        numbered.sites = call_sites::number(&module);
        if shape(&module, &mut numbered).is_ok() && !numbered.lints.findings.is_empty() {
            cx.lints = numbered.lints;
        }
    }
    cx.note("(place the warnings)", start);
}

/// Runs the passes over a parsed module.
///
/// # Errors
/// See [`PipelineError`].
pub fn shape(module: &Module<'_>, cx: &mut PassContext<'_>) -> Result<(), PipelineError> {
    shape_by(module, pipeline::STAGE1, cx)
}

fn shape_by(
    module: &Module<'_>,
    steps: &[Step],
    cx: &mut PassContext<'_>,
) -> Result<(), PipelineError> {
    if cx.spec.shares_module {
        leave_to_others(module, cx.spec)
            .map_err(|message| failed("kernel-reachability", message))?;
    }
    pipeline::run(module, steps, cx)
}
