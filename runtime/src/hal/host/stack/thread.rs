//! The stacks of threads: their bounds, and how much of them is left.
//!
//! The bounds are determined when a thread first runs a part of a kernel.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

use crate::hal::host::stack::memory::{self, OwnStack, page_size};
use crate::hal::host::stack::need::Need;
use crate::hal::host::stack::overflow::{self, StackEntry};

/// The maximum size of a stack that its thread keeps for the next time.
const MOST_KEPT: usize = 32 << 20;

/// The number of pages below the first thread's stack, which grows, that the system keeps free of
/// other mappings.
const GAP: usize = 256;

/// Bytes below the first thread's stack that are free when a program starts (128 MiB; half of it,
/// so that the initial contents of the stack and its random placement do not matter).
const ALWAYS_FREE: usize = 64 << 20;

/// Bytes of the stack that signal handlers run on.
const ALTERNATE: usize = 64 << 10;

thread_local! {
    static HERE: ThreadStack = ThreadStack::new();
}

/// The stack of a thread.
struct ThreadStack {
    /// The lowest byte of its stack.
    low: usize,
    /// One past the highest.
    high: usize,
    /// Whether the system stops accesses below `low`.
    guarded: bool,
    entry: &'static StackEntry,
    /// A stack for what needs more than the thread has.
    kept: Cell<Option<OwnStack>>,
    /// The stack for signal handlers, if the thread had none.
    alternate: Option<Alternate>,
}

/// How much of a thread's stack is left.
pub(super) struct StackLeft<'a> {
    here: &'a ThreadStack,
    bytes: usize,
}

impl StackLeft<'_> {
    /// The thread's stack, if that much is left.
    #[inline]
    pub(super) fn enough_for(&self, need: Need) -> Option<&'static StackEntry> {
        let enough = self.bytes >= need.bytes && (self.here.guarded || !need.open);
        enough.then_some(self.here.entry)
    }
}

/// Calls `ask` with how much is left. `None` at the end of a thread, when its thread-locals are
/// gone.
#[inline]
pub(super) fn with_left<R>(ask: impl FnOnce(StackLeft<'_>) -> Option<R>) -> Option<R> {
    let here = 0_u8;
    let at = (&raw const here).addr();
    HERE.try_with(|here| {
        // Code on its own stack is not on that of the thread, and has nothing left of it.
        let bytes = if at < here.high { at.saturating_sub(here.low) } else { 0 };
        ask(StackLeft { here, bytes })
    })
    .ok()
    .flatten()
}

/// Takes the stack that the thread has kept, if it is large enough.
pub(super) fn take_kept(bytes: usize) -> Option<OwnStack> {
    let kept = HERE.try_with(|here| here.kept.take()).ok().flatten();
    kept.filter(|kept| kept.size() >= memory::size_for(bytes))
}

/// Keeps a stack for the thread's next launch.
pub(super) fn keep(stack: OwnStack) {
    if stack.size() <= MOST_KEPT {
        let mut stack = Some(stack);
        let _ = HERE.try_with(|here| here.kept.set(stack.take()));
    }
}

impl ThreadStack {
    fn new() -> Self {
        overflow::install();
        let Bounds { low, high, guard } = bounds().unwrap_or_default();
        Self {
            low,
            high,
            guarded: guard != 0,
            entry: StackEntry::add(low.saturating_sub(guard), low, high, true),
            kept: Cell::new(None),
            alternate: Alternate::install(),
        }
    }
}

impl Drop for ThreadStack {
    fn drop(&mut self) {
        self.entry.remove();
        // It is in use until here.
        drop(self.alternate.take());
    }
}

/// The bounds of a stack. The default is an empty stack.
#[derive(Default)]
struct Bounds {
    low: usize,
    high: usize,
    /// Inaccessible bytes below `low`.
    guard: usize,
}

/// The calling thread's stack; `None` if the system does not report it.
fn bounds() -> Option<Bounds> {
    // SAFETY: they only return numbers.
    let is_first = unsafe { libc::getpid() == libc::gettid() };
    if is_first {
        let here = 0_u8;
        let here = (&raw const here).addr();
        // On systems that emulate Linux the program's name may be elsewhere.
        let bounds = first_thread().filter(|bounds| (bounds.low..bounds.high).contains(&here));
        if bounds.is_some() {
            return bounds;
        }
    }
    let mut bounds = of_attributes()?;
    if is_first {
        bounds.guard = bounds.guard.max(GAP * page_size());
    }
    Some(bounds)
}

/// The first thread's stack, which grows automatically. The C library would read the list of all
/// mappings, which takes longer than a cached kernel.
///
/// The kernel puts the name of the program at the highest address of the stack, followed by a null
/// pointer, and lets the stack grow to `RLIMIT_STACK` bytes. When it starts a program it maps
/// nothing for [`ALWAYS_FREE`] below it, whatever the limit is.
fn first_thread() -> Option<Bounds> {
    // SAFETY: any key is allowed.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const libc::c_char;
    if name.is_null() {
        return None;
    }
    // SAFETY: the name lies on the stack until the process ends. If the program overwrites it, the
    // null pointer behind it is its end.
    let length = unsafe { libc::strlen(name) };
    let behind = name.addr() + length + 1 + size_of::<*const ()>();
    let high = behind.next_multiple_of(page_size());
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the limit is written if the call succeeds, and only read then.
    let limit = unsafe {
        if libc::getrlimit(libc::RLIMIT_STACK, limit.as_mut_ptr()) != 0 {
            return None;
        }
        limit.assume_init().rlim_cur
    };
    // A larger stack may collide with other mappings before it reaches its limit.
    let size = usize::try_from(limit).ok().filter(|size| *size <= ALWAYS_FREE)?;
    let low = high.checked_sub(size & !(page_size() - 1))?;
    Some(Bounds { low, high, guard: GAP * page_size() })
}

/// The calling thread's stack according to the C library.
fn of_attributes() -> Option<Bounds> {
    let mut attributes = MaybeUninit::uninit();
    let (mut low, mut size, mut guard) = (ptr::null_mut(), 0, 0);
    // SAFETY: the system fills the attributes of the calling thread, which are read and destroyed
    // once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let attributes_ref = attributes.as_mut_ptr();
        let known = libc::pthread_attr_getstack(attributes_ref, &mut low, &mut size) == 0
            && libc::pthread_attr_getguardsize(attributes_ref, &mut guard) == 0;
        libc::pthread_attr_destroy(attributes_ref);
        if !known {
            return None;
        }
    }
    Some(Bounds { low: low.addr(), high: low.addr() + size, guard })
}

