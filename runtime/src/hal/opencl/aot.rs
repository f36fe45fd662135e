//! Which AOT code runs on a device of OpenCL.

use schism_hcf::Target;

use crate::code::aot::AotTarget;

/// SPIR-V is the same for all devices; what a module needs and a device lacks is an error when it is
/// loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpirvTarget;

impl AotTarget for SpirvTarget {
    fn runs(&self, target: Target) -> bool {
        target == Target::Spirv
    }

    fn name(&self) -> String {
        "spirv".to_owned()
    }
}
