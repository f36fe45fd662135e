//! What rustc answers differently in a session that generates no code (`cargo check`), so that its
//! kernels can be collected all the same.
//!
//! Two things are missing in such a session. No function counts as exported, neither of the crate
//! nor of dependencies that were only checked, too: rustc's collector would have no roots, and walk
//! through all of the dependencies. [`provide`] overrides the query. And without the driver's help
//! dependencies would carry no bodies of generic functions (see `driver.rs`); where one is missing
//! nevertheless, because another compiler has checked the crate, kernels that need it are not found,
//! which is reported.

use std::sync::{Mutex, OnceLock};

use rustc_hir::attrs::InlineAttr;
use rustc_hir::def::DefKind;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_middle::util::Providers;
use rustc_session::config::CrateType;
use rustc_span::def_id::{LOCAL_CRATE, LocalDefId, StableCrateId};

use crate::collect::encoded_mir;
use crate::session::is_check;

type Provider = for<'tcx> fn(TyCtxt<'tcx>, Instance<'tcx>) -> bool;

/// rustc's own provider for whether an instance belongs to the crate's code, which ours calls.
static BELONGS: OnceLock<Provider> = OnceLock::new();

/// rustc's own provider for whether a function of the crate is exported, which ours calls.
static EXPORTED: OnceLock<for<'tcx> fn(TyCtxt<'tcx>, LocalDefId) -> bool> = OnceLock::new();

/// The crate for which the body of a function was missing: providers have no other place for it.
static LACKS_BODIES: Mutex<Option<StableCrateId>> = Mutex::new(None);

/// Whether the body of a function was missing when the crate was collected.
pub(crate) fn lacks_bodies(tcx: TyCtxt<'_>) -> bool {
    *LACKS_BODIES.lock().expect("nothing panics under the lock")
        == Some(tcx.stable_crate_id(LOCAL_CRATE))
}

/// Installs the providers of this module.
pub(crate) fn provide(providers: &mut Providers) {
    BELONGS.get_or_init(|| providers.hooks.should_codegen_locally);
    providers.hooks.should_codegen_locally = |tcx, instance| {
        if is_check(tcx.sess) {
            belongs_here(tcx, instance)
        } else {
            (BELONGS.get().expect("set when ours was"))(tcx, instance)
        }
    };
    EXPORTED.get_or_init(|| providers.queries.is_reachable_non_generic);
    providers.queries.is_reachable_non_generic = |tcx, def_id| {
        if is_check(tcx.sess) {
            would_be_exported(tcx, def_id)
        } else {
            (EXPORTED.get().expect("set when ours was"))(tcx, def_id)
        }
    };
}

/// Whether a build would export a function or static of this crate.
fn would_be_exported(tcx: TyCtxt<'_>, def_id: LocalDefId) -> bool {
    let has_code = match tcx.def_kind(def_id) {
        DefKind::Fn | DefKind::Static { .. } => true,
        DefKind::AssocFn => tcx.impl_of_assoc(def_id.to_def_id()).is_some(),
        _ => false,
    };
    let is_library =
        || tcx.crate_types().iter().any(|kind| matches!(kind, CrateType::Rlib | CrateType::Dylib));
    has_code
        && !tcx.is_foreign_item(def_id)
        && !tcx.generics_of(def_id).requires_monomorphization(tcx)
        && !tcx.cross_crate_inlinable(def_id)
        && tcx.reachable_set(()).contains(&def_id)
        && (is_library() || tcx.codegen_fn_attrs(def_id).contains_extern_indicator())
}

/// Whether a build would generate code of an instance in this crate, not link it.
fn belongs_here<'tcx>(tcx: TyCtxt<'tcx>, instance: Instance<'tcx>) -> bool {
    let Some(def_id) = instance.def.def_id_if_not_guaranteed_local_codegen() else { return true };
    if tcx.is_foreign_item(def_id) {
        return false;
    }
    let kind = tcx.def_kind(def_id);
    if def_id.is_local() || matches!(kind, DefKind::Ctor(..)) {
        return true;
    }
    if matches!(kind, DefKind::Static { .. })
        || tcx.is_reachable_non_generic(def_id)
        || instance.upstream_monomorphization(tcx).is_some()
    {
        return false;
    }
    // As in a build: small functions, and those with the attribute, are inlined across crates.
    let comes_along = tcx.generics_of(def_id).requires_monomorphization(tcx)
        || tcx.cross_crate_inlinable(def_id)
        || (kind.has_codegen_attrs()
            && matches!(
                tcx.codegen_fn_attrs(def_id).inline,
                InlineAttr::Hint | InlineAttr::Always | InlineAttr::Force { .. }
            ));
    if !comes_along {
        return false;
    }
    let carried = encoded_mir::carried(tcx, def_id);
    if !carried {
        let id = tcx.stable_crate_id(LOCAL_CRATE);
        *LACKS_BODIES.lock().expect("nothing panics under the lock") = Some(id);
    }
    carried
}
