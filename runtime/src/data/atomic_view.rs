//! Atomic views of buffers.

use std::slice;

use crate::data::buffer::Buffer;
use crate::data::view::View;
use crate::kernel::atomic::AtomicElement;

impl<T: AtomicElement> Buffer<T> {
    /// A view through which all work-items may change all elements atomically. It borrows the
    /// buffer exclusively: plain reads at the same time would be data races.
    ///
    /// If the buffer is in a device's own memory, the host cannot use the view itself: that panics.
    #[must_use]
    pub fn atomic_view(&mut self) -> View<'_, T::Atomic> {
        let len = self.len();
        let elements = self.exclusive(true).as_mut_ptr().cast::<T::Atomic>();
        // SAFETY: same layout; exclusively borrowed for as long as the view lives.
        View::new(unsafe { slice::from_raw_parts(elements, len) })
    }
}
