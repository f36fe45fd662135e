//! The CPU of this process.
//!
//! Calling a function for each work-item would be too expensive. So the kernel becomes the body of
//! a loop nest over a box of ids, which LLVM can vectorise like any loop, and one call runs one
//! box. Take a kernel that a container describes by a pointer at offset 0 and a float at offset 8:
//!
//! ```llvm
//! define void @saxpy(ptr align 4 %y, float %a) {
//!   %i = call i64 @__schism_global_id_x()
//!   …
//! ```
//!
//! [`work_loop`] puts the nest around it, and once it is inlined [`resolve`] replaces the builtins by
//! the nest's own values. The loop's parameters keep the attributes of the kernel's, so no run-time check in front
//! of the vector loop repeats what the compiler knew:
//!
//! ```llvm
//! define i32 @schism.loop(ptr align 4 %p0, float %p1, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %panic, ptr %context) {
//! start:                                          ; assumed: begin <= end <= range <= i64::MAX
//!   br label %x.head
//! x.head:
//!   %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
//!   %x.more = icmp ult i64 %x, %x.end
//!   br i1 %x.more, label %item, label %done
//! item:
//!   …                                             ; the kernel, with %x for the builtin's result
//! x.next:
//!   %x.after = add nuw nsw i64 %x, 1
//!   br label %x.head, !llvm.loop !1
//! done:
//!   ret i32 0
//! ```
//!
//! After optimisation, [`entry`] adds the function that the runtime calls. It loads the closure's
//! parts once for each box:
//!
//! ```llvm
//! define i32 @schism.entry(ptr %closure, ptr %chunk, ptr %panic) {
//!   %p0.at = getelementptr inbounds i8, ptr %closure, i64 0
//!   %p0 = load ptr, ptr %p0.at, align 8
//!   …
//!   %status = call i32 @schism.loop(ptr %p0, float %p1, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %panic, ptr null)
//!   ret i32 %status
//! }
//! ```
//!
//! **Panics.** Where `__schism_panic` is called in the loop function (nearly always: [`inline`](crate::common::inline)
//! forces calls that can panic inline), the call becomes one of [`message`], which formats the
//! message into the record, and a `ret i32 1`: a plain loop exit. Panics and builtins that stay in
//! functions of their own (recursive ones, or called through pointers) are
//! [`out_of_line_builtins`]: they find the work-item through a context that a thread-local points
//! to, and leave by `llvm.eh.sjlj.longjmp`. Only kernels with such calls have a context and a
//! landing point.
//!
//! **Unwinding.** Where the cleanup of a kernel may change memory of the program's, the image has landing
//! pads ([`lower_unwind`](schism_passes::frontend::lower_unwind)). If there are some that matter once the
//! kernel is part of the nest, a panic records itself, and calls a function of the process that unwinds
//! ([`message::raise_bodies`]) in place of returning; the entry function puts the context back while it does.
//!
//! **Work-groups.** A kernel that reads its group gets it as one more argument of the loop
//! function, and the box is part of one group; local ids are differences. A barrier or a sub-group
//! operation is a call of a function that the runtime passes with the group ([`group_operations`]).
//! The pass `split-at-barriers` cuts the loop function at the barriers, so that its box is a whole
//! group and nothing waits. Where it cannot, and for sub-group operations, the runtime runs every
//! work-item of the group as a separate box, on a separate stack, and the call returns when all
//! have made it.
//!
//! **Independence.** Work-items do not race, so no two of them access the same memory unless all
//! only read it or use atomics. [`parallel_loop_metadata`] tells the vectoriser so where a kernel
//! has only such accesses.
//!
//! **Lanes.** The innermost loop of the nest has the property `schism.work_item_loop`: the pass
//! `vectorize` computes several of its work-items at once, unless [`lanes`] says otherwise. The
//! loop that is left runs the last ones.
//!
//! **Precision.** Unless the request asks for it, nothing here allows LLVM to change a result: no
//! fast-math flags are added and no multiply and add are contracted, so a kernel computes what the
//! same loop on the host computes, bit for bit.
//!
//! **Fallback.** [`fallback`]: a kernel on which LLVM's loop vectoriser does not terminate is
//! compiled without it.
//!
//! **Stack.** All functions probe their frames page by page, and the code generator reports the
//! size of each frame; with the calls that remain after optimisation this gives the stack need of
//! the kernel ([`stack`]).
//!
//! **Offset.** A kernel that reads the launch's offset has a variant with three more parameters.
//! The loop takes them after the kernel's own, and the entry function loads them from the chunk.

