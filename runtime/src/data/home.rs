//! Where buffers are made.

use crate::api::device::{Device, Place};
use crate::api::queue::{Lane, Queue};
use crate::error::BufferError;
use crate::hal::cuda::Memory;

mod sealed {
    use super::{BufferError, Memory};

    pub trait Home {
        /// So many bytes of the device's own memory, not 0; `None` if it works in the host's.
        fn memory(&self, bytes: usize) -> Result<Option<Memory>, BufferError>;

        /// The device, for people.
        fn device_name(&self) -> String;
    }
}

/// What a buffer is made on: a [`Queue`], or a [`Device`]. The buffer belongs to the device either way.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let device = Device::default_device()?;
/// let mut numbers = Buffer::from_slice(&device, &[1, 2, 3])?;
/// for queue in [Queue::on(&device)?, Queue::on(&device)?] {
///     queue.for_each(&mut numbers, |number| *number *= 2)?;
/// }
/// assert_eq!(numbers.to_vec(), [4, 8, 12]);
/// # Ok(())
/// # }
/// ```
pub trait BufferHome: sealed::Home {}

impl<H: sealed::Home> BufferHome for H {}

impl sealed::Home for Queue {
    fn memory(&self, bytes: usize) -> Result<Option<Memory>, BufferError> {
        match self.lane() {
            Lane::Host(_) => Ok(None),
            Lane::Cuda(stream) => Memory::new(&stream.context, bytes).map(Some),
        }
    }

    fn device_name(&self) -> String {
        self.device().to_string()
    }
}

impl sealed::Home for Device {
    fn memory(&self, bytes: usize) -> Result<Option<Memory>, BufferError> {
        match self.place() {
            Place::Cpu | Place::Native => Ok(None),
            Place::Cuda(gpu) => {
                let context = gpu.context().map_err(|error| BufferError::Unavailable {
                    device: self.to_string(),
                    reason: error.to_string(),
                })?;
                Memory::new(&context, bytes).map(Some)
            }
        }
    }

    fn device_name(&self) -> String {
        self.to_string()
    }
}
