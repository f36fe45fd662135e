//! Stops compile threads when the process ends.
//!
//! `exit` runs the destructors of LLVM's static objects. A thread that still uses them would crash,
//! and to wait for it may take as long as a compilation. LLVM cannot be interrupted, but its threads
//! can be parked: each gets a signal, whose handler never returns. A thread must not be parked
//! within the allocator or the loader, whose locks the rest of the process's end needs. So the
//! handler parks it only if the interrupted instruction is LLVM's own, and is called again
//! otherwise. From then on no new thread begins.
//!
//! Functions of `atexit` run in the reverse order of their registration. That of this module is
//! registered when LLVM is loaded and before it compiles, so it runs before the destructors of all
//! that LLVM constructed when it was loaded; for what it constructs later, there are none
//! ([`destructors`](super::destructors)).
//!
//! A parked thread has none of LLVM's own mutexes but for moments: they protect registries and
//! timers.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::thread::{OWN, Shared};
use super::{destructors, objects};

/// The end of the process waits no longer.
const LIMIT: Duration = Duration::from_secs(2);

/// The time between two signals.
const STEP: Duration = Duration::from_millis(1);

/// Threads that may run LLVM.
static THREADS: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

/// The process whose threads these are. One that was forked does not have them, and a lock of its
/// parent's may be held there for ever.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether the process is ending.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The addresses of LLVM's code: where each executable segment begins, and where it ends, which is 0
/// if there is none.
static CODE: [(AtomicUsize, AtomicUsize); 4] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 4];

/// Whether the process is ending, for a thread that has told its number.
pub(super) fn is_ending() -> bool {
    // Either this thread sees that, or `stop` sees its number.
    fence(Ordering::SeqCst);
    ENDING.load(Ordering::Relaxed)
}

/// Has the end of the process stop a thread that is about to begin. Returns whether it may.
pub(super) fn add(thread: &Arc<Shared>) -> bool {
    static AT_EXIT: Once = Once::new();
    if is_ending() {
        return false;
    }
    let own = std::process::id();
    if PROCESS.swap(own, Ordering::AcqRel) != own {
        threads().clear();
    }
    let register = || {
        extern "C" fn at_exit() {
            stop();
        }
        // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
        // registered, the process ends as it would without it.
        unsafe { libc::atexit(at_exit) };
    };
    if destructors::leave_out() {
        AT_EXIT.call_once(register);
    } else {
        // After the destructors of what LLVM has constructed meanwhile.
        register();
    }
    let mut threads = threads();
    threads.retain(|thread| !thread.is_done());
    threads.push(Arc::clone(thread));
    true
}

fn threads() -> std::sync::MutexGuard<'static, Vec<Arc<Shared>>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops all compile threads for good, because the process is ending: from now on none runs LLVM.
/// Calls that wait for one of them do not return, and no other one begins.
pub fn stop() {
    ENDING.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let own = std::process::id();
    if PROCESS.load(Ordering::Acquire) != own {
        return;
    }
    let mut running = threads().clone();
    // SAFETY: it only asks for a number.
    let caller = unsafe { libc::gettid() };
    // One without a number has not begun, and does not.
    running.retain(|thread| {
        !thread.is_stopped() && thread.number.get().is_some_and(|number| *number != caller)
    });
    if running.is_empty() {
        return;
    }
    let Some(signal) = signal() else { return };
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        for thread in &running {
            let Some(number) = thread.number.get() else { continue };
            // SAFETY: it sends a signal to a thread of this process, if there is one of that number;
            // the handler does nothing in others.
            unsafe { libc::syscall(libc::SYS_tgkill, own, *number, signal) };
        }
        sleep(STEP);
        running.retain(|thread| !thread.is_stopped());
        if running.is_empty() {
            return;
        }
    }
}

/// The signal, with its handler installed; `None` if all are in use, or LLVM's code is not found.
fn signal() -> Option<c_int> {
    static SIGNAL: OnceLock<Option<c_int>> = OnceLock::new();
    let chosen = *SIGNAL.get_or_init(|| {
        let code = objects::with(destructors::of_llvm(), |object| object.code())?;
        for (place, (begin, end)) in CODE.iter().zip(code) {
            place.0.store(begin, Ordering::Relaxed);
            place.1.store(end, Ordering::Release);
        }
        install()
    });
    // The program may have taken it since.
    chosen
        .and_then(|signal| if handler(signal) == Some(own_handler()) { chosen } else { install() })
}

/// Installs the handler for an unused signal: none that has a handler, and rather none that the caller
/// blocks, which the program may wait for.
fn install() -> Option<c_int> {
    let unused = || {
        (libc::SIGRTMIN()..=libc::SIGRTMAX())
            .rev()
            .filter(|signal| handler(*signal) == Some(libc::SIG_DFL))
    };
    let signal = unused().find(|signal| !is_blocked(*signal)).or_else(|| unused().next())?;
    // SAFETY: all zeros are a value of the type; the handler has the signature that `SA_SIGINFO` asks
    // for and does only what a handler may.
    let installed = unsafe {
        let mut new: libc::sigaction = zeroed();
        new.sa_sigaction = own_handler();
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, &raw const new, null_mut())
    };
    (installed == 0).then_some(signal)
}

fn own_handler() -> usize {
    park as *const () as usize
}

/// A signal's handler.
fn handler(signal: c_int) -> Option<usize> {
    // SAFETY: all zeros are a value of the type, which is this function's to be written.
    unsafe {
        let mut old: libc::sigaction = zeroed();
        (libc::sigaction(signal, null(), &raw mut old) == 0).then_some(old.sa_sigaction)
    }
}

/// Whether the calling thread blocks a signal.
fn is_blocked(signal: c_int) -> bool {
    // SAFETY: as above; without a set there is no change.
    unsafe {
        let mut blocked: libc::sigset_t = zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, null(), &raw mut blocked) == 0
            && libc::sigismember(&raw const blocked, signal) == 1
    }
}

/// Has the calling thread, which is a compile thread, take the signal: it inherits what the thread that
/// started it blocks.
pub(super) fn unblock() {
    let Some(signal) = signal() else { return };
    // SAFETY: all zeros are a value of the type, and the set is this function's.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, null_mut());
    }
}

/// The handler: never returns if a compile thread was interrupted in LLVM's code and the process is
/// ending.
extern "C" fn park(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    if !ENDING.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: the system passes a `ucontext_t` to handlers with `SA_SIGINFO`.
    let at = unsafe { interrupted(&*context.cast::<libc::ucontext_t>()) };
    let is_code = |(begin, end): &(AtomicUsize, AtomicUsize)| {
        let end = end.load(Ordering::Acquire);
        (begin.load(Ordering::Relaxed)..end).contains(&at)
    };
    if !CODE.iter().any(is_code) {
        return;
    }
    // The thread is not in the loader, so this finds its variable without a lock.
    let parked = OWN.try_with(|own| {
        own.get().map(|own| own.is_parked.store(true, Ordering::Release)).is_some()
    });
    while parked == Ok(true) {
        // SAFETY: it only waits for signals.
        unsafe { libc::pause() };
    }
}

/// The address of the interrupted instruction.
#[cfg(target_arch = "x86_64")]
fn interrupted(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
}

/// The address of the interrupted instruction.
#[cfg(target_arch = "aarch64")]
fn interrupted(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.pc as usize
}

/// The address of the interrupted instruction, which is not known here: no thread is parked.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn interrupted(_: &libc::ucontext_t) -> usize {
    0
}
