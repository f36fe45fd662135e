//! Watches memory: sees calls that unmap it, or give its pages back.
//!
//! Linux reports such events of registered mappings through a descriptor, `userfaultfd(2)`. The
//! system call that unmaps returns only when the event was read. The thread that reads holds a lock
//! from before it reads until the event is noted, and [`Watch::take`] takes that lock. So if memory
//! is mapped again at the same address, and then a launch asks, the event is there.
//!
//! Pages that are given back go after their event was read, see [`leaving`](super::leaving).
//!
//! The thread neither allocates nor frees: it would wait for itself to read the event.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::hal::gpu::leaving::{Gone, Leaving};
use crate::hal::gpu::page_table;

/// Watches the mappings that are given to it.
#[derive(Debug)]
pub(super) struct Watch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    descriptor: OwnedFd,
    events: Mutex<Events>,
}

/// What has happened since it was taken last.
#[derive(Clone, Copy, Debug)]
struct Events {
    ranges: [Gone; MOST],
    len: usize,
    /// Events that had no room, too.
    overflow: bool,
    /// What was given back and may still have its old pages. It is not taken.
    leaving: Leaving,
}

/// So many events are told apart.
const MOST: usize = 256;

/// The thread looks at the pages of ranges up to this size.
const LOOKED_AT: usize = 16 << 20;

// The interface of the system: `linux/userfaultfd.h`.
const API: u64 = 0xaa;
const EVENTS: u64 = REMAP_FEATURE | REMOVE_FEATURE | UNMAP_FEATURE;
const REMAP_FEATURE: u64 = 1 << 2;
const REMOVE_FEATURE: u64 = 1 << 3;
const UNMAP_FEATURE: u64 = 1 << 6;
const USER_MODE_ONLY: libc::c_int = 1;
const IOCTL_API: libc::c_ulong = 0xc018_aa3f;
const IOCTL_REGISTER: libc::c_ulong = 0xc020_aa00;
/// Faults of write-protected pages would be reported, and no page is write-protected.
const MODE_WRITE_PROTECT: u64 = 1 << 1;
const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;

#[repr(C)]
struct UffdioApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdioRegister {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// Three words follow eight bytes, of which the first says what happened.
#[repr(C)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    words: [u64; 3],
}

impl Watch {
    /// Starts to watch.
    ///
    /// # Errors
    /// The system does not let this process watch, or has no thread for it.
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
        // SAFETY: a system call without pointers.
        let descriptor = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        let descriptor = libc::c_int::try_from(descriptor).unwrap_or(-1);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was opened just now.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut api = UffdioApi { api: API, features: EVENTS, ioctls: 0 };
        // SAFETY: the structure is that of the call.
        if unsafe { libc::ioctl(descriptor.as_raw_fd(), IOCTL_API as _, &raw mut api) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let leaving = Leaving::new();
        let none = Events { ranges: [(0, 0); MOST], len: 0, overflow: false, leaving };
        let shared = Arc::new(Shared { descriptor, events: Mutex::new(none) });
        let reader = Arc::clone(&shared);
        std::thread::Builder::new().name("schism-watch".to_owned()).spawn(move || {
            loop {
                reader.wait();
                let mut events = reader.events();
                reader.read(&mut events);
                events.look();
            }
        })?;
        Ok(Self(shared))
    }

    /// Watches a mapping. Only memory without a file can be watched.
    pub(super) fn add(&self, begin: usize, end: usize) -> io::Result<()> {
        let (start, len) = (begin as u64, (end - begin) as u64);
        let mut register = UffdioRegister { start, len, mode: MODE_WRITE_PROTECT, ioctls: 0 };
        let descriptor = self.0.descriptor.as_raw_fd();
        // SAFETY: the structure is that of the call, which changes nothing that the program sees.
        if unsafe { libc::ioctl(descriptor, IOCTL_REGISTER as _, &raw mut register) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Calls `gone` for each range whose memory has gone since the last call. `None` stands for all
    /// ranges.
    ///
    /// The thread reads all events, so this needs no system call: who knows that memory has gone
    /// knows it from the call that took it, and that has returned only after its event was read.
    pub(super) fn take(&self, mut gone: impl FnMut(Option<Gone>)) {
        let events = {
            let mut events = self.0.events();
            events.leaving.look(page_table::hull_there);
            if events.len == 0 && !events.overflow {
                return;
            }
            let taken = *events;
            (events.len, events.overflow) = (0, false);
            taken
        };
        if events.overflow {
            gone(None);
        }
        events.ranges[..events.len].iter().for_each(|range| gone(Some(*range)));
    }

    /// The number of the last event after which something is leaving; `None` if nothing is.
    pub(super) fn last_leaving(&self) -> Option<u64> {
        let events = self.0.events();
        (!events.leaving.is_empty()).then(|| events.leaving.last())
    }

    /// Takes note that the calls of all events up to that one have returned.
    pub(super) fn settle(&self, event: u64) {
        self.0.events().leaving.settle(event);
    }

    /// Whether a part of a range may still have pages that are about to go.
    pub(super) fn is_leaving(&self, begin: usize, end: usize) -> bool {
        self.0.events().leaving.contains_part(begin, end)
    }
}

impl Shared {
    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an event.
    fn wait(&self) {
        let mut poll =
            libc::pollfd { fd: self.descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&raw mut poll, 1, -1) };
    }

    /// Reads all events that are there.
    fn read(&self, events: &mut Events) {
        const SIZE: usize = size_of::<Message>();
        loop {
            let mut message = Message { event: 0, reserved: [0; 7], words: [0; 3] };
            let to = (&raw mut message).cast();
            // SAFETY: there is room for one message.
            let size = unsafe { libc::read(self.descriptor.as_raw_fd(), to, SIZE) };
            if size != SIZE as isize {
                return;
            }
            let [first, second, third] = message.words.map(|word| word as usize);
            match message.event {
                EVENT_UNMAP => events.add((first, second)),
                EVENT_REMOVE => {
                    events.add((first, second));
                    events.leaving.add((first, second));
                }
                // From where, to where, how much: what was at both places is gone.
                EVENT_REMAP => {
                    events.add((first, first.saturating_add(third)));
                    events.add((second, second.saturating_add(third)));
                }
                _ => {}
            }
        }
    }
}

impl Events {
    /// Waits for a moment until the pages have gone that were given back: most are gone at once.
    fn look(&mut self) {
        const TRIES: usize = 10;
        for _ in 0..TRIES {
            self.leaving.look(|range| {
                let (begin, end) = range;
                // Of more, the next launch takes care.
                if end - begin <= LOOKED_AT { page_table::hull_there(range) } else { Some(range) }
            });
            if self.leaving.is_empty() {
                return;
            }
            std::thread::yield_now();
        }
    }

