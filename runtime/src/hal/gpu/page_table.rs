//! The page table of the process, as Linux shows it: which pages the host has.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use crate::util::objects;

/// Bits of an entry: the page is in memory, or was swapped out.
const THERE: u64 = 1 << 63 | 1 << 62;

/// Bytes of an entry.
const ENTRY: usize = 8;

/// Pages that are looked at to find out whether the host uses a range.
const SAMPLES: usize = 8;

fn table() -> Option<&'static File> {
    static TABLE: OnceLock<Option<File>> = OnceLock::new();
    TABLE.get_or_init(|| File::open("/proc/self/pagemap").ok()).as_ref()
}

/// Reads entries, from that of the page that begins at an address on.
fn read(begin: usize, entries: &mut [u8]) -> Option<usize> {
    let page = objects::page_size()?;
    table()?.read_exact_at(entries, (begin / page * ENTRY) as u64).ok()?;
    Some(page)
}

fn is_there(entry: &[u8]) -> bool {
    u64::from_ne_bytes(entry.try_into().unwrap_or_default()) & THERE != 0
}

/// Where the first page of a range begins that the host has; `None` if that cannot be found out. At
/// least the last page counts as one.
pub(super) fn first_there(begin: usize, end: usize) -> Option<usize> {
    let page = objects::page_size()?;
    let mut entries = vec![0; (end - begin) / page * ENTRY];
    read(begin, &mut entries)?;
    let before = entries.chunks_exact(ENTRY).take_while(|entry| !is_there(entry)).count();
    Some((begin + before * page).min(end - page))
}

/// The smallest range with all pages of a range that the host has: an empty one if it has none, and
/// `None` if that cannot be found out. It does not allocate.
pub(super) fn hull_there((begin, end): (usize, usize)) -> Option<(usize, usize)> {
    const PAGES: usize = 512;
    let page = objects::page_size()?;
    let (begin, end) = (begin / page * page, end.next_multiple_of(page));
    let mut hull = (end, begin);
    let mut at = begin;
    while at < end {
        let count = ((end - at) / page).min(PAGES);
        let mut entries = [0; PAGES * ENTRY];
        let entries = &mut entries[..count * ENTRY];
        read(at, entries)?;
        for (number, _) in entries.chunks_exact(ENTRY).enumerate().filter(|(_, e)| is_there(e)) {
            let place = at + number * page;
            hull = (hull.0.min(place), place + page);
        }
        at += count * page;
    }
    Some(hull)
}

/// Whether nothing is mapped at an address, at which a page begins.
pub(super) fn is_free(address: usize) -> bool {
    let mut there = 0_u8;
    let Some(page) = objects::page_size() else { return false };
    // SAFETY: the call reads no memory at the address, and writes one byte for the page.
    let code =
        unsafe { libc::mincore(std::ptr::without_provenance_mut(address), page, &raw mut there) };
    // It has no other reason to say that.
    code != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOMEM)
}

/// How many of a few pages of a range the host has.
pub(super) fn samples_there(begin: usize, bytes: usize) -> usize {
    let is_sample_there = |sample: &usize| {
        let mut entry = [0; ENTRY];
        let last = bytes.saturating_sub(1);
        let address = begin + last / (SAMPLES - 1) * sample;
        read(address, &mut entry).is_some() && is_there(&entry)
    };
    (0..SAMPLES).filter(is_sample_there).count()
}

/// Blocks of which the host has no pages, since none has come to the process.
///
/// To look at the pages of a block takes some system calls, and most launches follow each other with
/// nothing in between that brings pages back. Where the process had no page fault, no look is
/// needed. Pages that the driver itself moves to the host are missed, and move when they are used.
#[derive(Debug, Default)]
pub(super) struct Away {
    /// The process's page faults when the first of these was looked at.
    faults: Option<u64>,
    /// Begins and sizes.
    blocks: Vec<(usize, usize)>,
}

impl Away {
    /// More blocks than this are looked at again.
    const MOST: usize = 256;

