//! A kernel that stage 2 compiled for this machine's processor.

use std::ptr::NonNull;
use std::time::Instant;

use schism_cache::{Found, Value};
use schism_hcf::{Addresses, KernelRef, ParameterKind, RecordRef};
use schism_jit_abi::{
    Bytes, CPU_PLAIN_LOOPS, CPU_UNWINDS, CpuChunk, CpuEntry, CpuRequest, OK, PanicRecord,
    STACK_UNKNOWN, Text, UnwindingEntry,
};
use schism_loader::message::{Calls, RaiseFn};
use schism_loader::{Code, FindInHost};

use crate::code::aot::{self, AotCode, AotTarget};
use crate::code::assumptions::FlattenedParameters;
use crate::code::captured::{self, CapturedAddress};
use crate::code::compiler::{Stage2, stage2};
use crate::code::host_symbols::HostSymbols;
use crate::code::imports::Linked;
use crate::code::profile::Profiler;
use crate::code::request::{Lists, flags, take_text, trace_failures};
use crate::code::variant::Variant;
use crate::code::{background_jobs, disk_cache, toolchain_id};
use crate::error::ImageError;
use crate::hal::host::aot::HostTarget;
use crate::hal::host::math;
use crate::hal::host::pace::LatestPace;
use crate::hal::{CodeLoader, address_window};
use crate::launch::failure;
use crate::util::warn_once;

/// What stage 2 makes of a kernel: an object, which can be kept.
#[derive(Debug)]
pub(crate) struct CpuObject {
    object: Vec<u8>,
    /// A sum of `schism_jit_abi::CPU_` constants.
    flags: u32,
    /// Bytes, or `schism_jit_abi::STACK_UNKNOWN`.
    stack: u64,
    /// How long compiling took.
    lower_micros: u64,
    /// The passes that failed, a line each.
    failures: String,
}

/// Machine code of one kernel. Dropping it frees the code, so launches hold it in an `Arc`.
#[derive(Debug)]
pub(crate) struct CpuKernel {
    code: Code,
    /// Whether panics unwind through it.
    unwinds: bool,
    flags: u32,
    /// The stack that it needs in bytes, without those of this process's functions that it calls,
    /// if that is known.
    stack: Option<usize>,
    /// Size and alignment of the local memory that groups need, without what a launch adds.
    local_memory: (usize, usize),
    /// The offsets in the closure of parameters that are addresses.
    pointers: Box<[usize]>,
    /// The offsets of parameters that contain addresses among their bytes.
    aggregates: Box<[(usize, Addresses)]>,
    /// For the trace.
    pub(crate) version: Box<str>,
    /// The container's name for people.
    name: Box<str>,
    /// How fast its work-items, or groups of them, ran last.
    pub(super) latest_pace: LatestPace,
}

impl CpuObject {
    /// Loads cached code of `kernel` for a launch, or else compiles its image with stage 2. A
    /// kernel without an offset variant does not read the offset.
    pub(crate) fn get_or_compile(
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        image: &[u8],
        linked: &Linked,
    ) -> Result<Found, ImageError> {
        let flags = flags(kernel, variant);
        let key = disk_cache::key_of("object for the CPU", record, kernel, flags, variant, linked)
            .and_then(toolchain_id::add_processor)
            .map(|key| key.finish());
        disk_cache::get_or_compile(key, || {
            let stage2 =
                stage2().map_err(|reason| ImageError::Stage2 { reason: reason.to_string() })?;
            let made = Self::compile(stage2, image, kernel, variant, linked)?;
            tracing::debug!(
                kernel = %kernel.display_name, micros = made.lower_micros, code_bytes = made.object.len(), "lowered"
            );
            trace_failures(kernel, "cpu", &made.failures);
            if made.flags & CPU_PLAIN_LOOPS != 0 {
                let message = format_args!(
                    "kernel `{}` was compiled without LLVM's loop vectoriser, which did not come to an end; it may run slower. A long \
                     chain of operations on what is the same for all work-items is the cause; compute it once, on the host",
                    kernel.display_name
                );
                // Who wrote an ordinary iterator did not ask for a kernel.
                if variant.in_process {
                    tracing::info!("{message}");
                } else {
                    warn_once::warn(message);
                }
            }
            let meta = [&made.flags.to_le_bytes()[..], &made.stack.to_le_bytes()].concat();
            Ok(Value { meta, bytes: made.object })
        })
    }

