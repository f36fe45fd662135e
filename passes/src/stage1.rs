//! Stage 1: bitcode in, device image out. The passes and their order are in [`crate::pipeline`].

use std::collections::BTreeSet;
use std::fmt;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use thiserror::Error;

use crate::analysis::call_sites;
use crate::analysis::structural_hash::{self, Content, Contents};
use crate::check::capabilities::Aspect;
use crate::check::device_check::Report;
use crate::check::performance_lints::Costs;
use crate::frontend::allocate_local_memory::GroupNeeds;
use crate::frontend::line_tables;
use crate::frontend::split_images;
use crate::ir;
use crate::pipeline::{self, Job, PassError};

/// A finished device module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceImage {
    /// The module, divided as the specification says; each kernel is in one of them.
    pub parts: Vec<ImagePart>,
    /// What is known of each kernel, in the order of the specification.
    pub kernels: Vec<KernelImage>,
    /// What makes them slow.
    pub costs: Costs,
}

/// One module of a device image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePart {
    /// LLVM bitcode.
    pub bitcode: Vec<u8>,
    /// The kernels in it, by their indices.
    pub kernels: Vec<usize>,
    /// The symbols of its kernels and of their variants, in the kernels' order, and then of the functions that are exported.
    pub exported_symbols: Vec<String>,
    /// Functions that other images must define, sorted.
    pub imported_symbols: Vec<String>,
}

/// What the passes found out about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// Its name.
    pub name: String,
    /// Whether it reaches a panic.
    pub can_panic: bool,
    /// What it asks of work-groups, if it needs them.
    pub groups: Option<GroupNeeds>,
    /// The variant of it that takes where the launch begins, if it reads that.
    pub offset_variant: Option<String>,
    /// What it needs that not every device has.
    pub aspects: BTreeSet<Aspect>,
    /// In stage 2: the parameters that are left, by their indices, if not all are.
    pub passed: Option<Vec<u32>>,
    /// Symbols of the specialization constants that it may read, in the order of the specification.
    pub spec_constants: Vec<String>,
    /// Functions that other images must define, sorted.
    pub imports: Vec<String>,
    /// What it is, as a hash, once the image is finished.
    pub content: Option<Content>,
}

impl KernelImage {
    /// A kernel of which nothing is known yet.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        KernelImage {
            name,
            can_panic: false,
            groups: None,
            offset_variant: None,
            aspects: BTreeSet::new(),
            passed: None,
            spec_constants: Vec::new(),
            imports: Vec::new(),
            content: None,
        }
    }
}

impl fmt::Display for KernelImage {
    /// One line: the name, then what is found out, as far as anything is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}:", self.name)?;
        if self.can_panic {
            write!(f, " can-panic")?;
        }
        if let Some(GroupNeeds { local_size, local_align }) = self.groups {
            write!(f, " groups with {local_size} bytes at multiples of {local_align}")?;
        }
        if let Some(variant) = &self.offset_variant {
            write!(f, " offset-variant={variant}")?;
        }
        if !self.aspects.is_empty() {
            write!(f, " needs")?;
        }
        for aspect in &self.aspects {
            write!(f, " {aspect}")?;
        }
        if let Some(passed) = &self.passed {
            write!(f, " passes {passed:?}")?;
        }
        for symbol in &self.spec_constants {
            write!(f, " spec-constant={symbol}")?;
        }
        for symbol in &self.imports {
            write!(f, " import={symbol}")?;
        }
        Ok(())
    }
}

/// Why stage 1 has no device image.
#[derive(Debug, Error)]
pub enum Stage1Error {
    /// The module is no LLVM bitcode that this LLVM reads.
    #[error("the device module is not readable: {0}")]
    Parse(String),
    /// A pass could not do its work.
    #[error("pass `{pass}` failed: {cause}")]
    Pass {
        /// The pass.
        pass: &'static str,
        /// Why.
        cause: PassError,
    },
    /// A pass left IR that does not verify: a defect of that pass.
    #[error("pass `{pass}` left invalid IR: {message}")]
    Invalid {
        /// The pass.
        pass: &'static str,
        /// The verifier's message.
        message: String,
    },
    /// Kernels reach what no device has.
    #[error("{0}")]
    NotForDevices(Box<Report>),
}

