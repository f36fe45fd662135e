//! The interface between generated code for the CPU and the process that loads it.
//!
//! An object of [`crate::CpuObject`] exports [`ENTRY`], a [`crate::CpuEntry`]. Its undefined
//! symbols are the functions below, or functions of the compiler's support library or of the C or
//! maths library. Objects are cached on disk, so [`crate::ABI_VERSION`] covers all this like any
//! layout.

use crate::{CpuGroup, PanicRecord};

/// The entry function's symbol.
pub const ENTRY: &str = "schism.entry";

/// The prefix of the symbols of open specialization constants ([`crate::FLAG_OPEN_CONSTANTS`]). The
/// index in the request follows, as a decimal number.
pub const OPEN_CONSTANT: &str = "schism_constant_";

/// The symbol of a variable of AMD's code that reads the time: how long a tick of the clock is, as
/// a `u64`: nanoseconds times 2³². It is set before the first launch, unless the clock has 100 MHz.
pub const TICK: &str = "schism_tick";

/// `extern "C" fn() -> *mut ItemContext`: the thread's context.
pub const CURRENT: &str = "__schism_cpu_context";

/// `extern "C" fn(*mut ItemContext) -> *mut ItemContext`: sets the thread's context and returns the
/// previous one.
pub const SWAP: &str = "__schism_cpu_swap_context";

/// `extern "C" fn(*const CpuGroup)`: waits for the other work-items of the group.
pub const BARRIER: &str = "__schism_cpu_barrier";

/// `extern "C" fn(*const CpuGroup, u32, u32, u32) -> u32`: runs a sub-group operation: the
/// operation, the caller's value, and the operation's argument, see [`CpuGroup::sub_group`].
pub const SUB_GROUP: &str = "__schism_cpu_sub_group";

/// `extern "C" fn(*const CpuGroup, u64) -> *mut u8`: memory for what work-items keep across barriers,
/// see [`CpuGroup::memory`].
pub const GROUP_MEMORY: &str = "__schism_cpu_group_memory";

/// `extern "C" fn(*const CpuGroup, *const u32, u64) -> u32`: compares where the work-items of the
/// group go on, see [`CpuGroup::agree`].
pub const AGREE: &str = "__schism_cpu_agree";

/// `extern "C" fn(*mut PanicRecord, *const u8, usize, *const Location, usize, usize, usize)`: fills
/// the record of a panic with a text message: the text and its length, the location (or null), the
/// work-item's global id.
pub const RECORD_TEXT: &str = "__schism_cpu_record_text";

/// `extern "C" fn(*mut PanicRecord, *const u8, usize, *const Location, usize, usize, usize)`: the
/// same for a message given by the two words of a `core::fmt::Arguments`.
pub const RECORD_FORMAT: &str = "__schism_cpu_record_format";

/// `fn() -> !`: unwinds, after a panic's record was filled. For kernels with [`crate::CPU_UNWINDS`].
pub const RAISE: &str = "__schism_cpu_raise";

/// `extern "C" fn(*const u8, usize) -> !`: ends the process with a text and its length, where a
/// panic may not unwind.
pub const ABORT: &str = "__schism_cpu_abort";

/// The function that decides at the landing pads of Rust's code: the standard library's.
pub const PERSONALITY: &str = "rust_eh_personality";

/// `extern "C" fn(*const u8, usize)`: prints a message of two such words.
pub const PRINT: &str = "__schism_cpu_print";

/// `extern "C" fn() -> u64`: nanoseconds since an unspecified origin, the same for all threads.
pub const TIME: &str = "__schism_cpu_time";

/// The program's allocator: `extern "C" fn(usize, usize) -> *mut u8` for a size and an alignment,
/// the same with zeroes, `extern "C" fn(*mut u8, usize, usize)`, which frees, and `extern "C"
/// fn(*mut u8, usize, usize, usize) -> *mut u8` for another size.
pub const HEAP: [&str; 4] = [
    "__schism_cpu_alloc",
    "__schism_cpu_alloc_zeroed",
    "__schism_cpu_dealloc",
    "__schism_cpu_realloc",
];

/// The thread's running work-item. The entry function creates it on its stack; generated code
/// contains the offsets.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct ItemContext {
    /// What `llvm.eh.sjlj.setjmp` saves.
    pub jump: [usize; 5],
    /// The work-item's id: x, y, z.
    pub id: [u64; 3],
    /// The launch's range: x, y, z.
    pub range: [u64; 3],
    /// The record for a panic.
    pub panic: *mut PanicRecord,
    /// The context that this one replaces until the box has run.
    pub previous: *mut ItemContext,
    /// The work-item's group, for kernels that need one.
    pub group: *const CpuGroup,
}

/// A `core::panic::Location`, as the compiler lays it out.
#[repr(C)]
#[derive(Debug)]
pub struct Location {
    /// The file's name, UTF-8.
    pub file: *const u8,
    /// Its length.
    pub file_len: usize,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}
