//! Handles stack overflows of kernels.
//!
//! An access to the guard page raises a signal. The handler of Rust's standard library knows the stacks
//! of threads only, and not what runs on them. So this handler is installed before it, and knows all
//! stacks that kernels run on: if the access was to one of them while it ran a kernel, the handler
//! writes a message and ends the process. All other signals go to the previous handler. A handler
//! that the program installs later stays in place.
//!
//! The handler runs on a stack for signal handlers. It neither locks nor allocates, and reads no
//! thread-local variable: stacks are in a list that only grows, whose entries are reused.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::util::fork::{self, PerProcess};

/// What runs on a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    /// The kernel's name.
    pub(crate) kernel: Name,
    /// The device's name.
    pub(crate) device: &'static str,
}

/// Where the name of a kernel is, for a handler that can look nothing up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name {
    /// The name of its closure's type, which closures of one function share.
    OfType(fn() -> &'static str),
    /// The container's name. It lives as long as the code of the kernel, which the launch keeps.
    OfContainer(NonNull<str>),
}

// SAFETY: text that is not changed.
unsafe impl Send for Name {}
// SAFETY: as above.
unsafe impl Sync for Name {}

impl Name {
    /// # Safety
    /// The kernel runs, so that its code is there.
    unsafe fn text(&self) -> &str {
        match self {
            Self::OfType(name) => name(),
            // SAFETY: the caller's promise.
            Self::OfContainer(name) => unsafe { name.as_ref() },
        }
    }
}

/// A stack in the handler's list.
#[derive(Debug)]
pub(crate) struct StackEntry {
    /// The first byte of the guard below it; 0 if the entry has no stack.
    guard: AtomicUsize,
    /// Its lowest byte, and one past the highest.
    low: AtomicUsize,
    high: AtomicUsize,
    /// Whether it is a thread's own, which the system made.
    of_thread: AtomicBool,
    /// What runs on it; null if that is no kernel.
    runs: AtomicPtr<Runs>,
    /// The next entry of the list, which was added before.
    next: AtomicPtr<StackEntry>,
}

/// All entries.
static ENTRIES: AtomicPtr<StackEntry> = AtomicPtr::new(null_mut());

/// Entries without a stack.
fn free() -> MutexGuard<'static, Vec<&'static StackEntry>> {
    static FREE: PerProcess<Mutex<Vec<&'static StackEntry>>> = PerProcess::new();
    FREE.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives, the stack runs a kernel.
#[derive(Debug)]
pub(crate) struct Marked<'a> {
    entry: &'static StackEntry,
    before: *mut Runs,
    runs: std::marker::PhantomData<&'a Runs>,
}

impl StackEntry {
    /// Adds a stack with a guard at `guard..low`, a thread's own or another.
    pub(super) fn add(guard: usize, low: usize, high: usize, of_thread: bool) -> &'static Self {
        let free = free().pop();
        let entry = free.unwrap_or_else(|| {
            let entry: &'static Self = Box::leak(Box::new(Self {
                guard: AtomicUsize::new(0),
                low: AtomicUsize::new(0),
                high: AtomicUsize::new(0),
                of_thread: AtomicBool::new(false),
                runs: AtomicPtr::new(null_mut()),
                next: AtomicPtr::new(null_mut()),
            }));
            let this = ptr::from_ref(entry).cast_mut();
            fork::in_child_run(forget_other_threads);
            let _ = ENTRIES.fetch_update(Ordering::Release, Ordering::Relaxed, |first| {
                entry.next.store(first, Ordering::Relaxed);
                Some(this)
            });
            entry
        });
        entry.of_thread.store(of_thread, Ordering::Relaxed);
        entry.low.store(low, Ordering::Relaxed);
        entry.high.store(high, Ordering::Relaxed);
        entry.guard.store(guard, Ordering::Relaxed);
        entry
    }

    /// Removes the stack, which is freed.
    pub(super) fn remove(&'static self) {
        self.runs.store(null_mut(), Ordering::Relaxed);
        self.guard.store(0, Ordering::Relaxed);
        self.high.store(0, Ordering::Relaxed);
        free().push(self);
    }

    /// Records what the stack runs, as long as the result lives.
    ///
    /// The code that overflows the stack runs on it, or has passed it on with synchronization: so
    /// plain stores are enough.
    #[inline]
    pub(crate) fn mark<'a>(&'static self, runs: &'a Runs) -> Marked<'a> {
        let before = self.runs.load(Ordering::Relaxed);
        self.begin(runs);
        Marked { entry: self, before, runs: std::marker::PhantomData }
    }

    /// The same until [`end`](Self::end) is called. Until then the stack runs only this, and `runs`
    /// stays alive.
    #[inline]
    pub(crate) fn begin(&self, runs: &Runs) {
        self.runs.store(ptr::from_ref(runs).cast_mut(), Ordering::Relaxed);
    }

    /// Records that the stack runs no kernel.
    pub(crate) fn end(&self) {
        self.runs.store(null_mut(), Ordering::Relaxed);
    }
}

impl Drop for Marked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.entry.runs.store(self.before, Ordering::Relaxed);
    }
}

