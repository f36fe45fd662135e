//! What the process consists of, as far as it stays: the objects that are never closed, and the
//! mappings that the driver has made for itself.

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::OnceLock;

use crate::hal::gpu::mappings::{self, Mapping};

/// Whether a mapping stays as long as the process: it is of an object that the process was started
/// with.
pub(super) fn stays(mapping: &Mapping) -> bool {
    let of_start = OBJECTS.get().map(Vec::as_slice).unwrap_or_default();
    let of_driver = HELD.get().map(Vec::as_slice).unwrap_or_default();
    of_start
        .iter()
        .chain(of_driver)
        .any(|(begin, end)| *begin <= mapping.begin && mapping.end <= *end)
}

/// The address ranges of the objects that the process was started with: the executable, and the
/// libraries that it needs. Those that are opened later may be closed.
static OBJECTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The address ranges of those that are opened when the driver is, and stay open from then on.
static HELD: OnceLock<Vec<(usize, usize)>> = OnceLock::new();

/// The mappings before the driver was opened.
static BEFORE_DRIVER: OnceLock<HashSet<Mapping>> = OnceLock::new();

/// Takes note of the objects that the process was started with. Call it before others are opened.
pub(super) fn at_start() {
    OBJECTS.get_or_init(|| objects().into_iter().map(|(_, range)| range).collect());
}

/// How many threads there are.
pub(super) fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count)
}

/// Takes note of the mappings before the driver is opened, in programs that may need to know. What
/// is new afterwards is the driver's only if no other thread could make mappings meanwhile.
pub(super) fn before_driver() {
    if OBJECTS.get().is_some()
        && threads() == 1
        && let Ok(all) = mappings::all()
    {
        let _ = BEFORE_DRIVER.set(all.into_iter().collect());
    }
}

/// Holds the objects that are open now, in such programs: the driver's stay open anyway, with all
/// that they need.
fn hold_objects() -> Vec<(usize, usize)> {
    let Some(of_start) = OBJECTS.get() else { return Vec::new() };
    let new = objects().into_iter().filter(|(_, range)| !of_start.contains(range));
    let held = new.filter(|(name, _)| {
        // SAFETY: it opens no other object than one that is open. The handle is kept.
        !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.is_null()
    });
    held.map(|(_, range)| range).collect()
}

/// The mappings that the driver has made for itself, when it has just made a context.
pub(super) fn after_driver() -> HashSet<Mapping> {
    HELD.get_or_init(hold_objects);
    let (Some(before), Ok(all)) = (BEFORE_DRIVER.get(), mappings::all()) else {
        return HashSet::new();
    };
    // What may grow may be the program's, too.
    let may_grow = |mapping: &Mapping| ["[heap]", "[stack]"].contains(&mapping.name.as_str());
    all.into_iter().filter(|new| !before.contains(new) && !may_grow(new)).collect()
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
