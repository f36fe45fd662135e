//! Pipelines in others.
//!
//! A kernel in the program's process calls what runs the inner pipeline, which may be another kernel,
//! where the program has it. That is an instance of a generic function: the compiler makes it local
//! to its object file if no other crate can name it. Under `--stdpar`, each is a symbol that other
//! objects see.

use std::sync::OnceLock;

use rustc_data_structures::fx::FxHashSet;
use rustc_hir::attrs::Linkage;
use rustc_middle::middle::exported_symbols::{ExportedSymbol, SymbolExportInfo, SymbolExportKind};
use rustc_middle::query::LocalCrate;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_middle::util::Providers;

use crate::rayon::functions::{is_for_host_only, is_in_sight};
use crate::rayon::statics::export_info;
use crate::rustc::{CodegenUnit, MonoItem, MonoItemPartitions, Visibility};

type Partitions = for<'tcx> fn(TyCtxt<'tcx>, ()) -> MonoItemPartitions<'tcx>;
type Exported =
    for<'tcx> fn(TyCtxt<'tcx>, LocalCrate) -> &'tcx [(ExportedSymbol<'tcx>, SymbolExportInfo)];

/// rustc's own provider of `collect_and_partition_mono_items`, which ours calls.
static PARTITIONS: OnceLock<Partitions> = OnceLock::new();

/// rustc's own provider of `exported_generic_symbols`, which ours calls.
static EXPORTED: OnceLock<Exported> = OnceLock::new();

/// Installs the providers of this module.
pub(crate) fn provide(providers: &mut Providers) {
    PARTITIONS.get_or_init(|| providers.queries.collect_and_partition_mono_items);
    providers.queries.collect_and_partition_mono_items = |tcx, ()| {
        let mut partitions = (PARTITIONS.get().expect("set when ours was"))(tcx, ());
        if partitions.codegen_units.iter().any(|unit| runs_pipelines(tcx, unit)) {
            let units: Vec<_> =
                partitions.codegen_units.iter().map(|unit| exporting(tcx, unit)).collect();
            partitions.codegen_units = tcx.arena.alloc_from_iter(units);
        }
        partitions
    };
    EXPORTED.get_or_init(|| providers.queries.exported_generic_symbols);
    providers.queries.exported_generic_symbols = |tcx, local| {
        let exported = (EXPORTED.get().expect("set when ours was"))(tcx, local);
        if !is_in_sight(tcx) || !tcx.sess.opts.output_types.should_codegen() {
            return exported;
        }
        let known: FxHashSet<_> = exported
            .iter()
            .filter_map(|(symbol, _)| match *symbol {
                ExportedSymbol::Generic(function, args) => Some((function, args)),
                _ => None,
            })
            .collect();
        let mut missing: Vec<_> = own(tcx)
            .map(|pipeline| (pipeline.def_id(), pipeline.args))
            .filter(|pipeline| !known.contains(pipeline))
            .map(|(function, args)| {
                (ExportedSymbol::Generic(function, args), export_info(SymbolExportKind::Text))
            })
            .collect();
        if missing.is_empty() {
            return exported;
        }
        missing.extend_from_slice(exported);
        missing.sort_by_cached_key(|(symbol, _)| symbol.symbol_name_for_local_instance(tcx));
        tcx.arena.alloc_from_iter(missing)
    };
}

/// Those of some pipelines that the program does not run under a symbol that objects see.
pub(crate) fn without_symbol<'tcx>(
    tcx: TyCtxt<'tcx>,
    nested: &[Instance<'tcx>],
) -> FxHashSet<Instance<'tcx>> {
    if nested.is_empty() {
        return FxHashSet::default();
    }
    let own: FxHashSet<_> = own(tcx).collect();
    let all = nested.iter().copied();
    all.filter(|pipeline| {
        !own.contains(pipeline) && pipeline.upstream_monomorphization(tcx).is_none()
    })
    .collect()
}

/// The pipelines that the crate itself has the code of.
fn own<'tcx>(tcx: TyCtxt<'tcx>) -> impl Iterator<Item = Instance<'tcx>> {
    let units = tcx.collect_and_partition_mono_items(()).codegen_units.iter();
    units.flat_map(|unit| unit.items().keys()).filter_map(move |item| runs_pipeline(tcx, item))
}

/// A copy of a unit whose pipelines are symbols that other objects see.
fn exporting<'tcx>(tcx: TyCtxt<'tcx>, unit: &CodegenUnit<'tcx>) -> CodegenUnit<'tcx> {
    let mut copy = CodegenUnit::new(unit.name());
    copy.items_mut().extend(unit.items().iter().map(|(&item, &data)| (item, data)));
    for (item, data) in copy.items_mut() {
        if runs_pipeline(tcx, item).is_some() && data.linkage != Linkage::External {
            data.linkage = Linkage::External;
            data.visibility = Visibility::Hidden;
        }
    }
    copy.compute_size_estimate();
    if unit.is_primary() {
        copy.make_primary();
    }
    if unit.is_code_coverage_dead_code_cgu() {
        copy.make_code_coverage_dead_code_cgu();
    }
    copy
}

fn runs_pipelines<'tcx>(tcx: TyCtxt<'tcx>, unit: &CodegenUnit<'tcx>) -> bool {
    unit.items().keys().any(|item| runs_pipeline(tcx, item).is_some())
}

/// The function that an item is, if it runs a pipeline.
fn runs_pipeline<'tcx>(tcx: TyCtxt<'tcx>, item: &MonoItem<'tcx>) -> Option<Instance<'tcx>> {
    match item {
        MonoItem::Fn(instance) if is_for_host_only(tcx, instance.def_id()) => Some(*instance),
        _ => None,
    }
}
