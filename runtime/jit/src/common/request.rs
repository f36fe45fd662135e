//! A compile request.

use std::ffi::OsString;

use schism_jit_abi::{PARAM_BYTES, PARAM_FLOAT, PARAM_INTEGER, PARAM_POINTER, Param};

use schism_passes::spec::options::FastMath;

use crate::JitError;

/// A kernel of an image, and how its closure lies in memory. The fields have the meaning of those
/// in [`schism_jit_abi::KernelRequest`].
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The image: LLVM bitcode.
    pub image: Vec<u8>,
    /// The kernel's name in the image.
    pub kernel: String,
    /// The kernel's parameters, in order.
    pub params: Vec<Param>,
    /// The closure's size in bytes.
    pub closure_size: u64,
    /// The closure's alignment in bytes.
    pub closure_align: u64,
    /// How many dimensions the launch range has, 1..=3.
    pub dimensions: u32,
    /// Whether the kernel takes the launch's offset, in three parameters after its own.
    pub offset: bool,
    /// How precise floating-point results are.
    pub math: FastMath,
    /// Whether mathematics comes from the device library even if the device has its own.
    pub portable_math: bool,
    /// Symbols of specialization constants, and their values where those are not the image's own.
    pub constants: Vec<(String, Vec<u8>)>,
    /// Whether the values of these constants are open.
    pub open_constants: bool,
    /// On the CPU, whether the image is for the process that runs the code: kernels unwind, and what
    /// the image declares is the host's.
    pub in_process: bool,
    /// The processor to compile for, on the CPU; empty for the one of this process.
    pub cpu: String,
    /// Parameters whose values are known.
    pub values: Vec<Known>,
    /// Images that define what the kernel's image only declares.
    pub links: Vec<Vec<u8>>,
    /// Work-items of a group in each dimension, on the CPU, if that is known; otherwise zeros.
    pub group: [u32; 3],
    /// What the environment asks: variables of `schism_jit_abi::variables`, and their values.
    pub settings: Vec<(String, OsString)>,
}

/// A parameter that has the same value in every launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// The parameter's index.
    pub param: u32,
    /// The value's bytes.
    pub bytes: Vec<u8>,
}

impl Request {
    /// Checks the request against the interface's rules, before the image is examined.
    pub(crate) fn check(&self) -> Result<(), JitError> {
        let wrong = |reason: String| Err(JitError::InvalidRequest(reason));
        if !(1..=3).contains(&self.dimensions) {
            return wrong(format!("{} dimensions, but a range has 1, 2 or 3", self.dimensions));
        }
        let [x, y, z] = self.group;
        let used =
            self.group.iter().zip(0..).all(|(&items, axis)| axis < self.dimensions || items <= 1);
        if self.group != [0; 3] && (self.group.contains(&0) || !used) {
            return wrong(format!("groups of {x} by {y} by {z} work-items"));
        }
        if !self.closure_align.is_power_of_two() || self.closure_align > MAX_ALIGN {
            return wrong(format!("a closure alignment of {} bytes", self.closure_align));
        }
        for (index, param) in self.params.iter().enumerate() {
            let Param { offset, size, align, kind } = *param;
            let sizes: &[u64] = match kind {
                PARAM_INTEGER => &[1, 2, 4, 8, 16],
                PARAM_FLOAT => &[2, 4, 8],
                PARAM_POINTER => &[8],
                PARAM_BYTES => &[],
                _ => return wrong(format!("parameter {index} is of the unknown kind {kind}")),
            };
            if size == 0 || (kind != PARAM_BYTES && !sizes.contains(&size)) {
                return wrong(format!("parameter {index} has a size of {size} bytes"));
            }
            if !align.is_power_of_two() || align > self.closure_align || offset % align != 0 {
                return wrong(format!(
                    "parameter {index} at offset {offset} has an alignment of {align} bytes in a closure of {}",
                    self.closure_align
                ));
            }
            if offset.checked_add(size).is_none_or(|end| end > self.closure_size) {
                return wrong(format!(
                    "parameter {index} ({size} bytes at {offset}) is outside the closure of {} bytes",
                    self.closure_size
                ));
            }
        }
        for Known { param, bytes } in &self.values {
            let fits = self.params.get(*param as usize).is_some_and(|known| {
                known.kind != PARAM_POINTER && known.size == bytes.len() as u64
            });
            if !fits {
                return wrong(format!("the known value of parameter {param} is of another type"));
            }
        }
        Ok(())
    }
}

/// LLVM's limit.
const MAX_ALIGN: u64 = 1 << 32;
