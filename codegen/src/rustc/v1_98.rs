//! What is so in rustc 1.98.

use std::path::{Path, PathBuf};

use rustc_middle::dep_graph::{WorkProduct, WorkProductId, WorkProductMap as WorkProducts};
use rustc_session::Session;

use super::common::{compiled_module, extra_backend_methods};
use crate::glue::LlvmModule;

#[path = "since_1_97.rs"]
mod since_1_97;

pub(crate) use since_1_97::*;

extra_backend_methods! {
    type Module = LlvmModule;
}

compiled_module!(global_asm_object);

/// Stores files for the next session, if there is one.
pub(crate) fn save_work_product(
    sess: &Session,
    unit: &str,
    files: &[(&'static str, &Path)],
    links: &[PathBuf],
) -> Option<(WorkProductId, WorkProduct)> {
    sess.opts.incremental.is_some().then(|| {
        rustc_incremental::copy_cgu_workproduct_to_incr_comp_cache_dir(sess, unit, files, links)
    })
}

/// Methods of `CodegenBackend` that are new in this release.
macro_rules! more_of_codegen_backend {
    () => {
        fn fallback_intrinsics(&self) -> Vec<::rustc_span::Symbol> {
            self.0.fallback_intrinsics()
        }
    };
}

/// Methods of `WriteBackendMethods` that are new in this release.
macro_rules! more_of_write_backend {
    () => {
        $crate::rustc::common::supports_parallel!();
    };
}

use {more_of_codegen_backend, more_of_write_backend};
