//! What the types of a pipeline tell.

use rustc_data_structures::fx::FxHashSet;
use rustc_middle::ty::{self, GenericArgsRef, Instance, Ty, TyCtxt};

use crate::rustc::{as_written, to_normalize};

/// The crate with the replacements.
pub(crate) const CRATE: &str = "schism_stdpar";

/// The crate whose pipelines these are.
pub(crate) const RAYON: &str = "rayon";

/// The module of rayon's with what `find_first` and `find_last` are made of.
const SEARCHES_IN_ORDER: &str = "find_first_last";

/// The types of the pipeline that a kernel is made of, if it is made of one: the producer's and the
/// consumer's. They are the kernel's, or those of its pieces.
pub(crate) fn pipeline_of<'tcx>(
    tcx: TyCtxt<'tcx>,
    kernel: Ty<'tcx>,
) -> Option<GenericArgsRef<'tcx>> {
    let args = own_args(tcx, kernel)?;
    if is_copied(tcx, kernel) {
        return Some(args);
    }
    Some(args.types().next().and_then(|piece| own_args(tcx, piece)).unwrap_or(args))
}

/// The parameters of a type of the crate with the replacements.
pub(crate) fn own_args<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> Option<GenericArgsRef<'tcx>> {
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

/// Whether a kernel can be one for devices other than the process, by its types. A pipeline
/// cannot whose values may hold functions, alone or in a table of methods: those of a device are not
/// the host's.
pub(crate) fn may_be_for_devices<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    let Some(args) = pipeline_of(tcx, kernel) else { return true };
    let mut types = Types { tcx, seen: FxHashSet::default(), left: MOST_TYPES };
    args.types().all(|ty| types.are_all(ty, are_data))
}

/// The module with the kernels whose work-items get copies of the producer and the consumer.
const GRID: &str = "grid";

/// Whether each work-item of a kernel gets a copy of the producer and the consumer.
pub(crate) fn is_copied<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_in_module(tcx, kernel, GRID)
}

/// Whether a type of a pipeline is of a certain module.
pub(crate) fn is_in_module<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, module: &str) -> bool {
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

/// Whether a GPU runs a kernel in the place of one that runs pieces.
pub(crate) fn is_for_gpus<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    /// It has no pipeline alone.
    const ROWS: &str = "Rows";
    let name = kernel.ty_adt_def().map(|adt| tcx.item_name(adt.did()));
    is_copied(tcx, kernel) && name.is_none_or(|name| name.as_str() != ROWS)
}

/// Whether nothing can be changed by a kernel that values of a type hold or refer to. Addresses that a program's own types
/// hold may be of what it changes.
pub(crate) fn is_constant<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> bool {
    Types { tcx, seen: FxHashSet::default(), left: MOST_TYPES }.are_all(ty, are_constant)
}

/// Whether all that can be changed of values of a type are their own bytes: they own nothing, and what they refer to is
/// constant.
pub(crate) fn is_plain<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> bool {
    Types { tcx, seen: FxHashSet::default(), left: MOST_TYPES }.are_all(ty, are_plain)
}

/// What collects all items: where they go is its result. Its module, and its name.
const COLLECTS: (&str, &str) = ("consumer", "CollectConsumer");

/// The crates whose types own what they have addresses of, and change it by an exclusive reference only.
const OWNERS: [&str; 2] = ["alloc", "std"];

/// Types with more parts than this are not looked through.
const MOST_TYPES: usize = 10_000;

struct Types<'tcx> {
    tcx: TyCtxt<'tcx>,
    seen: FxHashSet<Ty<'tcx>>,
    left: usize,
}

/// Parts of a type that are still to be looked at.
type Parts<'tcx> = Vec<Ty<'tcx>>;

