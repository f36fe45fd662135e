//! Launches that a device refuses which was not demanded: a device of the host's runs them, over
//! copies of the buffers.
//!
//! A device refuses a launch before anything of it has run: there is no code for it, or the driver
//! does not take it, or a group is too large. Then the queue waits for its earlier launches, all
//! buffers whose addresses the kernel captures are copied to the host, the kernel runs there with the
//! addresses of the copies, and what it may have written is copied back. The other queues of the
//! device run nothing meanwhile, so that no change of theirs is lost.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use crate::api::device::Device;
use crate::code::captured::CapturedAddress;
use crate::code::closure_addresses;
use crate::error::{BufferError, DriverError, LaunchError};
use crate::hal::DeviceBlock;
use crate::hal::address_window::is_in_window;
use crate::hal::dispatch::{BackendMemory, BackendQueue};
use crate::launch::desc::LaunchDesc;
use crate::util::warn_once::WarnOnce;

/// What takes the place of a queue's device.
pub(crate) struct Fallback {
    device: Device,
    /// A queue of it, which is made when it is needed; `None` if that fails.
    queue: OnceLock<Option<BackendQueue>>,
}

/// A launch that was refused, and that another device has run.
pub(crate) struct Replaced {
    pub(crate) device: String,
    /// Why the queue's own device did not run it.
    pub(crate) why: String,
    /// Bytes that were copied to the queue's device, and from it.
    pub(crate) bytes_to: u64,
    pub(crate) bytes_from: u64,
    pub(crate) outcome: Result<(), LaunchError>,
}

impl Fallback {
    /// That of a device, if it was not demanded.
    pub(crate) fn of(device: &Device) -> Option<Self> {
        Some(Self { device: device.substitute()?, queue: OnceLock::new() })
    }

    fn queue(&self) -> Option<&BackendQueue> {
        let make = || {
            let made = self.device.backend().queue();
            made.inspect_err(
                |error| tracing::warn!(device = self.device.name(), %error, "no queue"),
            )
            .ok()
        };
        self.queue.get_or_init(make).as_ref()
    }

    /// Runs a launch that the queue `from` has refused.
    ///
    /// # Errors
    /// `refused`, if that is a failure of another kind, or the launch cannot run here either; nothing
    /// has run then.
    ///
    /// # Safety
    /// As for [`BackendQueue::run`].
    #[cold]
    pub(crate) unsafe fn run(
        &self,
        from: &BackendQueue,
        launch: &LaunchDesc<'_>,
        refused: LaunchError,
    ) -> Result<Replaced, LaunchError> {
        let Some(why) = refusal(&refused) else { return Err(refused) };
        let Some(queue) = self.queue() else { return Err(refused) };
        // SAFETY: the caller's promises.
        let addresses = match unsafe { closure_addresses::all(launch.kernel) } {
            Ok(Some(addresses)) => addresses,
            _ => return Err(refused),
        };
        let mut ran = None;
        let idle = from.while_idle(&mut || {
            // SAFETY: the caller's promises; no kernel uses the device's memory.
            ran = unsafe { self.run_on_copies(queue, from, launch, &addresses) };
        });
        if let Err(error) = idle {
            tracing::debug!(kernel = launch.kernel.name(), %error, "a launch that was refused cannot run elsewhere");
        }
        let Some(Copied { bytes_to, bytes_from, outcome }) = ran else { return Err(refused) };
        if outcome.as_ref().is_err_and(|error| refusal(error).is_some()) {
            // It can run nowhere.
            return Err(refused);
        }
        static WARNING: WarnOnce = WarnOnce::new();
        let (kernel, device) = (launch.kernel.name(), self.device.name().to_owned());
        WARNING.warn(format_args!(
            "kernel `{kernel}` runs on the device `{device}`, with copies of its buffers: {why}; set SCHISM_DEVICE={device} to have no copies"
        ));
        tracing::debug!(kernel, device, why, bytes_to, bytes_from, "launched elsewhere");
        Ok(Replaced { device, why, bytes_to, bytes_from, outcome })
    }

    /// Runs a launch over copies of what it refers to; `None` if it cannot be, and nothing has run.
    ///
    /// # Safety
    /// As for [`run`](Self::run), and no kernel uses the memory of the device `from`.
    unsafe fn run_on_copies(
        &self,
        queue: &BackendQueue,
        from: &BackendQueue,
        launch: &LaunchDesc<'_>,
        addresses: &[CapturedAddress],
    ) -> Option<Copied> {
        let raw = launch.kernel;
        let mut copies = Copies::default();
        let closure = Bytes::new(raw.layout)?;
        // SAFETY: there is room for the closure, whose bytes may be partly uninitialised; it lives as
        // long as the launch, and the copy is not dropped.
        unsafe {
            std::ptr::copy_nonoverlapping(
                raw.closure.cast::<u8>(),
                closure.begin,
                raw.layout.size(),
            );
        }
        for found in addresses.iter().filter(|found| is_in_window(found.address)) {
            // SAFETY: no kernel uses the device's memory.
            let address = match unsafe { copies.address(from, found) } {
                Some(address) => address,
                // In a union, it may be something else.
                None if found.uncertain => continue,
                None => return None,
            };
            // SAFETY: the closure has an address there.
            unsafe { closure.begin.add(found.offset).cast::<usize>().write_unaligned(address) };
        }
        let kernel = raw.with_closure(closure.begin.cast_const().cast());
        let demanded = self.device.demanded();
        // SAFETY: the caller's promises: the closure is of the kernel's type, and refers to copies that
        // live until the launch has ended.
        let outcome = unsafe { queue.run(&LaunchDesc { kernel: &kernel, demanded, ..*launch }) };
        let failed = |error| LaunchError::Driver {
            kernel: raw.name(),
            device: self.device.name().to_owned(),
            source: Box::new(error),
        };
        // SAFETY: no kernel uses the device's memory.
        let written = unsafe { copies.write_back() };
        let bytes_to = *written.as_ref().unwrap_or(&0);
        let outcome = outcome.and(written.map(drop).map_err(failed));
        Some(Copied { bytes_to, bytes_from: copies.bytes(), outcome })
    }

