//! What the process consists of, as far as it stays: the objects that are never closed, and the
//! mappings that the driver has made for itself.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsString, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use crate::hal::gpu::mappings::{self, Mapping};

/// Whether a mapping stays as long as the process: it is of an object that the process was started
/// with, or of one that is held.
pub(super) fn stays(mapping: &Mapping) -> bool {
    let contains = |(begin, end): &(usize, usize)| *begin <= mapping.begin && mapping.end <= *end;
    let of_start = OBJECTS.get().is_some_and(|objects| objects.iter().any(contains));
    of_start || HELD.read().unwrap_or_else(PoisonError::into_inner).iter().any(contains)
}

/// The address ranges of the objects that the process was started with: the executable, and the
/// libraries that it needs. Those that are opened later may be closed.
static OBJECTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The address ranges of those that are opened with the driver or the compiler, and stay open from
/// then on.
static HELD: RwLock<Vec<(usize, usize)>> = RwLock::new(Vec::new());

/// The mappings that the driver has made for itself, as far as it is known.
static DRIVERS: Mutex<Option<Drivers>> = Mutex::new(None);

/// What the driver has made for itself so far.
#[derive(Debug)]
struct Drivers {
    /// What it made when it was initialised, for the first context.
    made: HashSet<Mapping>,
    /// The threads that there were then: the process's first one, and the driver's.
    threads: HashSet<OsString>,
}

/// Takes note of the objects that the process was started with. Call it before others are opened.
pub(super) fn at_start() {
    OBJECTS.get_or_init(|| objects().into_iter().map(|(_, range)| range).collect());
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
    let one_thread = OBJECTS.get().is_some() && threads() == 1;
    let before = one_thread.then(mappings::all).and_then(Result::ok);
    let result = hold_what_opens(open);
    if let (Some(before), Ok(after), Some(threads)) = (before, mappings::all(), thread_ids()) {
        let drivers = Drivers { made: new(&before, after), threads };
        *DRIVERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(drivers);
    }
    result
}

/// Calls a function that makes a context of the driver, and returns the mappings that the driver
/// has made for itself, as far as they are known.
pub(super) fn make_context<T>(make: impl FnOnce() -> T) -> (T, HashSet<Mapping>) {
    let mut drivers = DRIVERS.lock().unwrap_or_else(PoisonError::into_inner);
    // No others: the program has started no thread of its own.
    let known = drivers
        .as_mut()
        .filter(|drivers| thread_ids().is_some_and(|threads| threads.is_subset(&drivers.threads)));
    let before = known.is_some().then(mappings::all).and_then(Result::ok);
    let result = hold_what_opens(make);
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

/// Holds the objects that are open now and were not before, in programs that may need to know.
/// Those of the driver and of the compiler stay open anyway, with all that they need.
fn hold_objects(before: &[Object]) {
    let Some(of_start) = OBJECTS.get() else { return };
    let mut held = HELD.write().unwrap_or_else(PoisonError::into_inner);
    for object in objects() {
        let (name, range) = &object;
        if before.contains(&object) || of_start.contains(range) || held.contains(range) {
            continue;
        }
        // SAFETY: it opens no other object than one that is open. The handle is kept.
        if !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.is_null() {
            held.push(*range);
        }
    }
}

/// Calls a function that opens a library for good, and holds what that needs: a program may close
/// an object only if it has opened it, too.
pub(super) fn hold_what_opens<T>(open: impl FnOnce() -> T) -> T {
    let before = OBJECTS.get().map(|_| objects());
    let result = open();
    if let Some(before) = before {
        hold_objects(&before);
    }
    result
}

/// An object's name, and its address range from the first segment to the last.
type Object = (CString, (usize, usize));

/// All objects that are open.
fn objects() -> Vec<Object> {
    unsafe extern "C" fn note(
        object: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the description of an object, and the list that `objects` passes.
        let (object, found) = unsafe { (&*object, &mut *found.cast::<Vec<Object>>()) };
        if object.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: as many headers as it says.
        let headers =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let base = object.dlpi_addr as usize;
        let ends = loaded.clone().map(|header| base + (header.p_vaddr + header.p_memsz) as usize);
        let begins = loaded.map(|header| base + header.p_vaddr as usize);
        if let (Some(begin), Some(end), Some(page)) = (begins.min(), ends.max(), page_size()) {
            // SAFETY: a text that ends with a NUL.
            let name =
                (!object.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(object.dlpi_name) });
            let name = name.unwrap_or_default().to_owned();
            found.push((name, (begin / page * page, end.next_multiple_of(page))));
        }
        0
    }
    let mut found: Vec<Object> = Vec::new();
    // SAFETY: the function takes what it is given, and the list lives until the end of the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// Bytes of a page.
pub(super) fn page_size() -> Option<usize> {
    // SAFETY: a query without side effects.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|size| *size != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the C library, and needed by no test.
    const LIBRARY: &CStr = c"libBrokenLocale.so.1";

    #[test]
    fn what_is_opened_for_good_stays() {
        let mapped = || {
            let all = mappings::all().expect("the list of mappings");
            let of_library = |mapping: &Mapping| mapping.name.contains("libBrokenLocale");
            all.into_iter().filter(of_library).collect::<Vec<_>>()
        };
        // SAFETY: the library has no initialisers.
        let open = || unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY) };
        at_start();
        assert!(mapped().is_empty());
        let library = open();
        if library.is_null() {
            println!("skipped: this system has no {LIBRARY:?}");
            return;
        }
        assert!(!mapped().is_empty() && !mapped().iter().any(stays));
        // SAFETY: it was opened just now.
        unsafe { libc::dlclose(library) };
        assert!(mapped().is_empty());
        let library = hold_what_opens(open);
        // SAFETY: it was opened just now.
        unsafe { libc::dlclose(library) };
        assert!(!mapped().is_empty() && mapped().iter().all(stays));
    }
}
