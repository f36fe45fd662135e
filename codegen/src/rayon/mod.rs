//! Programs whose parallel iterators run as kernels: `cargo schism build --stdpar`.
//!
//! rayon's pipelines all end in one of two functions, `bridge_producer_consumer` for indexed ones and
//! `bridge_unindexed` for others. Where the crate `schism-stdpar` is in sight, calls of them resolve
//! to functions of that crate, with the same generics ([`provide`]); these launch a kernel, or go
//! back to rayon with a producer of another type, which is how the originals stay callable. So each
//! adaptor, of rayon or of any other crate, is compiled as it is.
//!
//! So are the methods of rayon that sort slices ([`sorts`]); they go back with a slice of another type.
//!
//! [`captures`] tells that crate which small values a pipeline refers to.
//!
//! [`inject`] puts the crate in sight. [`crate::stdpar`] takes out kernels that no device can have.

pub(crate) mod captures;
pub(crate) mod each;
pub(crate) mod inject;
pub(crate) mod nested;
pub(crate) mod sorts;
pub(crate) mod statics;

use std::sync::{Mutex, OnceLock};

use rustc_data_structures::fx::FxHashSet;
use rustc_hir::def::{DefKind, Res};
use rustc_middle::ty::{self, GenericArgsRef, Instance, PseudoCanonicalInput, Ty, TyCtxt};
use rustc_middle::util::Providers;
use rustc_span::def_id::{CrateNum, DefId, LOCAL_CRATE, StableCrateId};
use rustc_span::{ErrorGuaranteed, Symbol};

use crate::device::track;
use crate::rayon::each::Grid;
use crate::rustc::{as_written, to_normalize};

/// The crate with the replacements.
pub(crate) const CRATE: &str = "schism_stdpar";

/// Its module with the functions that are replaced.
const ORIGINALS: &str = "originals";

/// The functions of one pipeline's kind: the name of the original, which is also that of the
/// replacement, and of the function behind it that only the host runs.
const FUNCTIONS: [(&str, &str); 2] =
    [("bridge_producer_consumer", "pipeline"), ("bridge_unindexed", "unindexed_pipeline")];

/// The producers whose pipelines stay with rayon, in the module with what only the host runs.
const HOST: &str = "host";
const HOST_PRODUCER: &str = "HostProducer";

/// The module of rayon's with what `find_first` and `find_last` are made of.
const SEARCHES_IN_ORDER: &str = "find_first_last";

/// The crate whose pipelines these are.
pub(crate) const RAYON: &str = "rayon";

type Resolved<'tcx> = Result<Option<Instance<'tcx>>, ErrorGuaranteed>;
type Provider = for<'tcx> fn(
    TyCtxt<'tcx>,
    PseudoCanonicalInput<'tcx, (DefId, GenericArgsRef<'tcx>)>,
) -> Resolved<'tcx>;

/// rustc's own provider of `resolve_instance_raw`, behind ours.
static RESOLVE: OnceLock<Provider> = OnceLock::new();

/// Puts ours in front.
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
    let items = items(tcx);
    let items = items.iter().find(|items| items.original == function)?;
    match *args.type_at(0).kind() {
        ty::Adt(adt, _) if adt.did() == items.host_producer => None,
        _ => Some(items.replacement),
    }
}

fn is_name_of_original(name: &str) -> bool {
    FUNCTIONS.iter().any(|(original, _)| *original == name)
}

/// The items of one crate with replacements, for one of the functions that it replaces. A program
/// may have several versions of rayon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Items {
    original: DefId,
    replacement: DefId,
    host_producer: DefId,
    host_pipeline: DefId,
}

/// What is in sight; nothing for nearly every crate.
#[derive(Clone, Debug, Default)]
struct Known {
    bridges: Vec<Items>,
    sorts: Vec<sorts::Items>,
    captures: Vec<captures::Items>,
}

/// The functions of pipelines in sight.
pub(crate) fn items(tcx: TyCtxt<'_>) -> Vec<Items> {
    known(tcx, |known| known.bridges.clone())
}

/// Takes something from what is in sight.
fn known<R>(tcx: TyCtxt<'_>, take: impl FnOnce(&Known) -> R) -> R {
    /// The answer for the crate that the process compiles.
    static KNOWN: Mutex<Option<(StableCrateId, Known)>> = Mutex::new(None);
    // Asked each time: what is made of the answer depends on it, as far as incremental compilation
    // knows.
    let crates = tcx.crates(());
    let id = tcx.stable_crate_id(LOCAL_CRATE);
    let mut known = KNOWN.lock().expect("nothing panics under the lock");
    if let Some((of, known)) = &*known
        && *of == id
    {
        return take(known);
    }
    let name = Symbol::intern(CRATE);
    let own = tcx.crate_name(LOCAL_CRATE);
    let with_replacement = crates.iter().filter(|&&krate| {
        // Build scripts and macros may see it through crates that the program uses, too.
        tcx.crate_name(krate) == name && inject::is_worth_a_kernel(own.as_str(), tcx.crate_types())
    });
    let mut found = Known::default();
    for &krate in with_replacement {
        found.bridges.extend(find(tcx, krate));
        found.sorts.extend(sorts::find(tcx, krate));
        found.captures.extend(captures::find(tcx, krate));
    }
    let (_, known) = known.insert((id, found));
    take(known)
}