/// Shapes a device module: bitcode in, device image out.
///
/// # Errors
/// See [`Stage1Error`].
pub fn run(bitcode: &[u8], job: &mut Job<'_>) -> Result<DeviceImage, Stage1Error> {
    let start = job.start();
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bitcode, "device");
    let module = Module::parse_bitcode_from_buffer(&buffer, &context)
        .map_err(|message| Stage1Error::Parse(message.to_string()))?;
    call_sites::untag(&module);
    if job.spec.lines {
        line_tables::reduce(&module).map_err(lines_failed)?;
    } else {
        // Reports read the module again; without them it only makes each pass slower.
        module.strip_debug_info();
    }
    job.note("(read the module)", start);
    if let Err(error) = shape(&module, job) {
        return Err(match error {
            Stage1Error::NotForDevices(report) => explain(&buffer, job, *report),
            other => other,
        });
    }
    if !job.costs.findings.is_empty() {
        place_costs(&buffer, job);
    }
    let start = job.start();
    let module = if job.spec.lines {
        line_tables::run(&context, module).map_err(lines_failed)?
    } else {
        module
    };
    // Names of files and functions of the host's build do not belong into the image: they would
    // make its bytes depend on the directory of the build.
    module.set_source_file_name("device");
    module.set_name("device");
    note_contents(&module, job);
    job.note("(hash the kernels)", start);
    let start = job.start();
    let mut parts = Vec::new();
    let mut divided = split_images::parts(job.spec.split, &job.spec.kernels, &job.kernels);
    let exports = job.spec.exports.as_slice();
    if divided.len() > 1 {
        for kernels in divided {
            parts.push(part(&module, kernels, &[], job)?);
        }
        // Of what is exported there is one definition, in an image of its own.
        if !exports.is_empty() {
            parts.push(part(&module, Vec::new(), exports, job)?);
        }
    } else {
        parts.push(part(&module, divided.pop().unwrap_or_default(), exports, job)?);
    }
    job.note("(split and write the module)", start);
    Ok(DeviceImage { parts, kernels: job.kernels.clone(), costs: job.costs.clone() })
}

fn lines_failed(message: String) -> Stage1Error {
    Stage1Error::Pass { pass: "line-tables", cause: message.into() }
}

/// Notes what each kernel is.
fn note_contents(module: &Module<'_>, job: &mut Job<'_>) {
    let text = structural_hash::text(module);
    let known: Vec<&str> =
        job.spec.spec_constants.iter().map(|constant| constant.symbol.as_str()).collect();
    let contents = Contents::of(&text, &known);
    for kernel in &mut job.kernels {
        let functions = [Some(&kernel.name), kernel.offset_variant.as_ref()];
        kernel.content = contents.of_kernel(functions.into_iter().flatten().map(String::as_str));
    }
}

/// The module with some of the kernels, by their indices, and of the functions that are exported.
fn part(
    module: &Module<'_>,
    kernels: Vec<usize>,
    exports: &[String],
    job: &Job<'_>,
) -> Result<ImagePart, Stage1Error> {
    let exported_symbols: Vec<String> = kernels
        .iter()
        .map(|&index| &job.kernels[index])
        .flat_map(|kernel| [Some(&kernel.name), kernel.offset_variant.as_ref()])
        .flatten()
        .chain(exports)
        .cloned()
        .collect();
    let copy;
    let whole = kernels.len() == job.kernels.len() && exports.len() == job.spec.exports.len();
    let module = if whole {
        module
    } else {
        copy = module.clone();
        split_images::keep(&copy, &exported_symbols.iter().map(String::as_str).collect())
            .map_err(|message| Stage1Error::Pass { pass: "split", cause: message.into() })?;
        &copy
    };
    let mut imported_symbols: Vec<String> = module
        .get_functions()
        .filter(|function| function.count_basic_blocks() == 0)
        .map(|function| ir::name_of(function.as_value_ref()))
        .filter(|name| job.spec.imports.contains(name))
        .collect();
    imported_symbols.sort();
    let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
    Ok(ImagePart { bitcode, kernels, exported_symbols, imported_symbols })
}

/// Runs the passes once more over a module that they have refused, this time with every instruction
/// numbered, so that the report says where in the source each use comes from.
fn explain(buffer: &MemoryBuffer<'_>, job: &Job<'_>, first: Report) -> Stage1Error {
    let context = Context::create();
    if let Ok(module) = Module::parse_bitcode_from_buffer(buffer, &context) {
        let mut job = Job::new(job.spec);
        job.sites = call_sites::number(&module);
        if let Err(error @ Stage1Error::NotForDevices(_)) = shape(&module, &mut job) {
            return error;
        }
    }
    // The numbers change nothing that the passes look at; the first answer stands in any case.
    Stage1Error::NotForDevices(Box::new(first))
}

/// Runs the passes once more over a module with costs, this time with every instruction numbered, so
/// that the findings say where in the source they come from.
fn place_costs(buffer: &MemoryBuffer<'_>, job: &mut Job<'_>) {
    let start = job.start();
    let context = Context::create();
    if let Ok(module) = Module::parse_bitcode_from_buffer(buffer, &context) {
        let mut numbered = Job::new(job.spec);
        numbered.sites = call_sites::number(&module);
        if shape(&module, &mut numbered).is_ok() && !numbered.costs.findings.is_empty() {
            job.costs = numbered.costs;
        }
    }
    job.note("(place the warnings)", start);
}

/// Runs the passes over a parsed module.
///
/// # Errors
/// See [`Stage1Error`].
pub fn shape(module: &Module<'_>, job: &mut Job<'_>) -> Result<(), Stage1Error> {
    pipeline::run(module, pipeline::STAGE1, job)
}
