//! A process on a device: its context, memory, and the queue for copies.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::error::{BufferError, DriverError, LaunchError};
use crate::hal::address_window::LARGEST_DANGLING;
use crate::hal::messages::MessageBuffers;
use crate::hal::opencl::api::{
    Allocate, Api, Free, RawContext, RawKernel, RawQueue, number, symbol,
};
use crate::hal::opencl::driver;
use crate::hal::opencl::properties::Properties;
use crate::util::timeline::{self, Time};

/// See the module's documentation. It is never destroyed.
#[derive(Debug)]
pub(crate) struct Context {
    pub(super) device: &'static Properties,
    pub(super) raw: RawContext,
    copies: RawQueue,
    /// The queues in which launches may use memory.
    queues: Mutex<Vec<RawQueue>>,
    pub(super) message_buffers: MessageBuffers,
    /// The memory that this process has there: where it begins, and its bytes.
    allocations: RwLock<BTreeMap<usize, usize>>,
    /// How much later it is on the host's clock than on the device's, for the timeline.
    host_is_later: OnceLock<i64>,
}

impl Context {
    pub(super) fn new(device: &'static Properties) -> Result<Arc<Self>, DriverError> {
        /// `CL_CONTEXT_PLATFORM`.
        const PLATFORM: isize = 0x1084;
        let api = &device.driver.api;
        let properties = [PLATFORM, device.platform.0 as isize, 0];
        let mut code = 0;
        // SAFETY: the list ends with a 0; one device is given; the code can be written.
        let raw = unsafe {
            let null = std::ptr::null_mut();
            let devices = &raw const device.raw;
            (api.context_create)(properties.as_ptr(), 1, devices, null, null, &raw mut code)
        };
        driver::check(code, symbol::context_create)?;
        let copies = Self::queue_in(device, raw)?;
        Ok(Arc::new(Self {
            device,
            raw,
            copies,
            queues: Mutex::default(),
            message_buffers: MessageBuffers::default(),
            allocations: RwLock::default(),
            host_is_later: OnceLock::new(),
        }))
    }

    fn queue_in(device: &Properties, context: RawContext) -> Result<RawQueue, DriverError> {
        let properties = [number::QUEUE_PROPERTIES, number::QUEUE_PROFILING, 0];
        let mut code = 0;
        // SAFETY: the context is of this device; the list ends with a 0; the code can be written.
        let queue = unsafe {
            let create = device.driver.api.queue_create;
            create(context, device.raw, properties.as_ptr(), &raw mut code)
        };
        driver::check(code, symbol::queue_create)?;
        Ok(queue)
    }

    /// A queue that runs its commands one after the other, and says when each began and ended.
    pub(super) fn create_queue(&self) -> Result<RawQueue, DriverError> {
        self.refuse_if_forked(symbol::queue_create)?;
        let queue = Self::queue_in(self.device, self.raw)?;
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
        Ok(queue)
    }