    /// Asks for the process's page faults.
    pub(super) fn look(&mut self) {
        let faults = faults();
        if faults.is_none() || faults != self.faults {
            self.blocks.clear();
            self.faults = faults;
        }
    }

    /// Whether the host may have got pages of a block between the last look at which it was asked
    /// for and the last one.
    pub(super) fn may_be_back(&mut self, block: (usize, usize)) -> bool {
        if self.blocks.contains(&block) {
            return false;
        }
        if self.blocks.len() == Self::MOST {
            self.blocks.clear();
        }
        self.blocks.push(block);
        true
    }
}

/// The page faults of the process so far.
fn faults() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: there is room for the numbers.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the system has written them.
    let usage = unsafe { usage.assume_init() };
    Some((usage.ru_minflt as u64).wrapping_add(usage.ru_majflt as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In its own process: other tests have page faults at any time.
    #[test]
    fn who_touches_pages_has_them_looked_at() {
        // SAFETY: the child makes system calls, touches its own memory, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: nothing of the parent's is to be ended.
            unsafe { libc::_exit(i32::from(!follows())) };
        }
        let mut status = 0;
        // SAFETY: a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
    }

    fn follows() -> bool {
        const BYTES: usize = 1 << 20;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: fresh memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, rights, flags, -1, 0) };
        let mut away = Away { faults: None, blocks: Vec::with_capacity(Away::MOST) };
        // A fork has pages mapped when they are used: code, the stack, the list. So the first rounds
        // do not count.
        let [first, second, third] = [(0x1000, 64), (0x2000, 64), (0x3000, 64)];
        let order = [first, second, first, second, second, first, third, third];
        let mut asked = [false; 8];
        for _ in 0..10 {
            for (number, block) in order.into_iter().enumerate() {
                if number == 2 {
                    // SAFETY: as above.
                    unsafe {
                        libc::madvise(memory, BYTES, libc::MADV_DONTNEED);
                        memory.cast::<u8>().write_volatile(1);
                    }
                }
                away.look();
                asked[number] = away.may_be_back(block);
            }
        }
        asked == [false, false, true, true, false, false, true, false]
    }

    #[test]
    fn what_is_mapped_is_not_free() {
        let page = objects::page_size().unwrap();
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let (none, rights) = (std::ptr::null_mut(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: fresh memory. Nothing else is mapped within the first mapping while it is there.
        unsafe {
            let memory = libc::mmap(none, 4 * page, rights, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            let middle = memory.addr() + 2 * page;
            assert!(!is_free(middle));
            libc::mprotect(memory.byte_add(2 * page), 2 * page, libc::PROT_NONE);
            assert!(!is_free(middle));
        }
        // Never mapped.
        assert!(is_free(0));
    }

    #[test]
    fn pages_are_there_when_they_were_touched() {
        const PAGES: usize = 64;
        let page = objects::page_size().unwrap();
        let (bytes, rights) = (PAGES * page, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: as above. Without it one touch may bring in many pages.
        unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
        let begin = memory.addr();
        assert_eq!(samples_there(begin, bytes), 0);
        let hull = |pages| hull_there((begin, begin + pages * page)).unwrap();
        assert!(hull(PAGES).0 >= hull(PAGES).1);
        assert_eq!(first_there(begin, begin + bytes), Some(begin + bytes - page));
        // SAFETY: as above.
        unsafe { memory.cast::<u8>().add(9 * page).write(1) };
        assert_eq!(first_there(begin, begin + bytes), Some(begin + 9 * page));
        // SAFETY: as above.
        unsafe { memory.cast::<u8>().add(20 * page).write(1) };
        assert_eq!(hull(PAGES), (begin + 9 * page, begin + 21 * page));
        assert_eq!(hull(10), (begin + 9 * page, begin + 10 * page));
        assert!(hull(9).0 >= hull(9).1);
        // SAFETY: as above.
        unsafe { memory.cast::<u8>().write_bytes(1, bytes) };
        assert_eq!(samples_there(begin, bytes), SAMPLES);
        // SAFETY: as above.
        unsafe { libc::munmap(memory, bytes) };
    }
}
