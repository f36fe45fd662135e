//! Passes for all GPUs.

pub mod address_spaces;
pub mod demote_private_atomics;
pub mod expand_mem_intrinsics;
pub mod infer_alignment;
pub mod lower_local_memory;
pub mod merge_panic_exits;
pub mod panic_sites;
pub mod select_elements;
pub mod superblocks;
pub mod thread_headers;
pub mod unroll_hints;
pub mod unroll_policy;
