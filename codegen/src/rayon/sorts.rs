//! rayon's methods that sort slices.
//!
//! They run on `rayon::join`, not on pipelines. So calls of the methods themselves resolve to
//! functions of `schism-stdpar` with the same generics, for slices: another type that implements
//! the trait may have other methods.

use rustc_hir::def::DefKind;
use rustc_infer::infer::TyCtxtInferExt;
use rustc_middle::ty::{self, GenericArgsRef, Instance, Ty, TyCtxt};
use rustc_span::def_id::DefId;
use rustc_trait_selection::infer::InferCtxtExt;

use crate::rayon::functions::{SORT_METHODS, known};
use crate::rayon::types::is_in_module;

/// The module with the kernels, and the one among them that explanations are about.
const KERNELS: &str = "sort";
const FIRST_KERNEL: &str = "Blocks";

/// rayon's modules with its sorts, in `slice`.
const ORIGINAL_SORTS: [&str; 3] = ["mergesort", "quicksort", "sort"];

/// What stands in for a method that is called.
pub(crate) fn replacement<'tcx>(
    tcx: TyCtxt<'tcx>,
    method: DefId,
    args: GenericArgsRef<'tcx>,
) -> Option<DefId> {
    if method.is_local()
        || tcx.def_kind(method) != DefKind::AssocFn
        || !SORT_METHODS.contains(&tcx.opt_item_name(method)?.as_str())
        || !matches!(args.types().next()?.kind(), ty::Slice(_))
    {
        return None;
    }
    known(tcx, |known| {
        known.sorts.iter().find(|items| items.original == method).map(|items| items.replacement)
    })
}

/// Whether a kernel that is made of a pipeline is made of a sort.
pub(crate) fn is_kernel<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_in_module(tcx, kernel, KERNELS)
}

/// Whether a kernel is one of a sort's, and not the first one.
pub(crate) fn is_secondary<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_kernel(tcx, kernel)
        && kernel.ty_adt_def().is_some_and(|adt| {
            tcx.opt_item_name(adt.did()).is_none_or(|name| name.as_str() != FIRST_KERNEL)
        })
}

/// Whether a pipeline belongs to one of rayon's own sorts, which use some inside: a closure of a
/// function there takes part.
pub(crate) fn is_inside<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    let is_of_sort = |closure: DefId| {
        let mut parents = std::iter::successors(Some(closure), |&id| tcx.opt_parent(id));
        parents.any(|id| {
            tcx.def_kind(id) == DefKind::Mod
                && tcx.opt_item_name(id).is_some_and(|name| ORIGINAL_SORTS.contains(&name.as_str()))
        })
    };
    known(tcx, |known| {
        kernel.walk().any(|argument| match argument.as_type().map(|ty| *ty.kind()) {
            Some(ty::Closure(id, _)) => {
                known.sorts.iter().any(|items| items.original.krate == id.krate) && is_of_sort(id)
            }
            _ => false,
        })
    })
}

/// Whether a function is the one that sorts on the host, for elements that no kernel can sort. Then
/// there is no kernel to tell of.
pub(crate) fn is_of_host_only<'tcx>(tcx: TyCtxt<'tcx>, function: Instance<'tcx>) -> bool {
    known(tcx, |known| known.sorts.iter().any(|items| items.host_sort == function.def_id()))
        && !may_be_copied(tcx, function.args)
}

/// Whether the elements of a sort drop nothing, and do not change while they are compared, so that
/// they may be moved as bytes, and copies of them stay what they are; and whether several threads may
/// look at one at the same time, which rayon's sorts do not ask of them.
pub(crate) fn may_be_copied<'tcx>(tcx: TyCtxt<'tcx>, args: GenericArgsRef<'tcx>) -> bool {
    let (element, env) = (args.type_at(0), ty::TypingEnv::fully_monomorphized());
    element.is_freeze(tcx, env) && !element.needs_drop(tcx, env) && is_sync(tcx, element)
}

/// Whether a type is `Sync`. Lifetimes are not known here: a type that is for some of them only does
/// not count.
fn is_sync<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> bool {
    let Some(sync) = tcx.lang_items().sync_trait() else { return false };
    let (infcx, env) = tcx.infer_ctxt().build_with_typing_env(ty::TypingEnv::fully_monomorphized());
    infcx.type_implements_trait(sync, [ty], env).must_apply_considering_regions()
}
