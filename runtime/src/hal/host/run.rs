//! The work of a launch on the host's cores.

use std::sync::Arc;

use crate::hal::host::body::{Body, run_cpu};
use crate::hal::host::groups::{GroupLaunch, GroupWork};
use crate::hal::host::stack::need::Need;
use crate::hal::host::stack::overflow::Runs;
use crate::hal::host::stack::{self, TooMuch};
use crate::hal::host::tiles::for_tiles;
use crate::launch::erased::RawKernel;
use crate::launch::failure::{self, Failure};
use crate::launch::options::{self, Options};
use crate::launch::range::Extent;

/// One launch's body, data and range.
///
/// It is large, and most launches need it in one place only: it is passed by reference, and copied
/// where helpers need it.
#[derive(Clone, Debug)]
pub(crate) struct Work<'a> {
    pub(crate) body: Body<'a>,
    pub(crate) closure: *const (),
    /// What is distributed over the threads: work-items, or groups of them.
    pub(crate) extent: Extent,
    pub(crate) groups: Option<GroupWork>,
    options: Option<Arc<Options>>,
    /// What an overflow message says.
    runs: Runs,
    /// The stack that one work-item needs.
    item: Need,
    /// Whether work-items may wait for others: they then run on stacks of their own.
    waits: bool,
}

// SAFETY: `closure` is a kernel that work-items on several threads share: launches require `Sync`.
unsafe impl Send for Work<'_> {}
// SAFETY: as above.
unsafe impl Sync for Work<'_> {}

impl<'a> Work<'a> {
    #[inline]
    pub(crate) fn new(
        body: Body<'a>,
        kernel: &RawKernel,
        extent: &Extent,
        groups: Option<GroupWork>,
        options: Option<Arc<Options>>,
    ) -> Self {
        let (closure, runs, item) =
            (kernel.closure, body.runs(kernel), Need::of_item(body.stack()));
        let waits = groups.is_some() && GroupWork::waits(&body);
        Self { body, closure, extent: *extent, groups, options, runs, item, waits }
    }

    /// The same, for helpers.
    pub(super) fn shared(&self) -> Work<'static> {
        Work { body: self.body.shared(), ..self.clone() }
    }

    /// Whether it needs more stack than is available.
    #[inline]
    pub(crate) fn too_much_stack(&self) -> Option<TooMuch> {
        let waiting = self.groups.as_ref().filter(|_| self.waits).map(GroupWork::items);
        stack::too_much(self.item, waiting)
    }

    /// Runs the work-items with the linear ids `begin..end`.
    ///
    /// # Safety
    /// `closure` is alive and of the body's type; `begin < end`, at most the extent's items; each
    /// work-item runs once.
    #[inline]
    pub(crate) unsafe fn run(&self, begin: usize, end: usize) -> Result<(), Failure> {
        let need = if self.waits { Need::of_scheduler() } else { self.item };
        // SAFETY: the caller's promises.
        stack::with_room(need, &self.runs, || unsafe { self.run_here(begin, end) })
    }

    /// The same, on the current stack.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_here(&self, begin: usize, end: usize) -> Result<(), Failure> {
        let options = self.options.as_deref();
        let _entered = options::enter(options);
        if let Some(groups) = &self.groups {
            let (body, closure, runs) = (&self.body, self.closure, &self.runs);
            let launch = GroupLaunch { body, closure, options, runs, need: self.item };
            // SAFETY: the caller's promises.
            return unsafe { groups.run(launch, begin, end) };
        }
        match &self.body {
            Body::Native(native) => failure::catch(|| {
                let Ok(()) =
                    for_tiles::<std::convert::Infallible>(&self.extent, begin, end, |chunk| {
                        // SAFETY: the caller's promises; a tile is inside the range.
                        unsafe { (native.chunk)(self.closure, chunk) };
                        Ok(())
                    });
            }),
            Body::Cpu(kernel) => for_tiles(&self.extent, begin, end, |chunk| {
                // SAFETY: the caller's promises; a tile is inside the range.
                unsafe { run_cpu(kernel, self.closure, chunk) }
            }),
        }
    }
}
