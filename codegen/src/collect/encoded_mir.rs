//! Hides bodies that dependencies carry for kernels from the host half.
//!
//! The driver makes libraries carry the bodies of all their functions. The compiler must not see
//! those that a library compiled by plain rustc would lack: it would never use them, but decode one
//! after the other when it searches for cycles among functions that it could inline.

use std::sync::OnceLock;

use rustc_hir::def::DefKind;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_span::def_id::DefId;

use crate::session;

type Provider = for<'tcx> fn(TyCtxt<'tcx>, DefId) -> bool;

/// rustc's own provider of `is_mir_available` for other crates, which ours calls.
static CARRIED: OnceLock<Provider> = OnceLock::new();

/// Installs the provider of this module.
pub(crate) fn provide(providers: &mut Providers) {
    CARRIED.get_or_init(|| providers.extern_queries.is_mir_available);
    providers.extern_queries.is_mir_available =
        |tcx, def_id| carried_elsewhere(tcx, def_id) && !is_only_for_kernels(tcx, def_id);
}

/// Whether the body of a function is available, even if for kernels only.
pub(crate) fn carried(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    if def_id.is_local() { tcx.is_mir_available(def_id) } else { carried_elsewhere(tcx, def_id) }
}

fn carried_elsewhere(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    CARRIED.get().is_some_and(|carried| carried(tcx, def_id))
}

/// Whether the host half links a function and has no use for its body. Private functions are not
/// among these: only bodies that the host does not see refer to them.
fn is_only_for_kernels(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn | DefKind::Closure)
        && !tcx.generics_of(def_id).requires_monomorphization(tcx)
        && !tcx.cross_crate_inlinable(def_id)
        // A dependency that was only checked does not mark functions as linkable.
        && (tcx.is_reachable_non_generic(def_id) || session::is_check(tcx.sess))
}
