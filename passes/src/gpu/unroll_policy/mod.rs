//! Decides, by the target, which loops are unrolled completely and which not at all. Runs in stage 2
//! before index checks are moved out of loops.
//!
//! - Where LLVM generates code, loops over private arrays are unrolled (`private_arrays.rs`), on
//!   GPUs up to larger sizes than on processors.
//! - In SPIR-V, nests of loops with barriers are kept (`barrier_nests.rs`).
//!
//! Before:
//! ```llvm
//!   %words = alloca [2 x i64]
//! loop:
//!   %k = phi i64 [ 0, %begin ], [ %next, %loop ]
//!   %word = getelementptr i64, ptr %words, i64 %k
//!   …
//!   br i1 %more, label %loop, label %done
//! ```
//! After, the words are in registers:
//! ```llvm
//!   …                                    ; of the word 0
//!   …                                    ; of the word 1
//! ```
//! How often loops with a trip count of their own are unrolled is decided later, when their checks
//! are gone ([`unroll_hints`](super::unroll_hints)).

mod barrier_nests;
mod private_arrays;

use schism_llvm::Value;

use crate::spec::target::{AddressSpaces, SPIRV_TRIPLE};
use private_arrays::{GPU, PROCESSOR};

/// Runs the pass over a function with a body, for a target.
///
/// # Errors
/// LLVM's message.
pub fn run(function: Value<'_>, target: &str) -> Result<(), String> {
    if target == SPIRV_TRIPLE {
        barrier_nests::keep(function);
        return Ok(());
    }
    let is_gpu = AddressSpaces::of_triple(target).is_some();
    private_arrays::unroll(function, if is_gpu { GPU } else { PROCESSOR })
}
