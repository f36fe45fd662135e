//! Errors of stage 2, and what the user can do about them.

use schism_jit_abi as abi;
use schism_llvm::fatal::Isolated;

/// Why a kernel was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// The request violates the interface's rules.
    #[error("invalid request to stage 2: {0}; this is a bug in the caller")]
    InvalidRequest(String),
    /// A variable of the environment has an invalid value.
    #[error("{0}")]
    InvalidOptions(String),
    /// The image cannot be used.
    #[error(
        "the device image cannot be used: {0}; it is damaged or was built by another version of schism: rebuild the program"
    )]
    InvalidImage(String),
    /// The image has no kernel with that name.
    #[error(
        "the device image has no kernel `{0}`; the program and its container are of different builds: rebuild the program"
    )]
    UnknownKernel(String),
    /// The kernel's parameters differ from those in the container.
    #[error(
        "kernel `{kernel}`: {reason}; the container and its image are of different builds: rebuild the program"
    )]
    SignatureMismatch {
        /// The kernel's name.
        kernel: String,
        /// Which parameter, and how it differs.
        reason: String,
    },
    /// A function that the kernel imports has another type where it is defined.
    #[error(
        "kernel `{kernel}` imports `{symbol}` as {imported}, and it is defined as {defined}: declare it where it is imported as it is \
         defined"
    )]
    ImportMismatch {
        /// The kernel's name.
        kernel: String,
        /// The function.
        symbol: String,
        /// Its type in the kernel's image.
        imported: String,
        /// Its type in the image that defines it.
        defined: String,
    },
    /// Functions that the kernel calls do not exist.
    #[error("kernel `{kernel}` calls {}, which neither the device image nor this process has; \
             a function must be compiled for the device (another crate's by `schism::export_to_device!`) or come from the C or maths \
             library", list(.symbols))]
    UnresolvedSymbols {
        /// The kernel's name.
        kernel: String,
        /// The functions' (linker) names, sorted.
        symbols: Vec<String>,
    },
    /// The kernel uses something that the device lacks.
    #[error("kernel `{kernel}` uses {feature}, which the {device} device does not have")]
    Unsupported {
        /// The kernel's name.
        kernel: String,
        /// What the kernel uses.
        feature: String,
        /// The device's name.
        device: &'static str,
    },
    /// LLVM failed to generate code.
    #[error(
        "LLVM could not compile kernel `{kernel}`: {reason}; \
             with SCHISM_DUMP_DIR set to a directory, the kernel's LLVM IR is written there for a report"
    )]
    BackendFailed {
        /// The kernel's name.
        kernel: String,
        /// LLVM's message.
        reason: String,
    },
    /// The operating system could not provide memory or a thread.
    #[error("no resources to compile a kernel: {0}")]
    OutOfResources(String),
    /// The process is ending, and nothing is compiled any more.
    #[error("kernel `{0}` is not compiled, because the process is ending")]
    Ending(String),
    /// The toolchain's linker cannot be had.
    #[error(
        "a kernel for an AMD GPU needs LLVM's linker: {0}; rust-lang's toolchains have it, \
         distributions have it in a package `lld-{major}`, and SCHISM_LLD may name it",
        major = env!("SCHISM_LLVM_MAJOR")
    )]
    NoLinker(String),
    /// The toolchain's linker does not start, or refuses what was compiled.
    #[error("a kernel for an AMD GPU cannot be linked: {0}; SCHISM_LLD may name another linker")]
    Linker(String),
    /// A bug of stage 2.
    #[error("stage 2 failed in a way that it should not: {0}; please report this")]
    Internal(String),
}

impl JitError {
    /// The error for a kernel whose compile thread failed.
    pub(crate) fn of_thread(failure: Isolated, kernel: &str) -> Self {
        match failure {
            Isolated::Fatal(reason) => Self::BackendFailed { kernel: kernel.to_owned(), reason },
            Isolated::Panicked(reason) => Self::Internal(reason),
            Isolated::NoThread(error) => {
                Self::OutOfResources(format!("no thread to compile on: {error}"))
            }
            Isolated::Ending => Self::Ending(kernel.to_owned()),
        }
    }

    /// The code for this error in the C interface.
    #[must_use]
    pub const fn code(&self) -> u32 {
        match self {
            Self::InvalidRequest(_) | Self::InvalidOptions(_) => abi::INVALID_REQUEST,
            Self::InvalidImage(_) => abi::INVALID_IMAGE,
            Self::UnknownKernel(_) => abi::UNKNOWN_KERNEL,
            Self::SignatureMismatch { .. } => abi::SIGNATURE_MISMATCH,
            Self::ImportMismatch { .. } => abi::IMPORT_MISMATCH,
            Self::UnresolvedSymbols { .. } => abi::UNRESOLVED_SYMBOLS,
            Self::Unsupported { .. } => abi::UNSUPPORTED,
            Self::BackendFailed { .. } => abi::BACKEND_FAILED,
            Self::OutOfResources(_) | Self::NoLinker(_) | Self::Linker(_) | Self::Ending(_) => {
                abi::OUT_OF_RESOURCES
            }
            Self::Internal(_) => abi::INTERNAL,
        }
    }
}

/// The names in backquotes, at most eight of them.
fn list(symbols: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = symbols
        .iter()
        .take(SHOWN)
        .map(|symbol| format!("`{symbol}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if symbols.len() > SHOWN {
        text.push_str(&format!(" and {} more", symbols.len() - SHOWN));
    }
    text
}
