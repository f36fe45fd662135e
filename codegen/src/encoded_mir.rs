//! The bodies of functions that dependencies carry for kernels, hidden from the host half.
//!
//! The driver lets libraries carry the bodies of all their functions. The compiler is not to see those
//! that a library compiled by plain rustc would lack: it would never use them, but decode them one
//! after the other when it looks for cycles among what it could inline.

use std::sync::OnceLock;

use rustc_hir::def::DefKind;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_span::def_id::DefId;

use crate::check;

type Provider = for<'tcx> fn(TyCtxt<'tcx>, DefId) -> bool;

/// rustc's own provider of `is_mir_available` for other crates, behind ours.
static CARRIED: OnceLock<Provider> = OnceLock::new();

/// Puts ours in front.
pub(crate) fn provide(providers: &mut Providers) {
    CARRIED.get_or_init(|| providers.extern_queries.is_mir_available);
    providers.extern_queries.is_mir_available =
        |tcx, def_id| carried_elsewhere(tcx, def_id) && !is_only_for_kernels(tcx, def_id);
}

/// Whether the body of a function is at hand, be it for kernels only.
pub(crate) fn carried(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    if def_id.is_local() { tcx.is_mir_available(def_id) } else { carried_elsewhere(tcx, def_id) }
}

fn carried_elsewhere(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    CARRIED.get().is_some_and(|carried| carried(tcx, def_id))
}

/// Whether the host half links a function and has no use for its body. Private functions are none of
/// these: only bodies that the host does not see lead to them.
fn is_only_for_kernels(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn | DefKind::Closure)
        && !tcx.generics_of(def_id).requires_monomorphization(tcx)
        && !tcx.cross_crate_inlinable(def_id)
        // A dependency that was only checked says of no function that it can be linked.
        && (tcx.is_reachable_non_generic(def_id) || check::is_check(tcx.sess))
}
