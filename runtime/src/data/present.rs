//! Which parts of the host's memory a device has a copy of that stays there: slices that are borrowed
//! shared, so that they do not change.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, ThreadId};

use crate::data::host_range::HostRange;
use crate::error::BufferError;
use crate::hal::dispatch::BackendQueue;

/// The memory with a copy, which is kept as long as it is used.
pub(crate) type CopyOwner = Arc<dyn Any + Send + Sync>;

/// A copy that a device has of elements that are borrowed shared, so that they do not change.
#[derive(Debug)]
struct Present {
    begin: usize,
    end: usize,
    owner: CopyOwner,
    copy: usize,
    device: String,
    /// The thread that asked for it by a region; `None` if a launch has left it.
    region: Option<ThreadId>,
}

/// All such copies.
static PRESENT: RwLock<Vec<Present>> = RwLock::new(Vec::new());

/// Where the device of a queue has a copy of all of a range; `None` if it has none.
///
/// # Errors
/// [`BufferError::PartlyPresent`] if a region of this thread keeps a part of the range.
pub(crate) fn present(
    queue: &BackendQueue,
    range: &HostRange,
) -> Result<Option<(CopyOwner, NonNull<u8>)>, BufferError> {
    // What is borrowed exclusively is in no range that is borrowed shared.
    if range.is_changed() {
        return Ok(None);
    }
    let (begin, end) = (range.begin.addr(), range.end());
    let all = PRESENT.read().unwrap_or_else(PoisonError::into_inner);
    let of_device = || all.iter().filter(|present| present.device == queue.device_name());
    let has_all = |it: &Present| it.begin <= begin && end <= it.end;
    // Elements of another type may be aligned on the host, and not there.
    let fits =
        |it: &&Present| has_all(it) && (it.copy + (begin - it.begin)).is_multiple_of(range.align);
    if let Some(found) = of_device().find(fits) {
        let copy = std::ptr::with_exposed_provenance_mut(found.copy + (begin - found.begin));
        return Ok(NonNull::new(copy).map(|copy| (Arc::clone(&found.owner), copy)));
    }
    let here = thread::current().id();
    let in_part =
        |it: &&Present| it.region == Some(here) && it.begin < end && begin < it.end && !has_all(it);
    match of_device().find(in_part) {
        None => Ok(None),
        Some(part) => Err(BufferError::PartlyPresent {
            slice: begin..end,
            present: part.begin..part.end,
            device: part.device.clone(),
        }),
    }
}

/// Makes a device's copy known to launches as long as it lives.
#[derive(Debug)]
pub struct PresentCopy {
    begin: usize,
    copy: usize,
}

impl PresentCopy {
    /// A range, which is borrowed shared as long as the result lives, has a copy at `copy`, in
    /// memory of `owner`. A region keeps it, or else a launch has left it.
    pub(crate) fn new(
        range: &HostRange,
        copy: *const u8,
        owner: CopyOwner,
        device: &str,
        is_region: bool,
    ) -> Self {
        let (begin, end) = (range.begin.addr(), range.end());
        let (copy, device) = (copy.expose_provenance(), device.to_owned());
        let region = is_region.then(|| thread::current().id());
        let mut all = PRESENT.write().unwrap_or_else(PoisonError::into_inner);
        all.push(Present { begin, end, owner, copy, device, region });
        Self { begin, copy }
    }
}

impl Drop for PresentCopy {
    fn drop(&mut self) {
        let mut all = PRESENT.write().unwrap_or_else(PoisonError::into_inner);
        let own = |present: &Present| present.begin == self.begin && present.copy == self.copy;
        let removed = all.iter().position(own).map(|at| all.swap_remove(at));
        drop(all);
        // Its memory is freed without the lock.
        drop(removed);
    }
}
