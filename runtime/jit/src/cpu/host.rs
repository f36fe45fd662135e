//! The processor that this process runs on, and others of its kind.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use crate::JitError;
use schism_llvm::{Machine, host_cpu, initialize_x86};

const TRIPLE: &CStr = c"x86_64-unknown-linux-gnu";

/// The valid names: LLVM treats any other as the most basic processor.
const NAMES: [&str; 4] = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"];

struct Host {
    name: CString,
    features: CString,
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        initialize_x86();
        let (name, features) = host_cpu();
        let text = |text: String| CString::new(text).unwrap_or_default();
        Host { name: text(name), features: text(features) }
    })
}

/// LLVM's name for the processor, such as `znver3`.
#[must_use]
pub fn cpu_name() -> &'static str {
    host().name.to_str().unwrap_or("unknown")
}

/// How many bits a vector register has, of the processors that [`machine`] knows.
pub fn register_bits(name: &str) -> u32 {
    let has = |feature: &str| {
        let features = host().features.to_str().unwrap_or_default();
        features.split(',').any(|one| one.strip_prefix('+') == Some(feature))
    };
    match name {
        "" if has("avx512vl") && has("avx512bw") && has("avx512dq") => 512,
        "" if has("avx2") => 256,
        "x86-64-v4" => 512,
        "x86-64-v3" => 256,
        _ => 128,
    }
}

/// A processor by LLVM's name with the name's features or, without a name, this one with every
/// feature that it has, like `-C target-cpu=native`; vectors have the width that LLVM prefers for
/// it.
pub fn machine(name: &str) -> Result<Machine, JitError> {
    let host = host();
    if !name.is_empty() {
        if !NAMES.contains(&name) {
            let known = NAMES.join(", ");
            return Err(JitError::InvalidRequest(format!(
                "there is no processor `{name}`; known are {known}"
            )));
        }
        let name =
            CString::new(name).map_err(|_| JitError::Internal("a NUL in a name".to_owned()))?;
        return Machine::new(TRIPLE, &name, c"").map_err(JitError::Internal);
    }
    Machine::new(TRIPLE, &host.name, &host.features).map_err(JitError::Internal)
}
