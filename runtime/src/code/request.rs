//! What stage 2 is asked for and what it answers, as far as that is the same for all devices.

use schism_hcf::KernelRef;
use schism_jit_abi::{
    Bytes, Constant, FLAG_FINITE_MATH, FLAG_IN_PROCESS, FLAG_OFFSET, FLAG_PORTABLE_MATH,
    FLAG_RELAXED_MATH, KnownValue, Param, Text,
};

use crate::code::compiler::Stage2;
use crate::code::imports::Linked;
use crate::code::variant::Variant;
use crate::launch::options::Math;

/// The parts of a compile request that are the same for all devices.
pub(crate) struct Lists<'a> {
    /// The kernel's function in the image: its offset variant for a launch with an offset, if it
    /// has one. A kernel without such a variant does not read the offset.
    pub(crate) symbol: &'a str,
    pub(crate) params: Vec<Param>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) values: Vec<KnownValue>,
    /// Images of other crates that define what the kernel imports.
    pub(crate) links: Vec<Bytes>,
    /// A sum of `schism_jit_abi::FLAG_` constants.
    pub(crate) flags: u32,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(kernel: &'a KernelRef<'_>, variant: &'a Variant, linked: &'a Linked) -> Self {
        let params = kernel.parameters.iter().map(Param::from);
        let constants = variant.constants.iter().map(|(symbol, value)| Constant {
            symbol: Bytes::new(symbol.as_bytes()),
            value: Bytes::new(value),
        });
        let values = variant
            .values
            .iter()
            .map(|known| KnownValue { param: known.param, bytes: Bytes::new(&known.bytes) });
        let with_offset = kernel.offset_variant.as_ref().filter(|_| variant.offset);
        Self {
            symbol: with_offset.unwrap_or(&kernel.name),
            params: params.collect(),
            constants: constants.collect(),
            values: values.collect(),
            links: linked.images().map(Bytes::new).collect(),
            flags: flags(kernel, variant),
        }
    }
}

/// The flags of a compile request: a sum of `schism_jit_abi::FLAG_` constants.
pub(crate) fn flags(kernel: &KernelRef<'_>, variant: &Variant) -> u32 {
    let math = match variant.math {
        Math::Precise => 0,
        Math::Relaxed => FLAG_RELAXED_MATH,
        Math::RelaxedFinite => FLAG_RELAXED_MATH | FLAG_FINITE_MATH,
    };
    let with_offset = variant.offset && kernel.offset_variant.is_some();
    math | if with_offset { FLAG_OFFSET } else { 0 }
        | if variant.portable { FLAG_PORTABLE_MATH } else { 0 }
        | if variant.in_process { FLAG_IN_PROCESS } else { 0 }
}

/// Copies a text and frees it.
///
/// # Safety
/// The text is stage 2's and is not used again.
pub(crate) unsafe fn take_text(stage2: &Stage2, text: Text) -> String {
    // SAFETY: as promised by the caller.
    unsafe {
        let copy = String::from_utf8_lossy(text.as_slice()).into_owned();
        (stage2.api.free_text)(text);
        copy
    }
}

/// Shows which passes of stage 2 failed on a kernel, a line each: its code is right, and may run slower.
pub(crate) fn trace_failures(kernel: &KernelRef<'_>, device: &str, failures: &str) {
    for failure in failures.lines() {
        tracing::warn!(
            kernel = %kernel.display_name, device, "compiled {failure}; the code may run slower; please report this"
        );
    }
}
