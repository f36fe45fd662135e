//! Whether the process has got mappings, without a look at all of them.
//!
//! Linux writes a record into a buffer that the process sees whenever one of its threads maps
//! memory, changes the rights of a mapping, or has its heap or a stack grow: `perf_event_open(2)`
//! with `mmap` and `mmap_data`. The record is there when the system call returns, so who has learnt
//! an address in a new mapping also finds its record. There is a buffer for each processor, and its
//! head only ever advances: the sum of all heads says whether anything was written.
//!
//! One change writes none: `mremap(2)`. Where it moves memory, [`watch`](super::watch) tells. Where
//! a mapping grows in place, the process has more pages. The system counts them, and those that are
//! private and can be written once more: a mapping that is not watched can be unmapped unseen, and
//! make up for one that grows, but it is a file's or shared, and not among the second. What is
//! behind other mappings that could grow is looked at.
//!
//! Threads inherit this from those that start them, so it begins before there are any. What
//! processes started later do is seen until they call `exec`: they may share the memory. Another
//! process asks for the records, and ends: so they have no owner, and `prctl(2)`, by which a
//! program turns off its counters, does not find them.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::hal::gpu::process;
use crate::util::objects;

/// Processors that the system may have, at most: each takes a buffer.
const MOST: usize = 256;

/// Pages of a buffer for records, of which the longest is little more than one.
const PAGES: usize = 2;

/// Where the first page of a buffer has its head.
const HEAD: usize = 1024;

// The interface of the system: `linux/perf_event.h`.
const SOFTWARE: u64 = 1;
/// A counter of nothing.
const DUMMY: u64 = 9;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const MMAP: u64 = 1 << 8;
const MMAP_DATA: u64 = 1 << 17;
const REMOVE_ON_EXEC: u64 = 1 << 36;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// What the process looked like: equal ones have no new mapping between them, if the events of all
/// watched memory were none either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    records: u64,
    pages: u64,
    private_pages: u64,
}

#[derive(Debug)]
struct Log {
    /// The heads of the buffers, which stay mapped.
    heads: Vec<&'static AtomicU64>,
    statistics: File,
}

static LOG: OnceLock<Option<Log>> = OnceLock::new();

/// Begins. Call it when the process starts.
pub(super) fn at_start() {
    LOG.get_or_init(Log::open);
}

/// What the process looks like now; `None` where that cannot be found out.
pub(super) fn now() -> Option<Moment> {
    LOG.get()?.as_ref()?.now()
}

/// Whether a mapping is one of these buffers.
pub(super) fn is_own(begin: usize) -> bool {
    let log = LOG.get().and_then(Option::as_ref);
    log.is_some_and(|log| {
        log.heads.iter().any(|head| std::ptr::from_ref(*head).addr() == begin + HEAD)
    })
}

/// The value of decimal digits.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| value.wrapping_mul(10).wrapping_add(u64::from(digit)))
    })
}

impl Log {
    fn open() -> Option<Self> {
        // Threads that are there already would write nothing.
        if process::threads() != 1 {
            return None;
        }
        let heads = descriptors()?.into_iter().map(buffer).collect::<Option<Vec<_>>>()?;
        let log = Self { heads, statistics: File::open("/proc/self/statm").ok()? };
        (process::threads() == 1 && log.works()).then_some(log)
    }

    fn now(&self) -> Option<Moment> {
        let records = self
            .heads
            .iter()
            .fold(0_u64, |sum, head| sum.wrapping_add(head.load(Ordering::Acquire)));
        let mut text = [0; 256];
        let size = self.statistics.read_at(&mut text, 0).ok()?;
        // Pages: all, there, shared, code, 0, private ones that can be written, 0.
        let mut fields = text.get(..size)?.split(|&byte| byte == b' ');
        let pages = number(fields.next()?)?;
        let private_pages = number(fields.nth(4)?)?;
        Some(Moment { records, pages, private_pages })
    }

    /// Whether new mappings, new rights and larger mappings are seen.
    fn works(&self) -> bool {
        let Some(page) = objects::page_size() else { return false };
        let (rights, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let before = self.now();
        // SAFETY: fresh memory, which nothing else uses.
        unsafe {
            let memory = libc::mmap(std::ptr::null_mut(), 4 * page, rights, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return false;
            }
            let mapped = self.now();
            libc::mprotect(memory, 2 * page, rights | libc::PROT_WRITE);
            let changed = self.now();
            libc::munmap(memory.byte_add(2 * page), 2 * page);
            let small = self.now();
            // In place, or to where there is room: both make it larger.
            let grown = libc::mremap(memory, 2 * page, 4 * page, libc::MREMAP_MAYMOVE);
            let seen = self.now();
            if grown == libc::MAP_FAILED {
                return false;
            }
            libc::munmap(grown, 4 * page);
            let steps = [before, mapped, changed, small, seen];
            let differ = |at: usize| steps[at] != steps[at + 1];
            steps.iter().all(Option::is_some) && differ(0) && differ(1) && differ(3)
        }
    }
}

/// How many processors the system may ever have.
fn processors() -> Option<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    let last: usize = text.trim().rsplit([',', '-']).next()?.parse().ok()?;
    (last < MOST).then_some(last + 1)
}

/// What the other process is to do, and has done.
struct Request {
    thread: libc::pid_t,
    /// A descriptor for each processor, or -1.
    descriptors: Vec<libc::c_int>,
}