    fn compile(
        stage2: &'static Stage2,
        image: &[u8],
        kernel: &KernelRef<'_>,
        variant: &Variant,
        linked: &Linked,
    ) -> Result<Self, ImageError> {
        let lists = Lists::new(kernel, variant, linked);
        let request = CpuRequest {
            image: Bytes::new(image),
            kernel: Bytes::new(lists.symbol.as_bytes()),
            params: lists.params.as_ptr(),
            params_len: lists.params.len(),
            closure_size: kernel.closure_size,
            closure_align: kernel.closure_align,
            dimensions: kernel.dimensions,
            flags: lists.flags,
            constants: lists.constants.as_ptr(),
            constants_len: lists.constants.len(),
            cpu: Bytes::EMPTY,
            values: lists.values.as_ptr(),
            values_len: lists.values.len(),
            links: lists.links.as_ptr(),
            links_len: lists.links.len(),
            group: variant.assumptions.block,
        };
        let mut made = std::mem::MaybeUninit::uninit();
        let mut error = Text::EMPTY;
        // SAFETY: everything that the request points to lives until the end of this function; the
        // rest can be written.
        let status = background_jobs::let_fork(variant, || unsafe {
            (stage2.api.compile_cpu)(&raw const request, made.as_mut_ptr(), &raw mut error)
        });
        if status == OK {
            // SAFETY: filled when the status is OK.
            let made = unsafe { made.assume_init() };
            // SAFETY: both live until the handle is released.
            let (object, failures) =
                unsafe { (made.object.as_slice().to_vec(), made.failures.as_slice()) };
            let failures = String::from_utf8_lossy(failures).into_owned();
            // SAFETY: released once, and not read again.
            unsafe { (stage2.api.release_cpu)(made.handle) };
            let (flags, stack) = (made.flags, made.stack);
            return Ok(Self { object, flags, stack, lower_micros: made.lower_micros, failures });
        }
        // SAFETY: stage 2 filled it, or left it empty; it is freed once, after its last use.
        let reason = unsafe { take_text(stage2, error) };
        Err(ImageError::Compile { code: status, reason })
    }
}

