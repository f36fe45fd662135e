//! Locks between processes, in one file.
//!
//! ```text
//! offset        size  what
//!      0           8  bytes on disk of all entries, little-endian
//!      8           8  the same with all bits turned: a total that does not fit is counted anew
//!   2^61 + k       1  locked while the entry of a key is made; k is of the key's first bits
//! ```
//!
//! A lock covers a range of bytes, which need not exist: so each key has one, and nothing is left
//! behind. The system releases all locks of a process that ends, however it ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Key;

/// The file's name in the folder.
pub const NAME: &str = "lock";

/// The file of locks, open.
#[derive(Debug)]
pub struct Locks {
    file: File,
    /// The system's locks belong to the process, or rather to the open file description: threads
    /// need one of their own.
    total: Mutex<()>,
}

/// A lock that is held.
#[derive(Debug)]
pub struct Held<'a> {
    locks: &'a Locks,
    start: i64,
    len: i64,
}

/// The total, locked.
#[derive(Debug)]
pub struct Total<'a> {
    held: Held<'a>,
    _thread: MutexGuard<'a, ()>,
}

const TOTAL_LEN: i64 = 16;
const KEYS: i64 = 1 << 61;

/// No process that is running holds the total longer than this.
const PATIENCE_FOR_TOTAL: Duration = Duration::from_secs(10);

impl Locks {
    /// Opens the file, or creates it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(folder.join(NAME))?;
        Ok(Self { file, total: Mutex::new(()) })
    }

    /// Waits for a key's lock; `None` if it is still held after `patience`. In one [`Locks`], only
    /// one thread at a time may ask for a key.
    pub fn key(&self, key: &Key, patience: Duration) -> io::Result<Option<Held<'_>>> {
        let [a, b, c, d, e, f, g, h, ..] = *key.as_bytes();
        let bits = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 3;
        // Below 2^61, so the sum is a valid file position.
        self.range(KEYS + bits as i64, 1, patience)
    }

    /// Waits for the total.
    pub fn total(&self) -> io::Result<Total<'_>> {
        let thread = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.range(0, TOTAL_LEN, PATIENCE_FOR_TOTAL)?;
        let held = held.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut))?;
        Ok(Total { held, _thread: thread })
    }

    fn range(&self, start: i64, len: i64, patience: Duration) -> io::Result<Option<Held<'_>>> {
        let begin = Instant::now();
        let mut pause = Duration::from_micros(100);
        loop {
            match self.set(libc::F_WRLCK, start, len) {
                Ok(()) => return Ok(Some(Held { locks: self, start, len })),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                }
                Err(error) => return Err(error),
            }
            if begin.elapsed() >= patience {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(5));
        }
    }

    #[cfg(target_os = "linux")]
    fn set(&self, kind: i32, start: i64, len: i64) -> io::Result<()> {
        // SAFETY: all fields are integers, for which zeros are valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as i16;
        lock.l_whence = libc::SEEK_SET as i16;
        (lock.l_start, lock.l_len) = (start, len);
        // SAFETY: the descriptor is open as long as `self`, and `lock` is what this command reads.
        let failed =
            unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Other systems have no such lock. Then two processes may compile the same kernel, and the
    /// last to finish wins; the total may be wrong for a while.
    /// may be wrong for a while.
    #[cfg(not(target_os = "linux"))]
    fn set(&self, _: i32, _: i64, _: i64) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // It was locked, so it can be unlocked; if not, the end of the process does it.
        let _ = self.locks.set(libc::F_UNLCK, self.start, self.len);
    }
}

impl Total<'_> {
    /// Bytes on disk of all entries; `None` if unknown.
    pub fn get(&self) -> Option<u64> {
        let mut bytes = [0; TOTAL_LEN as usize];
        self.held.locks.file.read_exact_at(&mut bytes, 0).ok()?;
        let both = u128::from_le_bytes(bytes);
        let (total, turned) = (both as u64, (both >> 64) as u64);
        (total == !turned).then_some(total)
    }

    /// Stores it.
    pub fn set(&self, total: u64) -> io::Result<()> {
        let both = u128::from(total) | u128::from(!total) << 64;
        self.held.locks.file.write_all_at(&both.to_le_bytes(), 0)
    }
}
