//! Pipelines whose items have nothing to do with each other: `for_each` and `collect`, with `map` and
//! its like in between, of producers that give an item by its number.
//!
//! They have a kernel of their own, of the module [`MODULE`], in the place of the general one: the
//! loop over the items of a piece is marked there, and several of them are computed at once. Whether
//! a pipeline is such a one is told by the names of rayon's types. Some that are not in the lists
//! keep something from one item to the next: in a folder, or where a folder points to. Of others,
//! nobody gains: chunks of a slice are next to each other in memory, and items at the same place of
//! two chunks are not.

use rustc_middle::ty::{GenericArgsRef, Ty, TyCtxt};

use crate::stdpar::{RAYON, is_in_module, own_args};

/// The module with the kernel.
const MODULE: &str = "each";

/// The type of a piece that has been counted.
const COUNTED: &str = "Indexed";

/// A type of rayon's: its module, its name, and how many of its first parameters are of its kind.
type Known = (&'static str, &'static str, usize);

const PRODUCERS: [Known; 15] = [
    ("range", "IterProducer", 0),
    ("slice", "IterProducer", 0),
    ("slice", "IterMutProducer", 0),
    ("vec", "DrainProducer", 0),
    ("zip", "ZipProducer", 2),
    ("enumerate", "EnumerateProducer", 1),
    ("map", "MapProducer", 1),
    ("rev", "RevProducer", 1),
    ("step_by", "StepByProducer", 1),
    ("copied", "CopiedProducer", 1),
    ("cloned", "ClonedProducer", 1),
    ("inspect", "InspectProducer", 1),
    ("update", "UpdateProducer", 1),
    ("len", "MinLenProducer", 1),
    ("len", "MaxLenProducer", 1),
];

const CONSUMERS: [Known; 8] = [
    ("for_each", "ForEachConsumer", 0),
    ("noop", "NoopConsumer", 0),
    ("consumer", "CollectConsumer", 0),
    ("map", "MapConsumer", 1),
    ("copied", "CopiedConsumer", 1),
    ("cloned", "ClonedConsumer", 1),
    ("inspect", "InspectConsumer", 1),
    ("update", "UpdateConsumer", 1),
];

/// Whether a kernel that is made of a pipeline is of the module.
pub(super) fn is_kernel<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    is_in_module(tcx, kernel, MODULE)
}

/// Whether the pipeline of a kernel is such a one. The kernel's parameter is the type of its
/// pieces.
pub(super) fn is_possible<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> bool {
    let Some(piece) = own_args(tcx, kernel).and_then(|args| args.types().next()) else {
        return false;
    };
    let is_counted = piece.ty_adt_def().is_some_and(|adt| {
        tcx.opt_item_name(adt.did()).is_some_and(|name| name.as_str() == COUNTED)
    });
    is_counted && own_args(tcx, piece).is_some_and(|args| are_known(tcx, args))
}

/// Whether a producer and a consumer are made of types in the lists alone.
fn are_known<'tcx>(tcx: TyCtxt<'tcx>, args: GenericArgsRef<'tcx>) -> bool {
    is_known(tcx, args.type_at(0), &PRODUCERS) && is_known(tcx, args.type_at(1), &CONSUMERS)
}

fn is_known<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, all: &[Known]) -> bool {
    let rustc_middle::ty::Adt(adt, args) = *ty.kind() else { return false };
    if tcx.crate_name(adt.did().krate).as_str() != RAYON {
        return false;
    }
    let Some(name) = tcx.opt_item_name(adt.did()) else { return false };
    let found = all
        .iter()
        .find(|&&(module, known, _)| known == name.as_str() && is_in_module(tcx, ty, module));
    found.is_some_and(|&(_, _, inner)| {
        args.types().take(inner).all(|inner| is_known(tcx, inner, all))
    })
}
