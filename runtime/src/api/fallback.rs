//! Launches that the host runs in the place of a queue's device: those that a device refuses which was
//! not demanded, those that are optional, and those whose condition is false. A device of the host's
//! runs them, over copies of the buffers.
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
use crate::error::{BufferError, DeviceError, DriverError, LaunchError};
use crate::hal::DeviceBlock;
use crate::hal::address_window::is_in_window;
use crate::hal::dispatch::{BackendMemory, BackendQueue};
use crate::launch::desc::{LaunchDesc, OnRefusal};
use crate::util::warn_once::WarnOnce;

/// Why a launch runs on the host whose condition is false.
pub(crate) const CONDITION: &str = "the condition of `when` is false";

/// A handle's condition is false.
#[derive(Clone)]
pub(crate) struct FalseCondition {
    /// The queue that it is a handle to, unless that one's device is the host.
    pub(crate) device: Option<BackendQueue>,
}

/// The device of the host's that takes the place of a queue's device. It is looked for when it is
/// needed.
pub(crate) struct Fallback {
    device: OnceLock<Result<Device, DeviceError>>,
    /// A queue of it that runs launches while the queue's device is idle, and nothing else: a launch
    /// that has this queue does not wait for the device.
    while_idle: OnceLock<Result<BackendQueue, DeviceError>>,
    /// The queue of handles whose condition is false.
    conditional: OnceLock<Result<BackendQueue, DeviceError>>,
}

/// A launch that another device has run than the queue's own.
pub(crate) struct Replaced {
    pub(crate) device: String,
    /// Why the queue's own device did not run it.
    pub(crate) why: String,
    /// Bytes that were copied to the queue's device, and from it.
    pub(crate) bytes_to: u64,
    pub(crate) bytes_from: u64,
}

/// What the host has run, and how that ended.
pub(crate) type Elsewhere = (Replaced, Result<(), LaunchError>);

impl Fallback {
    /// That of a device; `None` if it is the host's. If the device was wished for in an order, it is the
    /// host's after it there.
    pub(crate) fn of(device: &Device) -> Option<Self> {
        if device.backend().traits().runs_on_host {
            return None;
        }
        let known = device.substitute().map(Ok).map_or_else(OnceLock::new, OnceLock::from);
        Some(Self { device: known, while_idle: OnceLock::new(), conditional: OnceLock::new() })
    }

    fn device(&self) -> Result<&Device, &DeviceError> {
        self.device.get_or_init(|| Device::default_of_host(true)).as_ref()
    }

    /// A device of the host's and a queue of it, for all handles whose condition is false.
    ///
    /// # Errors
    /// As for [`Queue::on`](crate::Queue::on), for the host.
    pub(crate) fn conditional(&self) -> Result<(Device, BackendQueue), DeviceError> {
        let device = self.device().map_err(DeviceError::clone)?;
        let queue = self.conditional.get_or_init(|| device.backend().queue());
        Ok((device.clone(), queue.clone()?))
    }

    fn while_idle(&self) -> Result<(&Device, &BackendQueue), &DeviceError> {
        let device = self.device()?;
        Ok((device, self.while_idle.get_or_init(|| device.backend().queue()).as_ref()?))
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
    ) -> Result<Elsewhere, LaunchError> {
        let Some(why) = refusal(&refused) else { return Err(refused) };
        // SAFETY: the caller's promises.
        let (device, copied) = match unsafe { self.run_while_idle(from, launch) } {
            Ok(ran) => ran,
            Err(error) => {
                tracing::debug!(kernel = launch.kernel.name(), %error, "a launch that was refused cannot run elsewhere");
                return Err(refused);
            }
        };
        let Copied { bytes_to, bytes_from, outcome } = copied;
        if outcome.as_ref().is_err_and(|error| refusal(error).is_some()) {
            // It can run nowhere.
            return Err(refused);
        }
        static WARNING: WarnOnce = WarnOnce::new();
        let (kernel, device) = (launch.kernel.name(), device.name().to_owned());
        WARNING.warn_unless(
            launch.on_refusal == OnRefusal::Silent,
            format_args!(
                "kernel `{kernel}` runs on the device `{device}`, with copies of its buffers: {why}; set SCHISM_DEVICE={device} to have no \
                 copies"
            ),
        );
        tracing::debug!(kernel, device, why, bytes_to, bytes_from, "launched elsewhere");
        Ok((Replaced { device, why, bytes_to, bytes_from }, outcome))
    }

