//! AMD's GPUs: compiles a kernel to a code object with one entry.
//!
//! The entry, its hidden parameters, and how a panic's message leaves the device are those of `gpu`.
//! LLVM has a code generator for these GPUs, and from the pass `address-spaces` on the module is
//! one for them. Take a kernel over one dimension:
//!
//! ```llvm
//! define ptx_kernel void @saxpy(ptr %p0, ptr %p1, float %p2, i64 %schism.range.x) {
//!   %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//! ```
//! becomes
//! ```llvm
//! define amdgpu_kernel void @saxpy(ptr addrspace(1) %p0, ptr addrspace(1) %p1, float %p2, i64 %schism.range.x) {
//!   %tid = call i32 @llvm.amdgcn.workitem.id.x()
//! ```
//!
//! | file | concern |
//! |---|---|
//! | `arch` | processors, the width of a wave |
//! | `registers` | special registers, barriers, sub-groups |
//! | `clock` | clocks |
//! | `link` | an object becomes a code object |
//!
//! **The end of a work-item.** `s_endpgm` ends a whole wave, with the work-items that have not
//! panicked. So a work-item that panics leaves the kernel by a return, which masks it off until the
//! others of its wave return, and all that may panic is inlined into the kernel.
//!
//! **Recursion** is refused: the size of a work-item's stack must be known when it starts.
//!
//! **Precision.** As on the other devices, nothing allows LLVM to change a result: no contractions,
//! subnormal numbers are kept, divisions and square roots are correctly rounded, and mathematics is
//! the device library's.

mod arch;
mod clock;
mod link;
mod registers;

use schism_jit_abi::GPU_GROUPS;
use schism_llvm::{
    Builder, Context, FUNCTION_INDEX, FileKind, Linkage, Machine, Opcode, Visibility,
};
use schism_passes::check::recursion;
use schism_passes::nvptx::launch_bounds::BLOCK;
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Step};
use schism_passes::spec::target_library::TargetLibraryInfo;
use schism_passes::target_step::TargetStep;

use crate::common::module::Module;
use crate::common::target::{Target, Work};
use crate::common::{devicelib, pause};
use crate::gpu::atomics;
use crate::gpu::builtins::{DEVICE_EXIT, MAX_GROUP_SIZE, MIN_GROUPS};
use crate::gpu::compiled::{GpuCode, compile};
use crate::gpu::entry::Entry;
use crate::gpu::machine;
use crate::gpu::options::GpuOptions;
use crate::gpu::steps::{self, EntryState};
use crate::{JitError, Request};
use arch::Processor;

/// Compiles a kernel for an AMD GPU: to a code object, or to `assembly`.
///
/// # Errors
/// Every variant of [`JitError`] documents when it occurs.
pub fn compile_amdgcn(
    request: Request,
    options: GpuOptions,
    assembly: bool,
) -> Result<GpuCode, JitError> {
    options.check(&request)?;
    let processor = Processor::find(&options.arch)?;
    compile(Amdgcn { options, processor, assembly }, request, |code, settings| match assembly {
        true => Ok(code),
        false => link::link(&code, settings.linker.clone()),
    })
}

/// The driver of an AMD GPU.
struct Amdgcn {
    options: GpuOptions,
    processor: Processor,
    assembly: bool,
}

impl Target for Amdgcn {
    type Code = GpuCode;
    type State = EntryState;
    const DEVICE: &'static str = "hip";
    const LINES: bool = false;
    const PIPELINE: &'static [Step] = pipeline::AMDGCN;
    const TRIPLE: Option<&'static str> = Some(arch::TRIPLE);

    fn to_text(&self) -> String {
        format!("{:?}", self.options)
    }

    fn machine(&self) -> Result<Machine, JitError> {
        self.processor.machine()
    }

    fn machine_of_images(&self) -> Result<Option<Machine>, JitError> {
        // Rust's locals are in the generic address space, and this machine's are not.
        machine::stand_in().map(Some)
    }

    fn run_step<'c>(
        &'c self,
        step: TargetStep,
        work: &Work<'_, 'c>,
        state: &mut EntryState,
        cx: &mut PassContext<'_>,
    ) -> Result<(), JitError> {
        let Work { context, module, request, .. } = *work;
        match step {
            TargetStep::LinkDeviceLibrary => {
                devicelib::supply(context, module, &TargetLibraryInfo::ROUNDING)?;
            }
            TargetStep::DefineClock => clock::add(context, module, self.processor)?,
            TargetStep::DefinePause => pause_by_sleep(context, module)?,
            TargetStep::LowerRegisters => registers::lower(context, module, self.processor)?,
            TargetStep::LeaveByReturn => leave_by_return(module, &state.entry()?.name, request)?,
            TargetStep::NameScopes => name_scopes(context, module),
            TargetStep::BoundLaunches => bound_launches(module, state.entry()?, &self.options),
            step => steps::run_common(step, work, &self.options, state, cx)?,
        }
        Ok(())
    }

    fn emit<'c>(&self, work: &Work<'_, 'c>, state: EntryState) -> Result<GpuCode, JitError> {
        let Work { context, module, machine, request, dump, .. } = *work;
        let Entry { name, flags, .. } = state.into_entry()?;
        steps::refuse_undefined(module, request)?;
        refuse_recursion(module, request)?;
        show_variables(module);
        declare_version(context, module)?;
        let kind = if self.assembly { FileKind::Assembly } else { FileKind::Object };
        let bytes = machine.emit(module, kind).map_err(|reason| work.failed(reason))?;
        dump.bytes(if self.assembly { "s" } else { "o" }, &bytes);
        work.check_errors()?;
        GpuCode::new(bytes, name, flags)
    }
}

