//! Programs whose parallel iterators run as kernels: `cargo schism build --stdpar`.
//!
//! rayon's pipelines all end in one of two functions, `bridge_producer_consumer` for indexed ones and
//! `bridge_unindexed` for others. Where the crate `schism-stdpar` is in sight, calls of them resolve
//! to functions of that crate, with the same generics ([`provide`]); these launch a kernel, or divide
//! the work among rayon's threads as the original does. So each adaptor, of rayon or of any other
//! crate, is compiled as it is.
//!
//! Calls of rayon's methods that sort slices do so, too ([`sorts`]); these go back to rayon with a slice
//! of another type, so that the originals stay callable.
//!
//! [`captures`] tells that crate which small values a pipeline refers to.
//!
//! [`inject`] puts the crate in sight. [`crate::stdpar`] takes out kernels that no device can have.

pub(crate) mod captures;
pub(crate) mod each;
pub(crate) mod functions;
pub(crate) mod inject;
pub(crate) mod nested;
pub(crate) mod sorts;
pub(crate) mod statics;
pub(crate) mod types;

use std::sync::OnceLock;

use rustc_data_structures::fx::FxHashSet;
use rustc_hir::def::DefKind;
use rustc_middle::ty::{GenericArgsRef, Instance, PseudoCanonicalInput, Ty, TyCtxt};
use rustc_middle::util::Providers;
use rustc_span::def_id::DefId;
use rustc_span::{ErrorGuaranteed, Symbol};

use crate::rayon::each::Grid;
use crate::rayon::functions::{bridges, is_name_of_original};
use crate::rayon::types::{RAYON, is_copied, is_in_process, may_be_for_devices, pipeline_of};
use crate::rustc::as_written;
use crate::session::{self, RUNTIME};
use crate::variables::{STDPAR_BUILD, STDPAR_LIBRARY};

type Resolved<'tcx> = Result<Option<Instance<'tcx>>, ErrorGuaranteed>;
type Provider = for<'tcx> fn(
    TyCtxt<'tcx>,
    PseudoCanonicalInput<'tcx, (DefId, GenericArgsRef<'tcx>)>,
) -> Resolved<'tcx>;

/// rustc's own provider of `resolve_instance_raw`, which ours calls.
static RESOLVE: OnceLock<Provider> = OnceLock::new();

/// Installs the providers of this module.
pub(crate) fn provide(providers: &mut Providers) {
    statics::provide(providers);
    nested::provide(providers);
    RESOLVE.get_or_init(|| providers.queries.resolve_instance_raw);
    providers.queries.resolve_instance_raw = |tcx, mut key| {
        let (function, args) = key.value;
        if let Some(replacement) = replacement(tcx, function, args) {
            key.value = (replacement, args);
        } else if let Some(replacement) = captures::replacement(tcx, function, args) {
            key.value = replacement;
        }
        (RESOLVE.get().expect("set when ours was"))(tcx, key)
    };
}

/// What stands in for a function that is called.
fn replacement<'tcx>(
    tcx: TyCtxt<'tcx>,
    function: DefId,
    args: GenericArgsRef<'tcx>,
) -> Option<DefId> {
    if let Some(replacement) = sorts::replacement(tcx, function, args) {
        return Some(replacement);
    }
    if function.is_local()
        || tcx.def_kind(function) != DefKind::Fn
        || !is_name_of_original(tcx.opt_item_name(function)?.as_str())
    {
        return None;
    }
    // Asked without the crate in sight, too: what was resolved then is resolved again when it comes
    // into sight.
    let bridges = bridges(tcx);
    let bridge = bridges.iter().find(|bridge| bridge.original == function)?;
    Some(bridge.replacement)
}

/// Notes what the crate depends on besides its sources, if it sees rayon or a runtime or has statics.
pub(crate) fn track(tcx: TyCtxt<'_>) {
    let names = [RAYON, RUNTIME].map(Symbol::intern);
    if tcx.crates(()).iter().any(|&krate| names.contains(&tcx.crate_name(krate)))
        || statics::are_in(tcx)
    {
        for name in [STDPAR_BUILD, STDPAR_LIBRARY] {
            session::variable(tcx.sess, name);
        }
    }
}

/// Whether a marker instance can stand for a kernel, by its types.
pub(crate) fn may_be_kernel<'tcx>(tcx: TyCtxt<'tcx>, marker: Instance<'tcx>) -> bool {
    let kernel = marker.args.type_at(0);
    let Some(args) = pipeline_of(tcx, kernel) else { return true };
    (is_in_process(tcx, kernel) || may_be_for_devices(tcx, kernel))
        // Of those that run pieces, there is one.
        && is_form_of_pipeline(tcx, kernel)
        && (!is_copied(tcx, kernel)
            || (Grid::of_kernel(tcx, kernel).is_of_pipeline(tcx, args) && split_well(tcx, args)))
        && (!sorts::is_kernel(tcx, kernel) || sorts::may_be_copied(tcx, args))
}

/// Whether a kernel that runs pieces has the form that is for its pipeline.
fn is_form_of_pipeline<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    each::form_of_kernel(tcx, kernel) == each::form_of_pipeline(tcx, kernel)
}

/// Whether a kernel is one of several of the same pipeline, and not the one that is told of.
pub(crate) fn is_secondary<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_copied(tcx, kernel)
        || !is_form_of_pipeline(tcx, kernel)
        || sorts::is_secondary(tcx, kernel)
        || sorts::is_inside(tcx, kernel)
}

/// Whether no implementation of a producer or a consumer takes part in a pipeline but rayon's own.
/// The parts that these split themselves into have nothing in common, and copies of them may be
/// split side by side. Of others that is unknown.
fn split_well<'tcx>(tcx: TyCtxt<'tcx>, args: GenericArgsRef<'tcx>) -> bool {
    bridges(tcx).iter().all(|bridge| {
        let rayon = bridge.original.krate;
        let bounds = tcx.predicates_of(bridge.original).predicates.iter();
        let traits = bounds.filter_map(|(bound, _)| bound.as_trait_clause());
        let traits: FxHashSet<DefId> = traits.map(|bound| bound.def_id()).collect();
        let foreign = traits
            .into_iter()
            .filter(|&id| id.krate == rayon)
            .flat_map(|id| tcx.all_impls(id))
            .filter(|implementation| implementation.krate != rayon);
        foreign.into_iter().all(|implementation| {
            let of = as_written(tcx.type_of(implementation).instantiate_identity());
            match of.ty_adt_def() {
                Some(adt) => !mentions(args, adt.did()),
                None => false,
            }
        })
    })
}

/// Whether a type is among some types or their parameters.
fn mentions<'tcx>(args: GenericArgsRef<'tcx>, adt: DefId) -> bool {
    args.iter().flat_map(|arg| arg.walk()).any(|part| {
        part.as_type().is_some_and(|ty| ty.ty_adt_def().is_some_and(|of| of.did() == adt))
    })
}
