//! A driver context: which process owns it, whether it was lost, and calls in it.

use std::cell::Cell;
use std::ffi::c_uint;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{BufferError, DriverError, LaunchError};
use crate::hal::gpu::api::{
    Api, DevicePtr, RawContext, RawEvent, RawStream, ResultCode, Symbol, number, symbol,
};
use crate::hal::gpu::properties::Properties;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Handle {
    /// Unique in the process.
    pub(super) id: u64,
    pub(super) gpu: &'static Properties,
    pub(super) raw: RawContext,
    /// The error that it was lost by.
    lost: OnceLock<DriverError>,
    /// Where the driver has put [`pinned`](Self::pinned) memory, which is never freed.
    pinned: Mutex<Vec<usize>>,
}

thread_local! {
    /// The id of the context that this crate made current in this thread last. Other code of the
    /// program may have changed the current context since.
    static ENTERED: Cell<u64> = const { Cell::new(0) };
}

/// Whether an error destroys the context: the driver returns it for all later calls.
const fn is_sticky(code: ResultCode) -> bool {
    matches!(
        code,
        // The driver is shutting down, or the context is destroyed.
        4 | 46 | 201 | 709
        // Uncorrectable errors of memory or of links between GPUs.
        | 214 | 220 | 226
        // Illegal address, time limit, assertion, stack, instruction, alignment, address space,
        // program counter, and others.
        | 700 | 702 | 710 | 714..=719 | 721 | 999
    )
}

impl Handle {
    /// Creates a context of a GPU.
    pub(super) fn new(gpu: &'static Properties, id: u64) -> Result<Self, DriverError> {
        let driver = gpu.driver;
        let mut raw = RawContext::NULL;
        let (create, flags) = (driver.api.contexts.create, driver.vendor.context_flags);
        // SAFETY: the context can be written.
        let code = unsafe { create(&raw mut raw, flags, gpu.number) };
        driver.check(code, symbol::context_create)?;
        Ok(Self { id, gpu, raw, lost: OnceLock::new(), pinned: Mutex::default() })
    }

    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// The device's name.
    pub(crate) fn name(&self) -> &str {
        &self.gpu.name
    }

    /// Why this process cannot use the context, if it was forked from the one that created it.
    #[inline]
    pub(crate) fn forked(&self) -> Option<String> {
        self.gpu.forked()
    }

    /// The error for a call that is refused for that reason.
    #[inline]
    fn refuse_if_forked(&self, call: Symbol) -> Result<(), DriverError> {
        self.forked().map_or(Ok(()), |text| Err(self.refusal(call, &text)))
    }

    #[cold]
    fn refusal(&self, call: Symbol, text: &str) -> DriverError {
        DriverError {
            call: call(&self.gpu.driver.vendor.symbols),
            code: number::NOT_INITIALIZED,
            name: "forked".to_owned(),
            text: format!("this process was forked, and {text}"),
        }
    }

    /// The error that the context was lost by, if it was.
    pub(crate) fn lost(&self) -> Option<&DriverError> {
        self.lost.get()
    }

