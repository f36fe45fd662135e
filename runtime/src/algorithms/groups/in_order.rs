//! Several launches of one algorithm, which the host does not wait for one by one.
//!
//! A GPU keeps the order of the launches of a queue itself. To wait for each one, and for memory
//! that is cleared, takes longer than a short kernel.

use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::error::LaunchError;
use crate::hal::Submitted;
use crate::hal::dispatch::BackendPending;
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::local::{Local, LocalArray};
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;

/// Launches of a queue in their order. All have ended when it is dropped, so buffers that they use
/// are declared before it.
#[derive(Debug)]
pub(super) struct InOrder<'q> {
    queue: &'q Queue,
    pending: Vec<Submitted<BackendPending>>,
}

impl<'q> InOrder<'q> {
    pub(super) const fn new(queue: &'q Queue) -> Self {
        Self { queue, pending: Vec::new() }
    }

    /// A buffer of zeros, for the launches that follow.
    ///
    /// # Safety
    /// Zeros are a value of `T`. Only these launches use the buffer until all have ended, and it is
    /// not dropped before this is.
    pub(super) unsafe fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>, LaunchError> {
        // SAFETY: the caller's promises; this waits when it is dropped.
        Ok(unsafe { Buffer::zeroed_in_order(self.queue, len) }?)
    }

    /// Launches a kernel of groups.
    ///
    /// # Safety
    /// What the kernel refers to lives until this is finished or dropped.
    pub(super) unsafe fn launch<T, F>(
        &mut self,
        range: NdRange<1>,
        memory: LocalArray<T>,
        kernel: F,
    ) -> Result<(), LaunchError>
    where
        T: Element,
        F: for<'g> Fn(NdItem<'g, 1>, Local<'g, T>) + Send + Sync + Capture,
    {
        // SAFETY: the caller's promise; pending launches are waited for.
        self.pending.push(unsafe { self.queue.start_in(range, memory, kernel) }?);
        Ok(())
    }

    /// Waits for the launches that it has not waited for yet.
    fn wait(&mut self) -> Result<(), LaunchError> {
        let mut result = Ok(());
        for launch in self.pending.drain(..) {
            result = result.and(self.queue.backend().finish(launch).0);
        }
        result
    }

    /// Waits for all launches.
    ///
    /// # Errors
    /// The first error of a launch.
    pub(super) fn finish(mut self) -> Result<(), LaunchError> {
        self.wait()
    }
}

impl Drop for InOrder<'_> {
    fn drop(&mut self) {
        // Who did not ask for errors has one already.
        let _ = self.wait();
        self.queue.backend().wait_for_zeros();
    }
}
