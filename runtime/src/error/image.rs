//! Why the device code of a kernel cannot be used.

use std::fmt;

use schism_hcf::HcfError;

use super::driver::DriverError;

/// The device code of a kernel cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The container in the program is damaged or missing.
    #[error(
        "its device code is damaged or was stripped: {0}; build the program again, and keep its section `hcf`"
    )]
    Container(HcfError),
    /// The code generator and this crate have different versions.
    #[error(
        "it was built by a code generator with interface version {found}, and this runtime needs {expected}; build everything \
         with one version of schism"
    )]
    Version {
        /// The version of the code generator.
        found: u32,
        /// The version of the runtime.
        expected: u32,
    },
    /// The container does not describe the kernel of this program.
    #[error("its container does not fit the program ({reason}); build the program again")]
    Mismatch {
        /// The difference.
        reason: String,
    },
    /// The container has no kernel of this name.
    #[error("its container has no such kernel; build the program again")]
    NoKernel,
    /// The container has no image for this device.
    #[error(
        "its container has no image for this device, only {available}; build the program with `cargo schism build`"
    )]
    NoImage {
        /// The images' names, separated by commas.
        available: String,
    },
    /// The kernel is for the program's own process: it uses what only that has.
    #[error(
        "it uses what only the program's own process has, such as its statics, locks or allocator"
    )]
    OnlyInProcess,
    /// The program does not know its own symbols.
    #[error(
        "the program has not the symbols that it needs, as where the linker optimises (`-C linker-plugin-lto`); build it without that"
    )]
    HostSymbols,
    /// The kernel needs a capability that the device lacks.
    #[error(
        "it needs {what}, which this device does not have; use other types in it, or launch it on the device `cpu`"
    )]
    Lacks {
        /// What the device lacks.
        what: &'static str,
    },
    /// The launch gives a value to a specialization constant, and two constants have its identity.
    #[error(
        "the specialization constants `{first}` and `{second}` are declared at the same place, so their values cannot be told \
         apart; give them names with `SpecConst::named`"
    )]
    AmbiguousConstant {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// The kernel imports a function that no device code of the program defines.
    #[error(
        "it imports the function `{symbol}`, and no device code of this program exports that; list it with `schism::export_to_device!` in \
         the crate that defines it, build that crate with `cargo schism build`, and see that it is linked or loaded"
    )]
    MissingImport {
        /// The function's symbol.
        symbol: String,
    },
    /// The kernel imports a function that several crates of the program define.
    #[error(
        "it imports the function `{symbol}`, and device code of several crates of this program exports that: {crates}; give the functions \
         different names, or export one of them"
    )]
    AmbiguousImport {
        /// The function's symbol.
        symbol: String,
        /// The crates, separated by commas.
        crates: String,
    },
    /// Stage 2 cannot be loaded.
    #[error(
        "its compiler cannot be loaded: {reason}; run `cargo schism setup` or point SCHISM_JIT at libschism_jit.so"
    )]
    Stage2 {
        /// What was tried, with its results.
        reason: String,
    },
    /// The kernel has AOT code, but none that serves this launch on this device, and stage 2 cannot
    /// be loaded.
    #[error(
        "it was compiled ahead of time for {available}, which does not serve {wanted}, and its compiler cannot be loaded: {reason}; add \
         a target to `cargo schism build --targets`, or ship the compiler with the program (`cargo schism bundle --jit`)"
    )]
    NoAotCode {
        /// The targets that have code, separated by commas.
        available: String,
        /// The requested target.
        wanted: String,
        /// What was tried to load stage 2, with its results.
        reason: String,
    },
    /// The device's driver refused the code.
    #[error("the driver refuses its code: {source}{}", Log(.log))]
    Driver {
        /// The driver's error.
        source: Box<DriverError>,
        /// The output of the driver's compiler, if any.
        log: String,
    },
    /// Stage 2 rejected the kernel.
    #[error("it cannot be compiled (code {code}): {reason}")]
    Compile {
        /// Stage 2's error code.
        code: u32,
        /// Stage 2's message.
        reason: String,
    },
}

impl ImageError {
    /// Whether a later attempt with the same kernel on the same device may succeed. See
    /// [`crate::util::retry`].
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Container(_)
            | Self::Version { .. }
            | Self::Mismatch { .. }
            | Self::NoKernel
            | Self::NoImage { .. }
            | Self::OnlyInProcess
            | Self::HostSymbols
            | Self::Lacks { .. }
            | Self::AmbiguousConstant { .. } => false,
            // A library that is loaded or unloaded later changes the exports.
            Self::MissingImport { .. } | Self::AmbiguousImport { .. } => true,
            // Permanent failures of stage 2 are remembered where it is opened.
            Self::Stage2 { .. } | Self::NoAotCode { .. } => true,
            Self::Driver { source, .. } => !source.is_about_code(),
            Self::Compile { code, .. } => *code == schism_jit_abi::OUT_OF_RESOURCES,
        }
    }
}

impl From<HcfError> for ImageError {
    fn from(error: HcfError) -> Self {
        Self::Container(error)
    }
}

/// The output of a compiler, on separate lines.
struct Log<'a>(&'a str);

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "\n{}", self.0) }
    }
}