impl<'tcx> Types<'tcx> {
    /// Whether a type and its parts satisfy a condition, which adds the parts of the one that it is given.
    fn are_all(
        &mut self,
        root: Ty<'tcx>,
        condition: fn(TyCtxt<'tcx>, Ty<'tcx>, &mut Parts<'tcx>) -> bool,
    ) -> bool {
        let mut parts = vec![root];
        while let Some(ty) = parts.pop() {
            if !self.seen.insert(ty) {
                continue;
            }
            match self.left.checked_sub(1) {
                Some(left) => self.left = left,
                None => return false,
            }
            if !condition(self.tcx, ty, &mut parts) {
                return false;
            }
        }
        true
    }
}

/// The types of one that was looked for are those of a program.
fn env<'tcx>() -> ty::TypingEnv<'tcx> {
    ty::TypingEnv::fully_monomorphized()
}

/// Adds the types of a type's fields; `false` if one is unknown.
fn add_fields<'tcx>(
    tcx: TyCtxt<'tcx>,
    adt: ty::AdtDef<'tcx>,
    args: GenericArgsRef<'tcx>,
    parts: &mut Parts<'tcx>,
) -> bool {
    adt.all_fields().all(|field| {
        let field = tcx.try_normalize_erasing_regions(env(), field.ty(tcx, args));
        field.map(|field| parts.push(field)).is_ok()
    })
}

/// Whether nothing can change that values of a type hold or refer to, apart from its parts.
fn are_constant<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, parts: &mut Parts<'tcx>) -> bool {
    if !ty.is_freeze(tcx, env()) {
        return false;
    }
    match *ty.kind() {
        ty::Adt(adt, _) if adt.is_phantom_data() => {}
        ty::Adt(adt, args) => {
            let krate = tcx.crate_name(adt.did().krate);
            let (module, name) = COLLECTS;
            if OWNERS.contains(&krate.as_str()) {
                parts.extend(args.types());
            } else if krate.as_str() != RAYON
                || tcx.item_name(adt.did()).as_str() != name
                || !is_in_module(tcx, ty, module)
            {
                return add_fields(tcx, adt, args, parts);
            }
        }
        ty::Closure(_, args) => parts.extend(args.as_closure().upvar_tys()),
        ty::Ref(_, ty, ty::Mutability::Not) | ty::Array(ty, _) | ty::Slice(ty) | ty::Pat(ty, _) => {
            parts.push(ty)
        }
        ty::Tuple(types) => parts.extend(types),
        ty::FnDef(..)
        | ty::Bool
        | ty::Char
        | ty::Int(_)
        | ty::Uint(_)
        | ty::Float(_)
        | ty::Str
        | ty::Never => {}
        _ => return false,
    }
    true
}

/// Whether values of a type are plain, apart from its parts.
fn are_plain<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, parts: &mut Parts<'tcx>) -> bool {
    let is_owner = ty.ty_adt_def().is_some_and(|adt| {
        !adt.is_phantom_data() && OWNERS.contains(&tcx.crate_name(adt.did().krate).as_str())
    });
    !is_owner && are_constant(tcx, ty, parts)
}

/// Whether values of a type, and what they refer to, hold no functions, apart from its parts.
fn are_data<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, parts: &mut Parts<'tcx>) -> bool {
    match *ty.kind() {
        ty::FnPtr(..) | ty::Dynamic(..) => return false,
        ty::Adt(adt, _) if adt.is_phantom_data() => {}
        ty::Adt(adt, args) => {
            // What a closure returns, or an iterator gives, is among the parameters of a
            // type or below them.
            parts.extend(args.types());
            return add_fields(tcx, adt, args, parts);
        }
        ty::Closure(_, args) => {
            let closure = args.as_closure();
            parts.extend(closure.upvar_tys());
            let signature = tcx.instantiate_bound_regions_with_erased(closure.sig());
            parts.extend(signature.inputs_and_output);
        }
        ty::FnDef(function, args) => {
            let signature = as_written(tcx.fn_sig(function).instantiate(tcx, args));
            let signature = tcx.instantiate_bound_regions_with_erased(signature);
            for ty in signature.inputs_and_output {
                match tcx.try_normalize_erasing_regions(env(), to_normalize(ty)) {
                    Ok(ty) => parts.push(ty),
                    Err(_) => return false,
                }
            }
        }
        ty::Ref(_, ty, _)
        | ty::RawPtr(ty, _)
        | ty::Array(ty, _)
        | ty::Slice(ty)
        | ty::Pat(ty, _) => parts.push(ty),
        ty::Tuple(types) => parts.extend(types),
        ty::Bool | ty::Char | ty::Int(_) | ty::Uint(_) | ty::Float(_) | ty::Str | ty::Never => {}
        // Coroutines, foreign types: nothing is known of them.
        _ => return false,
    }
    true
}
