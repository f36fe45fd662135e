//! What is so in rustc 1.97.

use rustc_data_structures::fx::FxIndexMap;
pub(crate) use rustc_incremental::copy_cgu_workproduct_to_incr_comp_cache_dir as save_work_product;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};

use super::common::{compiled_module, extra_backend_methods, supports_parallel};

#[path = "since_1_97.rs"]
mod since_1_97;

pub(crate) use since_1_97::*;

/// What code generation keeps for the next build.
type WorkProducts = FxIndexMap<WorkProductId, WorkProduct>;

extra_backend_methods! {
    supports_parallel!();
}

compiled_module!();

/// Methods of `CodegenBackend` that are new in this release.
macro_rules! more_of_codegen_backend {
    () => {};
}

/// Methods of `WriteBackendMethods` that are new in this release.
macro_rules! more_of_write_backend {
    () => {};
}

use {more_of_codegen_backend, more_of_write_backend};
