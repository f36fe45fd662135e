//! OpenCL's devices: compiles a kernel to a SPIR-V module with one entry.
//!
//! LLVM as rustc has it generates no SPIR-V. So its passes run for another GPU, whose generic
//! address space is 0 as in Rust, and `lower` makes SPIR-V of what they leave. The entry, its
//! hidden parameters, and how a panic's message leaves the device are those of `gpu`: special
//! registers, the barrier and the end of a work-item are the intrinsics that LLVM has for that GPU.
//!
//! What differs: locals have memory of their own (address space 5), the group's local memory is a
//! parameter instead of a symbol, and a work-item ends by leaving the kernel. So all that may panic
//! is inlined into the kernel.
//!
//! **Precision.** As on the other devices, nothing allows a driver to change a result: each kernel
//! forbids contractions, and mathematics is the device library's. Divisions and square roots in 32
//! bits are correctly rounded only if the program is built with
//! `-cl-fp32-correctly-rounded-divide-sqrt`.

mod atomics;
mod calls;
mod expand_above_i128;
mod expand_i128;
mod fills;
mod lower;
mod reorder_branches;
mod split_aggregates;

use schism_jit_abi::{ASSUME_GROUP_ON_THREAD, GPU_GROUPS, GPU_LOCAL, GPU_SUB_GROUPS};
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Step};
use schism_passes::spec::target::SPIRV_TRIPLE;
use schism_passes::spec::target_library::TargetLibraryInfo;
use schism_passes::target_step::TargetStep;

use crate::common::target::{Target, Work};
use crate::common::{devicelib, pause};
use crate::gpu::compiled::{GpuCode, compile};
use crate::gpu::entry::Entry;
use crate::gpu::machine;
use crate::gpu::message::{self, Writing};
use crate::gpu::options::GpuOptions;
use crate::gpu::steps::{self, EntryState};
use crate::{JitError, Request};
use schism_llvm::Machine;

/// Compiles a kernel for a driver of OpenCL.
///
/// # Errors
/// Every variant of [`JitError`] documents when it occurs.
pub fn compile_spirv(request: Request, options: GpuOptions) -> Result<GpuCode, JitError> {
    let options = GpuOptions { global_ids: true, ..options };
    options.check(&request)?;
    compile(Spirv { options }, request, |code, _| Ok(code))
}

/// A driver of OpenCL.
struct Spirv {
    options: GpuOptions,
}

impl Target for Spirv {
    type Code = GpuCode;
    type State = EntryState;
    const DEVICE: &'static str = "opencl";
    const LINES: bool = false;
    const PIPELINE: &'static [Step] = pipeline::SPIRV;
    const TRIPLE: Option<&'static str> = Some(SPIRV_TRIPLE);

    fn to_text(&self) -> String {
        format!("{:?}", self.options)
    }

    fn machine(&self) -> Result<Machine, JitError> {
        machine::stand_in()
    }

    fn run_step<'c>(
        &'c self,
        step: TargetStep,
        work: &Work<'_, 'c>,
        state: &mut EntryState,
        cx: &mut PassContext<'_>,
    ) -> Result<(), JitError> {
        let Work { context, module, .. } = *work;
        match step {
            TargetStep::LinkDeviceLibrary => {
                devicelib::supply(context, module, &TargetLibraryInfo::ROUNDING)?;
            }
            TargetStep::DefinePause => pause::ignore(context, module)?,
            TargetStep::DispatchCalls => calls::dispatch(context, module)?,
            TargetStep::ExpandWideIntegers => {
                expand_above_i128::expand(module)?;
                expand_i128::expand(context, module)?;
            }
            TargetStep::ExpandAtomics => atomics::expand(context, module)?,
            TargetStep::ReorderBranches => {
                if self.options.assumptions & ASSUME_GROUP_ON_THREAD != 0 {
                    reorder_branches::separate(module, &state.entry()?.name);
                }
            }
            TargetStep::SplitAggregates => split_aggregates::split(module),
            TargetStep::ExpandFills => fills::expand(context, module)?,
            TargetStep::ExpandPanics => {
                let groups = state.entry()?.flags & GPU_GROUPS != 0;
                // There only the entry knows where a work-item is.
                let writing = match lower::is_in_line(module, work.request.dimensions) {
                    true => Writing::InPlace,
                    false => Writing::Called,
                };
                let Work { request, .. } = *work;
                message::leave(context, module, request, &self.options, (groups, writing))?;
            }
            step => steps::run_common(step, work, &self.options, state, cx)?,
        }
        Ok(())
    }

    fn emit<'c>(&self, work: &Work<'_, 'c>, state: EntryState) -> Result<GpuCode, JitError> {
        let Work { module, request, dump, .. } = *work;
        let Entry { name, mut flags, .. } = state.into_entry()?;
        steps::refuse_undefined(module, request)?;
        let gone = || JitError::Internal(format!("`{name}` is gone"));
        let entry = module.function(&name).ok_or_else(gone)?;
        let binary = lower::lower(module, entry, request.dimensions, &self.options);
        let binary = binary.map_err(|refusal| JitError::Unsupported {
            kernel: request.kernel.clone(),
            feature: refusal.0,
            device: Self::DEVICE,
        })?;
        if binary.takes_local {
            flags |= GPU_LOCAL;
        }
        if binary.sub_groups {
            flags |= GPU_SUB_GROUPS;
        }
        let bytes: Vec<u8> = binary.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        dump.bytes("spv", &bytes);
        work.check_errors()?;
        GpuCode::new(bytes, name, flags)
    }
}
