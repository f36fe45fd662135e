//! The shared objects of the process, and which of them stay open as long as it runs.

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{OnceLock, PoisonError, RwLock};

/// The address ranges of the objects that the process was started with: the executable, and the
/// libraries that it needs. Those that are opened later may be closed.
static OBJECTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The address ranges of those that are opened with the driver or the compiler, and stay open from
/// then on.
static HELD: RwLock<Vec<(usize, usize)>> = RwLock::new(Vec::new());

/// Takes note of the objects that the process was started with. Call it before others are opened.
pub(crate) fn at_start() {
    OBJECTS.get_or_init(|| objects().into_iter().map(|(_, range)| range).collect());
}

/// Whether anybody has to know what stays: [`at_start`] was called.
pub(crate) fn is_known() -> bool {
    OBJECTS.get().is_some()
}

/// Whether a range of addresses is part of an object that stays open: one that the process was
/// started with, or one that is held.
pub(crate) fn stays(begin: usize, end: usize) -> bool {
    let contains = |(from, to): &(usize, usize)| *from <= begin && end <= *to;
    let of_start = OBJECTS.get().is_some_and(|objects| objects.iter().any(contains));
    of_start || HELD.read().unwrap_or_else(PoisonError::into_inner).iter().any(contains)
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
pub(crate) fn hold_what_opens<T>(open: impl FnOnce() -> T) -> T {
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
pub(crate) fn page_size() -> Option<usize> {
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
            let of_library = |(name, _): &Object| name.to_bytes().ends_with(LIBRARY.to_bytes());
            objects().into_iter().find(of_library).map(|(_, range)| range)
        };
        let stays = |(begin, end)| stays(begin, end);
        // SAFETY: the library has no initialisers.
        let open = || unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY) };
        at_start();
        assert_eq!(mapped(), None);
        let library = open();
        if library.is_null() {
            println!("skipped: this system has no {LIBRARY:?}");
            return;
        }
        assert!(mapped().is_some_and(|range| !stays(range)));
        // SAFETY: it was opened just now.
        unsafe { libc::dlclose(library) };
        assert_eq!(mapped(), None);
        let library = hold_what_opens(open);
        // SAFETY: it was opened just now.
        unsafe { libc::dlclose(library) };
        assert!(mapped().is_some_and(stays));
    }
}