/// A stack for the signal handlers of a thread that had none because the standard library did not
/// start it.
struct Alternate(*mut libc::c_void);

impl Alternate {
    fn install() -> Option<Self> {
        // SAFETY: the system gets new memory, which belongs to this value until it is dropped.
        unsafe {
            let mut now = MaybeUninit::<libc::stack_t>::uninit();
            if libc::sigaltstack(ptr::null(), now.as_mut_ptr()) != 0
                || now.assume_init().ss_flags & libc::SS_DISABLE == 0
            {
                return None;
            }
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let memory = libc::mmap(ptr::null_mut(), ALTERNATE + page_size(), access, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return None;
            }
            libc::mprotect(memory, page_size(), libc::PROT_NONE);
            let stack = libc::stack_t {
                ss_sp: memory.byte_add(page_size()),
                ss_flags: 0,
                ss_size: ALTERNATE,
            };
            let this = Self(memory);
            (libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0).then_some(this)
        }
    }
}

impl Drop for Alternate {
    fn drop(&mut self) {
        // SAFETY: it queries the thread's stack for handlers, and disables it only if it is this
        // one; then its memory is not used. Code that has installed another one may restore this one.
        unsafe {
            let mut now = MaybeUninit::<libc::stack_t>::uninit();
            let ours = libc::sigaltstack(ptr::null(), now.as_mut_ptr()) == 0
                && now.assume_init().ss_sp == self.0.byte_add(page_size());
            if ours {
                let none = libc::stack_t {
                    ss_sp: ptr::null_mut(),
                    ss_flags: libc::SS_DISABLE,
                    ss_size: ALTERNATE,
                };
                libc::sigaltstack(&raw const none, ptr::null_mut());
                libc::munmap(self.0, ALTERNATE + page_size());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On any thread, and with any limit.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_first_threads_stack_ends_where_the_system_says() {
        let Some(bounds) = first_thread() else { return println!("skipped: the limit is large") };
        let maps = std::fs::read_to_string("/proc/self/maps").expect("it can be read");
        let stack = maps.lines().find(|line| line.ends_with("[stack]")).expect("a stack");
        let (range, _) = stack.split_once(' ').expect("a range");
        let (low, high) = range.split_once('-').expect("a range");
        let address = |text| usize::from_str_radix(text, 16).expect("a number");
        assert_eq!(bounds.high, address(high), "{stack}");
        assert!(bounds.low <= address(low), "{stack}");
    }
}
