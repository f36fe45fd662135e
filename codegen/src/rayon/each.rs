//! Pipelines whose items have nothing to do with each other, of producers that give an item by its
//! number: `for_each` and `collect`, with `map` and its like in between, and sums and products of
//! floating-point numbers, whose items also have a sum of several to go to.
//!
//! They have a kernel of the module [`MODULE`], in the place of the general one: a loop
//! over items is marked there, and several of them are computed at once. Whether a pipeline is such a
//! one is told by the names of rayon's types. Some that are not in the lists keep something from one
//! item to the next: in a folder, or where a folder points to. Others gain nothing: chunks of a
//! slice are next to each other in memory, and items at the same place of two chunks are not. Sums
//! of integers are left to LLVM, which may change their order.

use rustc_middle::ty::{self, GenericArgsRef, Ty, TyCtxt};
use rustc_span::Symbol;

use crate::rayon::types::{RAYON, is_in_module, own_args};

/// The module with the kernels.
const MODULE: &str = "each";

/// The type of a piece that has been counted.
const COUNTED: &str = "Indexed";

/// A kernel of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Each,
    Sums,
}

impl Form {
    /// The kernel's name.
    const fn name(self) -> &'static str {
        match self {
            Self::Each => "Each",
            Self::Sums => "Sums",
        }
    }

    /// The consumers of its pipelines.
    const fn consumers(self) -> &'static [&'static [Known]] {
        match self {
            Self::Each => &[&FOR_EACH, &COLLECT, &CHANGES],
            Self::Sums => OF_SUMS,
        }
    }
}

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

/// Those of them that others are made of.
const LEAVES: [Known; 4] = [
    ("range", "IterProducer", 0),
    ("slice", "IterProducer", 0),
    ("slice", "IterMutProducer", 0),
    ("vec", "DrainProducer", 0),
];

/// Those of elements.
const SLICES: [Known; 3] = [LEAVES[1], LEAVES[2], LEAVES[3]];

/// Consumers without results.
const FOR_EACH: [Known; 2] = [("for_each", "ForEachConsumer", 0), ("noop", "NoopConsumer", 0)];

const COLLECT: [Known; 1] = [("consumer", "CollectConsumer", 0)];

/// Consumers that give another one an item for each of theirs.
const CHANGES: [Known; 5] = [
    ("map", "MapConsumer", 1),
    ("copied", "CopiedConsumer", 1),
    ("cloned", "ClonedConsumer", 1),
    ("inspect", "InspectConsumer", 1),
    ("update", "UpdateConsumer", 1),
];

const OF_SUMS: &[&[Known]] = &[
    &[(SUM, "SumConsumer", 0), (PRODUCT, "ProductConsumer", 0)],
    &CHANGES,
    &[("filter", "FilterConsumer", 1), ("filter_map", "FilterMapConsumer", 1)],
];

/// The modules of consumers that are for floating-point numbers alone.
const SUM: &str = "sum";
const PRODUCT: &str = "product";

/// The form of a kernel that is made of a pipeline; `None` if it is another module's.
pub(crate) fn form_of_kernel<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> Option<Form> {
    let name = tcx.opt_item_name(kernel.ty_adt_def()?.did())?;
    let forms = [Form::Each, Form::Sums].into_iter();
    is_in_module(tcx, kernel, MODULE)
        .then(|| forms.clone().find(|form| form.name() == name.as_str()))
        .flatten()
}

/// The form that the pipeline of a kernel can have. The kernel's parameter is the type of its
/// pieces.
pub(crate) fn form_of_pipeline<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> Option<Form> {
    let piece = own_args(tcx, kernel)?.types().next()?;
    let is_counted =
        tcx.opt_item_name(piece.ty_adt_def()?.did()).is_some_and(|name| name.as_str() == COUNTED);
    let args = own_args(tcx, piece).filter(|_| is_counted)?;
    if !is_known(tcx, args.type_at(0), &[&PRODUCERS], is_float) {
        return None;
    }
    let mut forms = [Form::Each, Form::Sums].into_iter();
    forms.find(|form| is_known(tcx, args.type_at(1), form.consumers(), is_float))
}

