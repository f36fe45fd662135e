//! What stage 1 tells the passes about a device module: plain data, no LLVM.

use std::sync::Arc;

use crate::spec::kernel::{KernelSpec, SpecConstant};
use crate::spec::lanes::Lanes;
use crate::spec::messages::{Formatter, PanicFunction, TypeDescription};
use crate::spec::options::{FastMath, SplitMode, Warnings};
use crate::spec::std_bodies::bodies::StdBodies;

/// Everything that the passes need to know beside the IR itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSpec {
    /// The kernels to make, in the order in which the container lists them.
    pub kernels: Vec<KernelSpec>,
    /// Functions whose call means that the kernel panics.
    pub panics: Vec<PanicFunction>,
    /// Functions that format a value and stay out of the module.
    pub formatters: Vec<Formatter>,
    /// The types that messages show; formatters and panics refer to them by index.
    pub types: Vec<TypeDescription>,
    /// IR constants of stage 1: symbol of a global, and its value in this module.
    pub ir_constants: Vec<(String, u64)>,
    /// Functions that only return an IR constant, and the value they return.
    pub ir_constant_functions: Vec<(String, u64)>,
    /// The specialization constants that kernels may read, in the order in which the container
    /// lists them.
    pub spec_constants: Vec<SpecConstant>,
    /// Functions that kernels of other modules may call, by symbol, sorted.
    pub exports: Vec<String>,
    /// Functions without a body that other images may define, by symbol, sorted.
    pub imports: Vec<String>,
    /// In stage 2: symbols of specialization constants, and the bytes that replace the image's own.
    pub constant_values: Vec<(String, Vec<u8>)>,
    /// In stage 2: how precise floating-point operations are.
    pub fast_math: FastMath,
    /// In stage 2: the vectors of the processor, if work-items are to be computed in their lanes.
    pub lanes: Option<Lanes>,
    /// Bodies of functions that the module only declares.
    pub std_bodies: Option<Arc<StdBodies>>,
    /// The triple of stage 2's target; empty for the host's.
    pub target: String,
    /// How kernels are divided into images.
    pub split: SplitMode,
    /// Places in the source that the module has stay in the image.
    pub lines: bool,
    /// Which costs to look for.
    pub warnings: Warnings,
    /// The module has kernels that are not listed here, and what they reach.
    pub shares_module: bool,
    /// The kernels run in the program's own process, and nowhere else.
    pub in_process: bool,
    /// Kernels, by name, that work in the program's own memory.
    pub host_memory: Vec<String>,
    /// Those of them whose only effect is their result.
    pub without_effects: Vec<String>,
    /// Those of them that change nothing else but what a launch can copy before, and give back.
    pub restored: Vec<String>,
    /// Kernels, by name, that may allocate.
    pub host_heap: Vec<String>,
    /// For the pass `split` alone: the kernels to keep.
    pub part: Vec<String>,
}
