//! Entries on disk.

use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use schism_trust::Why;

use crate::entry::{self, EntryError, HEADER_LEN, MAX_BYTES, MAX_META};
use crate::lock::{Held, Locks};
use crate::{Key, Problem, Value};

/// The suffix of entries' names.
const SUFFIX: &str = ".kernel";
/// The prefix of the names of entries that are being written.
const WRITING: &str = "writing-";
/// No live process takes longer than this to write an entry.
const ABANDONED: Duration = Duration::from_secs(600);
/// The size of a file on disk is a multiple of this.
const BLOCK: u64 = 4096;

/// A folder of entries.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    limit: u64,
    locks: OnceLock<Locks>,
    /// Counts what is written.
    written: AtomicU64,
}

/// The usage of the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many entries.
    pub entries: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
    /// When the least recently used entry was last used.
    pub oldest: Option<SystemTime>,
}

/// The result of checking all entries.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many are valid.
    pub good: u64,
    /// The problems of the others.
    pub problems: Vec<Problem>,
}

/// An entry in the folder, as it is listed.
struct Listed {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl Folder {
    /// Opens a folder, or creates it. When entries exceed `limit` bytes on disk, the least recently
    /// used ones are removed.
    ///
    /// # Errors
    /// [`Problem::Unusable`] if it cannot be created, or if someone who is not
    /// [trusted](schism_trust) could change it.
    pub fn open(path: &Path, limit: u64) -> Result<Self, Problem> {
        let unusable = |reason: String| Problem::Unusable { folder: path.to_owned(), reason };
        if let Err(error) = fs::metadata(path)
            && error.kind() == io::ErrorKind::NotFound
        {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(|error| unusable(format!("cannot be made: {error}")))?;
        }
        schism_trust::check_folder(path).map_err(|error| {
            if error.path == path {
                unusable(error.why.to_string())
            } else {
                unusable(format!("cannot be used: {error}"))
            }
        })?;
        let path = path.to_owned();
        Ok(Self { path, limit, locks: OnceLock::new(), written: AtomicU64::new(0) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The maximum size on disk, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The path of a key's entry.
    pub fn entry(&self, key: &Key) -> PathBuf {
        self.path.join(format!("{key}{SUFFIX}"))
    }

    /// Reads the value of a key, if there is one, and records that it was used.
    ///
    /// # Errors
    /// If there is an entry that cannot be read or is untrusted.
    pub fn read(&self, key: &Key) -> Result<Option<Value>, Problem> {
        let path = self.entry(key);
        let Some((file, contents)) = contents(&path)? else { return Ok(None) };
        match entry::read(&contents, key) {
            Ok(value) => {
                // If this fails, entries are removed in the order of their creation.
                let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
                Ok(Some(value))
            }
            Err(cause) => Err(Problem::Damaged { path, cause }),
        }
    }

    /// Waits for the lock of a key; `None` if another process still holds it after `patience`.
    pub(crate) fn lock(&self, key: &Key, patience: Duration) -> io::Result<Option<Held<'_>>> {
        self.locks()?.key(key, patience)
    }

    /// Writes a value. Values that exceed the limit of the folder, or of an entry, are skipped.
    ///
    /// # Errors
    /// [`Problem::NotWritten`].
    pub fn write(&self, key: &Key, value: &Value) -> Result<(), Problem> {
        let path = self.entry(key);
        self.try_write(&path, key, value).map_err(|source| Problem::NotWritten { path, source })
    }

    fn try_write(&self, path: &Path, key: &Key, value: &Value) -> io::Result<()> {
        let Ok(contents) = entry::write(key, value) else { return Ok(()) };
        let size = on_disk(contents.len() as u64);
        if size > self.limit {
            return Ok(());
        }
        if contents.len() as u64 > file_size_limit() {
            // Writing would raise a signal that ends the process.
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        // Held until the entry is in place, so that the total counts everything.
        let total = self.locks()?.total()?;
        let replaced = fs::symlink_metadata(path).map_or(0, |metadata| on_disk(metadata.len()));
        let before = match total.get().map(|total| total.saturating_sub(replaced)) {
            Some(before) if before.saturating_add(size) <= self.limit => before,
            // Frees somewhat more than needed, so that not every further entry has to list them
            // all.
            _ => self.clear_out((self.limit - size).min(self.limit / 10 * 9))?,
        };
        // Counted first: if the process ends here, the total is too large, which the next clearing
        // corrects.
        total.set(before.saturating_add(size))?;
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let writing = self.path.join(format!("{WRITING}{}-{number}-{key}", std::process::id()));
        let result = (|| {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
                .open(&writing)?;
            file.write_all(&contents)?;
            drop(file);
            fs::rename(&writing, path)
        })();
        if result.is_err() {
            // It may not exist; what remains is removed as abandoned.
            let _ = fs::remove_file(&writing);
            let _ = total.set(before);
        }
        result
    }

    fn locks(&self) -> io::Result<&Locks> {
        if let Some(locks) = self.locks.get() {
            return Ok(locks);
        }
        // Two threads may open it at once. Both then use the first one's.
        let locks = Locks::open(&self.path)?;
        Ok(self.locks.get_or_init(|| locks))
    }

    /// Removes entries until they use at most `most` bytes, and returns the remaining size.
    fn clear_out(&self, most: u64) -> io::Result<u64> {
        let mut entries = self.list(Some(SystemTime::now()))?;
        entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        let mut total = entries.iter().map(|entry| entry.size).sum::<u64>();
        for entry in entries {
            if total <= most {
                break;
            }
            match fs::remove_file(&entry.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => total -= entry.size,
            }
        }
        Ok(total)
    }

    /// Lists the entries. With `now`, removes files that dead processes were writing.
    fn list(&self, now: Option<SystemTime>) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for file in fs::read_dir(&self.path)? {
            let file = file?;
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_entry = name.strip_suffix(SUFFIX).is_some_and(|key| key.parse::<Key>().is_ok());
            if !is_entry && !name.starts_with(WRITING) {
                continue;
            }
            // Another process may have removed it.
            let Ok(metadata) = file.metadata() else { continue };
            let used = metadata.modified()?;
            if is_entry {
                let size = on_disk(metadata.len());
                listed.push(Listed { path: file.path(), size, used });
            } else if now
                .is_some_and(|now| now.duration_since(used).is_ok_and(|age| age > ABANDONED))
            {
                let _ = fs::remove_file(file.path());
            }
        }
        Ok(listed)
    }

    /// The usage of the folder.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn usage(&self) -> io::Result<Usage> {
        let entries = self.list(None)?;
        Ok(Usage {
            entries: entries.len() as u64,
            bytes: entries.iter().map(|entry| entry.size).sum(),
            oldest: entries.iter().map(|entry| entry.used).min(),
        })
    }

    /// Removes all entries, and returns how much that was. Running programs are not affected: what
    /// they use is in memory.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn clear(&self) -> io::Result<Usage> {
        let total = self.locks()?.total()?;
        let before = self.usage()?;
        let after = self.clear_out(0)?;
        total.set(after)?;
        // While the total is locked no process writes, so unfinished files belong to dead processes.
        for file in fs::read_dir(&self.path)? {
            let file = file?;
            if file.file_name().to_str().is_some_and(|name| name.starts_with(WRITING)) {
                fs::remove_file(file.path())?;
            }
        }
        Ok(before)
    }

