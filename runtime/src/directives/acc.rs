//! OpenACC's functions, in safe Rust.
//!
//! A thread's directives and these functions use the same queue: that of
//! [`with_queue`](super::with_queue), or of [`set_device`], or of the default device. Directives wait for
//! their launches; those with `async`, of arrays that a region keeps, are waited for by [`wait`], by the
//! next directive without `async`, and where the region ends.
//!
//! ```
//! # fn main() -> Result<(), schism::Error> {
//! use schism::directives::acc;
//!
//! #[acc]
//! fn double(numbers: &mut [u32]) {
//!     #[acc(parallel, loop)]
//!     for own in numbers.iter_mut() {
//!         *own *= 2;
//!     }
//! }
//!
//! let mut numbers = vec![1; 1000];
//! let mut on_device = acc::copyin(&mut numbers)?;
//! for _ in 0..10 {
//!     // Launches copy nothing.
//!     double(&mut on_device);
//! }
//! acc::update_self(&mut on_device[..1])?;
//! assert_eq!(on_device[0], 1024);
//! on_device.copyout()?;
//! assert_eq!(numbers, [1024; 1000]);
//! # Ok(())
//! # }
//! ```

use crate::api::device::Device;
use crate::api::queue::Queue;
use crate::data::pending;
use crate::data::view::{View, ViewMut};
use crate::directives::outcome::settle;
use crate::directives::queue::{choose, try_queue};
use crate::directives::update;
use crate::error::{DeviceError, Error};
use crate::kernel::element::Element;

pub use crate::directives::entered::{Entered, Mapped, copyin, create, map_data};

/// The GPUs; if there is none, the default device.
fn devices() -> Result<Vec<Device>, DeviceError> {
    let gpus = Device::gpus();
    if gpus.is_empty() { Ok(vec![Device::default_device()?]) } else { Ok(gpus) }
}

/// How many devices there are to [choose](set_device) from: the GPUs, or the default device if there is
/// none.
#[must_use]
pub fn device_count() -> usize {
    Device::gpus().len().max(1)
}

/// Has this thread's directives use a device, by its number modulo [their number](device_count). Inside of
/// [`with_queue`](super::with_queue) that holds until its end. What regions keep stays where it is.
///
/// # Errors
/// As for [`Queue::on`].
pub fn set_device(number: usize) -> Result<(), DeviceError> {
    let devices = devices()?;
    choose(Some(Queue::on(&devices[number % devices.len()])?));
    Ok(())
}

/// The number of the device that this thread's directives use; `None` if it is not among those that have
/// a number.
///
/// # Errors
/// As for [`Queue::new`].
pub fn get_device() -> Result<Option<usize>, DeviceError> {
    let queue = try_queue()?;
    Ok(devices()?.iter().position(|device| device.name() == queue.device().name()))
}

/// Makes the device ready that this thread's directives use, so that the first of them need not.
///
/// # Errors
/// As for [`Queue::new`].
pub fn init() -> Result<(), DeviceError> {
    try_queue().map(drop)
}

/// Has this thread's directives use the default device again. Inside of
/// [`with_queue`](super::with_queue) it changes nothing.
pub fn shutdown() {
    choose(None);
}

/// Whether this code runs on a device: it is a constant when kernels are compiled.
#[inline(always)]
#[must_use]
pub fn on_device() -> bool {
    crate::kernel::abi::is_device()
}

/// Whether launches of this thread's directives use elements where they are: because a region or
/// [`copyin`] keeps them on the device, or because the device uses the host's memory.
///
/// # Errors
/// As for [`Queue::new`]; [`BufferError::PartlyPresent`](crate::BufferError::PartlyPresent) for elements of
/// which a part is there.
pub fn is_present<T: Element>(elements: &[T]) -> Result<bool, Error> {
    update::is_present(&try_queue()?, View::new(elements))
}

/// Gives the host the values that the device has, of elements that are there.
///
/// # Errors
/// [`BufferError::NotPresent`](crate::BufferError::NotPresent), and those of a copy.
pub fn update_self<T: Element>(elements: &mut [T]) -> Result<(), Error> {
    try_queue()?;
    update::update(ViewMut::of_slice(elements), true, false)
}

/// Gives the device the values that the host has, of elements that are there.
///
/// # Errors
/// As for [`update_self`].
pub fn update_device<T: Element>(elements: &mut [T]) -> Result<(), Error> {
    try_queue()?;
    update::update(ViewMut::of_slice(elements), false, false)
}

/// The first element's address on the device, for the device's own libraries; that of the host where
/// memory is shared. What is written there counts as changed.
///
/// # Errors
/// [`BufferError::NotPresent`](crate::BufferError::NotPresent).
pub fn device_ptr<T: Element>(elements: &mut [T]) -> Result<*mut T, Error> {
    try_queue()?;
    update::address(ViewMut::of_slice(elements), false)
}

/// The host's address of the element that is at an address on the device; `None` if nothing is that a
/// region or [`copyin`] keeps there.
#[must_use]
pub fn host_ptr<T: Element>(device: *const T) -> Option<*const T> {
    update::host_address(device).map(|host| host.as_ptr().cast_const())
}

/// Waits for what this thread has launched with `async(number)`; the queues of all numbers are one.
///
/// # Panics
/// With the error of a launch that has failed.
#[track_caller]
pub fn wait(number: i64) {
    let _ = number;
    wait_all();
}

/// Waits for what this thread has launched with `async`.
///
/// # Panics
/// With the error of a launch that has failed.
#[track_caller]
pub fn wait_all() {
    settle();
}

/// Whether what this thread has launched with `async(number)` has ended.
#[must_use]
pub fn async_test(number: i64) -> bool {
    let _ = number;
    async_test_all()
}

/// Whether what this thread has launched with `async` has ended.
#[must_use]
pub fn async_test_all() -> bool {
    pending::is_over()
}
