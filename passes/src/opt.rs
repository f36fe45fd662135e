//! Passes over files: what the tool `schism-opt` and the tests of the passes share.
//!
//! ```
//! use schism_passes::opt;
//!
//! let source = "\
//! ; SPEC kernel: kernel entry 0 1
//! @counter = internal global i64 5
//! define void @kernel() {
//!   store i64 1, ptr @counter
//!   ret void
//! }";
//! let cx = opt::read(source.as_bytes(), &[])?;
//! assert!(opt::run(&cx, "prepare-module")?.contains("store i64 1, ptr @counter"));
//! let error = opt::run(&cx, "device-check").unwrap_err().to_string();
//! assert!(error.contains(r#"violation: MutableStatic("counter"), chain: ["kernel"]"#));
//! # Ok::<(), opt::OptError>(())
//! ```

use std::fmt::Write;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use thiserror::Error;

use crate::pass::{PassContext, PassOptions};
use crate::pipeline::{self, PipelineError};
use crate::registry::UnknownPass;
use crate::spec::device::DeviceSpec;
use crate::spec::target;
use crate::spec::text::{self, SpecError};

/// A module as it was read, with what its comments say.
#[derive(Clone, Debug)]
pub struct Input {
    contents: Vec<u8>,
    /// What stage 1 would tell the passes.
    pub spec: DeviceSpec,
    /// Which passes are left out, and what is printed.
    pub options: PassOptions,
}

impl Input {
    /// Whether the first bytes are those of bitcode, bare or in its wrapper.
    fn is_bitcode(&self) -> bool {
        self.contents.starts_with(b"BC\xC0\xDE")
            || self.contents.starts_with(&0x0B17_C0DE_u32.to_le_bytes())
    }
}

/// Why there is no output.
#[derive(Debug, Error)]
pub enum OptError {
    /// A `SPEC` line is not understood.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A name is no pass's.
    #[error("{0}; `schism-opt --list` shows them all")]
    Unknown(#[from] UnknownPass),
    /// The input is neither LLVM assembly nor bitcode.
    #[error("the input is no LLVM IR that this LLVM reads: {0}")]
    Parse(String),
    /// The input can be read, and breaks LLVM's rules.
    #[error("the input is invalid IR: {0}")]
    Invalid(String),
    /// LLVM generates no code for the module's triple, or not for this module.
    #[error("no code can be generated: {0}")]
    Generate(String),
    /// A pass failed, or refused the module.
    #[error(transparent)]
    Passes(#[from] PipelineError),
}

/// Reads LLVM assembly or bitcode. `lines` are added to what the comments of the file say, each in
/// the form of [`text::add`].
///
/// # Errors
/// A line or a comment that is not understood. The IR itself is looked at by [`run`].
pub fn read(contents: &[u8], lines: &[String]) -> Result<Input, OptError> {
    // Bitcode has no comments; its first bytes are no text.
    let mut spec = text::of_file(std::str::from_utf8(contents).unwrap_or_default())?;
    for line in lines {
        text::add(&mut spec, line)?;
    }
    Ok(Input { contents: contents.to_vec(), spec, options: PassOptions::default() })
}

/// Runs the passes and prints what is left, and what was found out of each kernel, and what it
/// costs.
///
/// # Errors
/// See [`OptError`].
pub fn run(input: &Input, passes: &str) -> Result<String, OptError> {
    with_result(input, passes, |module, cx| {
        let mut text = module.print_to_string().to_string();
        for kernel in &cx.kernels {
            writeln!(text, "; {kernel}").expect("writing to a string");
        }
        for remark in &cx.remarks {
            writeln!(text, "; {remark}").expect("writing to a string");
        }
        for finding in &cx.lints.findings {
            writeln!(text, "; {finding}").expect("writing to a string");
        }
        text
    })
}

/// Runs the passes and gives the bitcode that is left.
///
/// # Errors
/// See [`OptError`].
pub fn run_to_bitcode(input: &Input, passes: &str) -> Result<Vec<u8>, OptError> {
    with_result(input, passes, |module, _| module.write_bitcode_to_memory().as_slice().to_vec())
}

/// Runs the passes and gives the assembly of the processor that the module's triple names.
///
/// # Errors
/// See [`OptError`].
pub fn run_to_assembly(input: &Input, passes: &str) -> Result<String, OptError> {
    with_result(input, passes, |module, _| target::assembly(module))?.map_err(OptError::Generate)
}

fn with_result<R>(
    input: &Input,
    passes: &str,
    result: impl FnOnce(&Module<'_>, &PassContext<'_>) -> R,
) -> Result<R, OptError> {
    let mut spec = input.spec.clone();
    if spec.target.is_empty() {
        // The CPU's triple is the machine's.
        let gpus = || target::TARGETS.iter().filter(|target| target.spaces.is_some());
        let mut names = passes.split(',').map(str::trim);
        let found = names.find_map(|name| gpus().find(|target| target.pipeline == name));
        spec.target = found.map_or("", |target| target.triple).to_owned();
    }
    let steps = pipeline::resolve(passes)?;
    if !input.is_bitcode() && input.contents.contains(&0) {
        // The reader of assembly would take it for the end.
        return Err(OptError::Parse("assembly with a NUL byte in it".to_owned()));
    }
    let context = Context::create();
    // LLVM's reader of assembly wants a NUL after the end; a copy has one.
    let buffer = MemoryBuffer::create_from_memory_range_copy(&input.contents, "input");
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|message| OptError::Parse(message.to_string()))?;
    module.verify().map_err(|message| OptError::Invalid(message.to_string()))?;
    let mut cx = PassContext::new(&spec);
    cx.options = PassOptions { verify_each: true, ..input.options.clone() };
    pipeline::run(&module, &steps, &mut cx)?;
    Ok(result(&module, &cx))
}