    fn add(&mut self, range: Gone) {
        match self.ranges.get_mut(self.len) {
            Some(place) => {
                *place = range;
                self.len += 1;
            }
            None => self.overflow = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1 << 20;

    fn map(at: *mut libc::c_void, fixed: libc::c_int) -> *mut libc::c_void {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
        // SAFETY: fresh memory, or in place of this test's.
        unsafe { libc::mmap(at, BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) }
    }

    /// Fresh memory in place of this test's.
    fn replace(memory: *mut libc::c_void) {
        assert_eq!(map(memory, libc::MAP_FIXED), memory);
    }

    /// Fresh memory where there is none: at this place, unless another thread has taken it.
    fn map_again(free: *mut libc::c_void) -> *mut libc::c_void {
        let mut new = map(free, libc::MAP_FIXED_NOREPLACE);
        if new == libc::MAP_FAILED {
            new = map(std::ptr::null_mut(), 0);
        }
        assert_ne!(new, libc::MAP_FAILED);
        new
    }

    #[test]
    fn memory_that_goes_is_seen() {
        let watch = match Watch::new() {
            Ok(watch) => watch,
            Err(error) => {
                println!("skipped: this system does not let memory be watched: {error}");
                return;
            }
        };
        let taken = || {
            let mut all = Vec::new();
            watch.take(|gone| all.push(gone));
            all
        };
        let mut memory = map(std::ptr::null_mut(), 0);
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: memory of this test.
        unsafe { memory.cast::<u8>().write_bytes(1, BYTES) };
        assert!(taken().is_empty());
        for round in 0..300 {
            let (begin, middle, end) =
                (memory.addr(), memory.addr() + BYTES / 2, memory.addr() + BYTES);
            watch.add(begin, end).unwrap();
            match round % 3 {
                0 => {
                    replace(memory);
                    assert_eq!(taken(), [Some((begin, end))], "{round}");
                }
                1 => {
                    // SAFETY: memory of this test.
                    assert_eq!(unsafe { libc::munmap(memory, BYTES) }, 0);
                    assert_eq!(taken(), [Some((begin, end))], "{round}");
                    memory = map_again(memory);
                }
                _ => {
                    // SAFETY: as above.
                    let given = unsafe { libc::madvise(memory, BYTES / 2, libc::MADV_DONTNEED) };
                    assert_eq!(given, 0);
                    assert_eq!(taken(), [Some((begin, middle))], "{round}");
                    replace(memory);
                    assert_eq!(taken(), [Some((begin, end))], "{round}");
                }
            }
            assert!(taken().is_empty());
        }
        let (begin, end) = (memory.addr(), memory.addr() + BYTES);
        // More events than are told apart.
        for _ in 0..=MOST {
            watch.add(begin, end).unwrap();
            replace(memory);
        }
        let all = taken();
        assert!(all.contains(&None) && all.len() == MOST + 1, "{}", all.len());
        // A part that moves away.
        watch.add(begin, end).unwrap();
        // SAFETY: as above.
        let moved = unsafe { libc::mremap(memory, BYTES, 2 * BYTES, libc::MREMAP_MAYMOVE) };
        assert_ne!(moved, libc::MAP_FAILED);
        if moved != memory {
            assert!(taken().contains(&Some((begin, end))));
        }
        // SAFETY: as above.
        unsafe { libc::munmap(moved, 2 * BYTES) };
    }
}
