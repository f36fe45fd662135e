//! The page table of the process, as Linux shows it: which pages the host has.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use crate::hal::cuda::process;

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
    let page = process::page_size()?;
    table()?.read_exact_at(entries, (begin / page * ENTRY) as u64).ok()?;
    Some(page)
}

fn is_there(entry: &[u8]) -> bool {
    u64::from_ne_bytes(entry.try_into().unwrap_or_default()) & THERE != 0
}

/// Where the first page of a range begins that the host has; `None` if that cannot be found out. At
/// least the last page counts as one.
pub(super) fn first_there(begin: usize, end: usize) -> Option<usize> {
    let page = process::page_size()?;
    let mut entries = vec![0; (end - begin) / page * ENTRY];
    read(begin, &mut entries)?;
    let before = entries.chunks_exact(ENTRY).take_while(|entry| !is_there(entry)).count();
    Some((begin + before * page).min(end - page))
}

/// Whether the host has some of a few pages of a range.
pub(super) fn is_sampled(begin: usize, bytes: usize) -> bool {
    (0..SAMPLES).any(|sample| {
        let mut entry = [0; ENTRY];
        let last = bytes.saturating_sub(1);
        let address = begin + last / (SAMPLES - 1) * sample;
        read(address, &mut entry).is_some() && is_there(&entry)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_there_when_they_were_touched() {
        const PAGES: usize = 64;
        let page = process::page_size().unwrap();
        let (bytes, rights) = (PAGES * page, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: as above. Without it one touch may bring in many pages.
        unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
        let begin = memory.addr();
        assert!(!is_sampled(begin, bytes));
        assert_eq!(first_there(begin, begin + bytes), Some(begin + bytes - page));
        // SAFETY: as above.
        unsafe { memory.cast::<u8>().add(9 * page).write(1) };
        assert_eq!(first_there(begin, begin + bytes), Some(begin + 9 * page));
        // SAFETY: as above.
        unsafe { memory.cast::<u8>().write_bytes(1, bytes) };
        assert!(is_sampled(begin, bytes));
        // SAFETY: as above.
        unsafe { libc::munmap(memory, bytes) };
    }
}
