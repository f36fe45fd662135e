//! Parts of the process that do not change: the objects that are never closed, and the
//! mappings that the driver has made for itself.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use crate::hal::gpu::mappings::{self, Mapping};
use crate::util::objects;

/// Whether a mapping stays as long as the process.
pub(super) fn stays(mapping: &Mapping) -> bool {
    objects::stays(mapping.begin, mapping.end)
}

/// The mappings that the driver is known to have made for itself.
static DRIVERS: Mutex<Option<Drivers>> = Mutex::new(None);

/// What the driver has made for itself so far.
#[derive(Debug)]
struct Drivers {
    /// What it made when it was initialised, for the first context.
    made: HashSet<Mapping>,
    /// The threads that there were then: the process's first one, and the driver's.
    threads: HashSet<OsString>,
}

/// How many threads there are.
pub(super) fn threads() -> usize {
    thread_ids().map_or(usize::MAX, |ids| ids.len())
}

/// The ids of all threads; `None` if they cannot be listed.
fn thread_ids() -> Option<HashSet<OsString>> {
    let entries = std::fs::read_dir("/proc/self/task").ok()?;
    entries.map(|entry| entry.ok().map(|entry| entry.file_name())).collect()
}

/// Calls a function that opens and initialises the driver, and takes note of the mappings that it
/// makes, in programs that may need to know. They are known to be the driver's only if no other
/// thread can make mappings meanwhile.
pub(super) fn initialise_driver<T>(open: impl FnOnce() -> T) -> T {
    let one_thread = objects::is_known() && threads() == 1;
    let before = one_thread.then(mappings::all).and_then(Result::ok);
    let result = objects::hold_what_opens(open);
    if let (Some(before), Ok(after), Some(threads)) = (before, mappings::all(), thread_ids()) {
        let drivers = Drivers { made: new(&before, after), threads };
        *DRIVERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(drivers);
    }
    result
}

/// Calls a function that makes a context of the driver, and returns the mappings that the driver
/// is known to have made for itself.
pub(super) fn make_context<T>(make: impl FnOnce() -> T) -> (T, HashSet<Mapping>) {
    let mut drivers = DRIVERS.lock().unwrap_or_else(PoisonError::into_inner);
    // No others: the program has started no thread.
    let known = drivers
        .as_mut()
        .filter(|drivers| thread_ids().is_some_and(|threads| threads.is_subset(&drivers.threads)));
    let before = known.is_some().then(mappings::all).and_then(Result::ok);
    let result = objects::hold_what_opens(make);
    let mut made = HashSet::new();
    if let (Some(known), Some(before), Ok(after)) = (known, before, mappings::all()) {
        made = std::mem::take(&mut known.made);
        // What is in the place of a mapping that has gone is not the driver's.
        made.retain(|mapping| before.contains(mapping));
        made.extend(new(&before, after));
        known.threads = thread_ids().unwrap_or_default();
    }
    (result, made)
}

/// The mappings that are new.
fn new(before: &[Mapping], after: Vec<Mapping>) -> HashSet<Mapping> {
    let before: HashSet<&Mapping> = before.iter().collect();
    // What may grow may be the program's, too.
    let may_grow = |mapping: &Mapping| ["[heap]", "[stack]"].contains(&mapping.name.as_str());
    after.into_iter().filter(|new| !before.contains(new) && !may_grow(new)).collect()
}
