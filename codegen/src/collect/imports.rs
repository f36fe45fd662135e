//! Imports: functions that kernels of one crate use from the device code of another, which is
//! linked to theirs at the first launch.
//!
//! Most functions of other crates do not need this: their bodies come as MIR ([`crate::collect::walk`]).
//! It is for functions of which the kernels' compiler knows only a declaration: `extern "C"`
//! functions of Rust that are found by symbol, and functions of libraries that carry no MIR.
//!
//! Both sides declare this in the source, by macros of the runtime, each of which expands to an
//! implementation of a trait whose one function returns the list:
//!
//! ```ignore
//! impl ExportToDevice for Listed {
//!     fn functions() -> impl Sized { (scale, offset) }
//! }
//! ```
//!
//! Nothing calls that function, so no code is generated for it. Its return type names the
//! functions, also in the metadata of the crate. An exported function is lowered like a kernel, and
//! its symbol is listed in the container. An imported function, and one that another crate exports,
//! may lack a body.

use rustc_data_structures::fx::{FxHashSet, FxIndexMap};
use rustc_middle::ty::{self, GenericArgsRef, Instance, Ty, TyCtxt};
use rustc_span::Span;
use rustc_span::def_id::{CrateNum, DefId, LOCAL_CRATE};
use schism_passes::spec::builtins;

use crate::kernels::runtime_items::{self, RuntimeItems};
use crate::kernels::{KernelInfo, layout, names};
use crate::rustc::{as_written, to_normalize};

/// A function of this crate that kernels of others may call.
pub(crate) struct Export<'tcx> {
    /// The function.
    pub instance: Instance<'tcx>,
    /// Its description for diagnostics. It has no dimensions.
    pub info: KernelInfo,
}

/// A function in one of the lists.
struct Listed<'tcx> {
    def_id: DefId,
    args: GenericArgsRef<'tcx>,
    /// The list.
    span: Span,
}

/// The functions that this crate exports, in the order of their symbols. Functions that cannot be
/// exported are errors.
pub(crate) fn exports<'tcx>(tcx: TyCtxt<'tcx>, runtime: &[RuntimeItems]) -> Vec<Export<'tcx>> {
    let mut exports = FxIndexMap::default();
    let traits = runtime.iter().filter_map(|items| items.export_to_device);
    for listed in traits.flat_map(|of| local_lists(tcx, of)).flat_map(|list| entries(tcx, list)) {
        let Listed { def_id, args, span } = listed;
        let path = names::path_of(tcx, def_id);
        let refuse = |why: &str, help: &str| {
            let mut error = tcx
                .dcx()
                .struct_span_err(span, format!("`{path}` cannot be exported to devices: {why}"));
            error.help(help.to_owned());
            error.emit();
        };
        if tcx.is_foreign_item(def_id) {
            refuse(
                "it is declared here, and its body is somewhere else",
                "export it in the crate that defines it",
            );
        } else if !def_id.is_local() {
            refuse("another crate defines it", "export it there");
        } else if tcx.fn_sig(def_id).skip_binder().c_variadic() {
            refuse("it takes a variable number of arguments", "take a slice or an array");
        } else {
            let instance = Instance::new_raw(def_id, args);
            let symbol = tcx.symbol_name(instance).name.to_owned();
            let info = KernelInfo {
                name: symbol.clone(),
                entry_symbol: symbol.clone(),
                display_name: path,
                source: String::new(),
                dimensions: 0,
                closure: layout::Closure {
                    size: 0,
                    align: 1,
                    parameters: Vec::new(),
                    addresses: Vec::new(),
                },
                span: tcx.def_span(def_id),
                location: None,
            };
            exports.insert(symbol, Export { instance, info });
        }
    }
    let mut exports: Vec<_> = exports.into_values().collect();
    exports.sort_by(|a, b| a.info.name.cmp(&b.info.name));
    exports
}

