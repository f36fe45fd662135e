//! One compilation for each key, however many ask.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::lock::Held;
use crate::{Failures, Folder, Key, Problem, Settings, Value};

/// The maximum number of bytes in memory.
const MEMORY_LIMIT: usize = 32 << 20;

/// How long this process waits for another one that compiles a kernel before it compiles it, too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The interval between reports that nothing can be written.
const QUIET: Duration = Duration::from_secs(600);

/// Compiled kernels, in memory and on disk.
pub struct Cache {
    memory: Mutex<Memory>,
    folder: Option<Folder>,
    /// Failures to write, if any: then nothing is written for a while.
    not_written: Mutex<Option<Failures>>,
    /// When that was reported.
    told: Mutex<Option<Instant>>,
    /// Receives problems.
    report: Box<dyn Fn(&Problem) + Send + Sync>,
}

/// A value, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The value.
    pub value: Arc<Value>,
    /// Where it came from.
    pub source: Source,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This process had it already.
    Memory,
    /// It was on disk.
    Disk,
    /// It was compiled just now.
    Compiled,
}

/// The value of a key, locked while it is searched for or compiled.
type Slot = Arc<Mutex<Option<Arc<Value>>>>;

#[derive(Default)]
struct Memory {
    slots: HashMap<Key, Kept>,
    /// Bytes of all values.
    bytes: usize,
    /// Counts requests.
    clock: u64,
}

#[derive(Default)]
struct Kept {
    slot: Slot,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// Creates a cache as `settings` say. `report` receives problems: each damaged entry, and once
    /// each problem of the whole cache.
    pub fn new(settings: &Settings, report: impl Fn(&Problem) + Send + Sync + 'static) -> Self {
        let folder = settings.folder.as_ref().and_then(|path| {
            Folder::open(path, settings.limit).inspect_err(|problem| report(problem)).ok()
        });
        Self {
            memory: Mutex::default(),
            folder,
            not_written: Mutex::new(None),
            told: Mutex::new(None),
            report: Box::new(report),
        }
    }

