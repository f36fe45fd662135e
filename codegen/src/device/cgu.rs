//! The codegen unit of the device half.
//!
//! The compiler's query makes it, so that incremental compilation knows what it depends on. A query
//! returns the unit and nothing else; what the walk finds besides is left in [`FINDINGS`], by the
//! unit's name, from which [`DeviceCgu::collect`] takes it at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

use rustc_data_structures::fx::FxIndexSet;
use rustc_hir::attrs::Linkage;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_span::Symbol;
use rustc_span::def_id::LOCAL_CRATE;
use schism_passes::{Formatter, PanicFunction, TypeDescription};

use crate::collect::imports;
use crate::collect::spec_constants::{self, SpecConstant};
use crate::collect::walk::{self, Place};
use crate::kernels::{self, Kernel, runtime_items};
use crate::rayon::types::is_in_process;
use crate::rustc::{CodegenUnit, CodegenUnitNameBuilder, MonoItem, MonoItemData, Visibility};
use crate::stdpar::refuse;

/// What providers have found for units that are being collected, by their names.
static FINDINGS: Mutex<BTreeMap<String, Findings>> = Mutex::new(BTreeMap::new());

/// rustc's own provider of `codegen_unit`, which ours calls.
static CODEGEN_UNIT: OnceLock<for<'tcx> fn(TyCtxt<'tcx>, Symbol) -> &'tcx CodegenUnit<'tcx>> =
    OnceLock::new();

/// The codegen unit, and what the walk has found besides its items.
pub(super) struct DeviceCgu {
    pub name: Symbol,
    pub findings: Findings,
}

#[derive(Default)]
pub(super) struct Findings {
    pub panics: Vec<PanicFunction>,
    pub formatters: Vec<Formatter>,
    pub types: Vec<TypeDescription>,
    pub spec_constants: Vec<SpecConstant>,
    pub imports: Vec<String>,
    /// For each kernel.
    pub no_thread_locals: Vec<bool>,
    /// Kernels of pipelines that are left out, by name, and why.
    pub left_out: Vec<(String, &'static str)>,
    /// Those of them that are left out of what devices have, but not of what the process has.
    pub not_for_devices: Vec<(String, &'static str)>,
}

impl DeviceCgu {
    /// Collects what the kernels of the crate reach.
    pub(super) fn collect(tcx: TyCtxt<'_>) -> Self {
        let name = CodegenUnitNameBuilder::new(tcx).build_cgu_name(
            LOCAL_CRATE,
            ["schism"],
            Some("device"),
        );
        findings().insert(name.to_string(), Findings::default());
        // For what its provider leaves, whether the answer is new or not.
        let _ = tcx.codegen_unit(name);
        let findings = findings().remove(name.as_str()).unwrap_or_default();
        Self { name, findings }
    }
}

fn findings() -> MutexGuard<'static, BTreeMap<String, Findings>> {
    FINDINGS.lock().expect("nothing panics under the lock")
}

/// Installs the provider of this module. For a unit that is not being collected, as all are of a
/// crate without kernels, it queries nothing, so incremental compilation sees the same dependencies
/// as without the plugin.
pub(crate) fn provide(providers: &mut Providers) {
    CODEGEN_UNIT.get_or_init(|| providers.queries.codegen_unit);
    providers.queries.codegen_unit = |tcx, name| {
        if findings().contains_key(name.as_str()) {
            let (unit, found) = unit(tcx, name);
            findings().insert(name.to_string(), found);
            tcx.arena.alloc(unit)
        } else {
            (CODEGEN_UNIT.get().expect("set when ours was"))(tcx, name)
        }
    };
}

/// Walks over what the kernels reach.
fn unit<'tcx>(tcx: TyCtxt<'tcx>, name: Symbol) -> (CodegenUnit<'tcx>, Findings) {
    let runtime = runtime_items::find(tcx);
    let mut kernels = kernels::of_crate(tcx, &runtime);
    let exports = imports::exports(tcx, &runtime);
    let exported = exports.iter().map(|export| export.instance);
    let reach = |place, kernels: &[Kernel<'tcx>]| {
        let entries = kernels.iter().map(|kernel| kernel.entry).chain(exported.clone());
        walk::reach(tcx, place, entries)
    };
    let mut reached = reach(Place::Device, &kernels);
    let left_out = refuse::for_all(tcx, &kernels, &reached);
    if !left_out.is_empty() {
        leave_out(&mut kernels, &left_out);
        reached = reach(Place::Device, &kernels);
    }
    let no_thread_locals = std::mem::take(&mut reached.no_thread_locals);
    let mut items = FxIndexSet::default();
    if kernels.iter().any(|kernel| is_in_process(tcx, kernel.entry.args.type_at(0))) {
        items = reach(Place::Process, &kernels).items;
    }
    let not_for_devices = refuse::for_devices(tcx, &kernels, &reached);
    if !not_for_devices.is_empty() {
        leave_out(&mut kernels, &not_for_devices);
        reached = reach(Place::Device, &kernels);
    }
    items.extend(reached.items.iter().copied());
    let statics = reached.statics.iter();
    let mut spec_constants: Vec<SpecConstant> =
        statics.filter_map(|def_id| spec_constants::of_static(tcx, *def_id, &runtime)).collect();
    spec_constants.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    let findings = Findings {
        imports: imports::imported(tcx, &runtime, reached.without_body.iter().copied()),
        panics: reached.panics,
        formatters: reached.formatters,
        types: reached.types,
        spec_constants,
        no_thread_locals,
        left_out,
        not_for_devices,
    };
    (unit_of(name, &items), findings)
}

/// The codegen unit of some items.
fn unit_of<'tcx>(name: Symbol, items: &FxIndexSet<MonoItem<'tcx>>) -> CodegenUnit<'tcx> {
    let mut unit = CodegenUnit::new(name);
    for &item in items {
        let data = MonoItemData {
            inlined: false,
            linkage: Linkage::External,
            visibility: Visibility::Default,
            size_estimate: 1,
        };
        unit.items_mut().insert(item, data);
    }
    unit.compute_size_estimate();
    unit
}

/// Takes out kernels by their names.
pub(super) fn leave_out(kernels: &mut Vec<Kernel<'_>>, left_out: &[(String, &'static str)]) {
    kernels.retain(|kernel| left_out.iter().all(|(name, _)| *name != kernel.info.name));
}
