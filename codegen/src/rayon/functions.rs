//! The functions of rayon's that are replaced, and those of `schism-stdpar` that replace them, as far
//! as a crate sees them.

use std::sync::Mutex;

use rustc_hir::def::{DefKind, Res};
use rustc_middle::ty::TyCtxt;
use rustc_span::Symbol;
use rustc_span::def_id::{CrateNum, DefId, LOCAL_CRATE, StableCrateId};

use crate::rayon::inject;
use crate::rayon::types::CRATE;

/// The module of `schism-stdpar` with the functions that are replaced.
const ORIGINALS: &str = "originals";

/// The functions of one pipeline's kind: the name of the original, which is also that of the
/// replacement, and of the function that only the host runs.
const FUNCTIONS: [(&str, &str); 2] =
    [("bridge_producer_consumer", "pipeline"), ("bridge_unindexed", "unindexed_pipeline")];

/// The module with what only the host runs.
const HOST: &str = "host";

/// The trait with the methods that sort.
const SORTS: &str = "ParallelSliceMut";

/// The module with the functions that replace them, which have the same names.
const SORT_REPLACEMENTS: &str = "sorts";

/// What all of them call, on the host only.
const HOST_SORT: &str = "sort_slice";

/// The methods that sort.
pub(crate) const SORT_METHODS: [&str; 6] = [
    "par_sort",
    "par_sort_by",
    "par_sort_by_key",
    "par_sort_unstable",
    "par_sort_unstable_by",
    "par_sort_unstable_by_key",
];

/// The module with the functions that ask for references in captures.
const CAPTURES: &str = "captures";

/// The function that asks what a pipeline changes.
pub(crate) const CHANGES: &str = "changes";

/// The functions that ask, and those that answer.
pub(crate) const CAPTURE_FUNCTIONS: [(&str, &str); 3] =
    [("references", "encoded"), ("rebind", "rebind_encoded"), (CHANGES, "changes_encoded")];

/// Whether a function may be one of rayon's that run a pipeline.
pub(crate) fn is_name_of_original(name: &str) -> bool {
    FUNCTIONS.iter().any(|(original, _)| *original == name)
}

/// The items of one crate with replacements, for one of the functions that it replaces. A program
/// may have several versions of rayon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bridge {
    pub original: DefId,
    pub replacement: DefId,
    host_pipeline: DefId,
}

/// What is in sight; nothing for nearly every crate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub bridges: Vec<Bridge>,
    pub sorts: Vec<SortMethod>,
    pub captures: Vec<CaptureQuery>,
}

/// The functions of pipelines in sight.
pub(crate) fn bridges(tcx: TyCtxt<'_>) -> Vec<Bridge> {
    known(tcx, |known| known.bridges.clone())
}

/// Takes something from what is in sight.
pub(crate) fn known<R>(tcx: TyCtxt<'_>, take: impl FnOnce(&Known) -> R) -> R {
    /// The answer for the crate that the process compiles.
    static KNOWN: Mutex<Option<(StableCrateId, Known)>> = Mutex::new(None);
    // Asked each time: what is made of the answer depends on it for incremental
    // compilation.
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
        found.bridges.extend(bridges_of(tcx, krate));
        found.sorts.extend(sort_methods(tcx, krate));
        found.captures.extend(capture_queries(tcx, krate));
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
fn bridges_of(tcx: TyCtxt<'_>, krate: CrateNum) -> Vec<Bridge> {
    let root = krate.as_def_id();
    let (host, originals) = (child(tcx, root, HOST), child(tcx, root, ORIGINALS));
    let functions = FUNCTIONS.iter().filter_map(|(name, pipeline)| {
        Some(Bridge {
            original: child(tcx, originals?, name)?,
            replacement: child(tcx, root, name)?,
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

/// The items of one crate for one of the methods that sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortMethod {
    pub original: DefId,
    pub replacement: DefId,
    pub host_sort: DefId,
}

/// The items of a crate, for each method.
fn sort_methods(tcx: TyCtxt<'_>, krate: CrateNum) -> Vec<SortMethod> {
    let root = krate.as_def_id();
    let modules = || {
        let slices = child(tcx, child(tcx, root, ORIGINALS)?, SORTS)?;
        let host_sort = child(tcx, child(tcx, root, HOST)?, HOST_SORT)?;
        Some((slices, child(tcx, root, SORT_REPLACEMENTS)?, host_sort))
    };
    let Some((slices, replacements, host_sort)) = modules() else { return Vec::new() };
    let methods = tcx.associated_item_def_ids(slices).iter();
    let items = methods.filter_map(|&original| {
        let name = tcx.opt_item_name(original)?;
        let replacement = child(tcx, replacements, name.as_str())?;
        let count = |function| tcx.generics_of(function).count();
        // A method with other generics is none that is known.
        (SORT_METHODS.contains(&name.as_str()) && count(original) == count(replacement))
            .then_some(SortMethod { original, replacement, host_sort })
    });
    items.collect()
}

/// A function of one crate that asks for references in captures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaptureQuery {
    pub original: DefId,
    pub replacement: DefId,
}

/// Those functions of a crate.
fn capture_queries(tcx: TyCtxt<'_>, krate: CrateNum) -> Vec<CaptureQuery> {
    let Some(module) = child(tcx, krate.as_def_id(), CAPTURES) else { return Vec::new() };
    let items = CAPTURE_FUNCTIONS.iter().filter_map(|(original, replacement)| {
        let original = child(tcx, module, original)?;
        Some(CaptureQuery { original, replacement: child(tcx, module, replacement)? })
    });
    items.collect()
}
