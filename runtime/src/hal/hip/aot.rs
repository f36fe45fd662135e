//! Which AOT code runs on an AMD GPU.

use schism_hcf::Target;

use crate::code::aot::AotTarget;

/// The property of a GPU that AOT code depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct AmdgcnTarget {
    /// The processor.
    pub(super) processor: &'static str,
}

impl AotTarget for AmdgcnTarget {
    fn runs(&self, target: Target) -> bool {
        matches!(target, Target::Amdgcn(processor) if processor.as_str() == self.processor)
    }

    fn name(&self) -> String {
        format!("amdgcn:{}", self.processor)
    }
}
