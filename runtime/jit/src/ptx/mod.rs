//! NVIDIA GPUs: compiles a kernel to a PTX module with one entry.
//!
//! A GPU runs a function for each work-item by itself, so there is no loop to add. Take a kernel
//! over one dimension:
//!
//! ```llvm
//! define void @saxpy(ptr align 4 %y, ptr noalias readonly align 4 %x, float %a) {
//!   %i = call i64 @__schism_global_id_x()
//!   …
//! ```
//!
//! [`entry`](crate::gpu::entry) puts a function around it that skips the work-items outside the range (there are only
//! whole blocks), and gives the builtins bodies that read the special registers. With everything
//! inlined, and pointers in the address spaces of the target:
//!
//! ```llvm
//! define ptx_kernel void @saxpy(ptr addrspace(1) align 4 %p0, ptr addrspace(1) noalias readonly align 4 %p1, float %p2,
//!                               i64 %schism.range.x) {
//!   %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//!   …                                             ; %x = ctaid * ntid + tid
//!   %x.inside = icmp ult i64 %x, %schism.range.x
//!   br i1 %x.inside, label %x.go, label %done
//! x.go:
//!   …                                             ; the kernel, with %x for the builtin's result
//! done:
//!   ret void
//! }
//! ```
//!
//! **Precision.** As on the CPU, nothing allows LLVM to change a result: a multiply and an add stay
//! two operations, divisions and square roots are those of IEEE 754, subnormal numbers are kept.
//!
//! **Panics and prints.** A work-item that panics writes its message to a message buffer that the
//! host can read ([`message`](crate::gpu::message)), and ends with `exit`; other work-items continue. It never traps:
//! that would destroy the host's context, and all memory in it.
//!
//! **Constants and statics** of the image are in global memory: code reads tables at indices that
//! differ between work-items, which is slow in the constant bank.

mod arch;
mod atomics;
mod libdevice;
mod multiples;
mod order;

use schism_llvm::{Context, FileKind, Machine};
use schism_passes::analysis::addresses_passed::{self, ParameterOffset};
use schism_passes::nvptx::circular_statics;
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Step};
use schism_passes::spec::target_library::TargetLibraryInfo;
use schism_passes::target_step::TargetStep;

use crate::common::image::{GLOBAL_ID, GLOBAL_RANGE, PANIC, PANIC_FORMAT, group_builtins};
use crate::common::module::Module;
use crate::common::target::{Target, Work};
use crate::common::{devicelib, inline, pause};
use crate::gpu::compiled::{GpuCode, compile};
use crate::gpu::machine;
use crate::gpu::options::GpuOptions;
use crate::gpu::steps::{self, EntryState};
use crate::{JitError, Request};

/// Compiles a kernel for NVIDIA's driver.
///
/// # Errors
/// Every variant of [`JitError`] documents when it occurs.
pub fn compile_ptx(request: Request, options: GpuOptions) -> Result<GpuCode, JitError> {
    options.check(&request)?;
    let bytes = parameter_bytes(&request);
    let version = arch::version_for(&options.arch, options.isa, bytes)?;
    let version = version.map_err(|most| JitError::Unsupported {
        kernel: request.kernel.clone(),
        feature: format!("{bytes} bytes of parameters (its closure), more than {most},"),
        device: Ptx::DEVICE,
    })?;
    compile(Ptx { options, version }, request, |code, _| Ok(code))
}

/// The bytes of the entry's parameters, including all the hidden ones that it may have.
fn parameter_bytes(request: &Request) -> u64 {
    let end = |begin: u64, param: &schism_jit_abi::Param| {
        let begin = begin.checked_next_multiple_of(param.align).unwrap_or(u64::MAX);
        begin.saturating_add(param.size)
    };
    let own = request.params.iter().fold(0, end);
    let hidden = 8 * (3 + u64::from(request.dimensions) + 3 + 1);
    own.checked_next_multiple_of(8).unwrap_or(u64::MAX).saturating_add(hidden)
}

/// NVIDIA's driver.
struct Ptx {
    options: GpuOptions,
    /// The version of PTX, times ten.
    version: u32,
}

impl Target for Ptx {
    type Code = GpuCode;
    type State = EntryState;
    const DEVICE: &'static str = "cuda";
    const LINES: bool = true;
    const PIPELINE: &'static [Step] = pipeline::PTX;

    fn to_text(&self) -> String {
        format!("{:?}", self.options)
    }

    fn machine(&self) -> Result<Machine, JitError> {
        machine::nvptx(&self.options.arch, self.version)
    }

    fn run_step<'c>(
        &'c self,
        step: TargetStep,
        work: &Work<'_, 'c>,
        state: &mut EntryState,
        cx: &mut PassContext<'_>,
    ) -> Result<(), JitError> {
        let Work { context, module, request, .. } = *work;
        let options = &self.options;
        match step {
            TargetStep::LinkDeviceLibrary => {
                devicelib::insert_calls(module, &TargetLibraryInfo::PTX)?;
                libdevice::call(context, module, &options.libdevice.0)?;
                devicelib::link(context, module, &TargetLibraryInfo::PTX)?;
            }
            TargetStep::ChooseInlining => {
                // Panic code need not be in the entry, since the message buffer is found from
                // everywhere; but a kernel without calls has all its registers for itself.
                let ids = GLOBAL_ID.into_iter().chain(GLOBAL_RANGE).chain(group_builtins());
                let special = ids.chain([PANIC, PANIC_FORMAT]);
                inline::choose(module, special, inline::SMALL_OF_LIBRARY, false);
            }
            TargetStep::DefinePause => pause_by_sleep(context, module)?,
            TargetStep::OrderAtomics => atomics::order_updates(module),
            TargetStep::UnmaskMultiples => {
                multiples::unmask(module, &state.entry()?.name, request, options);
            }
            TargetStep::AdoptLines => module.adopt_lines(&state.entry()?.name),
            step => steps::run_common(step, work, options, state, cx)?,
        }
        Ok(())
    }

    fn emit<'c>(&self, work: &Work<'_, 'c>, state: EntryState) -> Result<GpuCode, JitError> {
        let Work { module, machine, request, dump, .. } = *work;
        let entry = state.into_entry()?;
        steps::refuse_undefined(module, request)?;
        let addresses = addresses(module, &entry.name, request);
        let text =
            machine.emit(module, FileKind::Assembly).map_err(|reason| work.failed(reason))?;
        let text = circular_statics::joined(&String::from_utf8_lossy(&text));
        let text = order::sort_variables(&text);
        dump.bytes("ptx", text.as_bytes());
        work.check_errors()?;
        if text.contains('\0') {
            return Err(JitError::Internal("a NUL in the generated text".to_owned()));
        }
        let code = GpuCode::new(text.into_bytes(), entry.name, entry.flags)?;
        Ok(code.with_addresses(addresses))
    }
}

/// Has work-items that wait for others sleep.
fn pause_by_sleep<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let body = "  call void @llvm.nvvm.nanosleep(i32 %time)\n  ret void\n";
    pause::define(context, module, "declare void @llvm.nvvm.nanosleep(i32)\n", body)
}

/// Where the closure has the addresses by which the kernel reaches memory; `None` if it may find
/// others.
fn addresses(module: &Module<'_>, entry: &str, request: &Request) -> Option<Vec<u64>> {
    let passed = addresses_passed::of(module.function(entry)?)?;
    // Behind these are the parameters of the launch itself.
    let of_closure =
        |(index, byte): ParameterOffset| Some(request.params.get(index as usize)?.offset + byte);
    Some(passed.into_iter().filter_map(of_closure).collect())
}