/// Has records of the calling thread, and of those that it will start, written: a descriptor for
/// each processor on which they may run.
fn descriptors() -> Option<Vec<OwnedFd>> {
    /// Words of the other process's stack.
    const STACK: usize = 8 << 10;
    // SAFETY: a query without side effects.
    let thread = unsafe { libc::getpid() };
    let mut request = Request { thread, descriptors: vec![-1; processors()?] };
    let mut stack = vec![0_u128; STACK / 2];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    // SAFETY: this thread, the process's only one, waits until the other process has ended, and
    // that one uses nothing but the request and its stack.
    let process = unsafe {
        let top = stack.as_mut_ptr().add(STACK / 2);
        libc::clone(ask, top.cast(), flags, (&raw mut request).cast())
    };
    if process < 0 {
        return None;
    }
    // SAFETY: a process that this one has started, and which is known nowhere else.
    unsafe { libc::waitpid(process, std::ptr::null_mut(), libc::__WCLONE) };
    let opened = request.descriptors.into_iter().map(|descriptor| {
        // SAFETY: it was opened just now, in a table that both processes share.
        (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
    });
    // All of them, so that those that were opened are closed.
    let opened: Vec<_> = opened.collect();
    opened.into_iter().collect()
}

/// The other process: opens the descriptors.
extern "C" fn ask(request: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the request, which its owner does not use meanwhile.
    let request = unsafe { &mut *request.cast::<Request>() };
    let flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | MMAP | MMAP_DATA | REMOVE_ON_EXEC;
    // Type and size, what is counted, three words about samples of it, flags, and two words more.
    let mut what = [0_u64; 8];
    what[0] = SOFTWARE | (size_of_val(&what) as u64) << 32;
    what[1] = DUMMY;
    what[5] = flags;
    let no_group: libc::c_int = -1;
    for (processor, descriptor) in request.descriptors.iter_mut().enumerate() {
        // SAFETY: the structure is that of the call, in its first version.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                what.as_ptr(),
                request.thread,
                processor as libc::c_int,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        *descriptor = libc::c_int::try_from(opened).unwrap_or(-1);
    }
    0
}

/// Maps the buffer of a descriptor, and returns its head.
fn buffer(descriptor: OwnedFd) -> Option<&'static AtomicU64> {
    let bytes = (1 + PAGES) * objects::page_size()?;
    // The records are not read, and it may not be written, so that new ones go over old ones.
    // SAFETY: fresh memory. It stays when the descriptor is closed, and is never unmapped.
    let buffer = unsafe {
        let file = descriptor.as_raw_fd();
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file, 0)
    };
    if buffer == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: a word of the first page, which the system writes whole and this process only reads.
    Some(unsafe { &*buffer.byte_add(HEAD).cast::<AtomicU64>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits() {
        let read = |text: &str| number(text.as_bytes());
        assert_eq!(["0", "12907"].map(read), [Some(0), Some(12907)]);
        assert_eq!(["", "-1", "7a", "7\n"].map(read), [None; 4]);
    }

    /// Its own process, with one thread: tests have several.
    #[test]
    fn changes_of_all_threads_are_seen() {
        // SAFETY: the child touches nothing that another thread may hold: it opens files, allocates
        // little, and ends. glibc's allocator works after a fork.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let code = match Log::open() {
                None => 2,
                Some(log) => i32::from(!follows(&log)),
            };
            // SAFETY: nothing of the parent's is to be ended.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status), "{status}");
        match libc::WEXITSTATUS(status) {
            0 => {}
            2 => println!("skipped: this system keeps no records for this process"),
            code => panic!("a change was not seen: {code}"),
        }
    }

    fn follows(log: &Log) -> bool {
        let (page, none) = (objects::page_size().unwrap(), std::ptr::null_mut());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let quiet = log.now();
        let same = (0..100).all(|_| log.now() == quiet);
        // SAFETY: fresh memory; threads are ended, and a stack that grows is the main one's.
        unsafe {
            extern "C" fn map(size: *mut libc::c_void) -> *mut libc::c_void {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                // SAFETY: fresh memory.
                unsafe { libc::mmap(std::ptr::null_mut(), size.addr(), 0, flags, -1, 0) }
            }
            let mut thread = std::mem::zeroed();
            let size = std::ptr::without_provenance_mut(page);
            if libc::pthread_create(&raw mut thread, std::ptr::null(), map, size) != 0 {
                return false;
            }
            libc::pthread_join(thread, std::ptr::null_mut());
            let by_thread = log.now();
            let memory = libc::mmap(none, 8 * page, libc::PROT_NONE, flags, -1, 0);
            let reserved = log.now();
            libc::mprotect(memory, page, libc::PROT_READ);
            let readable = log.now();
            libc::sbrk(1 << 16);
            let heap = log.now();
            // A shared mapping that grows in place.
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let shared = libc::mmap(none, 8 * page, libc::PROT_READ, flags, -1, 0);
            libc::munmap(shared.byte_add(4 * page), 4 * page);
            let small = log.now();
            if libc::mremap(shared, 4 * page, 8 * page, 0) == libc::MAP_FAILED {
                return false;
            }
            let large = log.now();
            same && small != large
                && quiet != by_thread
                && by_thread != reserved
                && reserved != readable
                && readable != heap
        }
    }
}
