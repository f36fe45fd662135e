//! The device that pipelines run on, and the queues to it.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::OnceLock;

use schism::__private::variables::{DEVICE, STDPAR_CUT};
use schism::__private::{
    Hook, HostThreads, Placement, ProgramPool, default_of_host, device_traits, heap, note,
    placement, warn,
};
use schism::{Adaptivity, Device, DeviceError, Queue};

use crate::{history, setting};

/// Asks for memory that is shared with the device, where a program is to run on one that has memory
/// separate from the host's. It runs before the program's `main`.
extern "C" fn at_start() {
    if names_others() && !setting::is_off() {
        heap::at_start();
        // Shared memory is there before any pipeline chooses a device.
        heap::share(|| queue_on(default()?).map(|queue| Queue::clone(&queue)));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;

/// Whether the user names other devices than the host's.
fn names_others() -> bool {
    let is_of_host = |name: &str| matches!(name.trim(), "" | "cpu" | "native");
    let named = DEVICE.set().map(|order| order.to_string_lossy());
    named.is_some_and(|order| !order.split(',').all(is_of_host))
}

/// Whether [`is_wide`] may be so of the default device, which need not be there for that.
#[inline]
pub(crate) fn may_be_wide() -> bool {
    static MAY_BE: OnceLock<bool> = OnceLock::new();
    *MAY_BE.get_or_init(|| names_others() || is_cut_on_device())
}

/// Whether the device has many work-items at a time, more than there can be pieces.
pub(crate) fn is_wide() -> bool {
    device().is_some_and(|device| !device_traits(device).runs_on_host || is_cut_on_device())
}

/// rayon's threads, for kernels that can tell which thread runs them: those of the pool in which a
/// pipeline is called, or of the global one.
const POOL: ProgramPool =
    ProgramPool { run: |run| rayon::scope(|_| run()), spawn: |run| rayon::spawn(run) };

/// Up to `most` threads for a kernel, which begin `at_once` or when there is enough to do.
pub(crate) const fn host_threads(most: usize, at_once: bool) -> HostThreads {
    HostThreads { most, at_once, hook: Hook::Program, pool: Some(POOL) }
}

/// Whether work-items cut their own pieces out on all devices: on `cpu`, the same code runs then as
/// on a GPU.
fn is_cut_on_device() -> bool {
    static CHOSEN: OnceLock<bool> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let Some(word) = STDPAR_CUT.get() else { return false };
        match word.to_str() {
            Some("" | "auto") => false,
            Some("device") => true,
            _ => {
                warn(format_args!("{STDPAR_CUT} is `{}`; use auto or device", word.display()));
                false
            }
        }
    })
}

/// The device of the pipelines that the calling thread begins; `None` where they stay with rayon.
pub(crate) fn device() -> Option<&'static Device> {
    match placement() {
        Placement::Device(device) => Some(device),
        Placement::Default | Placement::Host => default(),
    }
}

/// The device of a program that names none; `None` where all pipelines stay with rayon. The first
/// call looks for it.
fn default() -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    // What it allocates asks for no queue.
    DEVICE.get_or_init(|| heap::prepare(find)).as_ref()
}

fn find() -> Option<Device> {
    let refuse = |why: std::fmt::Arguments<'_>| {
        note(format_args!("all parallel iterators stay with rayon: {why}"));
        None
    };
    // A program that does not know of devices does not fail for one, whatever the environment asks
    // for.
    // Memory is shared with a GPU from the first large block on, which makes a context before anything
    // was measured: that is for programs whose user asks for one.
    let is_given = DEVICE.set().is_some();
    if names_others() && history::says_no() {
        return refuse(format_args!("earlier runs gained less than the device's start takes"));
    }
    let device = match if is_given { Device::default_device() } else { default_of_host() } {
        Ok(device) => device,
        // Children of a program are no fault of the user's.
        Err(error @ DeviceError::Forked { .. }) => return refuse(format_args!("{error}")),
        Err(error) => {
            warn(format_args!("all parallel iterators stay with rayon: {error}"));
            return None;
        }
    };
    let traits = device_traits(&device);
    if !traits.runs_device_code {
        return refuse(format_args!("the device `{device}` has nothing but the host's own code"));
    }
    // By its name, so that a kernel that cannot be had is an error, and nothing but rayon runs in its
    // place. Whether a GPU sees this program's memory turns out at each launch.
    Device::by_name(device.name()).ok()
}

thread_local! {
    /// This thread's queues that run nothing, of all devices. A launch takes one, so that launches of several threads
    /// do not wait for each other, nor one in a kernel for the one around it.
    static QUEUES: RefCell<Vec<Queue>> = const { RefCell::new(Vec::new()) };
}

/// A queue of this thread's, which has it back when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnQueue(Option<Queue>);

impl Deref for OwnQueue {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        self.0.as_ref().expect("it is here until the drop")
    }
}

impl Drop for OwnQueue {
    fn drop(&mut self) {
        let queue = self.0.take();
        let keep = |queues: &RefCell<Vec<Queue>>| queues.borrow_mut().extend(queue);
        // Pipelines in destructors of other locals of a thread may come too late. What the list
        // allocates asks for no queue.
        let _ = heap::prepare(|| QUEUES.try_with(keep));
    }
}

/// A queue that runs nothing, if there is one.
pub(crate) fn queue() -> Option<OwnQueue> {
    queue_on(device()?)
}

fn queue_on(device: &Device) -> Option<OwnQueue> {
    let make = || {
        let queue = Queue::on(device).ok()?;
        // What is compiled for some launches only is given up some day. Kernels on the host may
        // leave addresses of their constants in results, so there are no such versions. A GPU's
        // constants are not the host's: pipelines that leave addresses of them stay with rayon.
        let is_host = device_traits(queue.device()).runs_on_host;
        Some(if is_host { queue.with_adaptivity(Adaptivity::Off) } else { queue })
    };
    let take = |queues: &RefCell<Vec<Queue>>| {
        let mut queues = queues.borrow_mut();
        let index = queues.iter().rposition(|queue| queue.device() == device)?;
        Some(queues.swap_remove(index))
    };
    let kept = QUEUES.try_with(take).ok()?;
    Some(OwnQueue(Some(kept.or_else(|| heap::prepare(make))?)))
}
