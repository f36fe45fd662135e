//! What was so until rustc 1.97.

use rustc_abi::{Align, HasDataLayout, Scalar};
pub(crate) use rustc_incremental::copy_cgu_workproduct_to_incr_comp_cache_dir as save_work_product;
use rustc_middle::mir::{SourceInfo, Terminator, TerminatorKind};
use rustc_middle::ty::{EarlyBinder, Instance, InstanceKind, TyCtxt};

use crate::rustc::common::{compiled_module, shims};

compiled_module!();

/// The kind of shim: one of the kinds of functions.
fn shim(instance: Instance<'_>) -> Option<InstanceKind<'_>> {
    Some(instance.def)
}

shims!(InstanceKind { ReifyShim, FnPtrShim });

/// The alignment of a scalar that is a value.
pub(crate) fn alignment(scalar: Scalar, cx: &impl HasDataLayout) -> Align {
    scalar.align(cx).abi
}

/// A value that has the parameters of its definition in it.
pub(crate) fn generic<'tcx, T>(_: TyCtxt<'tcx>, value: T) -> EarlyBinder<'tcx, T> {
    EarlyBinder::bind(value)
}

/// What ends a block.
pub(crate) fn terminator(source_info: SourceInfo, kind: TerminatorKind<'_>) -> Terminator<'_> {
    Terminator { source_info, kind }
}
