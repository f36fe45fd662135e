//! What the code of a GPU's kernel depends on, besides the request.

use std::fmt;

use schism_jit_abi::{
    ASSUME_DIVISIBLE, ASSUME_GROUP_ON_THREAD, ASSUME_INDEX_32, PARAM_INTEGER, PARAM_POINTER,
};

use crate::{JitError, Request};

/// What a GPU's code depends on, besides the kernel. The fields have the meaning of those in
/// [`schism_jit_abi::GpuRequest`].
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// The processor, such as `sm_90` or `gfx90a`; empty for SPIR-V.
    pub arch: String,
    /// The version of PTX, times ten; 0 is the lowest that `arch` allows, and all that other targets
    /// have.
    pub isa: u32,
    /// The work-items of a block in each dimension, or 0.
    pub group: [u32; 3],
    /// What every launch satisfies: a sum of `ASSUME_` constants.
    pub assumptions: u32,
    /// Whether the launch is divided into sub-grids.
    pub base: bool,
    /// The alignment that local memory needs.
    pub local_align: u64,
    /// Bit `i`: parameter `i` is a pointer or an integer of 64 bits that is always a multiple of
    /// `schism_jit_abi::ALIGNED`.
    pub aligned: u64,
    /// Bit `i`: parameter `i` is an integer of 64 bits that is always below
    /// `schism_jit_abi::NARROW`.
    pub narrow: u64,
    /// The vendor's mathematics, instead of the device library's.
    pub libdevice: Libdevice,
    /// Whether a work-item's place in the grid is a value of the device's own: the intrinsic
    /// `llvm.spv.thread.id`.
    pub global_ids: bool,
}

impl GpuOptions {
    /// The assumptions that there are for the target.
    const fn known_assumptions(&self) -> u32 {
        let of_opencl = if self.global_ids { ASSUME_GROUP_ON_THREAD } else { 0 };
        ASSUME_INDEX_32 | ASSUME_DIVISIBLE | of_opencl
    }

    /// Whether a 64-bit parameter has 32 bits in the entry: the driver copies the low half, which
    /// is the number.
    pub(crate) fn is_narrow(&self, param: u32) -> bool {
        param < u64::BITS && self.narrow >> param & 1 != 0
    }

    /// Whether a parameter is a multiple of `schism_jit_abi::ALIGNED`.
    pub(crate) const fn is_aligned(&self, param: u32) -> bool {
        param < u64::BITS && self.aligned >> param & 1 != 0
    }

    /// Checks the options against the interface's rules.
    pub(crate) fn check(&self, request: &Request) -> Result<(), JitError> {
        /// The maximum number of threads of a block, in total and in each dimension.
        const BLOCK: [u32; 4] = [1024, 1024, 1024, 64];

        let wrong = |reason: String| Err(JitError::InvalidRequest(reason));
        if self.assumptions & !self.known_assumptions() != 0 {
            return wrong("unknown assumptions".to_owned());
        }
        if self.local_align != 0
            && (!self.local_align.is_power_of_two() || self.local_align > 1 << 16)
        {
            return wrong(format!("local memory aligned to {} bytes", self.local_align));
        }
        let [x, y, z] = self.group;
        let known = self.group != [0; 3];
        let product = [x, y, z].into_iter().try_fold(1_u32, u32::checked_mul);
        let fits = x <= BLOCK[1] && y <= BLOCK[2] && z <= BLOCK[3];
        if known && (!fits || !product.is_some_and(|all| (1..=BLOCK[0]).contains(&all))) {
            return wrong(format!("blocks of {x} by {y} by {z} work-items"));
        }
        let outside = self.group.get(request.dimensions as usize..).unwrap_or_default();
        if known && outside.iter().any(|&size| size != 1) {
            return wrong(format!("blocks of more than {} dimensions", request.dimensions));
        }
        let is_pointer = |index: u32| {
            request.params.get(index as usize).is_some_and(|param| param.kind == PARAM_POINTER)
        };
        let is_long = |index: u32| {
            let param = request.params.get(index as usize);
            param.is_some_and(|param| param.kind == PARAM_INTEGER && param.size == 8)
        };
        if let Some(index) =
            (0..64).find(|i| self.is_aligned(*i) && !is_pointer(*i) && !is_long(*i))
        {
            return wrong(format!(
                "the aligned parameter {index} is neither a pointer nor an integer of 64 bits"
            ));
        }
        if let Some(index) = (0..64).find(|i| self.is_narrow(*i) && !is_long(*i)) {
            return wrong(format!("the narrow parameter {index} is no integer of 64 bits"));
        }
        Ok(())
    }
}

/// NVIDIA's mathematics library, as LLVM bitcode; empty, if it is not used.
#[derive(Clone, Default)]
pub struct Libdevice(pub Vec<u8>);

impl fmt::Debug for Libdevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Libdevice({} bytes)", self.0.len())
    }
}