    /// Runs a launch of a handle to the queue `from` whose condition is false.
    ///
    /// # Errors
    /// The launch cannot be: it has a buffer of another device, or there is no memory for copies, or
    /// the device has failed.
    ///
    /// # Safety
    /// As for [`BackendQueue::run`].
    #[cold]
    pub(crate) unsafe fn run_conditional(
        &self,
        from: &BackendQueue,
        launch: &LaunchDesc<'_>,
    ) -> Result<Elsewhere, LaunchError> {
        // SAFETY: the caller's promises.
        let (device, copied) = unsafe { self.run_while_idle(from, launch)? };
        let (device, why) = (device.name().to_owned(), CONDITION.to_owned());
        let Copied { bytes_to, bytes_from, outcome } = copied;
        let kernel = launch.kernel.name();
        tracing::debug!(kernel, device, why, bytes_to, bytes_from, "launched elsewhere");
        Ok((Replaced { device, why, bytes_to, bytes_from }, outcome))
    }

    /// Runs a launch on the host while the device of the queue `from` is idle.
    ///
    /// # Errors
    /// Why it cannot be; nothing has run.
    ///
    /// # Safety
    /// As for [`BackendQueue::run`].
    unsafe fn run_while_idle(
        &self,
        from: &BackendQueue,
        launch: &LaunchDesc<'_>,
    ) -> Result<(&Device, Copied), LaunchError> {
        let kernel = || launch.kernel.name();
        let (device, queue) = self.while_idle().map_err(|error| LaunchError::NoThread {
            kernel: kernel(),
            device: "cpu".to_owned(),
            reason: error.to_string(),
        })?;
        let name = || device.name().to_owned();
        // SAFETY: the caller's promises.
        let addresses = unsafe { closure_addresses::all(launch.kernel) }
            .map_err(|cause| LaunchError::Image {
                kernel: kernel(),
                device: name(),
                cause: Box::new(cause),
            })?
            .ok_or_else(|| LaunchError::NoDeviceCode { kernel: kernel(), device: name() })?;
        let mut ran = None;
        let idle = from.while_idle(&mut || {
            // SAFETY: the caller's promises; no kernel uses the device's memory.
            ran = Some(unsafe { run_on_copies((device, queue), from, launch, &addresses) });
        });
        let failed = |error| failed(launch, from.device_name(), error);
        Ok((device, ran.ok_or_else(|| idle.err().map_or(LaunchError::InsideKernel, failed))??))
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
        on_refusal: OnRefusal,
    ) -> Result<BackendMemory, BufferError> {
        match self.device() {
            Ok(device) => allocate_on(device, layout, refused, on_refusal),
            Err(_) => Err(refused),
        }
    }
}

/// The error of a launch by that of a device's driver.
fn failed(launch: &LaunchDesc<'_>, device: &str, error: DriverError) -> LaunchError {
    let (kernel, device) = (launch.kernel.name(), device.to_owned());
    LaunchError::Driver { kernel, device, source: Box::new(error) }
}

