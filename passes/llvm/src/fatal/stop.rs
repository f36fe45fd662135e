//! Stops compile threads that nobody waits for when the process ends.
//!
//! `exit` runs the destructors of LLVM's static objects. A thread that still uses them, such as one
//! that the loop vectoriser holds, would crash. LLVM cannot be interrupted, but its thread can be
//! parked: a function of `atexit` sends it a signal, whose handler never returns. The thread must
//! not be parked within the allocator or the loader, whose locks the rest of the process's end
//! needs. So the handler parks it only if the interrupted instruction is LLVM's own, and is called
//! again otherwise.
//!
//! A thread that the vectoriser holds has none of LLVM's own mutexes, which protect registries and
//! timers.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::os::unix::thread::JoinHandleExt;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use super::Shared;

/// The end of the process waits no longer for one thread.
const LIMIT: Duration = Duration::from_secs(2);

/// The time between two signals.
const STEP: Duration = Duration::from_millis(1);

/// Threads that may still run LLVM, and for whose results nobody waits. A handle keeps the thread's
/// number from being another thread's.
static ABANDONED: Mutex<Vec<(JoinHandle<()>, Arc<Shared>)>> = Mutex::new(Vec::new());

/// The addresses of LLVM's code. The end is 0 before it is known.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Whether the thread that was signalled is parked.
static PARKED: AtomicBool = AtomicBool::new(false);

/// Has the end of the process stop this thread, if it is still there.
pub(super) fn at_exit(thread: JoinHandle<()>, shared: Arc<Shared>) {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.retain(|(_, shared)| !shared.is_done());
    abandoned.push((thread, shared));
    drop(abandoned);
    // Functions of `atexit` run in the reverse order of their registration. So it is registered each
    // time: after the destructors of what LLVM has constructed meanwhile.
    // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
    // registered, the process ends as it would without it.
    unsafe { libc::atexit(stop_all) };
}

extern "C" fn stop_all() {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    let threads = std::mem::take(&mut *abandoned);
    drop(abandoned);
    if threads.iter().all(|(_, shared)| shared.is_done()) {
        return;
    }
    let Some(signal) = install() else { return };
    for (thread, shared) in threads {
        PARKED.store(false, Ordering::Relaxed);
        let begin = Instant::now();
        while !shared.is_done() && !PARKED.load(Ordering::Acquire) && begin.elapsed() < LIMIT {
            // SAFETY: the thread was neither joined nor detached, since the handle is here.
            if unsafe { libc::pthread_kill(thread.as_pthread_t(), signal) } != 0 {
                // A forked process does not have the thread.
                break;
            }
            sleep(STEP);
        }
    }
}

/// Installs the handler for a signal that nobody uses; `None` if there is none, or LLVM's code is
/// not found.
fn install() -> Option<c_int> {
    let (begin, end) = code_of(llvm_sys::core::LLVMGetVersion as *const () as usize)?;
    BEGIN.store(begin, Ordering::Relaxed);
    END.store(end, Ordering::Release);
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).find(|&signal| {
        // SAFETY: all zeros are a value of the type. Both calls get places of the right type, and
        // the handler has the signature that `SA_SIGINFO` asks for and does only what a handler may.
        unsafe {
            let mut old: libc::sigaction = zeroed();
            if libc::sigaction(signal, null(), &raw mut old) != 0
                || old.sa_sigaction != libc::SIG_DFL
            {
                return false;
            }
            let mut new: libc::sigaction = zeroed();
            new.sa_sigaction = park as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const new, null_mut()) == 0
        }
    })
}

/// The handler: never returns if LLVM's code was interrupted.
extern "C" fn park(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a `ucontext_t` to handlers with `SA_SIGINFO`.
    let at = unsafe { interrupted(&*context.cast::<libc::ucontext_t>()) };
    if (BEGIN.load(Ordering::Relaxed)..END.load(Ordering::Acquire)).contains(&at) {
        PARKED.store(true, Ordering::Release);
        loop {
            // SAFETY: it only waits for signals.
            unsafe { libc::pause() };
        }
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

/// The executable segment that has this address.
fn code_of(address: usize) -> Option<(usize, usize)> {
    struct Search {
        address: usize,
        found: Option<(usize, usize)>,
    }

    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes the description of an object, and what it was given.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the object has so many program headers.
        let headers =
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        search.found = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
            .map(|header| {
                let begin = (info.dlpi_addr + header.p_vaddr) as usize;
                (begin, begin + header.p_memsz as usize)
            })
            .find(|(begin, end)| (*begin..*end).contains(&search.address));
        c_int::from(search.found.is_some())
    }

    let mut search = Search { address, found: None };
    // SAFETY: the function has the signature that is asked for, and gets a place that lives during
    // the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}
