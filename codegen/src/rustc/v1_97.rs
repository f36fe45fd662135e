//! What is so in rustc 1.97.

use std::sync::Arc;

use rustc_data_structures::fx::FxIndexMap;
use rustc_data_structures::steal::Steal;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::ty::{ResolverAstLowering, ResolverGlobalCtxt, TyCtxt};

use super::common::{extra_backend_methods, supports_parallel};

#[path = "since_1_97.rs"]
mod since_1_97;

#[path = "until_1_97.rs"]
mod until_1_97;

pub(crate) use since_1_97::*;
pub(crate) use until_1_97::*;

/// What code generation keeps for the next build.
type WorkProducts = FxIndexMap<WorkProductId, WorkProduct>;

extra_backend_methods! {
    supports_parallel!();
}

/// The provider of `resolver_for_lowering_raw`.
pub(crate) type ResolverProvider = for<'tcx> fn(
    TyCtxt<'tcx>,
    (),
) -> (
    &'tcx Steal<(ResolverAstLowering<'tcx>, Arc<rustc_ast::Crate>)>,
    &'tcx ResolverGlobalCtxt,
);

/// Methods of `CodegenBackend` that are new in this release.
macro_rules! more_of_codegen_backend {
    () => {};
}

/// Methods of `WriteBackendMethods` that are new in this release.
macro_rules! more_of_write_backend {
    () => {};
}

use {more_of_codegen_backend, more_of_write_backend};
