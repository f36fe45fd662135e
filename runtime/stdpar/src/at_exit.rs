//! What is done when the program ends.

// SAFETY: this is the C library's function, which takes a function without parameters.
unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

/// Has a function called at the program's end, which must not unwind; `false` if there are too many.
pub(crate) fn run(function: extern "C" fn()) -> bool {
    // SAFETY: `atexit` may be called at any time, and the function lives as long as the program.
    unsafe { atexit(function) == 0 }
}
