//! The code of a kernel on the host's cores.

use std::borrow::Cow;
use std::sync::Arc;

use schism_jit_abi::{CpuChunk, PanicRecord, RUN_DIVERGED, RUN_NO_MEMORY, RUN_OK};

use crate::hal::host::kernel::CpuKernel;
use crate::hal::host::pace::LatestPace;
use crate::hal::host::stack::overflow::{Name, Runs};
use crate::launch::erased::{NativeBody, RawKernel};
use crate::launch::failure::{self, Failure, Panic};
use crate::launch::payload::Payload;

/// Code that runs a box of work-items.
#[derive(Clone, Debug)]
pub(crate) enum Body<'a> {
    /// The host half's own body.
    Native(NativeBody),
    /// Compiled from the device half by stage 2. A launch without helpers borrows it.
    Cpu(Cow<'a, Arc<CpuKernel>>),
}

impl Body<'_> {
    /// The same, for threads that may have it for longer than the launch runs.
    pub(super) fn shared(&self) -> Body<'static> {
        match self {
            Self::Native(body) => Body::Native(*body),
            Self::Cpu(kernel) => Body::Cpu(Cow::Owned(Arc::clone(kernel))),
        }
    }

    /// The stack that a work-item needs in bytes, if that is known.
    pub(super) fn stack(&self) -> Option<usize> {
        match self {
            Self::Native(_) => None,
            Self::Cpu(kernel) => kernel.stack(),
        }
    }

    /// How fast its work-items ran last, where that is noted.
    pub(super) fn latest_pace(&self) -> Option<&LatestPace> {
        match self {
            Self::Native(_) => None,
            Self::Cpu(kernel) => Some(&kernel.latest_pace),
        }
    }

    /// What an overflow message says about the kernel.
    pub(crate) fn runs(&self, kernel: &RawKernel) -> Runs {
        match self {
            Self::Native(_) => Runs { kernel: Name::OfType(kernel.type_name()), device: "native" },
            Self::Cpu(code) => Runs { kernel: Name::OfContainer(code.name()), device: "cpu" },
        }
    }
}

/// Runs the work-items of one box, or a group whose kernel is cut at barriers.
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
    let mut run = || unsafe { kernel.run(closure.cast(), chunk, &mut record) };
    let status = if kernel.unwinds() { failure::catch_raised(run)? } else { run() };
    if status == RUN_OK {
        return Ok(());
    }
    // SAFETY: the kernel has just written the record, and is alive.
    unsafe { failed(status, record) }
}

/// What a status other than [`RUN_OK`] says.
///
/// # Safety
/// A kernel has returned it and written the record, and its code is still loaded.
#[cold]
unsafe fn failed(status: u32, record: PanicRecord) -> Result<(), Failure> {
    match status {
        // Who runs the group knows more.
        RUN_DIVERGED => Err(Failure::DivergentBarrier { group: [0; 3], waiting: 0, ended: 0 }),
        RUN_NO_MEMORY => Err(Failure::NoMemory { bytes: 0 }),
        // SAFETY: the kernel wrote the record and is alive.
        _ => Err(unsafe { failure(record) }),
    }
}

/// # Safety
/// A kernel wrote the record, and its code is still loaded.
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
        payload: Payload::default(),
    })
}