    pub(super) fn api(&self) -> &'static Api {
        &self.gpu.driver.api
    }

    /// Whether this process may still use the context. Does not ask the driver.
    pub(super) fn check_usable(&self) -> Result<(), DriverError> {
        self.refuse_if_forked(symbol::context_set)?;
        self.lost.get().cloned().map_or(Ok(()), Err)
    }

    /// Makes the context current in the calling thread.
    pub(super) fn enter(&self) -> Result<(), DriverError> {
        self.check_usable()?;
        // SAFETY: the context lives as long as `self`.
        self.check(unsafe { (self.api().contexts.set)(self.raw) }, symbol::context_set)?;
        ENTERED.set(self.id);
        Ok(())
    }

    /// Calls a driver function with a stream or an event of this context. It either works or fails:
    /// it cannot act on another context. Making a context current is a call of the driver too, so
    /// that is skipped where this crate has done it before. If other code has changed the current
    /// context since, the driver refuses, and `function` is called again.
    #[inline]
    pub(super) fn call(
        &self,
        call: Symbol,
        function: impl Fn() -> ResultCode,
    ) -> Result<(), DriverError> {
        self.refuse_if_forked(call)?;
        let code = self.call_for_code(function)?;
        self.check(code, call)
    }

    /// Like [`call`](Self::call), for functions that return codes which are no errors.
    #[inline]
    pub(super) fn call_for_code(
        &self,
        function: impl Fn() -> ResultCode,
    ) -> Result<ResultCode, DriverError> {
        if let Some(lost) = self.lost.get() {
            return Err(lost.clone());
        }
        let may_be_current = self.gpu.driver.vendor.refuses_other_contexts;
        if may_be_current && ENTERED.get() == self.id && self.forked().is_none() {
            let code = function();
            if !matches!(code, number::INVALID_CONTEXT | number::INVALID_HANDLE) {
                return Ok(code);
            }
        }
        self.enter()?;
        Ok(function())
    }

    /// Converts a code to an error, and records the loss of the context.
    #[inline]
    pub(super) fn check(&self, code: ResultCode, call: Symbol) -> Result<(), DriverError> {
        if code == number::SUCCESS { Ok(()) } else { Err(self.error(code, call)) }
    }

    #[cold]
    fn error(&self, code: ResultCode, call: Symbol) -> DriverError {
        let error = self.gpu.driver.error(code, call);
        if is_sticky(code) && self.lost.set(error.clone()).is_ok() {
            tracing::error!(device = self.gpu.name, %error, "the context is lost");
        }
        error
    }

    /// Call this before taking locks, which may be held forever in a forked process.
    pub(super) fn refuse_buffer_if_forked(&self) -> Result<(), BufferError> {
        match self.forked() {
            None => Ok(()),
            Some(reason) => Err(BufferError::Forked { device: self.gpu.name.clone(), reason }),
        }
    }

    /// Converts to the error of a buffer.
    #[cold]
    pub(super) fn buffer_error(&self, source: DriverError) -> BufferError {
        let (device, source) = (self.gpu.name.clone(), Box::new(source));
        if let Some(reason) = self.forked() {
            BufferError::Forked { device, reason }
        } else if self.lost.get().is_some() {
            BufferError::DeviceLost { device, source }
        } else {
            BufferError::Driver { device, source }
        }
    }

    /// Converts to the error of a launch.
    #[cold]
    pub(super) fn launch_error(&self, kernel: String, source: DriverError) -> LaunchError {
        let (device, source) = (self.gpu.name.clone(), Box::new(source));
        if let Some(reason) = self.forked() {
            LaunchError::Forked { reason }
        } else if self.lost.get().is_some() {
            LaunchError::DeviceLost { kernel, device, source }
        } else {
            LaunchError::Driver { kernel, device, source }
        }
    }

    pub(super) fn create_stream(&self) -> Result<RawStream, DriverError> {
        self.enter()?;
        let mut stream = RawStream::NULL;
        // SAFETY: the stream can be written.
        let code =
            unsafe { (self.api().stream_create)(&raw mut stream, number::STREAM_NON_BLOCKING) };
        self.check(code, symbol::stream_create)?;
        Ok(stream)
    }

    /// Creates an event; the context is current.
    pub(super) fn create_event(&self) -> Result<RawEvent, DriverError> {
        self.create_event_with(number::EVENT_WITHOUT_TIME)
    }

    /// Creates an event with a time stamp; the context is current.
    pub(super) fn create_timed_event(&self) -> Result<RawEvent, DriverError> {
        self.create_event_with(number::EVENT)
    }

    fn create_event_with(&self, flags: c_uint) -> Result<RawEvent, DriverError> {
        let mut event = RawEvent::NULL;
        // SAFETY: the event can be written.
        let code = unsafe { (self.api().event_create)(&raw mut event, flags) };
        self.check(code, symbol::event_create)?;
        Ok(event)
    }

    /// Waits for a stream of this context, which is current.
    pub(super) fn finish(&self, stream: RawStream) -> Result<(), DriverError> {
        // SAFETY: callers pass a stream of this context, which is current.
        let code = unsafe { (self.api().stream_synchronize)(stream) };
        self.check(code, symbol::stream_synchronize)
    }

    /// Allocates host memory that this and every other context of the device can access at the same
    /// address.
    pub(super) fn pinned(&self, bytes: usize) -> Result<(*mut u8, DevicePtr), DriverError> {
        self.enter()?;
        let mut host = std::ptr::null_mut();
        let flags: c_uint = number::HOST_PORTABLE_MAPPED;
        // SAFETY: the address can be written.
        let code = unsafe { (self.api().host_allocate)(&raw mut host, bytes, flags) };
        self.check(code, symbol::host_allocate)?;
        let mut device: DevicePtr = 0;
        // SAFETY: host memory that the driver has just allocated; the address can be written.
        let code = unsafe { (self.api().host_device_address)(&raw mut device, host, 0) };
        if let Err(error) = self.check(code, symbol::host_device_address) {
            // SAFETY: it is not shared yet.
            unsafe { (self.api().host_free)(host) };
            return Err(error);
        }
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner).push(host.addr());
        Ok((host.cast(), device))
    }

    /// Whether a range of addresses contains such memory.
    pub(super) fn has_pinned(&self, begin: usize, end: usize) -> bool {
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        pinned.iter().any(|address| (begin..end).contains(address))
    }
}
