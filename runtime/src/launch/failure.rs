//! Failures of kernels that run as the host half's own body.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use schism_jit_abi::RUN_PANICKED;

use crate::error::{KernelPanic, LaunchError};
use crate::launch::payload::Payload;
use crate::util::{timeline, warn_once};

thread_local! {
    static INSIDE: Cell<Option<Hook>> = const { Cell::new(None) };
    static FIRST: RefCell<Option<First>> = const { RefCell::new(None) };
    static WORK_ITEM: Cell<Option<[usize; 3]>> = const { Cell::new(None) };
    static RAISED: Cell<bool> = const { Cell::new(false) };
}

/// Why a launch ended before all work-items had.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A work-item panicked.
    Panic(Panic),
    /// Some work-items of a group ended while others waited for them.
    DivergentBarrier { group: [usize; 3], waiting: usize, ended: usize },
    /// Some work-items of a sub-group waited for others that had ended, or waited for something
    /// else.
    DivergentSubGroup { group: [usize; 3], sub_group: usize, waiting: usize, elsewhere: usize },
    /// There is no memory for a stack of that size.
    NoStack { bytes: usize, reason: String },
    /// There is no memory for what a group's work-items keep across barriers.
    NoMemory { bytes: usize },
    /// There is no thread for a work-item that waits.
    NoThread { reason: String },
    /// A group's arrays do not fit.
    LocalMemory { bytes: usize },
    /// The kernel has forked the process, and this one does not have the threads that run the rest
    /// of the launch.
    Forked,
}

/// A panic in a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub(crate) message: String,
    /// `file:line:column`.
    pub(crate) location: Option<String>,
    /// x, y, z.
    pub(crate) work_item: Option<[usize; 3]>,
    /// The same in its group.
    pub(crate) local_id: Option<[usize; 3]>,
    /// What unwound, where that is.
    pub(crate) payload: Payload,
}

/// Who is told of a panic in a kernel before it unwinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The launch alone, which returns it as an error.
    Launch,
    /// The program's own hook: to the program it is a panic as any other.
    Program,
}

/// A kernel's panic that has not been caught yet.
#[derive(Debug)]
struct First {
    location: Option<String>,
    /// Place and message, for a panic that is never caught.
    text: String,
}

/// While this lives, the thread is running work-items.
#[derive(Debug)]
pub(crate) struct Inside {
    before: Option<Hook>,
}

impl Inside {
    #[inline]
    pub(crate) fn enter(hook: Hook) -> Self {
        Self { before: INSIDE.replace(Some(hook)) }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

/// Whether the calling code is a kernel that the program launches as such. The kernel of a parallel
/// iterator is none: it runs on the program's threads, and may launch others and wait for them, since
/// each of these has begun after it.
#[inline]
pub(crate) fn inside() -> bool {
    INSIDE.get() == Some(Hook::Launch)
}

/// Makes panics in kernels silent: launches report them as errors. Other panics, and those that no
/// launch can report because the process ends, go to the previous hook. A program that sets its own
/// hook later sees kernels' panics too, and the errors then have no location.
pub(crate) fn install_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // Hooks cannot be changed during a panic.
        if std::thread::panicking() {
            return;
        }
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !record(info) {
                timeline::try_flush();
                before(info);
            }
        }));
    });
}

/// Records a kernel's panic; `false` if the program's own hook is to see it: the panic is not in a
/// kernel, or is never caught.
fn record(info: &PanicHookInfo<'_>) -> bool {
    // The thread-locals may be gone when a destructor of another one panics.
    if INSIDE.try_with(Cell::get).unwrap_or(None) != Some(Hook::Launch) {
        return false;
    }
    if cfg!(panic = "abort") {
        warn_once::say(format_args!(
            "a kernel panics on the device `native`, and the program is compiled with `panic = \"abort\"`: this ends the process, where \
             the device `cpu` would end the launch with an error"
        ));
        return false;
    }
    let location = info.location().map(ToString::to_string);
    let first = First { location, text: info.to_string() };
    // A launch by a destructor of another thread-local does without it.
    let before = FIRST.try_with(|at| at.replace(Some(first))).unwrap_or_default();
    // The first panic unwinds through a destructor that panics, or through a function that must not
    // unwind: the process ends.
    if let Some(before) = before {
        warn_once::say(format_args!("a kernel on the device `native` {}", before.text));
        return false;
    }
    true
}

/// The error of a launch on a device whose captures panicked when they were dropped.
pub(crate) fn while_dropping(payload: Box<dyn Any + Send>, device: &str) -> LaunchError {
    outside(payload, "(a kernel's captures, while dropped)", device)
}

/// The error for a panic of the program's code beside a kernel, in the place of whose name there is `what`.
pub(crate) fn outside(payload: Box<dyn Any + Send>, what: &str, device: &str) -> LaunchError {
    let message = message(&*payload);
    LaunchError::Panicked(Box::new(KernelPanic {
        kernel: what.to_owned(),
        device: device.to_owned(),
        message,
        location: None,
        work_item: None,
        local_id: None,
        payload: Payload::new(payload),
    }))
}

/// Runs a part of a kernel and converts its panic to a failure.
pub(crate) fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Failure> {
    panic::catch_unwind(AssertUnwindSafe(run)).map_err(caught)
}

/// The same for code that says by a status how it has ended, or by [`raise`] that it has panicked.
pub(crate) fn catch_raised(run: impl FnOnce() -> u32) -> Result<u32, Failure> {
    panic::catch_unwind(AssertUnwindSafe(run)).or_else(|payload| match payload.is::<Raised>() {
        true => {
            RAISED.set(false);
            Ok(RUN_PANICKED)
        }
        false => Err(caught(payload)),
    })
}

/// Whether a kernel unwinds on this thread, by [`raise`].
pub(crate) fn is_raised() -> bool {
    RAISED.get()
}

/// What unwinds where a kernel has panicked and its record says how.
struct Raised;

/// Unwinds a kernel that has filled the record of its panic: no hook is told, for the launch reports it.
pub(crate) fn raise() -> ! {
    RAISED.set(true);
    panic::resume_unwind(Box::new(Raised))
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Failure {
    let first = FIRST.try_with(RefCell::take).unwrap_or_default();
    let location = first.and_then(|first| first.location);
    let work_item = WORK_ITEM.take();
    let message = message(&*payload);
    let payload = Payload::new(payload);
    Failure::Panic(Panic { message, location, work_item, local_id: None, payload })
}

/// Records the work-item that panics, while it unwinds.
#[cold]
#[inline(never)]
pub(crate) fn note_item(id: [usize; 3]) {
    WORK_ITEM.set(Some(id));
}

/// The standard library's text for a payload.
fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "Box<dyn Any>".to_owned()
    }
}
