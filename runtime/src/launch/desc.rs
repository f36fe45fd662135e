//! What a launch says, whichever function of a queue or a scope it came by.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::launch::adaptivity::Adaptivity;
use crate::launch::erased::RawKernel;
use crate::launch::failure::Hook;
use crate::launch::options::Options;
use crate::launch::range::Extent;
use crate::util::timeline::{self, Launched, Time, Value};

/// One launch: all that devices are told of it. What is large stays where the launch began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchDesc<'a> {
    pub(crate) kernel: &'a RawKernel,
    /// The work-items.
    pub(crate) range: &'a Extent,
    /// The work-groups, if the launch has any.
    pub(crate) groups: Option<GroupDesc<'a>>,
    pub(crate) options: Option<&'a Arc<Options>>,
    pub(crate) adaptivity: Adaptivity,
    /// Threads of a block on GPUs, if the launch has no groups and says how many.
    pub(crate) block_size: Option<usize>,
    /// Whether its duration is measured.
    pub(crate) timed: bool,
    pub(crate) on_refusal: OnRefusal,
    /// Gets the reason if the host half's own body runs in the place of the device's code.
    pub(crate) replaced: Option<&'a OnceLock<String>>,
    pub(crate) host_addresses: HostAddresses,
    /// Which threads run it, if the device is the host.
    pub(crate) threads: HostThreads,
    /// The addresses of what it changes besides its result. If it allocates, and its heap has no memory left, these have their
    /// old bytes afterwards.
    pub(crate) changes: &'a [Range<usize>],
}

/// What becomes of a launch that the device cannot run, or has no code for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnRefusal {
    /// An error: the device was asked for by name, or the launch is mandatory.
    Fail,
    /// The host runs it, and the user is warned once.
    Warn,
    /// The host runs it. Reports and the trace tell.
    Silent,
}

/// Whether addresses of the host's in a closure are used as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostAddresses {
    /// Addresses in the closure are the device's, or stand for them.
    None,
    /// The device sees all of the program's memory as long as the launch runs.
    Visible,
    /// Where the kernel is known to use nothing but memory that host and device share anyway.
    /// Otherwise the launch fails with [`LaunchError::HostMemory`](crate::LaunchError::HostMemory),
    /// and nothing has run.
    Shared,
}

/// Which threads of the host run a launch.
#[derive(Clone, Copy, Debug)]
pub struct HostThreads {
    /// At most as many.
    pub most: usize,
    /// All of them begin at once, because a work-item may end only when others have run. Otherwise
    /// the calling thread begins alone, and calls the others when there is enough to do.
    pub at_once: bool,
    /// Who is told of a panic in the kernel.
    pub hook: Hook,
    /// The program's own threads, for kernels that can tell which thread runs them. Others run on the
    /// calling thread and those of the device.
    pub pool: Option<ProgramPool>,
}

/// Threads of the program's.
#[derive(Clone, Copy, Debug)]
pub struct ProgramPool {
    /// Runs something on one of them, and returns when it has run.
    pub run: fn(&mut (dyn FnMut() + Send)),
    /// Has something run by one of them some time. Called on one of them.
    pub spawn: fn(Box<dyn FnOnce() + Send>),
}

impl HostThreads {
    /// As many as there is work for.
    pub const ANY: Self = Self { most: usize::MAX, at_once: false, hook: Hook::Launch, pool: None };
}

/// The work-groups of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupDesc<'a> {
    /// Work-items of each group.
    pub(crate) local: &'a Extent,
    /// The groups.
    pub(crate) count: &'a Extent,
    /// Bytes of local memory that the launch adds to the kernel's own.
    pub(crate) dynamic: usize,
}

impl<'a> LaunchDesc<'a> {
    /// The values and the mathematics that the launch asks for.
    #[inline]
    pub(crate) fn options(&self) -> Option<&'a Options> {
        self.options.map(Arc::as_ref)
    }

    /// Work-items of a group, the slowest dimension first; none without groups.
    fn group(&self) -> Vec<usize> {
        self.groups.map_or_else(Vec::new, |groups| groups.local.slowest_first())
    }

    /// What a queue's track of the timeline will have of it, if it is asked for.
    #[inline]
    pub(crate) fn seen(&self) -> Option<Box<Launched>> {
        let seen = || Launched::new(self.kernel.name(), self.range.items, self.group());
        timeline::is_on().then(|| Box::new(seen()))
    }

    /// Adds to the timeline that this thread has launched it, or could not.
    #[cold]
    pub(crate) fn show(&self, device: &str, begin: Time, is_launched: bool) {
        let group = self.group();
        let all = [
            ("device", Value::Text(&device)),
            ("items", Value::Number(self.range.items as u64)),
            ("group", Value::Sizes(&group)),
            ("launched", Value::Is(is_launched)),
        ];
        timeline::on_this_thread("launch", &self.kernel.lazy_name(), begin, &all);
    }

    /// Whether its ids begin elsewhere than at zero.
    #[inline]
    pub(crate) fn has_offset(&self) -> bool {
        self.range.offset != [0; 3]
    }
}
