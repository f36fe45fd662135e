//! Running LLVM so that its fatal errors are errors.
//!
//! When LLVM meets something that it cannot recover from (an instruction that no pattern selects,
//! say), it calls the process's fatal-error handler and then ends the process. The handler must not
//! return and must not unwind through LLVM's frames. So each compile has its own thread: the
//! handler hands the message to the thread that waits for that one, and parks the thread for good. That
//! leaks the thread and what it had allocated, once per such error.
//!
//! A panic on such a thread is an error, too: no text of it reaches the terminal, and the message says where
//! it was.
//!
//! The thread's stack is large, because LLVM recurses over the depth of its input.
//!
//! A compilation whose result is not wanted any more is abandoned: it ends as soon as it can. The end of the
//! process waits for none: `stop.rs` and `destructors.rs` keep them from what it does.

mod destructors;
mod objects;
mod stop;
mod thread;

pub use stop::stop;

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::unix::thread::JoinHandleExt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::Duration;

use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use thread::{OWN, Shared};

/// The stack of a compile thread, in bytes; only what is touched takes memory.
const STACK_SIZE: usize = 64 << 20;

/// How a function under [`isolated`] failed.
#[derive(Debug)]
pub enum Isolated {
    /// LLVM gave up, with this message.
    Fatal(String),
    /// The function panicked, with this message.
    Panicked(String),
    /// The system gave no thread.
    NoThread(std::io::Error),
    /// The process is ending.
    Ending,
}

type Report = Box<dyn FnOnce(String)>;

thread_local! {
    /// On a compile thread: tells the waiting thread of a fatal error.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };

    /// On a compile thread: where it last panicked.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Whether the calling thread is a compile thread that was abandoned. It should end soon.
#[must_use]
pub fn is_abandoned() -> bool {
    OWN.with(|own| own.get().is_some_and(|own| own.is_abandoned.load(Ordering::Relaxed)))
}

/// Runs `work` on a new thread and waits for it.
pub fn isolated<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Isolated> {
    start(work)?.wait()
}

/// Work on a new thread.
pub struct Running<T> {
    outcome: Receiver<Result<T, Isolated>>,
    thread: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl<T> Running<T> {
    /// Waits for the end.
    pub fn wait(self) -> Result<T, Isolated> {
        self.outcome.recv().unwrap_or_else(|_| Err(ended_early()))
    }

    /// Waits for the end, but no longer than this; `None` if it has not come.
    pub fn wait_for(&self, time: Duration) -> Option<Result<T, Isolated>> {
        match self.outcome.recv_timeout(time) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(ended_early())),
        }
    }

    /// How long a processor has worked on it.
    pub fn processor_time(&self) -> Duration {
        let mut clock = MaybeUninit::uninit();
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the thread was neither joined nor detached, since the handle is here. Both are
        // read only if they were written.
        unsafe {
            let thread = self.thread.as_pthread_t();
            if libc::pthread_getcpuclockid(thread, clock.as_mut_ptr()) != 0
                || libc::clock_gettime(clock.assume_init(), time.as_mut_ptr()) != 0
            {
                return Duration::ZERO;
            }
            let time = time.assume_init();
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        }
    }

    /// Tells the thread that its result is not wanted: see [`is_abandoned`].
    pub fn abandon(self) {
        self.shared.is_abandoned.store(true, Ordering::Relaxed);
        self.give_way();
    }

    /// Leaves processors to others that have something to do.
    pub fn give_way(&self) {
        if let Some(number) = self.shared.number.get() {
            // SAFETY: it asks for less time for that thread, if it is still there.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, *number as libc::id_t, 19) };
        }
    }
}

/// The thread sends before it ends or parks, so a closed channel means that it died in a way that
/// is not known.
fn ended_early() -> Isolated {
    Isolated::Panicked("the compile thread ended early".to_owned())
}

/// Starts `work` on a new thread. If the process ends meanwhile, the thread is stopped where it
/// is in LLVM.
pub fn start<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Running<T>, Isolated> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        install_handlers();
        keep_panics_quiet();
    });

    let (sender, outcome) = channel();
    let shared = Arc::<Shared>::default();
    if !stop::add(&shared) {
        return Err(Isolated::Ending);
    }
    let (own, done) = (Arc::clone(&shared), Arc::clone(&shared));
    let thread = std::thread::Builder::new()
        .name("schism-jit".to_owned())
        .stack_size(STACK_SIZE)
        .spawn(move || {
            // SAFETY: it only asks for a number.
            let _ = own.number.set(unsafe { libc::gettid() });
            let _ = OWN.with(|place| place.set(own));
            stop::unblock();
            if stop::is_ending() {
                let _ = sender.send(Err(Isolated::Ending));
                return;
            }
            let fatal: Sender<Result<T, Isolated>> = sender.clone();
            REPORT.set(Some(Box::new(move |message| {
                let _ = fatal.send(Err(Isolated::Fatal(message)));
            })));
            let outcome = catch_unwind(AssertUnwindSafe(work))
                .map_err(|payload| Isolated::Panicked(panic_text(payload.as_ref())));
            REPORT.set(None);
            done.is_done.store(true, Ordering::Release);
            let _ = sender.send(outcome);
        })
        .map_err(|error| {
            shared.is_done.store(true, Ordering::Release);
            Isolated::NoThread(error)
        })?;
    Ok(Running { outcome, thread, shared })
}

/// Has panics of compile threads print nothing. Where this library is part of a program, the
/// program's other threads keep the hook that they have.
fn keep_panics_quiet() {
    if std::thread::panicking() {
        return;
    }
    let others = take_hook();
    set_hook(Box::new(move |panic| {
        if OWN.try_with(|own| own.get().is_some()) != Ok(true) {
            return others(panic);
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let _ = PANICKED_AT.try_with(|at| at.try_borrow_mut().map(|mut at| *at = place));
    }));
}

/// Has LLVM call `on_fatal` and `on_bad_alloc`.
fn install_handlers() {
    // SAFETY: the handler is a function that lives as long as this library, and what runs LLVM here
    // keeps it loaded.
    unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal)) };

    // The C interface leaves out memory (an image that asks for more than there is ends up here),
    // so this is the C++ function, if the library has it under its usual name.
    type Handler = extern "C" fn(*mut c_void, *const c_char, bool);
    const NAME: &CStr = c"_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_";
    // SAFETY: the name ends with a NUL.
    let install = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) };
    if !install.is_null() {
        // SAFETY: the mangled name says that the function takes a handler of this type and a
        // pointer for it; the handler lives as long as this library.
        unsafe {
            let install: extern "C" fn(Handler, *mut c_void) = std::mem::transmute(install);
            install(on_bad_alloc, null_mut());
        }
    }
}

/// As [`on_fatal`].
extern "C" fn on_bad_alloc(_: *mut c_void, reason: *const c_char, _: bool) {
    on_fatal(reason);
}

/// What LLVM calls instead of ending the process. Returns only on threads that are not ours; LLVM
/// then ends the process.
extern "C" fn on_fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a text that ends with a NUL and lives during the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().trim().to_owned();
    let report = REPORT.try_with(|report| report.try_borrow_mut().ok().and_then(|mut r| r.take()));
    let Some(report) = report.ok().flatten() else {
        // Whether it is read or not.
        let _ = writeln!(io::stderr(), "LLVM ERROR: {reason}");
        return;
    };
    report(reason);
    loop {
        std::thread::park();
    }
}

/// The message of a panic, if it is text; of one on this compile thread, also where it was.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned());
    match PANICKED_AT.take() {
        place if place.is_empty() => text,
        place => format!("{text} ({place})"),
    }
}
