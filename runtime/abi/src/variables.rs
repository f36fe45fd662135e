//! The environment variables of programs that stage 2 is told of. It reads no environment: requests
//! have the values ([`KernelRequest::settings`](crate::KernelRequest::settings)).

/// What a variable changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The code: it is part of the key of compiled kernels.
    Code,
    /// What is seen of a compilation, so that nothing compiled before is used.
    Seen,
    /// Neither.
    Neither,
}

/// A variable of stage 2.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub effect: Effect,
}

/// Names of optional passes, separated by commas, that do not run.
pub const DISABLE_PASSES: &str = "SCHISM_DISABLE_PASSES";
/// How many work-items the CPU computes at once: `auto`, `off` or a number.
pub const CPU_LANES: &str = "SCHISM_CPU_LANES";
/// A folder: where a kernel's intermediate forms are written.
pub const DUMP_DIR: &str = "SCHISM_DUMP_DIR";
/// `1`: prints how long each pass took.
pub const TIME_PASSES: &str = "SCHISM_TIME_PASSES";
/// Names of passes, separated by commas, or `all`: after these the module is printed.
pub const PRINT_AFTER: &str = "SCHISM_PRINT_AFTER";
/// Names of passes, separated by commas, that panic.
pub const FAIL_PASSES: &str = "SCHISM_FAIL_PASSES";
/// `1`: the module is verified after each pass.
pub const VERIFY_PASSES: &str = "SCHISM_VERIFY_PASSES";
/// A path: the linker of code objects, which links the same code.
pub const LLD: &str = "SCHISM_LLD";

/// All variables of stage 2.
pub const STAGE2: &[Variable] = &[
    Variable { name: DISABLE_PASSES, effect: Effect::Code },
    Variable { name: CPU_LANES, effect: Effect::Code },
    Variable { name: DUMP_DIR, effect: Effect::Seen },
    Variable { name: TIME_PASSES, effect: Effect::Seen },
    Variable { name: PRINT_AFTER, effect: Effect::Seen },
    Variable { name: FAIL_PASSES, effect: Effect::Seen },
    Variable { name: VERIFY_PASSES, effect: Effect::Neither },
    Variable { name: LLD, effect: Effect::Neither },
];

/// A path: NVIDIA's assembler. Stage 2 makes PTX, and does not need it.
pub const PTXAS: &str = "SCHISM_PTXAS";