    /// Memory of the host's for a buffer that the queue's device has no memory for.
    ///
    /// # Errors
    /// `refused`, if that is a failure of another kind; the error of the host.
    #[cold]
    pub(crate) fn allocate(
        &self,
        layout: Layout,
        refused: BufferError,
    ) -> Result<BackendMemory, BufferError> {
        allocate_on(&self.device, layout, refused)
    }
}

/// Memory of a device of the host's for a buffer that another device has no memory for.
///
/// # Errors
/// `refused`, if that is a failure of another kind; the error of the host.
#[cold]
pub(crate) fn allocate_on(
    device: &Device,
    layout: Layout,
    refused: BufferError,
) -> Result<BackendMemory, BufferError> {
    if !matches!(refused, BufferError::OutOfMemory { .. } | BufferError::Unavailable { .. }) {
        return Err(refused);
    }
    let memory = device.backend().allocate(layout)?;
    static WARNING: WarnOnce = WarnOnce::new();
    WARNING.warn(format_args!(
        "a buffer of {} bytes is in the host's memory, and kernels that use it run on the device `{device}`: {refused}",
        layout.size()
    ));
    Ok(memory)
}

/// A launch that ran over copies.
struct Copied {
    bytes_to: u64,
    bytes_from: u64,
    outcome: Result<(), LaunchError>,
}

/// Why a device did not begin a launch; `None` if it began, or failed for a reason that holds for all
/// devices.
fn refusal(error: &LaunchError) -> Option<String> {
    match error {
        LaunchError::Image { device, cause, .. } => Some(format!("on `{device}` {cause}")),
        LaunchError::NoDeviceCode { .. }
        | LaunchError::GroupTooLarge { .. }
        | LaunchError::LocalMemory { .. }
        | LaunchError::ForeignBuffer { .. } => Some(error.to_string()),
        _ => None,
    }
}

/// The copies of a launch's buffers.
#[derive(Default)]
struct Copies(Vec<Copy>);

/// A copy of a block of the device's memory.
struct Copy {
    block: Arc<dyn DeviceBlock>,
    bytes: Bytes,
    /// Whether the kernel may change it.
    is_written: bool,
}

impl Copies {
    /// Where the copy has an address of the device's; `None` if it is not the device's, or there is
    /// no memory for the copy, or the driver fails.
    ///
    /// # Safety
    /// No kernel uses the device's memory.
    unsafe fn address(&mut self, from: &BackendQueue, found: &CapturedAddress) -> Option<usize> {
        // An empty view may begin where its buffer ends.
        let at_end = || {
            let block = from.block_at(found.address.checked_sub(1)?)?;
            (block.begin() + block.bytes() == found.address).then_some(block)
        };
        let block = from.block_at(found.address).or_else(at_end)?;
        let begin = block.begin();
        let known = self.0.iter().position(|copy| copy.block.begin() == begin);
        let index = match known {
            Some(index) => index,
            None => {
                let layout = Layout::from_size_align(block.bytes(), 1).ok()?;
                let bytes = Bytes::new(layout)?;
                // SAFETY: there is as much room; the caller's promise.
                let read = unsafe { block.read(bytes.begin) };
                read.inspect_err(
                    |error| tracing::warn!(%error, "a buffer cannot be copied to the host"),
                )
                .ok()?;
                self.0.push(Copy { block, bytes, is_written: false });
                self.0.len() - 1
            }
        };
        let copy = &mut self.0[index];
        copy.is_written |= !found.read_only;
        Some(copy.bytes.begin.addr() + (found.address - begin))
    }

    /// How many bytes were copied to the host.
    fn bytes(&self) -> u64 {
        self.0.iter().map(|copy| copy.block.bytes() as u64).sum()
    }

    /// Copies what may have changed to the device, and says how many bytes that is.
    ///
    /// # Safety
    /// No kernel uses the device's memory.
    unsafe fn write_back(&self) -> Result<u64, DriverError> {
        let mut all = 0;
        for copy in self.0.iter().filter(|copy| copy.is_written) {
            // SAFETY: the copy has as many bytes; the caller's promise.
            unsafe { copy.block.write(copy.bytes.begin)? };
            all += copy.block.bytes() as u64;
        }
        Ok(all)
    }
}

/// Memory as a buffer has it: aligned to 128 bytes or more.
struct Bytes {
    #[expect(dead_code, reason = "it is used by its address")]
    memory: Vec<Line>,
    begin: *mut u8,
}

#[derive(Clone, Copy)]
#[repr(align(128))]
struct Line(#[expect(dead_code, reason = "it is used by its address")] [MaybeUninit<u8>; 128]);

impl Bytes {
    /// Memory for a layout, without values; `None` if there is none.
    fn new(layout: Layout) -> Option<Self> {
        let align = layout.align().max(align_of::<Line>());
        let lines = layout.size().checked_add(align)?.div_ceil(size_of::<Line>());
        let mut memory: Vec<Line> = Vec::new();
        memory.try_reserve_exact(lines).ok()?;
        let first = memory.as_mut_ptr().cast::<u8>();
        // The address goes into a closure, and comes back from there.
        let begin = first.wrapping_add(first.align_offset(align));
        let _ = begin.expose_provenance();
        Some(Self { memory, begin })
    }
}
