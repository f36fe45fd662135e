//! Streams: launches of a target in order.

use crate::api::device::Device;
use crate::api::queue::Queue;
use crate::error::DeviceError;

/// A stream of a target: what is offloaded to it runs in order, and beside that of other streams, which
/// other threads use.
///
/// ```
/// use schism::Device;
/// use schism::directives::{Stream, offload};
///
/// #[offload]
/// fn count(stream: &Stream, numbers: &mut [u32]) {
///     #[offload(stream(stream), inout(numbers))]
///     for own in numbers.iter_mut() {
///         *own += 1;
///     }
/// }
///
/// let stream = Stream::new(&Device::by_name("native")?)?;
/// let mut numbers = [1, 2, 3];
/// count(&stream, &mut numbers);
/// assert_eq!(numbers, [2, 3, 4]);
/// # Ok::<(), schism::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Queue);

impl Stream {
    /// A stream of a device.
    ///
    /// # Errors
    /// As for [`Queue::on`].
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Queue::on(device).map(Self)
    }

    /// Its target.
    #[must_use]
    pub const fn device(&self) -> &Device {
        self.0.device()
    }

    pub(super) const fn queue(&self) -> &Queue {
        &self.0
    }
}

impl From<Queue> for Stream {
    fn from(queue: Queue) -> Self {
        Self(queue)
    }
}
