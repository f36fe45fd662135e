//! A kernel that stage 2 compiled for this machine's processor.

use std::ptr::NonNull;

use schism_cache::{KeyBuilder, Value};
use schism_hcf::{Addresses, KernelRef, ParameterKind};
use schism_jit_abi::{CPU_UNWINDS, CpuChunk, CpuEntry, PanicRecord, UnwindingEntry};
use schism_loader::message::{Calls, RaiseFn};
use schism_loader::{Code, FindInHost};

use crate::code::aot::{self, AotCode, AotTarget};
use crate::code::assumptions::FlattenedParameters;
use crate::code::captured::{self, CapturedAddress};
use crate::code::compiled::CpuCode;
use crate::code::host_symbols::HostSymbols;
use crate::code::profile::Profiler;
use crate::code::request::Stage2Target;
use crate::code::toolchain_id;
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::hal::host::aot::HostTarget;
use crate::hal::host::math;
use crate::hal::host::pace::LatestPace;
use crate::hal::{CodeLoader, address_window};
use crate::launch::failure;

/// The memory that an address in a closure is of, if kernels cannot use that.
#[inline]
fn foreign(address: usize, is_uncertain: bool, has_own_memory: bool) -> Option<&'static str> {
    /// The address is in the window.
    #[cold]
    fn in_window(address: usize, uncertain: bool, has_own_memory: bool) -> Option<&'static str> {
        if has_own_memory && address_window::is_on_host(address) {
            return None;
        }
        (!uncertain || address_window::is_in_buffer(address)).then_some("a GPU")
    }
    if address_window::is_in_window(address) {
        return in_window(address, is_uncertain, has_own_memory);
    }
    let is_of_host = has_own_memory && !is_uncertain && address >= address_window::LARGEST_DANGLING;
    is_of_host.then_some("the host")
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

impl CpuKernel {
    /// # Safety
    /// Stage 2 made the object, for this processor and this version of the interface.
    unsafe fn of_object(
        CpuCode { flags, stack, object }: CpuCode<'_>,
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

    /// The memory, other than its device's, that a closure refers to. The device has its own
    /// memory, or uses the host's.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    pub(crate) unsafe fn foreign_memory(
        &self,
        closure: *const u8,
        has_own_memory: bool,
    ) -> Option<&'static str> {
        self.pointers
            .iter()
            .find_map(|offset| {
                // SAFETY: a flattened parameter of the closure, as large as a pointer; it need not
                // be aligned in a packed struct.
                let address = unsafe { closure.add(*offset).cast::<usize>().read_unaligned() };
                foreign(address, false, has_own_memory)
            })
            .or_else(|| {
                self.aggregates.iter().find_map(|(offset, addresses)| {
                    let check = |found: CapturedAddress| {
                        foreign(found.address, found.uncertain, has_own_memory).map_or(Ok(()), Err)
                    };
                    // SAFETY: a flattened parameter of the closure, with addresses where the
                    // container says it.
                    unsafe { captured::for_each_address(addresses, closure.add(*offset), check) }
                        .err()
                })
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

/// Loads code for the processor of this process.
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

    fn portable_math(&self, in_process: bool) -> bool {
        // If this is an error, no queue can be created for the device.
        math::portable(in_process).unwrap_or_default()
    }

    fn aot_target(&self) -> Box<dyn AotTarget> {
        Box::new(HostTarget)
    }

    fn format(&self) -> &'static str {
        "object for the CPU"
    }

    fn target(&self) -> Stage2Target<'_> {
        Stage2Target::Cpu
    }

    fn add_to_key(&self, key: KeyBuilder) -> Option<KeyBuilder> {
        toolchain_id::add_processor(key)
    }

    fn load_aot(
        &self,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<CpuKernel, ImageError> {
        let constants = aot::values(kernel, variant);
        let AotCode { code, image, .. } = aot_code;
        let code = CpuCode { flags: code.needs, stack: code.stack, object: image.data };
        // SAFETY: stage 2 made it, for this version of the interface and for a level that this
        // processor supports.
        unsafe { CpuKernel::of_object(code, (&constants, host), kernel, aot_code.version()) }
    }

    fn load(
        &self,
        value: &Value,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<(CpuKernel, usize), ImageError> {
        let code = CpuCode::read(value)?;
        // SAFETY: stage 2 made it, now or earlier: the key is of this processor and this version of
        // the interface.
        let loaded =
            unsafe { CpuKernel::of_object(code, (&[], host), kernel, variant.to_string()) }?;
        let code_bytes = loaded.code.size();
        Ok((loaded, code_bytes))
    }
}
