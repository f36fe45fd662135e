//! What generated code may call that is not in its image.
//!
//! First this library's own, then the compiler's support functions in the form that Rust ships (the same code that the
//! host half uses, so the same results), then whatever the C and maths libraries of this process have.

use std::ffi::CString;

use super::deep::{CPU_BARRIER, CURRENT, SWAP, barrier, current, swap};
use super::message::{self, PRINT, RECORD_FORMAT, RECORD_TEXT};

/// Declares support functions by name and makes the table of their addresses. They are never called from here, so their
/// types do not matter.
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
    // Rust brings these for every target. Of `cbrt` there is more than one answer: the C library's differs in the last bit.
    cbrt cbrtf ceil ceilf floor floorf fma fmaf fmod fmodf rint rintf round roundf trunc truncf
}

/// The address of a symbol.
pub fn find(name: &str) -> Option<*const ()> {
    match name {
        CURRENT => return Some(current as *const ()),
        SWAP => return Some(swap as *const ()),
        CPU_BARRIER => return Some(barrier as *const ()),
        RECORD_TEXT => return Some(message::record_text as *const ()),
        RECORD_FORMAT => return Some(message::record_format as *const ()),
        PRINT => return Some(message::print as *const ()),
        _ => {}
    }
    if let Some(address) = support(name) {
        return Some(address);
    }
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a NUL. The search begins with the whole process and includes what this library needs,
    // which is how the maths library is found in programs that do not use it themselves.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address.cast_const().cast())
}