/// Has work-items that wait for others sleep: for multiples of 64 cycles, a constant of the
/// instruction, so it is a loop.
fn pause_by_sleep<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    /// How long 64 cycles take, in nanoseconds.
    const STEP: u32 = 32;
    let body = format!(
        "entry:
           %last = udiv i32 %time, {STEP}
           br label %loop
         loop:
           %step = phi i32 [ 0, %entry ], [ %next, %loop ]
           call void @llvm.amdgcn.s.sleep(i32 1)
           %next = add nuw nsw i32 %step, 1
           %more = icmp ult i32 %step, %last
           br i1 %more, label %loop, label %exit
         exit:
           ret void\n"
    );
    pause::define(context, module, "declare void @llvm.amdgcn.s.sleep(i32 immarg)\n", &body)
}

fn unsupported(request: &Request, feature: String) -> JitError {
    JitError::Unsupported { kernel: request.kernel.clone(), feature, device: Amdgcn::DEVICE }
}

/// Refuses functions that call themselves.
fn refuse_recursion(module: &Module<'_>, request: &Request) -> Result<(), JitError> {
    match recursion::feature(module.functions()) {
        Some(feature) => Err(unsupported(request, feature)),
        None => Ok(()),
    }
}

/// Ends work-items by a return from the entry. Everything that ends one was inlined into it, except
/// for what calls itself and what is called through a pointer.
fn leave_by_return(module: &Module<'_>, entry: &str, request: &Request) -> Result<(), JitError> {
    let Some(exit) = module.function(DEVICE_EXIT) else { return Ok(()) };
    for call in exit.users().into_iter().filter(|user| user.is_call()) {
        let caller = call.parent_function().name();
        if caller != entry {
            let feature = format!(
                "a panic in a function that calls itself or is called through a pointer (`{}`)",
                recursion::readable(&caller)
            );
            return Err(unsupported(request, feature));
        }
        let block = call.block();
        call.cut_block();
        let end =
            block.instructions().pop().filter(|last| last.opcode() == Some(Opcode::Unreachable));
        let end = end.ok_or_else(|| JitError::Internal("a block has no end".to_owned()))?;
        Builder::before(end).ret_void();
        end.erase();
    }
    exit.delete_function();
    Ok(())
}

/// Gives atomics and fences the scopes' names that this target has.
fn name_scopes(context: &Context, module: &Module<'_>) {
    for instruction in atomics::all(module) {
        for (name, own) in [("block", "workgroup"), ("device", "agent")] {
            if instruction.has_sync_scope(name) {
                instruction.set_sync_scope(context.handle().sync_scope(own));
            }
        }
    }
}

/// Says how large the groups of launches are. Only whole groups are launched.
fn bound_launches(module: &Module<'_>, entry: &Entry, options: &GpuOptions) {
    let Some(kernel) = module.function(&entry.name) else { return };
    for name in [MAX_GROUP_SIZE, MIN_GROUPS, BLOCK] {
        if kernel.string_attribute(FUNCTION_INDEX, name).is_some() {
            kernel.remove_string_attribute(name);
        }
    }
    let size: u32 = options.group.iter().product();
    let groups = entry.flags & GPU_GROUPS != 0;
    let bounds = match (size, groups) {
        (0, _) => "1,1024".to_owned(),
        (size, true) => format!("{size},{size}"),
        (size, false) => format!("1,{size}"),
    };
    kernel.add_string_attribute("amdgpu-flat-work-group-size", &bounds);
    kernel.add_string_attribute("uniform-work-group-size", "true");
}

/// Lets the driver find the variables that a runtime sets.
fn show_variables(module: &Module<'_>) {
    for global in module.globals() {
        if global.linkage() == Linkage::External && global.initializer().is_some() {
            global.set_visibility(Visibility::Protected);
        }
    }
}

/// Asks for the version of code objects whose hidden arguments the code reads.
fn declare_version<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let text =
        "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n";
    let flags = Module::from_text(context, text).map_err(JitError::Internal)?;
    flags.set_target_of(module);
    module.link(context, flags).map_err(JitError::Internal)
}