/// What a module has of a name.
fn child(tcx: TyCtxt<'_>, module: DefId, name: &str) -> Option<DefId> {
    let children = tcx.module_children(module).iter();
    let mut named = children.filter(|child| child.ident.name.as_str() == name);
    named.find_map(|child| match child.res {
        Res::Def(DefKind::Fn | DefKind::Struct | DefKind::Trait | DefKind::Mod, id) => Some(id),
        _ => None,
    })
}

/// The items of a crate, for each function that it replaces.
fn find(tcx: TyCtxt<'_>, krate: CrateNum) -> Vec<Items> {
    let root = krate.as_def_id();
    let (host, originals) = (child(tcx, root, HOST), child(tcx, root, ORIGINALS));
    let functions = FUNCTIONS.iter().filter_map(|(name, pipeline)| {
        Some(Items {
            original: child(tcx, originals?, name)?,
            replacement: child(tcx, root, name)?,
            host_producer: child(tcx, host?, HOST_PRODUCER)?,
            host_pipeline: child(tcx, host?, pipeline)?,
        })
    });
    functions.collect()
}

/// Whether the crate's parallel iterators may become kernels.
pub(crate) fn is_in_sight(tcx: TyCtxt<'_>) -> bool {
    known(tcx, |known| !known.bridges.is_empty())
}

/// Whether only the host runs a function, so that kernels do without its body.
pub(crate) fn is_for_host_only(tcx: TyCtxt<'_>, function: DefId) -> bool {
    !function.is_local()
        && tcx.crate_name(function.krate).as_str() == CRATE
        && known(tcx, |known| {
            known.bridges.iter().any(|items| items.host_pipeline == function)
                || known.sorts.iter().any(|items| items.host_sort == function)
        })
}

/// Notes what the crate depends on besides its sources, if it sees rayon or has statics.
pub(crate) fn track(tcx: TyCtxt<'_>) {
    let rayon = Symbol::intern(RAYON);
    if tcx.crates(()).iter().any(|&krate| tcx.crate_name(krate) == rayon) || statics::are_in(tcx) {
        for name in [inject::MODE, inject::LIBRARY] {
            track::variable(tcx.sess, name);
        }
    }
}

/// The types of the pipeline that a kernel is made of, if it is made of one: the producer's and the
/// consumer's. They are the kernel's, or those of its pieces.
pub(crate) fn pipeline_of<'tcx>(
    tcx: TyCtxt<'tcx>,
    kernel: Ty<'tcx>,
) -> Option<GenericArgsRef<'tcx>> {
    let args = own_args(tcx, kernel)?;
    Some(args.types().next().and_then(|piece| own_args(tcx, piece)).unwrap_or(args))
}

/// The parameters of a type of the crate with the replacements.
fn own_args<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> Option<GenericArgsRef<'tcx>> {
    match *ty.kind() {
        ty::Adt(adt, args) if tcx.crate_name(adt.did().krate).as_str() == CRATE => Some(args),
        _ => None,
    }
}

/// Whether a kernel is made of a pipeline. `entry` is its entry function, or its marker.
pub(crate) fn is_pipeline<'tcx>(tcx: TyCtxt<'tcx>, entry: Instance<'tcx>) -> bool {
    pipeline_of(tcx, entry.args.type_at(0)).is_some()
}

/// Whether a kernel runs in the program's own process, on the device `cpu`: one of a pipeline that is
/// cut into pieces on the host.
pub(crate) fn is_in_process<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    pipeline_of(tcx, kernel).is_some() && !is_copied(tcx, kernel)
}

/// Whether a kernel can be one for devices with code of their own, as far as types tell. A pipeline
/// cannot whose values may hold functions, alone or in a table of methods: those of a device are not
/// the host's.
pub(crate) fn may_be_for_devices<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    let Some(args) = pipeline_of(tcx, kernel) else { return true };
    let mut types = Types { tcx, seen: FxHashSet::default(), left: MOST_TYPES };
    args.types().all(|ty| types.are_data(ty))
}

/// Whether something can be a kernel as far as types tell.
pub(crate) fn may_be_kernel<'tcx>(tcx: TyCtxt<'tcx>, marker: Instance<'tcx>) -> bool {
    let kernel = marker.args.type_at(0);
    let Some(args) = pipeline_of(tcx, kernel) else { return true };
    (is_in_process(tcx, kernel) || may_be_for_devices(tcx, kernel))
        // Of those that run pieces, there is one.
        && is_form_of_pipeline(tcx, kernel)
        && (!is_copied(tcx, kernel)
            || (Grid::of_kernel(tcx, kernel) == Grid::of_pipeline(tcx, args)
                && split_well(tcx, args)))
        && (!sorts::is_kernel(tcx, kernel) || sorts::may_be_copied(tcx, args))
}

