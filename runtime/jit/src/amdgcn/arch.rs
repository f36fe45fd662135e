//! AMD's processors, as LLVM knows them.

use std::ffi::{CStr, CString};

use schism_jit_abi::AMD_PROCESSORS as PROCESSORS;
use schism_llvm::{Machine, initialize_targets};

use crate::JitError;

/// The triple of LLVM's backend for the driver of AMD's GPUs.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its name, such as `gfx90a`.
    pub name: &'static str,
    /// The work-items of a wave: 32 or 64.
    pub wave: u32,
}

impl Processor {
    /// The processor with that name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self, JitError> {
        let known = PROCESSORS.iter().find(|(known, _)| *known == name);
        let &(name, wave) = known.ok_or_else(|| {
            let names: Vec<&str> = PROCESSORS.iter().map(|(name, _)| *name).collect();
            JitError::InvalidRequest(format!(
                "there is no processor `{name}`; known are {}",
                names.join(", ")
            ))
        })?;
        Ok(Self { name, wave })
    }

    /// The target machine.
    pub fn machine(self) -> Result<Machine, JitError> {
        // A processor that has both widths gets the one that is a sub-group.
        let features: &CStr = if self.wave == 32 { c"+wavefrontsize32" } else { c"" };
        initialize_targets();
        let text = |text: &str| {
            CString::new(text).map_err(|_| JitError::Internal("a NUL in a name".to_owned()))
        };
        Machine::new(&text(TRIPLE)?, &text(self.name)?, features).map_err(JitError::Internal)
    }

    /// Whether it counts clock cycles in 64 bits. Newer ones count 20 bits of them.
    pub fn counts_cycles(self) -> bool {
        !self.name.starts_with("gfx11")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llvm_knows_every_processor() {
        for (name, wave) in PROCESSORS {
            let processor = Processor::find(name).expect("it is known");
            assert_eq!(processor.wave, wave);
            assert!(processor.machine().is_ok(), "{name}");
        }
        let error = Processor::find("gfx99").unwrap_err().to_string();
        assert!(error.contains("`gfx99`") && error.contains("gfx906, gfx90a"), "{error}");
    }
}