    /// Gives a queue back; the driver runs what is still in it.
    ///
    /// # Safety
    /// [`create_queue`](Self::create_queue) returned it, and it is not used any more.
    pub(super) unsafe fn release_queue(&self, queue: RawQueue) {
        if self.forked().is_some() {
            return;
        }
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|other| *other != queue);
        // SAFETY: the caller's promises; it is released once. Memory may be freed right afterwards,
        // so what is in the queue ends before.
        unsafe {
            (self.api().queue_finish)(queue);
            (self.api().queue_release)(queue);
        }
    }

    pub(super) fn api(&self) -> &'static Api {
        &self.device.driver.api
    }

    /// The id of the loader: unlike those of other kinds of devices.
    pub(super) fn id(&self) -> u64 {
        (1 << 32) + self.device.number
    }

    pub(super) fn name(&self) -> &str {
        &self.device.name
    }

    pub(super) fn forked(&self) -> Option<String> {
        self.device.forked()
    }

    /// The error for a call that is refused because this process was forked.
    pub(super) fn refuse_if_forked(&self, call: &'static str) -> Result<(), DriverError> {
        match self.forked() {
            None => Ok(()),
            Some(text) => Err(DriverError {
                call,
                code: 0,
                name: "forked".to_owned(),
                text: format!("this process was forked, and {text}"),
            }),
        }
    }

    /// Allocates memory that host and device access at one address, not 0 bytes.
    pub(super) fn allocate(&self, bytes: usize, align: usize) -> Result<*mut u8, DriverError> {
        let shared = &self.device.shared;
        let call = shared.allocates_by();
        self.refuse_if_forked(call)?;
        let mut code = number::SUCCESS;
        // The device's largest alignment is that of its largest vector.
        let align = align.clamp(64, 1 << 16) as u32;
        let none = std::ptr::null();
        // SAFETY: context and device belong together; no properties are given; the code can be
        // written.
        let memory = unsafe {
            match shared.allocate {
                Allocate::Shared(allocate) => {
                    allocate(self.raw, self.device.raw, none, bytes, align, &raw mut code)
                }
                Allocate::Host(allocate) => allocate(self.raw, none, bytes, align, &raw mut code),
                Allocate::Svm(allocate) => allocate(self.raw, number::SVM_FLAGS, bytes, align),
            }
        };
        driver::check(code, call)?;
        if memory.is_null() || memory.addr() % align as usize != 0 {
            return Err(driver::error(number::OUT_OF_MEMORY[0], call));
        }
        timeline::memory(self.name(), || bytes as i64);
        let mut all = self.allocations.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(memory.addr(), bytes);
        Ok(memory.cast())
    }

    /// Frees memory; waits for what uses it.
    ///
    /// # Safety
    /// [`allocate`](Self::allocate) returned it, and it is not used any more.
    pub(super) unsafe fn free(&self, memory: *mut u8) {
        if self.forked().is_some() {
            return;
        }
        let mut all = self.allocations.write().unwrap_or_else(PoisonError::into_inner);
        let bytes = all.remove(&memory.addr());
        drop(all);
        timeline::memory(self.name(), || -(bytes.unwrap_or_default() as i64));
        match self.device.shared.free {
            // SAFETY: the caller's promises. If it fails, the memory stays allocated.
            Free::Usm(free) => unsafe {
                free(self.raw, memory.cast());
            },
            Free::Svm(free) => {
                let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
                for &queue in &*queues {
                    // SAFETY: it is a queue of the context that is not released.
                    unsafe { (self.api().queue_finish)(queue) };
                }
                // SAFETY: the caller's promises, and no launch uses the memory now.
                unsafe { free(self.raw, memory.cast()) };
            }
        }
    }

    /// Tells the driver which memory a kernel may find addresses of, if it has to be told before
    /// each launch.
    pub(super) fn tell_addresses(&self, kernel: RawKernel) -> Result<(), DriverError> {
        let Free::Svm(_) = self.device.shared.free else { return Ok(()) };
        let all = self.allocations.read().unwrap_or_else(PoisonError::into_inner);
        let addresses: Vec<usize> = all.keys().copied().collect();
        if addresses.is_empty() {
            return Ok(());
        }
        // SAFETY: the kernel is the caller's alone, and the list is as long as it says.
        let code = unsafe {
            let (bytes, list) = (size_of_val(&*addresses), addresses.as_ptr().cast());
            (self.api().kernel_exec_info)(kernel, number::SVM_ADDRESSES, bytes, list)
        };
        driver::check(code, symbol::kernel_exec_info)
    }

    /// Whether kernels can use what is at an address.
    pub(super) fn knows(&self, address: usize) -> bool {
        if self.device.sees_host || address < LARGEST_DANGLING {
            return true;
        }
        let all = self.allocations.read().unwrap_or_else(PoisonError::into_inner);
        all.range(..=address)
            .next_back()
            // An empty slice may be at its end.
            .is_some_and(|(begin, bytes)| address - begin <= *bytes)
    }

    /// Copies bytes from any memory that the driver knows.
    pub(super) fn read(&self, to: &mut [u8], from: u64) -> Result<(), DriverError> {
        let call = self.device.shared.copies_by();
        self.refuse_if_forked(call)?;
        let from = std::ptr::with_exposed_provenance::<c_void>(from as usize);
        // SAFETY: there is room for as many bytes, and the copy is over when this returns. The
        // address comes from a kernel that wrote it as that of one of its constants.
        let code = unsafe {
            let (none, no_event) = (std::ptr::null(), std::ptr::null_mut());
            let (bytes, to) = (to.len(), to.as_mut_ptr().cast());
            (self.device.shared.copy)(self.copies, 1, to, from, bytes, 0, none, no_event)
        };
        driver::check(code, call)
    }

    /// A time of the device's clock on the host's, by a moment that is known on both: that of the
    /// first call counts, so that what is in order stays so.
    pub(super) fn host_time(&self, time: u64, (device, host): (u64, Time)) -> Option<Time> {
        let later = self.host_is_later.get_or_init(|| host.wrapping_sub(device).cast_signed());
        time.checked_add_signed(*later)
    }

    /// Converts to the error of a buffer.
    #[cold]
    pub(super) fn buffer_error(&self, bytes: usize, source: DriverError) -> BufferError {
        let device = self.device.name.clone();
        if let Some(reason) = self.forked() {
            return BufferError::Forked { device, reason };
        }
        if number::OUT_OF_MEMORY.contains(&source.code.cast_signed()) {
            return BufferError::OutOfMemory { bytes, device, available: None };
        }
        BufferError::Driver { device, source: Box::new(source) }
    }

    /// Converts to the error of a launch.
    #[cold]
    pub(super) fn launch_error(&self, kernel: String, source: DriverError) -> LaunchError {
        if let Some(reason) = self.forked() {
            return LaunchError::Forked { reason };
        }
        let (device, source) = (self.device.name.clone(), Box::new(source));
        LaunchError::Driver { kernel, device, source }
    }
}