    /// Reads and checks all entries, without changes.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn verify(&self) -> io::Result<Checked> {
        let mut checked = Checked::default();
        let mut entries = self.list(None)?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        for Listed { path, .. } in entries {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Ok(key) = name.trim_end_matches(SUFFIX).parse::<Key>() else { continue };
            match contents(&path) {
                Ok(None) => {}
                Ok(Some((_, contents))) => match entry::read(&contents, &key) {
                    Ok(_) => checked.good += 1,
                    Err(cause) => checked.problems.push(Problem::Damaged { path, cause }),
                },
                Err(problem) => checked.problems.push(problem),
            }
        }
        Ok(checked)
    }
}

/// The bytes of an entry's file, if it exists and only a trusted user can have written it.
fn contents(path: &Path) -> Result<Option<(File, Vec<u8>)>, Problem> {
    let not_read = |source| Problem::NotRead { path: path.to_owned(), source };
    let untrusted = |why: Why| Problem::Foreign { path: path.to_owned(), reason: why.to_string() };
    // Non-blocking: the file may be a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(untrusted(Why::Kind("file, but a link")));
        }
        Err(error) => return Err(not_read(error)),
    };
    let metadata = file.metadata().map_err(not_read)?;
    schism_trust::check_file(&metadata).map_err(untrusted)?;
    let most = (HEADER_LEN + MAX_META + MAX_BYTES) as u64;
    if metadata.len() > most {
        return Err(Problem::Damaged { path: path.to_owned(), cause: EntryError::TooLong });
    }
    let mut contents = Vec::new();
    // The length is only an initial capacity; memory is allocated as bytes arrive.
    (&file).take(most).read_to_end(&mut contents).map_err(not_read)?;
    Ok(Some((file, contents)))
}

/// The size of a file on disk.
fn on_disk(len: u64) -> u64 {
    len.max(1).saturating_add(BLOCK - 1) / BLOCK * BLOCK
}

/// The maximum size of a file that this process may write.
fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is ours to be written.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if failed == 0 { limit.rlim_cur } else { u64::MAX }
}
