//! What is so in rustc 1.98.

use rustc_middle::dep_graph::WorkProductMap as WorkProducts;

use super::common::extra_backend_methods;
use crate::glue::LlvmModule;

#[path = "since_1_97.rs"]
mod since_1_97;

pub(crate) use since_1_97::*;

extra_backend_methods! {
    type Module = LlvmModule;
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