/// Runs a launch over copies of what it refers to.
///
/// # Errors
/// There is no memory for copies, or it refers to memory of another device, or that cannot be read;
/// nothing has run.
///
/// # Safety
/// As for [`BackendQueue::run`], and no kernel uses the memory of the device of the queue `from`.
unsafe fn run_on_copies(
    (device, queue): (&Device, &BackendQueue),
    from: &BackendQueue,
    launch: &LaunchDesc<'_>,
    addresses: &[CapturedAddress],
) -> Result<Copied, LaunchError> {
    let raw = launch.kernel;
    let mut copies = Copies::default();
    let closure = Bytes::new(raw.layout, device)?;
    // SAFETY: there is room for the closure, whose bytes may be partly uninitialised; it lives as
    // long as the launch, and the copy is not dropped.
    unsafe {
        std::ptr::copy_nonoverlapping(raw.closure.cast::<u8>(), closure.begin, raw.layout.size());
    }
    for found in addresses.iter().filter(|found| is_in_window(found.address)) {
        // SAFETY: no kernel uses the device's memory.
        let copied = unsafe { copies.address(device, from, launch, found) };
        let Some(address) = copied? else {
            if found.uncertain {
                // In a union, it may be something else.
                continue;
            }
            let (kernel, device) = (raw.name(), device.name().to_owned());
            let memory = "another device".to_owned();
            return Err(LaunchError::ForeignBuffer { kernel, device, memory });
        };
        // SAFETY: the closure has an address there.
        unsafe { closure.begin.add(found.offset).cast::<usize>().write_unaligned(address) };
    }
    let kernel = raw.with_closure(closure.begin.cast_const().cast());
    // What was demanded as the last of an order stays demanded.
    let on_refusal = match device.on_refusal() {
        OnRefusal::Fail => OnRefusal::Fail,
        _ => launch.on_refusal,
    };
    // SAFETY: the caller's promises: the closure is of the kernel's type, and refers to copies that
    // live until the launch has ended.
    let outcome = unsafe { queue.run(&LaunchDesc { kernel: &kernel, on_refusal, ..*launch }) };
    // SAFETY: no kernel uses the device's memory.
    let written = unsafe { copies.write_back() };
    let bytes_to = *written.as_ref().unwrap_or(&0);
    let written = written.map(drop).map_err(|error| failed(launch, from.device_name(), error));
    let outcome = outcome.and(written);
    Ok(Copied { bytes_to, bytes_from: copies.bytes(), outcome })
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
    on_refusal: OnRefusal,
) -> Result<BackendMemory, BufferError> {
    if !matches!(refused, BufferError::OutOfMemory { .. } | BufferError::Unavailable { .. }) {
        return Err(refused);
    }
    let memory = device.backend().allocate(layout)?;
    static WARNING: WarnOnce = WarnOnce::new();
    WARNING.warn_unless(
        on_refusal == OnRefusal::Silent,
        format_args!(
            "a buffer of {} bytes is in the host's memory, and kernels that use it run on the device `{device}`: {refused}",
            layout.size()
        ),
    );
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
    /// Where the copy on the host has an address of the device of the queue `from`; `None` if it is
    /// not that device's.
    ///
    /// # Errors
    /// There is no memory for the copy, or the driver fails.
    ///
    /// # Safety
    /// No kernel uses the device's memory.
    unsafe fn address(
        &mut self,
        host: &Device,
        from: &BackendQueue,
        launch: &LaunchDesc<'_>,
        found: &CapturedAddress,
    ) -> Result<Option<usize>, LaunchError> {
        // An empty view may begin where its buffer ends.
        let at_end = || {
            let block = from.block_at(found.address.checked_sub(1)?)?;
            (block.begin() + block.bytes() == found.address).then_some(block)
        };
        let Some(block) = from.block_at(found.address).or_else(at_end) else { return Ok(None) };
        let begin = block.begin();
        let known = self.0.iter().position(|copy| copy.block.begin() == begin);
        let index = match known {
            Some(index) => index,
            None => {
                let too_large = |_| BufferError::TooLarge { len: block.bytes(), element_size: 1 };
                let layout = Layout::from_size_align(block.bytes(), 1).map_err(too_large)?;
                let bytes = Bytes::new(layout, host)?;
                // SAFETY: there is as much room; the caller's promise.
                let read = unsafe { block.read(bytes.begin) };
                read.map_err(|error| failed(launch, from.device_name(), error))?;
                self.0.push(Copy { block, bytes, is_written: false });
                self.0.len() - 1
            }
        };
        let copy = &mut self.0[index];
        copy.is_written |= !found.read_only;
        Ok(Some(copy.bytes.begin.addr() + (found.address - begin)))
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
    /// Memory of the host's for a layout, without values.
    ///
    /// # Errors
    /// [`BufferError::OutOfMemory`].
    fn new(layout: Layout, host: &Device) -> Result<Self, BufferError> {
        let align = layout.align().max(align_of::<Line>());
        let lines = layout.size().saturating_add(align).div_ceil(size_of::<Line>());
        let mut memory: Vec<Line> = Vec::new();
        let (bytes, device) = (layout.size(), host.name());
        let refused =
            |_| BufferError::OutOfMemory { bytes, device: device.to_owned(), available: None };
        memory.try_reserve_exact(lines).map_err(refused)?;
        let first = memory.as_mut_ptr().cast::<u8>();
        // The address goes into a closure, and comes back from there.
        let begin = first.wrapping_add(first.align_offset(align));
        let _ = begin.expose_provenance();
        Ok(Self { memory, begin })
    }
}