impl CpuKernel {
    /// Loads an object of `kernel`.
    pub(crate) fn load(
        found: &Value,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<Self, ImageError> {
        let (flags, stack) = match found.meta.split_first_chunk::<4>() {
            Some((flags, stack)) => (*flags, <[u8; 8]>::try_from(stack)),
            None => return Err(disk_cache::damaged("flags")),
        };
        let Ok(stack) = stack.map(u64::from_le_bytes) else {
            return Err(disk_cache::damaged("stack"));
        };
        let needs =
            (u32::from_le_bytes(flags), Some(stack).filter(|stack| *stack != STACK_UNKNOWN));
        // SAFETY: stage 2 made it, now or earlier: the key is of this processor and this version of
        // the interface.
        unsafe {
            let version = variant.to_string();
            Self::of_object(&found.bytes, needs, (&[], host), kernel, version)
        }
    }

    /// Loads AOT code.
    pub(crate) fn of_aot(
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<Self, ImageError> {
        let constants = aot::values(kernel, variant);
        // SAFETY: stage 2 made it, for this version of the interface and for a level that this
        // processor supports.
        unsafe {
            let (object, needs) = (aot_code.image.data, (aot_code.code.needs, aot_code.code.stack));
            Self::of_object(object, needs, (&constants, host), kernel, aot_code.version())
        }
    }

    /// # Safety
    /// Stage 2 made the object, for this processor and this version of the interface.
    unsafe fn of_object(
        object: &[u8],
        (flags, stack): (u32, Option<u64>),
        (constants, host): (&[(usize, &[u8])], Option<HostSymbols<'_>>),
        kernel: &KernelRef<'_>,
        version: String,
    ) -> Result<Self, ImageError> {
        let find = host.map(|host| move |name: &str| host.find(name));
        let find = find.as_ref().map(|find| find as FindInHost<'_>);
        let print = crate::kernel::print::from_kernel;
        let raise: Option<RaiseFn> =
            (flags & CPU_UNWINDS != 0).then_some(failure::raise as RaiseFn);
        // SAFETY: the caller's promise.
        let code = unsafe { Code::load_with(object, Calls { print, raise }, constants, find) };
        let code = code.map_err(|error| {
            let reason = format!("kernel `{}`: {error}", kernel.display_name);
            ImageError::Compile { code: error.code(), reason }
        })?;
        let groups = kernel.groups.unwrap_or_default();
        // What does not fit is an error at the launch.
        let bytes = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let local_memory = (bytes(groups.local_size), bytes(groups.local_align));
        let pointers = kernel.parameters.iter().filter_map(|parameter| {
            let pointer = parameter.kind == ParameterKind::Pointer;
            pointer.then_some(parameter.offset as usize)
        });
        let pointers = pointers.collect();
        let aggregates =
            kernel.parameters.iter().filter(|parameter| !parameter.addresses.is_empty());
        let aggregates = aggregates
            .map(|parameter| (parameter.offset as usize, parameter.addresses.clone()))
            .collect();
        let stack = stack.map(bytes);
        let version = version.into();
        let latest_pace = LatestPace::default();
        let unwinds = host.is_some() || raise.is_some();
        Ok(Self {
            code,
            unwinds,
            flags,
            stack,
            local_memory,
            pointers,
            aggregates,
            version,
            name: Box::from(&*kernel.display_name),
            latest_pace,
        })
    }

    /// Whether [`run`](Self::run) may unwind.
    pub(crate) const fn unwinds(&self) -> bool {
        self.unwinds
    }

    /// The container's name for people, which lives as long as `self`.
    pub(super) fn name(&self) -> NonNull<str> {
        NonNull::from(&*self.name)
    }

    /// Bytes of code and constants.
    pub(crate) fn code_size(&self) -> usize {
        self.code.size()
    }

    /// What [`run`](Self::run) requires of a chunk: a sum of `schism_jit_abi::CPU_` constants.
    pub(crate) const fn flags(&self) -> u32 {
        self.flags
    }

    /// The stack that [`run`](Self::run) needs in bytes, without that of this process's functions
    /// that the kernel calls, if that is known.
    pub(crate) const fn stack(&self) -> Option<usize> {
        self.stack
    }

    /// Size and alignment of the local memory that groups need, without what a launch adds.
    pub(crate) const fn local_memory(&self) -> (usize, usize) {
        self.local_memory
    }

    /// Whether a closure refers to memory of another device.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    pub(crate) unsafe fn captures_device_memory(&self, closure: *const u8) -> bool {
        let is_remote = |found: CapturedAddress| match found.uncertain {
            false => address_window::is_in_window(found.address),
            true => address_window::is_in_buffer(found.address),
        };
        self.pointers.iter().any(|offset| {
            // SAFETY: a flattened parameter of the closure, as large as a pointer; it need not be
            // aligned in a packed struct.
            address_window::is_in_window(unsafe {
                closure.add(*offset).cast::<usize>().read_unaligned()
            })
        }) || self.aggregates.iter().any(|(offset, addresses)| {
            // SAFETY: a flattened parameter of the closure, with addresses where the container says
            // it.
            let none = unsafe {
                captured::for_each_address(addresses, closure.add(*offset), |found| {
                    if is_remote(found) { Err(()) } else { Ok(()) }
                })
            };
            none.is_err()
        })
    }

    /// # Safety
    /// As for [`schism_jit_abi::CpuEntry`]. The name of the record's file lives as long as `self`.
    pub(crate) unsafe fn run(
        &self,
        closure: *const u8,
        chunk: &CpuChunk,
        panic: &mut PanicRecord,
    ) -> u32 {
        let entry = self.code.entry();
        if self.unwinds {
            // SAFETY: stage 2 made code that unwinds, of the same parameters and result: see
            // `UnwindingEntry`.
            let entry = unsafe { std::mem::transmute::<CpuEntry, UnwindingEntry>(entry) };
            // SAFETY: the caller's promises.
            return unsafe { entry(closure, chunk, panic) };
        }
        // SAFETY: the caller's promises.
        unsafe { entry(closure, chunk, panic) }
    }
}

/// Compiles and loads code for the processor of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuLoader;

impl CodeLoader for CpuLoader {
    type Kernel = CpuKernel;

    const COUNTS_ON_CAPTURES: bool = false;
    const IN_PROCESS: bool = true;

    #[inline]
    fn id(&self) -> u64 {
        0
    }

    fn name(&self) -> &str {
        "cpu"
    }

    fn profiler(flattened: &FlattenedParameters) -> Profiler {
        // The vectors and predictions of a CPU gain little from what simple numbers give a GPU.
        if flattened.scalars.is_empty() { Profiler::blind() } else { Profiler::new(false) }
    }

    fn portable_math(&self) -> bool {
        // If this is an error, no queue can be created for the device.
        math::portable().unwrap_or_default()
    }

    fn aot_target(&self) -> Box<dyn AotTarget> {
        Box::new(HostTarget)
    }

    fn load(
        &self,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<CpuKernel, ImageError> {
        CpuKernel::of_aot(aot_code, kernel, variant, host)
    }

    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        linked: &Linked,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<CpuKernel, ImageError> {
        let started = Instant::now();
        let found = CpuObject::get_or_compile(record, kernel, variant, image, linked)?;
        let compiled = CpuKernel::load(&found.value, kernel, variant, host)?;
        let code_bytes = compiled.code_size();
        disk_cache::trace(kernel, self.name(), variant, &found, code_bytes, started);
        Ok(compiled)
    }
}
