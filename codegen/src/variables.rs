//! The environment variables that the compiler reads: the only place with their names. `cargo schism`
//! sets some of them, and its `usage.txt` describes those that are for users.

/// `off`, `per-kernel`, `per-source`, `auto`: how kernels are divided into images.
pub const DEVICE_CODE_SPLIT: &str = "SCHISM_DEVICE_CODE_SPLIT";
/// A folder: where the input of stage 1 is written, for a fault in it.
pub const DUMP_STAGE1: &str = "SCHISM_DUMP_STAGE1";
/// A path: stage 2, for code that is made ahead of time.
pub const JIT: &str = "SCHISM_JIT";
/// `1`: source lines in code, for profilers of GPUs. They come from the debug information with which
/// the crate is compiled.
pub const LINES: &str = "SCHISM_LINES";
/// `on`, `off`, `explain`: whether parallel iterators become kernels, and whether each has a note.
pub const STDPAR_BUILD: &str = "SCHISM_STDPAR_BUILD";
/// A folder: the source that takes the place of rayon's functions, and the runtime's libraries.
pub const STDPAR_LIBRARY: &str = "SCHISM_STDPAR_LIBRARY";
/// A list: the targets of code that is made ahead of time.
pub const TARGETS: &str = "SCHISM_TARGETS";
/// `1`: how long each pass of stage 1 took, on standard error. Stage 2 has it, too.
pub const TIME_PASSES: &str = "SCHISM_TIME_PASSES";
/// `on`, `perf`, `off`: what to warn of in kernels.
pub const WARN: &str = "SCHISM_WARN";