/// Whether a kernel that runs pieces has the form that is for its pipeline.
fn is_form_of_pipeline<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    each::form_of_kernel(tcx, kernel) == each::form_of_pipeline(tcx, kernel)
}

/// The module with the kernels whose work-items get copies of the producer and the consumer.
const GRID: &str = "grid";

/// Whether each work-item of a kernel gets a copy of the producer and the consumer.
pub(crate) fn is_copied<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_in_module(tcx, kernel, GRID)
}

/// Whether a kernel is one of several of the same pipeline, and not the one that is told of.
pub(crate) fn is_secondary<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_copied(tcx, kernel)
        || !is_form_of_pipeline(tcx, kernel)
        || sorts::is_secondary(tcx, kernel)
        || sorts::is_inside(tcx, kernel)
}

/// Whether a type of a pipeline is of a certain module.
fn is_in_module<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, module: &str) -> bool {
    ty.ty_adt_def().is_some_and(|adt| {
        tcx.opt_parent(adt.did())
            .and_then(|parent| tcx.opt_item_name(parent))
            .is_some_and(|name| name.as_str() == module)
    })
}

/// Whether a pipeline looks for the first or the last item of some. Rayon splits it again and again
/// while it runs, so that it ends soon however long it is. Pieces that are made before do not.
pub(crate) fn is_search_in_order<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    kernel.walk().filter_map(|part| part.as_type()).any(|ty| {
        ty.ty_adt_def().is_some_and(|adt| tcx.crate_name(adt.did().krate).as_str() == RAYON)
            && is_in_module(tcx, ty, SEARCHES_IN_ORDER)
    })
}

/// Whether no implementation of a producer or a consumer takes part in a pipeline but rayon's own.
/// The parts that these split themselves into have nothing in common, and copies of them may be
/// split side by side. Of others nobody knows.
fn split_well<'tcx>(tcx: TyCtxt<'tcx>, args: GenericArgsRef<'tcx>) -> bool {
    items(tcx).iter().all(|items| {
        let rayon = items.original.krate;
        let bounds = tcx.predicates_of(items.original).predicates.iter();
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

/// Types with more parts than this are not looked through.
const MOST_TYPES: usize = 10_000;

struct Types<'tcx> {
    tcx: TyCtxt<'tcx>,
    seen: FxHashSet<Ty<'tcx>>,
    left: usize,
}

impl<'tcx> Types<'tcx> {
    /// Whether values of a type, and what they refer to, hold no functions.
    fn are_data(&mut self, root: Ty<'tcx>) -> bool {
        let env = ty::TypingEnv::fully_monomorphized();
        let mut stack = vec![root];
        while let Some(ty) = stack.pop() {
            if !self.seen.insert(ty) {
                continue;
            }
            match self.left.checked_sub(1) {
                Some(left) => self.left = left,
                None => return false,
            }
            match *ty.kind() {
                ty::FnPtr(..) | ty::Dynamic(..) => return false,
                ty::Adt(adt, _) if adt.is_phantom_data() => {}
                ty::Adt(adt, args) => {
                    // What a closure returns, or an iterator gives, is among the parameters of a
                    // type or below them.
                    stack.extend(args.types());
                    for field in adt.all_fields() {
                        let field = field.ty(self.tcx, args);
                        match self.tcx.try_normalize_erasing_regions(env, field) {
                            Ok(field) => stack.push(field),
                            Err(_) => return false,
                        }
                    }
                }
                ty::Closure(_, args) => {
                    let closure = args.as_closure();
                    stack.extend(closure.upvar_tys());
                    let signature = closure.sig();
                    let signature = self.tcx.instantiate_bound_regions_with_erased(signature);
                    stack.extend(signature.inputs_and_output);
                }
                ty::FnDef(function, args) => {
                    let signature =
                        as_written(self.tcx.fn_sig(function).instantiate(self.tcx, args));
                    let signature = self.tcx.instantiate_bound_regions_with_erased(signature);
                    for ty in signature.inputs_and_output {
                        match self.tcx.try_normalize_erasing_regions(env, to_normalize(ty)) {
                            Ok(ty) => stack.push(ty),
                            Err(_) => return false,
                        }
                    }
                }
                ty::Ref(_, ty, _)
                | ty::RawPtr(ty, _)
                | ty::Array(ty, _)
                | ty::Slice(ty)
                | ty::Pat(ty, _) => {
                    stack.push(ty);
                }
                ty::Tuple(types) => stack.extend(types),
                ty::Bool
                | ty::Char
                | ty::Int(_)
                | ty::Uint(_)
                | ty::Float(_)
                | ty::Str
                | ty::Never => {}
                // Coroutines, foreign types: nothing is known of them.
                _ => return false,
            }
        }
        true
    }
}
