//! What is so in rustc 1.98.

use std::path::{Path, PathBuf};

use rustc_abi::{Align, HasDataLayout, Scalar};
use rustc_data_structures::steal::Steal;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId, WorkProductMap as WorkProducts};
use rustc_middle::mir::{SourceInfo, Terminator, TerminatorKind};
use rustc_middle::ty::{
    EarlyBinder, Instance, InstanceKind, ResolverAstLowering, ResolverGlobalCtxt, ShimKind, TyCtxt,
    TypeFoldable,
};
use rustc_session::Session;

use super::common::{compiled_module, extra_backend_methods, shims};
use super::plugin::LlvmModule;

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

/// The kind of shim.
fn shim(instance: Instance<'_>) -> Option<ShimKind<'_>> {
    match instance.def {
        InstanceKind::Shim(kind) => Some(kind),
        _ => None,
    }
}

shims!(ShimKind { Reify, FnPtr });

/// The alignment of a scalar that is a value.
pub(crate) fn alignment(scalar: Scalar, cx: &impl HasDataLayout) -> Align {
    scalar.default_align(cx).abi
}

/// A value that has the parameters of its definition in it.
pub(crate) fn generic<'tcx, T: TypeFoldable<TyCtxt<'tcx>>>(
    tcx: TyCtxt<'tcx>,
    value: T,
) -> EarlyBinder<'tcx, T> {
    EarlyBinder::bind(tcx, value)
}

/// What ends a block.
pub(crate) fn terminator(source_info: SourceInfo, kind: TerminatorKind<'_>) -> Terminator<'_> {
    Terminator { source_info, kind, attributes: Default::default() }
}

/// The provider of `resolver_for_lowering_raw`.
pub(crate) type ResolverProvider = for<'tcx> fn(
    TyCtxt<'tcx>,
    (),
) -> (
    &'tcx Steal<ResolverAstLowering<'tcx>>,
    &'tcx Steal<rustc_ast::Crate>,
    &'tcx ResolverGlobalCtxt,
);

/// Methods of `CodegenBackend` that are new in this release.
macro_rules! more_of_codegen_backend {
    () => {
        fn fallback_intrinsics(&self) -> Vec<::rustc_span::Symbol> {
            self.llvm.fallback_intrinsics()
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