/// The symbols of those functions without a body that another crate's device code may define: they
/// are listed as imported, in this crate or in the caller's, or their own crate lists them as
/// exported.
pub(crate) fn imported<'tcx>(
    tcx: TyCtxt<'tcx>,
    runtime: &[RuntimeItems],
    without_body: impl Iterator<Item = Instance<'tcx>>,
) -> Vec<String> {
    let is_known = |symbol: &str| {
        builtins::is_builtin(symbol)
            || builtins::GLOBAL_OFFSET.contains(&symbol)
            || builtins::is_library_function(symbol)
    };
    let candidates: Vec<(Instance<'tcx>, &str)> = without_body
        .map(|instance| (instance, tcx.symbol_name(instance).name))
        .filter(|(_, symbol)| !is_known(symbol))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let listed = |of: Option<DefId>| of.into_iter().flat_map(|of| all_lists(tcx, of));
    let mut known: FxHashSet<DefId> = FxHashSet::default();
    for items in runtime {
        let lists = listed(items.import_to_device).chain(listed(items.export_to_device));
        known.extend(lists.flat_map(|list| entries(tcx, list)).map(|entry| entry.def_id));
    }
    let mut symbols: Vec<String> = candidates
        .into_iter()
        .filter(|(instance, _)| known.contains(&instance.def_id()))
        .map(|(_, symbol)| symbol.to_owned())
        .collect();
    symbols.sort();
    symbols.dedup();
    symbols
}

/// The lists of this crate: implementations of the trait.
fn local_lists(tcx: TyCtxt<'_>, of: DefId) -> Vec<DefId> {
    tcx.local_trait_impls(of).iter().map(|list| list.to_def_id()).collect()
}

/// The lists of all crates.
fn all_lists(tcx: TyCtxt<'_>, of: DefId) -> Vec<DefId> {
    let mut lists = local_lists(tcx, of);
    for &krate in tcx.crates(()).iter().filter(|&&krate| krate != LOCAL_CRATE) {
        lists.extend(tcx.implementations_of_trait((krate, of)).iter().map(|(list, _)| *list));
    }
    lists
}

/// The functions in a list. Entries that are not functions by name are errors, in the crate that
/// lists them.
fn entries<'tcx>(tcx: TyCtxt<'tcx>, list: DefId) -> Vec<Listed<'tcx>> {
    let span = tcx.def_span(list);
    let mut entries = Vec::new();
    for function in tcx.associated_item_def_ids(list) {
        if !matches!(tcx.def_kind(*function), rustc_hir::def::DefKind::AssocFn) {
            continue;
        }
        let signature = as_written(tcx.fn_sig(*function).instantiate_identity());
        let output = tcx.instantiate_bound_regions_with_erased(signature).output();
        let env = ty::TypingEnv::fully_monomorphized();
        let ty::Tuple(types) = *tcx.normalize_erasing_regions(env, to_normalize(output)).kind()
        else {
            continue;
        };
        for ty in types {
            match *ty.kind() {
                ty::FnDef(def_id, args) => entries.push(Listed { def_id, args, span }),
                _ if list.is_local() => refuse_value(tcx, span, ty),
                _ => {}
            }
        }
    }
    entries
}

fn refuse_value<'tcx>(tcx: TyCtxt<'tcx>, span: Span, ty: Ty<'tcx>) {
    let mut error = tcx.dcx().struct_span_err(
        span,
        format!("a function of device code is given by a value of type `{ty}`"),
    );
    error.help("give the function by its name");
    error.emit();
}

/// The symbols of the containers of other crates that export functions, where the linker finds them
/// in libraries: it drops members that nothing refers to.
pub(crate) fn exporters(tcx: TyCtxt<'_>) -> Vec<String> {
    let traits: Vec<DefId> =
        runtime_items::find(tcx).iter().filter_map(|items| items.export_to_device).collect();
    let exports = |krate: &CrateNum| {
        traits.iter().any(|of| !tcx.implementations_of_trait((*krate, *of)).is_empty())
    };
    let crates = tcx.crates(()).iter().filter(|krate| !traits.is_empty() && exports(krate));
    let begin = |krate: &CrateNum| {
        let symbol = names::container_begin(&names::crate_id(tcx, *krate));
        // A library made by plain rustc has no container.
        let contents = std::fs::read(tcx.used_crate_source(*krate).rlib.as_ref()?).ok()?;
        let text = symbol.as_bytes();
        contents.windows(text.len()).any(|bytes| bytes == text).then_some(symbol)
    };
    crates.filter_map(begin).collect()
}
