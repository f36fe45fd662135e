//! A kernel that stage 2 compiled to SPIR-V, built by the driver.

use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use schism_cache::{KeyBuilder, Value};
use schism_hcf::{Addresses, Code, KernelRef, ParameterKind};
use schism_jit_abi::{
    ASSUME_GROUP_ON_THREAD, BACKEND_FAILED, FLAG_BASE, FLAG_OFFSET, GPU_GROUPS, GPU_HEAP,
    GPU_LOCAL, GPU_MESSAGES, GPU_PRINT, GPU_RANGE, GPU_SUB_GROUPS, TARGET_SPIRV,
};

use crate::code::aot::{AotCode, AotTarget};
use crate::code::assumptions::FlattenedParameters;
use crate::code::compiled::GpuCode;
use crate::code::host_symbols::HostSymbols;
use crate::code::profile::Profiler;
use crate::code::request::{GpuTarget, Stage2Target, flags};
use crate::code::variant::Variant;
use crate::data::device_heap;
use crate::error::{DriverError, ImageError};
use crate::hal::opencl::aot::SpirvTarget;
use crate::hal::opencl::api::{RawKernel, RawProgram, number, symbol};
use crate::hal::opencl::context::Context;
use crate::hal::opencl::driver;
use crate::hal::opencl::properties::USUAL_SLACK;
use crate::hal::{CodeLoader, GPUS_LACK};

/// A part of the closure that becomes an argument.
#[derive(Clone, Debug)]
pub(super) struct FlattenedParameter {
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) kind: FlattenedKind,
}

#[derive(Clone, Debug)]
pub(super) enum FlattenedKind {
    /// A number.
    Value,
    /// An address.
    Pointer,
    /// Bytes that may contain addresses.
    Bytes(Addresses),
}

/// A kernel in a context. Launches in flight hold it in an `Arc`.
#[derive(Debug)]
pub(crate) struct ClKernel {
    pub(super) context: Arc<Context>,
    program: RawProgram,
    /// Its arguments are set, and then it is launched, by one thread at a time.
    pub(super) raw: Mutex<RawKernel>,
    /// A sum of `GPU_` constants of the interface.
    flags: u32,
    pub(super) offset: bool,
    pub(super) base: bool,
    pub(super) flattened: Box<[FlattenedParameter]>,
    /// The maximum work-items of a group.
    pub(super) max_group: usize,
    /// Whether stage 1 has made it a kernel because a launch can undo its changes, wherever it ends.
    pub(super) is_undone: bool,
    /// Bytes of local memory that a group needs, without what a launch adds.
    pub(super) local_memory: usize,
    /// Bytes that the argument has more because a driver puts it anywhere.
    pub(super) local_slack: usize,
    /// Whether threads that compute work-items need a large stack, as those of processors may be
    /// the ones that wait.
    pub(super) needs_stack: bool,
    pub(super) version: Box<str>,
}

/// Bytes of memory for a work-item's own variables, of all those in one vector, that any thread's
/// stack has room for.
const USUAL_STACK: u64 = 64 << 10;

/// Divisions and square roots are rounded correctly; nothing else may be relaxed.
const CORRECT: &CStr = c"-cl-fp32-correctly-rounded-divide-sqrt";

impl ClKernel {
    /// Has the driver build code: what it needs, its entry, and its bytes. `flags` are those of the
    /// request that it was made by.
    fn of_code(
        context: &Arc<Context>,
        (needs, entry, code): (u32, &CStr, &[u8]),
        flags: u32,
        kernel: &KernelRef<'_>,
        version: String,
    ) -> Result<Self, ImageError> {
        if let Some(what) = context.device.lacks(code) {
            return Err(ImageError::Lacks { what });
        }
        // What such a driver makes no vectors of, it compiles for one work-item at a time, and ends the process
        // where that has sub-groups. Kernels that take blocks of a heap are among these.
        let is_risky = needs & GPU_HEAP != 0 && needs & GPU_SUB_GROUPS != 0;
        if context.device.is_cpu && is_risky {
            return Err(ImageError::Lacks { what: "sub-groups in kernels that allocate" });
        }
        let program = build(context, code)?;
        // From here on the program is released with the kernel.
        let mut this = Self {
            context: Arc::clone(context),
            program,
            raw: Mutex::new(RawKernel::NULL),
            flags: needs,
            offset: flags & FLAG_OFFSET != 0,
            base: flags & FLAG_BASE != 0,
            is_undone: device_heap::is_of(&kernel.capabilities),
            flattened: flattened(kernel),
            max_group: 0,
            // What does not fit is an error at the launch.
            local_memory: usize::try_from(kernel.groups.unwrap_or_default().local_size)
                .unwrap_or(usize::MAX),
            local_slack: usize::try_from(kernel.groups.unwrap_or_default().local_align)
                .map_or(usize::MAX, |align| align.saturating_sub(1))
                .max(USUAL_SLACK),
            needs_stack: false,
            version: version.into(),
        };
        this.find(entry).map_err(|source| ImageError::Driver {
            source: Box::new(source),
            log: String::new(),
        })?;
        Ok(this)
    }

