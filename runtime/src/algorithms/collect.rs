//! New buffers whose elements kernels compute: intermediate results.

use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::View;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// A buffer of `len` elements, of which `value` computes each one from its index.
pub(super) fn collect<T, F>(queue: &Queue, len: usize, value: F) -> Result<Buffer<T>, LaunchError>
where
    T: Element,
    F: Fn(usize) -> T + Function,
{
    let mut buffer = Buffer::<T>::uninit(queue, len)?;
    queue.for_each((0.., &mut buffer), move |(i, to)| {
        to.write(value(i));
    })?;
    // SAFETY: each work-item of the launch has written its element, and all have ended.
    Ok(unsafe { buffer.assume_init() })
}

/// A buffer with the same elements.
pub(super) fn copy_of<T: Element>(
    queue: &Queue,
    elements: View<'_, T>,
) -> Result<Buffer<T>, LaunchError> {
    let mut buffer = Buffer::<T>::uninit(queue, elements.raw().len())?;
    queue.for_each((&mut buffer, elements), |(to, from)| {
        to.write(*from);
    })?;
    // SAFETY: each work-item of the launch has written its element, and all have ended.
    Ok(unsafe { buffer.assume_init() })
}

/// What a kernel of one work-item computes.
pub(super) fn single<T, F>(queue: &Queue, value: F) -> Result<T, LaunchError>
where
    T: Element,
    F: Fn() -> T + Function,
{
    read(&collect(queue, 1, move |_| value())?, 0)
}

/// An element, on the host.
pub(super) fn read<T: Element>(buffer: &Buffer<T>, index: usize) -> Result<T, LaunchError> {
    Ok(buffer.try_get(index)?)
}
