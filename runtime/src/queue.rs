//! Queues: where launches go.

use crate::__private::Kernel;
use crate::capture::Capture;
use crate::error::{DeviceError, LaunchError};
use crate::item::Item;
use crate::launch::{Chunk, RawKernel};
use crate::range::{Extent, IntoRange};

/// An in-order queue of launches on one device.
#[derive(Debug)]
pub struct Queue {
    device: &'static str,
}

impl Queue {
    /// A queue on the default device.
    ///
    /// # Errors
    /// [`DeviceError`] if `SCHISM_DEVICE` asks for a device that cannot be had.
    pub fn new() -> Result<Self, DeviceError> {
        Ok(Self { device: "native" })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &'static str {
        self.device
    }

    /// Runs `kernel` once for each point of `range` and waits for the end.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub fn parallel_for<const D: usize, R, F>(&self, range: R, kernel: F) -> Result<(), LaunchError>
    where
        R: IntoRange<D>,
        F: Fn(Item<D>) + Send + Sync + Capture,
    {
        self.launch::<F, D>(range, &kernel)
    }

    fn launch<K: Kernel<D>, const D: usize>(&self, range: impl IntoRange<D>, kernel: &K) -> Result<(), LaunchError> {
        let extent = Extent::new(range.into_range().0)?;
        let raw = RawKernel::new::<K, D>(kernel);
        let chunk = Chunk { begin: [0; 3], end: extent.xyz, range: extent.xyz };
        // SAFETY: the closure lives in this frame.
        unsafe { (raw.native)(raw.closure, &chunk) };
        Ok(())
    }
}
