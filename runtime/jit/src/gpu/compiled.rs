//! A GPU's kernel, compiled: a request's way through the passes to code for the driver.

use std::ffi::{CStr, CString};
use std::time::Instant;

use schism_jit_abi::GPU_ADDRESSES;
use schism_llvm::fatal::isolated;

use crate::common::settings::Settings;
use crate::common::target::{Lowered, Target, lower};
use crate::{JitError, Request};

/// A kernel for a GPU's driver: PTX, SPIR-V's little-endian words, a code object, or assembly.
#[derive(Debug)]
pub struct GpuCode {
    /// Ends with a NUL, since drivers take PTX so.
    bytes: Vec<u8>,
    entry: CString,
    flags: u32,
    addresses: Vec<u64>,
    /// How long compiling took, in microseconds.
    pub lower_micros: u64,
    /// The passes that failed and were left out, a line each.
    pub failures: String,
}

impl GpuCode {
    /// Code with an entry, and what it needs and takes.
    pub(crate) fn new(mut bytes: Vec<u8>, entry: String, flags: u32) -> Result<Self, JitError> {
        let internal = |_| JitError::Internal("a NUL in a name".to_owned());
        let entry = CString::new(entry).map_err(internal)?;
        bytes.push(0);
        let (addresses, failures) = (Vec::new(), String::new());
        Ok(Self { bytes, entry, flags, addresses, lower_micros: 0, failures })
    }

    /// The same code, and where the closure has the addresses of all memory that it reaches, if these
    /// are known.
    pub(crate) fn with_addresses(self, addresses: Option<Vec<u64>>) -> Self {
        let Some(addresses) = addresses else { return self };
        Self { flags: self.flags | GPU_ADDRESSES, addresses, ..self }
    }

    /// The code. A NUL follows it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.strip_suffix(&[0]).unwrap_or_default()
    }

    /// The entry's name.
    #[must_use]
    pub fn entry(&self) -> &CStr {
        &self.entry
    }

    /// What the kernel needs and takes: a sum of `schism_jit_abi::GPU_` constants.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// With [`GPU_ADDRESSES`] among the flags: where the closure has the addresses by
    /// which the kernel reaches memory, in bytes.
    #[must_use]
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }
}

/// Compiles a kernel for a target, and then what its code still needs.
///
/// # Errors
/// Every variant of [`JitError`] documents when it occurs.
pub(crate) fn compile<T: Target<Code = GpuCode> + Send + 'static>(
    target: T,
    request: Request,
    finish: impl FnOnce(Vec<u8>, &Settings) -> Result<Vec<u8>, JitError>,
) -> Result<GpuCode, JitError> {
    let start = Instant::now();
    let settings = Settings::of(&request.settings)?;
    let (kernel, of_thread) = (request.kernel.clone(), settings.clone());
    let Lowered { mut code, failures } = isolated(move || lower(&target, &request, &of_thread))
        .map_err(|failure| JitError::of_thread(failure, &kernel))
        .flatten()?;
    code.failures = failures;
    code.bytes.pop();
    code.bytes = finish(code.bytes, &settings)?;
    code.bytes.push(0);
    code.lower_micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(code)
}
