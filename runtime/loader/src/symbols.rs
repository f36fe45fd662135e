//! Symbols outside its image that generated code may use.
//!
//! First this crate's own, then the compiler's support functions in the form that Rust ships (the
//! same code that the host half uses, so the same results), then those of the C and maths libraries
//! of this process.

use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

use schism_jit_abi::code::{
    ABORT, AGREE, BARRIER, CURRENT, GROUP_MEMORY, PERSONALITY, PRINT, RAISE, RECORD_FORMAT,
    RECORD_TEXT, SUB_GROUP, SWAP, TIME,
};

use crate::context;
use crate::heap;
use crate::message::{self, Calls};

/// Declares support functions by name and builds the table of their addresses. They are never
/// called from here, so their types do not matter.
macro_rules! support {
    ($($name:ident)*) => {
        unsafe extern "C" {
            $(fn $name();)*
        }
        fn support(name: &str) -> Option<*const ()> {
            match name {
                $(stringify!($name) => Some($name as *const ()),)*
                _ => None,
            }
        }
    };
}

support! {
    __udivti3 __umodti3 __divti3 __modti3 __multi3 __muloti4
    __floattisf __floattidf __floatuntisf __floatuntidf
    __fixsfti __fixdfti __fixunssfti __fixunsdfti
    __powisf2 __powidf2
    __extendhfsf2 __truncsfhf2 __truncdfhf2
    // Rust ships these for every target. The results of `cbrt` vary: the C library's differs in the
    // last bit.
    cbrt cbrtf ceil ceilf floor floorf fma fmaf fmod fmodf rint rintf round roundf trunc truncf
}

unsafe extern "C-unwind" {
    /// Continues unwinding at the end of a cleanup: of the unwinder that the standard library links. It
    /// unwinds, and this says so: the compiler calls this very declaration in this crate's own cleanup.
    fn _Unwind_Resume(exception: *mut c_void) -> !;
}

unsafe extern "C" {
    /// Decides at landing pads: of the standard library. It is never called from here.
    fn rust_eh_personality();
}

/// Its name.
const RESUME: &str = "_Unwind_Resume";

/// The C library's mathematics. Programs that do not use it have not loaded it.
const MATHS: &CStr = c"libm.so.6";

/// The address of a symbol; `calls` are functions of the process.
pub fn find(name: &str, calls: Calls) -> Option<*const ()> {
    match name {
        CURRENT => return Some(context::current as *const ()),
        SWAP => return Some(context::swap as *const ()),
        BARRIER => return Some(context::barrier as *const ()),
        GROUP_MEMORY => return Some(context::group_memory as *const ()),
        AGREE => return Some(context::agree as *const ()),
        SUB_GROUP => return Some(context::sub_group as *const ()),
        RECORD_TEXT => return Some(message::record_text as *const ()),
        RECORD_FORMAT => return Some(message::record_format as *const ()),
        TIME => return Some(context::time as *const ()),
        PRINT => return Some(calls.print as *const ()),
        RAISE => return calls.raise.map(|raise| raise as *const ()),
        ABORT => return Some(message::abort as *const ()),
        PERSONALITY => return Some(rust_eh_personality as *const ()),
        RESUME => return Some(_Unwind_Resume as *const ()),
        _ => {}
    }
    if let Some(address) = heap::find(name) {
        return Some(address);
    }
    if let Some(address) = support(name) {
        return Some(address);
    }
    let name = CString::new(name).ok()?;
    of_library(libc::RTLD_DEFAULT, &name).or_else(|| of_library(maths()?.0, &name))
}

fn of_library(library: *mut c_void, name: &CStr) -> Option<*const ()> {
    // SAFETY: the name ends with a NUL, and the handle is the whole process, or a library that
    // stays open.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address.cast_const().cast())
}

/// A library that stays open.
struct Library(*mut c_void);

// SAFETY: the system's functions take the handle on any thread.
unsafe impl Send for Library {}
// SAFETY: as above, on several at once.
unsafe impl Sync for Library {}

/// The maths library, which programs that do not use it themselves have not opened.
fn maths() -> Option<&'static Library> {
    static MATHS_LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let open = || {
        // SAFETY: the name ends with a NUL; the C library's own part does nothing when it is
        // opened.
        let library = unsafe { libc::dlopen(MATHS.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!library.is_null()).then_some(Library(library))
    };
    MATHS_LIBRARY.get_or_init(open).as_ref()
}
