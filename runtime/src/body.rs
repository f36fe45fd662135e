//! Kernel bodies that run on the host's cores.

use std::sync::Arc;

use schism_jit_abi::{CpuChunk, PanicRecord, RUN_OK};

use crate::cpu_kernel::CpuKernel;
use crate::groups::GroupWork;
use crate::launch::NativeChunk;
use crate::options::{self, Options};
use crate::panics::{self, Failure, Panic};
use crate::pieces::for_pieces;
use crate::range::Extent;

/// Code that runs a box of work-items.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// The host half's own.
    Native(NativeChunk),
    /// Made from the device half by stage 2.
    Cpu(Arc<CpuKernel>),
}

/// One launch's body, data and range.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) body: Body,
    pub(crate) closure: *const (),
    /// What is spread over threads: work-items, or groups of them.
    pub(crate) extent: Extent,
    pub(crate) groups: Option<GroupWork>,
    pub(crate) options: Option<Arc<Options>>,
}

// SAFETY: `closure` is a kernel that work-items on several threads share: launches ask for `Sync`.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

impl Work {
    /// Runs the work-items with the linear ids `begin..end`.
    ///
    /// # Safety
    /// `closure` is alive and of the body's type; `begin < end`, at most the extent's items; nobody runs these work-items a
    /// second time.
    pub(crate) unsafe fn run(&self, begin: usize, end: usize) -> Result<(), Failure> {
        let _entered = options::enter(self.options.as_deref());
        if let Some(groups) = &self.groups {
            // SAFETY: the caller's promises.
            return unsafe { groups.run(&self.body, self.closure, begin, end) };
        }
        match &self.body {
            Body::Native(native) => panics::catch(|| {
                let Ok(()) =
                    for_pieces::<std::convert::Infallible>(&self.extent, begin, end, |chunk| {
                        // SAFETY: the caller's promises; a piece is inside the range.
                        unsafe { native(self.closure, chunk) };
                        Ok(())
                    });
            }),
            Body::Cpu(kernel) => for_pieces(&self.extent, begin, end, |chunk| {
                // SAFETY: the caller's promises; a piece is inside the range.
                unsafe { run_cpu(kernel, self.closure, chunk) }
            }),
        }
    }
}

/// Runs the work-items of one box.
///
/// # Safety
/// As for [`CpuKernel::run`], with the kernel's own data.
pub(crate) unsafe fn run_cpu(
    kernel: &CpuKernel,
    closure: *const (),
    chunk: &CpuChunk,
) -> Result<(), Failure> {
    let mut record = PanicRecord::EMPTY;
    // SAFETY: the caller's promises.
    if unsafe { kernel.run(closure.cast(), chunk, &mut record) } == RUN_OK {
        return Ok(());
    }
    // SAFETY: the kernel wrote the record and is alive.
    Err(unsafe { failure(record) })
}

/// # Safety
/// A kernel wrote the record, and its code is still there.
unsafe fn failure(mut record: PanicRecord) -> Failure {
    // SAFETY: the file's name lives as long as the kernel.
    let file = unsafe { record.file.as_slice() };
    // SAFETY: the kernel's code was loaded by the loader, and the record was not copied.
    let message = unsafe { schism_loader::message::take(&mut record) };
    let location = (!file.is_empty())
        .then(|| format!("{}:{}:{}", String::from_utf8_lossy(file), record.line, record.column));
    Failure::Panic(Panic {
        message,
        location,
        work_item: Some(record.global_id),
        local_id: (record.in_group != 0).then_some(record.local_id),
    })
}