mod entry;
mod fallback;
mod group_operations;
mod heap;
mod host;
mod lanes;
mod message;
mod out_of_line_builtins;
mod parallel_loop_metadata;
mod resolve;
mod stack;
mod unwinding;
mod work_loop;

use std::sync::Arc;
use std::time::{Duration, Instant};

use schism_jit_abi::CPU_PLAIN_LOOPS;
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Step};
use schism_passes::spec::lanes::Lanes;
use schism_passes::spec::options::FastMath;
use schism_passes::spec::target_library::TargetLibraryInfo;
use schism_passes::target_step::TargetStep;

use crate::common::clock::{self, Time};
use crate::common::image::{self, builtins};
use crate::common::inline::{self, SMALL_OF_LIBRARY, SMALL_OF_LIBRARY_IN_LANES};
use crate::common::{devicelib, pause, precise_math, row};
use schism_llvm::fatal;
use schism_llvm::{FileKind, Machine};

use crate::common::settings::Settings;
use crate::common::target::{Lowered, Target, Work, lower, unknown_step};
use crate::{JitError, Request};

pub use host::cpu_name;

/// A compiled kernel: an object, which a process loads to run it.
#[derive(Debug)]
pub struct CpuCode {
    /// The object.
    pub object: Vec<u8>,
    /// What its entry function requires of a chunk: a sum of `schism_jit_abi::CPU_` constants.
    pub flags: u32,
    /// The stack that it needs in bytes, or `schism_jit_abi::STACK_UNKNOWN`.
    pub stack: u64,
    /// How long compiling took, in microseconds.
    pub lower_micros: u64,
    /// The passes that failed and were left out, a line each.
    pub failures: String,
}

/// Compiles a kernel for this process's processor.
///
/// # Errors
/// Every variant of [`JitError`] documents when it occurs.
pub fn compile_cpu(request: Request) -> Result<CpuCode, JitError> {
    compile_cpu_within(request, fallback::LIMIT)
}

/// The same, with another limit of processor time before the second compilation, without LLVM's
/// loop vectoriser.
#[doc(hidden)]
pub fn compile_cpu_within(request: Request, limit: Duration) -> Result<CpuCode, JitError> {
    let start = Instant::now();
    let settings = Settings::of(&request.settings)?;
    let request = Arc::new(request);
    let compile = |vectorise_loops: bool| {
        let (request, settings) = (Arc::clone(&request), settings.clone());
        fatal::start(move || {
            let (name, lanes) = (request.cpu.clone(), settings.cpu_lanes.clone());
            lower(&Cpu { name, lanes, vectorise_loops }, &request, &settings)
        })
    };
    let Lowered { code: (object, flags, stack), failures } = fallback::first_of(compile, limit)
        .map_err(|failure| JitError::of_thread(failure, &request.kernel))
        .flatten()?;
    let lower_micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(CpuCode { object, flags, stack, lower_micros, failures })
}

/// A processor.
struct Cpu {
    /// LLVM's name; empty for that of this process.
    name: String,
    /// The setting of how many work-items are computed at once.
    lanes: String,
    vectorise_loops: bool,
}