    /// Finds the entry in the program that was built.
    fn find(&mut self, entry: &CStr) -> Result<(), DriverError> {
        let context = &*self.context;
        let api = context.api();
        let mut code = 0;
        // SAFETY: the program is built, the name ends with a NUL, and the code can be written.
        let raw = unsafe { (api.kernel_create)(self.program, entry.as_ptr(), &raw mut code) };
        driver::check(code, symbol::kernel_create)?;
        self.raw = Mutex::new(raw);
        for what in number::INDIRECT {
            let yes = 1_u32;
            // SAFETY: the kernel is there, and the number can be read. A driver without such memory
            // refuses, and then no kernel meets any.
            unsafe { (api.kernel_exec_info)(raw, what, size_of::<u32>(), (&raw const yes).cast()) };
        }
        let mut most = 0_usize;
        // SAFETY: kernel and device belong together, and there is room for the number.
        let code = unsafe {
            let (what, room) = (number::KERNEL_GROUP_SIZE, size_of::<usize>());
            let most = (&raw mut most).cast::<c_void>();
            (api.kernel_group_info)(raw, context.device.raw, what, room, most, std::ptr::null_mut())
        };
        driver::check(code, symbol::kernel_group_info)?;
        let ask = |room: usize, value, size| {
            // SAFETY: as above.
            unsafe {
                let what = number::KERNEL_PRIVATE_MEMORY;
                (api.kernel_group_info)(raw, context.device.raw, what, room, value, size)
            }
        };
        // A driver that does not say has no such need.
        let mut private = 0_u64;
        let told = ask(size_of::<u64>(), (&raw mut private).cast(), std::ptr::null_mut());
        let has_much = told == number::SUCCESS && private > USUAL_STACK;
        self.needs_stack = context.device.is_cpu && has_much;
        self.max_group = most.min(context.device.max_items).max(1);
        Ok(())
    }

    pub(super) const fn has_groups(&self) -> bool {
        self.flags & GPU_GROUPS != 0
    }

    pub(super) const fn takes_range(&self) -> bool {
        self.flags & GPU_RANGE != 0
    }

    pub(super) const fn takes_message_buffer(&self) -> bool {
        self.flags & GPU_MESSAGES != 0
    }

    pub(super) const fn allocates(&self) -> bool {
        self.flags & GPU_HEAP != 0
    }

    pub(super) const fn takes_local_memory(&self) -> bool {
        self.flags & GPU_LOCAL != 0
    }

    pub(super) const fn has_sub_groups(&self) -> bool {
        self.flags & GPU_SUB_GROUPS != 0
    }

    pub(super) const fn prints(&self) -> bool {
        self.flags & GPU_PRINT != 0
    }
}

impl Drop for ClKernel {
    fn drop(&mut self) {
        if self.context.forked().is_some() {
            return;
        }
        let raw = *self.raw.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: no launch uses the kernel any more; it is released once, if it was made.
        unsafe {
            if raw != RawKernel::NULL {
                (self.context.api().kernel_release)(raw);
            }
            (self.context.api().program_release)(self.program);
        }
    }
}

fn flattened(kernel: &KernelRef<'_>) -> Box<[FlattenedParameter]> {
    let parameters = kernel.parameters.iter().map(|parameter| FlattenedParameter {
        offset: parameter.offset as usize,
        size: parameter.size as usize,
        kind: match parameter.kind {
            ParameterKind::Integer | ParameterKind::Float => FlattenedKind::Value,
            ParameterKind::Pointer => FlattenedKind::Pointer,
            ParameterKind::Bytes => FlattenedKind::Bytes(parameter.addresses.clone()),
        },
    });
    parameters.collect()
}