/// The kernels whose work-items get copies of a pipeline. Of each pipeline there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grid {
    /// For all pipelines.
    Fold,
    /// For sums and products of numbers. Their order does not matter: rayon promises none, and of
    /// integers it makes no difference.
    Sums,
    /// For those that collect all items, each in its place.
    Collect,
    /// For few items that may have loops, beside [`Fold`](Self::Fold).
    Rows,
}

impl Grid {
    /// Which one a kernel is.
    pub(crate) fn of_kernel<'tcx>(tcx: TyCtxt<'tcx>, kernel: Ty<'tcx>) -> Self {
        let name = kernel.ty_adt_def().and_then(|adt| tcx.opt_item_name(adt.did()));
        match name.as_ref().map(Symbol::as_str) {
            Some("Sums") => Self::Sums,
            Some("Collect") => Self::Collect,
            Some("Rows") => Self::Rows,
            _ => Self::Fold,
        }
    }

    /// The one for a pipeline, of which these are the producer and the consumer.
    pub(crate) fn of_pipeline<'tcx>(tcx: TyCtxt<'tcx>, args: GenericArgsRef<'tcx>) -> Self {
        let (producer, consumer) = (args.type_at(0), args.type_at(1));
        if is_known(tcx, consumer, &[&COLLECT, &CHANGES], is_number) {
            Self::Collect
        } else if is_known(tcx, producer, &[&PRODUCERS], is_number)
            && is_known(tcx, consumer, OF_SUMS, is_number)
        {
            Self::Sums
        } else {
            Self::Fold
        }
    }

    /// Whether it is one of a pipeline's, as in [`of_pipeline`](Self::of_pipeline). Items that are elements
    /// of slices of numbers are no rows.
    pub(crate) fn is_of_pipeline<'tcx>(
        self,
        tcx: TyCtxt<'tcx>,
        args: GenericArgsRef<'tcx>,
    ) -> bool {
        let of = Self::of_pipeline(tcx, args);
        if self != Self::Rows {
            return self == of;
        }
        let is_element = |ty: Ty<'tcx>| {
            SLICES.iter().any(|(module, _, _)| is_in_module(tcx, ty, module))
                && own_args(tcx, ty).and_then(|args| args.types().next()).is_some_and(is_number)
        };
        let has_rows = |ty: Ty<'tcx>| {
            let mut producers = ty.walk().filter_map(|part| part.as_type());
            producers.any(|part| is_known(tcx, part, &[&LEAVES], is_number) && !is_element(part))
        };
        of == Self::Fold
            && is_known(tcx, args.type_at(1), &[&FOR_EACH, &CHANGES], is_number)
            && (has_rows(args.type_at(0))
                || !is_known(tcx, args.type_at(0), &[&PRODUCERS], is_number))
    }
}

fn is_float(ty: Ty<'_>) -> bool {
    matches!(ty.kind(), ty::Float(_))
}

fn is_number(ty: Ty<'_>) -> bool {
    matches!(ty.kind(), ty::Float(_) | ty::Int(_) | ty::Uint(_))
}

/// Whether a type is made of those in some lists alone; sums are `of` a type.
fn is_known<'tcx>(
    tcx: TyCtxt<'tcx>,
    ty: Ty<'tcx>,
    all: &[&[Known]],
    of: fn(Ty<'_>) -> bool,
) -> bool {
    let ty::Adt(adt, args) = *ty.kind() else { return false };
    if tcx.crate_name(adt.did().krate).as_str() != RAYON {
        return false;
    }
    let Some(name) = tcx.opt_item_name(adt.did()) else { return false };
    let found = all
        .iter()
        .copied()
        .flatten()
        .find(|&&(module, known, _)| known == name.as_str() && is_in_module(tcx, ty, module));
    let Some(&(module, _, inner)) = found else { return false };
    args.types().take(inner).all(|inner| is_known(tcx, inner, all, of))
        && (![SUM, PRODUCT].contains(&module) || args.types().next().is_some_and(of))
}