/// The state between steps.
#[derive(Default)]
struct CpuState {
    /// What the entry function requires of a chunk.
    flags: u32,
    /// Whether panics unwind, and no status says so.
    unwinds: bool,
}

impl Target for Cpu {
    type Code = (Vec<u8>, u32, u64);
    type State = CpuState;
    const DEVICE: &'static str = image::CPU;
    const LINES: bool = false;
    const PIPELINE: &'static [Step] = pipeline::CPU;

    fn machine(&self) -> Result<Machine, JitError> {
        let machine = host::machine(&self.name)?;
        Ok(if self.vectorise_loops { machine } else { machine.without_vectorised_loops() })
    }

    fn lanes(&self) -> Result<Option<Lanes>, JitError> {
        // Without LLVM's vectoriser there had better be no vectors at all.
        if self.vectorise_loops { lanes::of(&self.name, &self.lanes) } else { Ok(None) }
    }

    fn unwinds(state: &CpuState) -> bool {
        state.unwinds
    }

    fn run_step<'c>(
        &'c self,
        step: TargetStep,
        work: &Work<'_, 'c>,
        state: &mut CpuState,
        _cx: &mut PassContext<'_>,
    ) -> Result<(), JitError> {
        let Work { context, module, kernel, request, .. } = *work;
        match step {
            TargetStep::LinkDeviceLibrary => {
                if request.portable_math {
                    devicelib::supply(context, module, &TargetLibraryInfo::CPU)?;
                }
            }
            TargetStep::DefinePrint => {
                message::add_print(context, module)?;
                message::add_abort(context, module)?;
            }
            TargetStep::DefineClock => clock::add(context, module, Time::Process)?,
            TargetStep::DefinePause => {
                pause::ignore(context, module)?;
                row::define(context, module, "alwaysinline")?;
            }
            TargetStep::NameAllocator => heap::name(module),
            TargetStep::WrapKernel => work_loop::wrap(context, module, kernel, request)?,
            TargetStep::ChooseInlining => {
                let has_lanes = self.lanes()?.is_some();
                let small = if has_lanes { SMALL_OF_LIBRARY_IN_LANES } else { SMALL_OF_LIBRARY };
                inline::choose(module, builtins(), small, request.in_process);
            }
            TargetStep::ResolveBuiltins => {
                state.unwinds = !request.in_process && resolve::unwinds(module)?;
                resolve::resolve(context, module, state.unwinds)?;
            }
            TargetStep::UnfuseMultiplyAdd => {
                if request.math == FastMath::PRECISE {
                    precise_math::unfuse(module);
                }
            }
            TargetStep::MarkParallelLoop => parallel_loop_metadata::mark(context, module),
            TargetStep::AddEntry => {
                state.flags = entry::add(context, module, request, state.unwinds)?
            }
            TargetStep::DefinePanicExit => out_of_line_builtins::add_end(context, module)?,
            TargetStep::ProbeStack => {
                stack::prepare(module);
                if request.in_process || state.unwinds {
                    unwinding::add_tables(module);
                }
            }
            step => return Err(unknown_step(step)),
        }
        Ok(())
    }

    fn emit<'c>(&self, work: &Work<'_, 'c>, state: CpuState) -> Result<Self::Code, JitError> {
        let Work { context, module, machine, dump, .. } = *work;
        let calls = stack::Calls::of(module, work.request.in_process);
        let failed = |reason| work.failed(reason);
        if dump.is_on() {
            let assembly = machine.emit(&module.duplicate(), FileKind::Assembly).map_err(failed)?;
            dump.bytes("s", &assembly);
        }
        let object = machine.emit(module, FileKind::Object).map_err(failed)?;
        dump.bytes("o", &object);
        work.check_errors()?;
        let stack = calls.most(&context.take_frames().map_err(JitError::Internal)?);
        let plain = if self.vectorise_loops { 0 } else { CPU_PLAIN_LOOPS };
        Ok((object, state.flags | plain, stack))
    }
}