/// What runs on the stack that contains an address, and the stack's size.
///
/// # Safety
/// Called by the thread that has accessed the address, so that what it runs is alive.
unsafe fn at(address: usize) -> Option<(Runs, usize)> {
    let mut next = ENTRIES.load(Ordering::Acquire);
    // SAFETY: entries are never freed, and were complete before they were in the list.
    while let Some(entry) = unsafe { next.as_ref() } {
        let (guard, low) = (entry.guard.load(Ordering::Relaxed), entry.low.load(Ordering::Relaxed));
        let high = entry.high.load(Ordering::Relaxed);
        if (guard..high).contains(&address) {
            // SAFETY: null, or what `mark` borrows as long as it is there.
            let runs = unsafe { entry.runs.load(Ordering::Relaxed).as_ref() }?;
            return Some((*runs, high - low));
        }
        next = entry.next.load(Ordering::Relaxed);
    }
    None
}

/// Removes the stacks of threads that a forked process does not have: the C library reuses them.
/// Neither locks nor allocates.
fn forget_other_threads() {
    let here = 0_u8;
    let here = ptr::from_ref(&here).addr();
    let mut next = ENTRIES.load(Ordering::Acquire);
    // SAFETY: entries are never freed, and were complete before they were in the list.
    while let Some(entry) = unsafe { next.as_ref() } {
        let guard = entry.guard.load(Ordering::Relaxed);
        let is_here = (guard..entry.high.load(Ordering::Relaxed)).contains(&here);
        if entry.of_thread.load(Ordering::Relaxed) && !is_here {
            entry.runs.store(null_mut(), Ordering::Relaxed);
            entry.guard.store(0, Ordering::Relaxed);
            entry.high.store(0, Ordering::Relaxed);
        }
        next = entry.next.load(Ordering::Relaxed);
    }
}

/// The previous handler. Written once, before this handler can read it.
struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: written by `install` alone, inside a `Once`, before anybody reads it.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

/// Installs the handler.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: `BEFORE` is written before the handler is installed, and never again; the handler has
    // the type that its flags say, and is async-signal-safe. The actions are complete: zeros are
    // valid for all fields.
    ONCE.call_once(|| unsafe {
        let before = &mut *BEFORE.0.get();
        if libc::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr()) != 0 {
            return;
        }
        let before = before.assume_init_ref();
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
        action.sa_sigaction = handler as usize;
        // Keeps what the previous handler configured: blocked signals, restarted calls.
        action.sa_mask = before.sa_mask;
        action.sa_flags = libc::SA_SIGINFO
            | libc::SA_ONSTACK
            | (before.sa_flags & (libc::SA_NODEFER | libc::SA_RESTART));
        libc::sigaction(libc::SIGSEGV, &raw const action, null_mut());
    });
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes the information of the signal. Only an access has an address:
    // signals sent by processes have a code of 0 or less.
    unsafe {
        if (*info).si_code > 0
            && let Some((runs, size)) = at((*info).si_addr().addr())
        {
            report(&runs, size);
            libc::abort();
        }
        go_on(signal, info, context);
    }
}

/// Passes the signal to the previous handler.
///
/// # Safety
/// Called by the handler, with its arguments.
unsafe fn go_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: `install` has written it before there was a handler; each handler is of the type that
    // its flags say.
    unsafe {
        let before = (*BEFORE.0.get()).assume_init_ref();
        let handler = before.sa_sigaction;
        let default = handler == libc::SIG_DFL || handler == libc::SIG_IGN;
        let sent = (*info).si_code <= 0;
        if sent && handler == libc::SIG_IGN {
            return;
        }
        if default || before.sa_flags & libc::SA_RESETHAND != 0 {
            // The access is repeated after this, and the system ends the process: it cannot be
            // ignored.
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &raw const action, null_mut());
        }
        if default {
            if sent {
                // A signal sent by a process is not repeated.
                libc::raise(signal);
            }
        } else if before.sa_flags & libc::SA_SIGINFO != 0 {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            let handler = std::mem::transmute::<usize, Handler>(handler);
            handler(signal, info, context);
        } else {
            let handler = std::mem::transmute::<usize, extern "C" fn(c_int)>(handler);
            handler(signal);
        }
    }
}

/// Writes the message to standard error.
fn report(runs: &Runs, size: usize) {
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    let mut rest = size;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let parts: [&[u8]; 7] = [
        b"\nkernel `",
        // SAFETY: it runs on this thread.
        unsafe { runs.kernel.text() }.as_bytes(),
        b"` on device `",
        runs.device.as_bytes(),
        b"` has overflowed its stack of ",
        &digits[first..],
        b" bytes; let it call itself less deeply, put large arrays into buffers, or set SCHISM_CPU_STACK to more than that\n\
          fatal runtime error: stack overflow, aborting\n",
    ];
    for mut part in parts {
        while !part.is_empty() {
            // SAFETY: the bytes can be read.
            let written =
                unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
            match usize::try_from(written) {
                Ok(written @ 1..) => part = &part[written.min(part.len())..],
                _ => return,
            }
        }
    }
}
