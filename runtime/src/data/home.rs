//! Where buffers are created.

use crate::api::device::Device;
use crate::api::queue::Queue;

mod sealed {
    use std::alloc::Layout;
    use std::rc::Rc;
    use std::sync::Arc;

    use crate::api::fallback::allocate_on;
    use crate::error::BufferError;
    use crate::hal::dispatch::BackendMemory;

    /// Memory that no buffer owns yet.
    #[derive(Debug)]
    pub struct Allocated(pub(crate) BackendMemory);

    pub trait Home {
        /// Allocates memory of the device, with a layout whose size is not 0.
        fn allocate(&self, layout: Layout) -> Result<Allocated, BufferError>;

        /// The device, for people.
        fn device_name(&self) -> String;
    }

    impl Home for super::Queue {
        fn allocate(&self, layout: Layout) -> Result<Allocated, BufferError> {
            Self::allocate(self, layout).map(Allocated)
        }

        fn device_name(&self) -> String {
            self.device().to_string()
        }
    }

    macro_rules! same_home {
        ($($pointer:ty),*) => {$(
            impl<H: Home + ?Sized> Home for $pointer {
                fn allocate(&self, layout: Layout) -> Result<Allocated, BufferError> {
                    (**self).allocate(layout)
                }

                fn device_name(&self) -> String {
                    (**self).device_name()
                }
            }
        )*};
    }
    same_home!(&H, Box<H>, Rc<H>, Arc<H>);

    impl Home for super::Device {
        fn allocate(&self, layout: Layout) -> Result<Allocated, BufferError> {
            self.refuse_if_broken().map_err(|error| BufferError::Unavailable {
                device: self.to_string(),
                reason: error.to_string(),
            })?;
            let allocated = self.backend().allocate(layout);
            allocated
                .or_else(|refused| match self.substitute() {
                    Some(host) => allocate_on(&host, layout, refused, self.on_refusal()),
                    None => Err(refused),
                })
                .map(Allocated)
        }

        fn device_name(&self) -> String {
            self.to_string()
        }
    }
}

/// Where a buffer is created: a [`Queue`] or a [`Device`], or a reference, a `Box`, an `Rc` or an
/// `Arc` of one. The buffer belongs to the device in all cases.
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
/// let shared = std::sync::Arc::new(Queue::on(&device)?);
/// assert_eq!(Buffer::filled(&shared, 2, 7)?.to_vec(), [7, 7]);
/// # Ok(())
/// # }
/// ```
pub trait BufferHome: sealed::Home {}

impl<H: sealed::Home> BufferHome for H {}