    /// Creates a cache that stores nothing on disk.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(&Settings { folder: None, limit: 0 }, |_| {})
    }

    /// The folder, if entries are stored on disk.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// The value of `key`: from memory, from disk, or else the result of `compile`, which is then
    /// stored.
    ///
    /// If several threads and processes ask for a key at once, one compiles and the others wait for
    /// it. If it fails or dies, the next one tries. `compile` may ask for other keys, as long as
    /// that is not circular.
    ///
    /// # Errors
    /// The error of `compile`. Problems of the cache itself are no errors.
    pub fn get_or_compile<E>(
        &self,
        key: &Key,
        compile: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Found, E> {
        let slot = self.memory().slot(key);
        // Locked by the thread that searches and compiles; if it panics, the next one tries.
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*held {
            return Ok(Found { value: Arc::clone(value), source: Source::Memory });
        }
        let found = self.look_or_compile(key, compile);
        if let Ok(found) = &found {
            *held = Some(Arc::clone(&found.value));
        }
        drop(held);
        self.memory().note(key, slot, found.as_ref().ok().map(|found| &*found.value));
        found
    }

    fn look_or_compile<E>(
        &self,
        key: &Key,
        compile: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Found, E> {
        let from = |value, source| Found { value: Arc::new(value), source };
        let Some(folder) = &self.folder else {
            return compile().map(|value| from(value, Source::Compiled));
        };
        if let Some(value) = folder.read(key).unwrap_or_default() {
            return Ok(from(value, Source::Disk));
        }
        // While this is held no other process creates the entry; it may have appeared in the meantime.
        let lock = self.lock(folder, key);
        let value = folder.read(key).unwrap_or_else(|problem| {
            (self.report)(&problem);
            None
        });
        if let Some(value) = value {
            return Ok(from(value, Source::Disk));
        }
        let value = compile()?;
        if self.may_write() {
            match folder.write(key, &value) {
                Ok(()) => *self.write_failures() = None,
                Err(problem) => self.stop_writing(&problem),
            }
        }
        drop(lock);
        Ok(from(value, Source::Compiled))
    }

    /// The key's lock, if available. Without it, two processes may do the same work.
    fn lock<'a>(&self, folder: &'a Folder, key: &Key) -> Option<Held<'a>> {
        if !self.may_write() {
            return None;
        }
        match folder.lock(key, PATIENCE) {
            Ok(Some(held)) => Some(held),
            Ok(None) => {
                (self.report)(&Problem::Held(PATIENCE));
                None
            }
            Err(source) => {
                let path = folder.path().join(crate::lock::NAME);
                self.stop_writing(&Problem::NotWritten { path, source });
                None
            }
        }
    }

    fn write_failures(&self) -> MutexGuard<'_, Option<Failures>> {
        self.not_written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_write(&self) -> bool {
        self.write_failures().is_none_or(|failures| failures.may_try(Instant::now()))
    }

    /// Stops writing for a while. That is reported once, until writing succeeds again; and at most
    /// once in [`QUIET`], since small entries may fit where large ones do not.
    fn stop_writing(&self, problem: &Problem) {
        let before = {
            let mut failures = self.write_failures();
            let next = failures.unwrap_or_default().and_another(Instant::now());
            failures.replace(next)
        };
        if before.is_none() {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.is_none_or(|at| at.elapsed() >= QUIET) {
                *told = Some(Instant::now());
                drop(told);
                (self.report)(problem);
            }
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn slot(&mut self, key: &Key) -> Slot {
        self.clock += 1;
        let kept = self.slots.entry(*key).or_default();
        kept.used = self.clock;
        Arc::clone(&kept.slot)
    }

    /// Records the result in a slot, which its user returns, and removes the least recently used
    /// values.
    fn note(&mut self, key: &Key, slot: Slot, value: Option<&Value>) {
        let ours = |kept: &Kept| Arc::ptr_eq(&kept.slot, &slot);
        match (self.slots.get_mut(key).filter(|kept| ours(kept)), value) {
            (Some(kept), Some(value)) => {
                let bytes = value.meta.len() + value.bytes.len();
                self.bytes = self.bytes - kept.bytes + bytes;
                kept.bytes = bytes;
            }
            // No other thread waits for it: the table has one, and this is the other.
            (Some(_), None) if Arc::strong_count(&slot) == 2 => {
                self.slots.remove(key);
            }
            _ => {}
        }
        drop(slot);
        while self.bytes > MEMORY_LIMIT {
            // A value that is being compiled has no bytes yet.
            let made = self.slots.iter().filter(|(_, kept)| kept.bytes > 0);
            let Some(oldest) = made.min_by_key(|(_, kept)| kept.used).map(|(key, _)| *key) else {
                break;
            };
            if let Some(gone) = self.slots.remove(&oldest) {
                self.bytes -= gone.bytes;
            }
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn key(number: u64) -> Key {
        Key::builder("test").number("number", number).finish()
    }

    fn value(len: usize) -> Result<Value, Infallible> {
        Ok(Value { meta: Vec::new(), bytes: vec![7; len] })
    }

    #[test]
    fn memory_is_bounded() {
        let cache = Cache::in_memory();
        let quarter = MEMORY_LIMIT / 4;
        for number in 0..4 {
            cache.get_or_compile(&key(number), || value(quarter)).unwrap();
        }
        // The first is used again, so the second is the oldest.
        let mut source =
            |number| cache.get_or_compile(&key(number), || value(quarter)).unwrap().source;
        assert_eq!(
            [0, 4, 0, 2, 3].map(&mut source),
            [Source::Memory, Source::Compiled, Source::Memory, Source::Memory, Source::Memory]
        );
        assert_eq!(source(1), Source::Compiled);
        assert_eq!(cache.memory().bytes, MEMORY_LIMIT);
    }

    #[test]
    fn errors_are_not_kept() {
        let cache = Cache::in_memory();
        assert_eq!(cache.get_or_compile(&key(0), || Err("no")), Err("no"));
        assert!(cache.memory().slots.is_empty());
        assert_eq!(cache.get_or_compile(&key(0), || value(1)).unwrap().source, Source::Compiled);
    }

    #[test]
    fn a_panic_is_not_kept() {
        let cache = Cache::in_memory();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            cache.get_or_compile(&key(0), || -> Result<Value, Infallible> { panic!("no") })
        }));
        assert!(caught.is_err());
        assert_eq!(cache.get_or_compile(&key(0), || value(1)).unwrap().source, Source::Compiled);
    }

    #[test]
    fn a_value_may_be_made_of_another() {
        let cache = Cache::in_memory();
        let made = cache.get_or_compile(&key(0), || {
            let other = cache.get_or_compile(&key(1), || value(3))?;
            value(other.value.bytes.len() + 1)
        });
        assert_eq!(made.unwrap().value.bytes.len(), 4);
    }
}
