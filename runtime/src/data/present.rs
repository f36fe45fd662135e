//! Which parts of the host's memory a device has a copy of that stays there: slices that are borrowed
//! shared, so that they do not change.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError, RwLock};

use crate::data::host_range::HostRange;
use crate::hal::dispatch::BackendQueue;

/// A copy that a device has of elements that are borrowed shared, so that they do not change.
#[derive(Debug)]
struct Present {
    begin: usize,
    end: usize,
    /// The buffer with the copy, and its address.
    buffer: Arc<dyn Any + Send + Sync>,
    copy: usize,
    device: String,
}

/// All such copies.
static PRESENT: RwLock<Vec<Present>> = RwLock::new(Vec::new());

/// Where the device of a queue has a copy of a range.
pub(crate) fn present(
    queue: &BackendQueue,
    range: &HostRange,
) -> Option<(Arc<dyn Any + Send + Sync>, NonNull<u8>)> {
    if range.exclusive {
        return None;
    }
    let begin = range.begin.addr();
    let all = PRESENT.read().unwrap_or_else(PoisonError::into_inner);
    let found = all.iter().find(|present| {
        present.begin <= begin
            && range.end() <= present.end
            && present.device == queue.device_name()
    })?;
    let copy = std::ptr::with_exposed_provenance_mut(found.copy + (begin - found.begin));
    Some((Arc::clone(&found.buffer), NonNull::new(copy)?))
}

/// Makes a device's copy known to launches as long as it lives.
#[derive(Debug)]
pub struct PresentCopy {
    begin: usize,
    copy: usize,
}

impl PresentCopy {
    /// `elements`, which are borrowed shared as long as the result lives, have a copy at `copy`, in
    /// `buffer`.
    pub(crate) fn new<T>(
        elements: &[T],
        copy: *const T,
        buffer: Arc<dyn Any + Send + Sync>,
        device: &str,
    ) -> Self {
        let (begin, copy) = (elements.as_ptr().addr(), copy.expose_provenance());
        let (end, device) = (begin + size_of_val(elements), device.to_owned());
        let mut all = PRESENT.write().unwrap_or_else(PoisonError::into_inner);
        all.push(Present { begin, end, buffer, copy, device });
        Self { begin, copy }
    }
}

impl Drop for PresentCopy {
    fn drop(&mut self) {
        let mut all = PRESENT.write().unwrap_or_else(PoisonError::into_inner);
        let own = |present: &Present| present.begin == self.begin && present.copy == self.copy;
        if let Some(at) = all.iter().position(own) {
            all.remove(at);
        }
    }
}
