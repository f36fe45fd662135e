//! Which kernels a crate launches.
//!
//! A launch of the closure type `K` in `D` dimensions calls the runtime's marker function
//! `descriptor::<K, D>()` for its kernel. Each instance of that function among the crate's
//! monomorphised items is one kernel; names of symbols are not interpreted.

pub(crate) mod addresses;
pub(crate) mod layout;
pub(crate) mod names;
pub(crate) mod runtime_items;

use rustc_data_structures::fx::FxIndexMap;
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, GenericArgsRef, Instance, Ty, TyCtxt, TypeVisitableExt};
use rustc_span::Span;
use rustc_span::def_id::DefId;

use schism_passes::KernelSpec;

use crate::kernels::names::{location_of, module_of, path_of, path_with_args};
use crate::kernels::runtime_items::RuntimeItems;
use crate::rayon;
use crate::rustc::{CodegenUnit, MonoItem};

/// One kernel of the crate.
pub(crate) struct Kernel<'tcx> {
    /// The instance of the runtime's function that runs one work-item of it.
    pub entry: Instance<'tcx>,
    /// Its description for the container.
    pub info: KernelInfo,
}

/// The properties of a kernel that do not need the compiler.
#[derive(Clone, Debug)]
pub(crate) struct KernelInfo {
    /// Its name in the image: an identifier for every target, unique among all crates.
    pub name: String,
    /// The symbol of its entry function.
    pub entry_symbol: String,
    /// The path of its closure, for people.
    pub display_name: String,
    /// The path of the module that its closure stands in.
    pub source: String,
    /// Number of dimensions, 1 to 3; 0 for a function that is exported.
    pub dimensions: u32,
    /// The flattened closure.
    pub closure: layout::Closure,
    /// The closure's location.
    pub span: Span,
    /// The file and line of that, as panics name them; `None` if they are not known.
    pub location: Option<String>,
}

impl KernelInfo {
    /// What the passes are told of it.
    pub(crate) fn spec(&self) -> KernelSpec {
        KernelSpec {
            name: self.name.clone(),
            entry: self.entry_symbol.clone(),
            source: self.source.clone(),
            closure_size: self.closure.size,
            closure_align: self.closure.align,
            parameters: self.closure.parameters.clone(),
        }
    }

    /// The path of its closure and where that stands, for people who see no span.
    pub(crate) fn located_name(&self) -> String {
        match &self.location {
            Some(location) => format!("{} ({location})", self.display_name),
            None => self.display_name.clone(),
        }
    }
}

/// The kernels of a crate, ordered by name: empty for nearly every crate.
pub(crate) fn of_crate<'tcx>(tcx: TyCtxt<'tcx>, runtime: &[RuntimeItems]) -> Vec<Kernel<'tcx>> {
    let mut kernels = FxIndexMap::default();
    for unit in tcx.collect_and_partition_mono_items(()).codegen_units {
        for (marker, items) in markers_of(unit, runtime) {
            if rayon::may_be_kernel(tcx, marker)
                && let Some(kernel) = describe(tcx, marker, items)
            {
                kernels.insert(kernel.info.name.clone(), kernel);
            }
        }
    }
    let mut kernels: Vec<_> = kernels.into_values().collect();
    kernels.sort_by(|a, b| a.info.name.cmp(&b.info.name));
    kernels
}

/// The marker instances in one codegen unit.
pub(crate) fn markers_of<'a, 'tcx>(
    unit: &'a CodegenUnit<'tcx>,
    runtime: &'a [RuntimeItems],
) -> impl Iterator<Item = (Instance<'tcx>, &'a RuntimeItems)> {
    unit.items().keys().filter_map(move |item| {
        let MonoItem::Fn(instance) = item else { return None };
        let items = runtime.iter().find(|items| items.descriptor == instance.def_id())?;
        Some((*instance, items))
    })
}

/// The name of the kernel that a marker instance stands for.
pub(crate) fn name_of<'tcx>(
    tcx: TyCtxt<'tcx>,
    marker: Instance<'tcx>,
    items: &RuntimeItems,
) -> String {
    let entry = Instance::new_raw(items.device_entry, marker.args);
    let symbol = tcx.symbol_name(entry).name;
    let path = closure_of(marker.args.type_at(0)).map_or_else(
        || tcx.crate_name(items.descriptor.krate).to_string(),
        |def_id| path_of(tcx, def_id),
    );
    kernel_name(&path, symbol)
}

fn describe<'tcx>(
    tcx: TyCtxt<'tcx>,
    marker: Instance<'tcx>,
    items: &RuntimeItems,
) -> Option<Kernel<'tcx>> {
    let kernel_type = marker.args.type_at(0);
    if kernel_type.has_param() {
        return None;
    }
    let dimensions = marker.args.const_at(1).try_to_target_usize(tcx)?;
    let entry = Instance::new_raw(items.device_entry, marker.args);
    let (display_name, span) = match closure_in(kernel_type) {
        Some((def_id, args)) => (path_with_args(tcx, def_id, args), tcx.def_span(def_id)),
        None => (with_no_trimmed_paths!(kernel_type.to_string()), tcx.def_span(items.descriptor)),
    };
    Some(Kernel {
        entry,
        info: KernelInfo {
            name: name_of(tcx, marker, items),
            entry_symbol: tcx.symbol_name(entry).name.to_owned(),
            display_name,
            source: closure_of(kernel_type).map(|id| module_of(tcx, id)).unwrap_or_default(),
            dimensions: dimensions as u32,
            closure: layout::flatten(tcx, kernel_type, items.specialized.as_slice()),
            span,
            location: location_of(tcx, span),
        },
    })
}

/// The user's closure (or function item) in a kernel type: the type itself, or one inside the
/// runtime's adaptors.
fn closure_of(kernel_type: Ty<'_>) -> Option<DefId> {
    closure_in(kernel_type).map(|(def_id, _)| def_id)
}

fn closure_in(kernel_type: Ty<'_>) -> Option<(DefId, GenericArgsRef<'_>)> {
    kernel_type.walk().find_map(|argument| match *argument.as_type()?.kind() {
        ty::Closure(def_id, args) | ty::FnDef(def_id, args) => Some((def_id, args)),
        _ => None,
    })
}

/// An identifier that every target accepts: letters, digits and underscores, starting with a
/// letter; readable up to a hash that makes it unique.
fn kernel_name(path: &str, symbol: &str) -> String {
    let mut readable = String::from("k_");
    for character in path.chars() {
        if character.is_ascii_alphanumeric() {
            readable.push(character);
        } else if !readable.ends_with('_') {
            readable.push('_');
        }
    }
    readable.truncate(64);
    format!("{}_{:016x}", readable.trim_end_matches('_'), fnv1a(symbol.as_bytes()))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): symbols are unique already, this only shortens them.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