/// Has the driver build SPIR-V.
fn build(context: &Context, code: &[u8]) -> Result<RawProgram, ImageError> {
    let failed = |source| ImageError::Driver { source: Box::new(source), log: String::new() };
    context.refuse_if_forked(symbol::program_create).map_err(failed)?;
    let started = Instant::now();
    let api = context.api();
    let mut result = 0;
    // SAFETY: the code is as long as it says, and the driver copies it.
    let program = unsafe {
        (api.program_create)(context.raw, code.as_ptr().cast(), code.len(), &raw mut result)
    };
    driver::check(result, symbol::program_create).map_err(failed)?;
    let device = context.device.raw;
    let options = if context.device.divides_correctly { CORRECT } else { c"" };
    let result = driver::on_large_stack(|| {
        let null = std::ptr::null_mut();
        // SAFETY: program and device belong together; the options end with a NUL; this returns when
        // the program is built.
        unsafe { (api.program_build)(program, 1, &raw const device, options.as_ptr(), null, null) }
    });
    if let Err(error) = driver::check(result, symbol::program_build) {
        let log = driver::text_with(|room, value, size| {
            // SAFETY: program and device belong together; there is as much room as is said.
            unsafe {
                (api.program_build_info)(program, device, number::BUILD_LOG, room, value, size)
            }
        });
        // SAFETY: nothing uses it.
        unsafe { (api.program_release)(program) };
        let reason = format!("the driver of `{}` does not take it: {error}: {log}", context.name());
        return Err(ImageError::Compile { code: BACKEND_FAILED, reason });
    }
    let micros = started.elapsed().as_micros() as u64;
    tracing::debug!(device = context.name(), micros, "the driver took the code");
    Ok(program)
}

impl CodeLoader for Arc<Context> {
    type Kernel = ClKernel;

    const COUNTS_ON_CAPTURES: bool = true;
    // Processors access vectors at any address alike.
    const COUNTS_ON_ALIGNMENT: bool = false;
    const LACKS: &'static [(&'static str, &'static str)] = GPUS_LACK;

    fn id(&self) -> u64 {
        Context::id(self)
    }

    fn name(&self) -> &str {
        Context::name(self)
    }

    fn profiler(_: &FlattenedParameters) -> Profiler {
        Profiler::blind()
    }

    fn aot_target(&self) -> Box<dyn AotTarget> {
        Box::new(SpirvTarget)
    }

    fn format(&self) -> &'static str {
        "SPIR-V"
    }

    fn target(&self) -> Stage2Target<'_> {
        Stage2Target::Gpu(GpuTarget {
            target: TARGET_SPIRV,
            isa: 0,
            arch: "",
            // OpenCL does not say it, but drivers for processors compute group after group.
            assumptions: if self.device.is_cpu { ASSUME_GROUP_ON_THREAD } else { 0 },
            libdevice: None,
        })
    }

    fn add_to_key(&self, key: KeyBuilder) -> Option<KeyBuilder> {
        // In the first form of the cached code it had no NUL.
        Some(key.number("form", 2).part("device", self.device.identity().as_bytes()))
    }

    fn load_aot(
        &self,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        _: &Variant,
        _: Option<HostSymbols<'_>>,
    ) -> Result<ClKernel, ImageError> {
        let Code { entry, needs, flags, .. } = aot_code.code;
        let nul = |_| ImageError::Mismatch { reason: "a NUL in its SPIR-V".to_owned() };
        let entry = CString::new(entry.as_bytes()).map_err(nul)?;
        let code = (*needs, &*entry, aot_code.image.data);
        ClKernel::of_code(self, code, *flags, kernel, aot_code.version())
    }

    fn load(
        &self,
        value: &Value,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        _: Option<HostSymbols<'_>>,
    ) -> Result<(ClKernel, usize), ImageError> {
        let read = GpuCode::read(self.format(), value)?;
        let code = (read.flags, read.entry, read.code());
        let loaded =
            ClKernel::of_code(self, code, flags(kernel, variant), kernel, variant.to_string())?;
        Ok((loaded, read.code().len()))
    }
}
