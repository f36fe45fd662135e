//! The items of the runtime crate that the plugin knows by their path.

use std::sync::Mutex;

use rustc_hir::def::{DefKind, Res};
use rustc_middle::ty::TyCtxt;
use rustc_span::Symbol;
use rustc_span::def_id::{CrateNum, DefId, LOCAL_CRATE, StableCrateId};

use crate::session::RUNTIME;

/// The symbol of the IR constant that tells the device half from the host half.
pub(crate) const IS_DEVICE: &str = "__schism_is_device";

/// The items of one runtime crate. A program may link several versions of the crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeItems {
    /// `fn descriptor<K, const D: usize>() -> *const Descriptor`, one instance for each kernel.
    pub descriptor: DefId,
    /// `unsafe extern "C-unwind" fn device_entry<K, const D: usize>(...)`, which runs one work-item.
    pub device_entry: DefId,
    /// `fn is_device() -> bool`.
    pub is_device: DefId,
    /// `fn is_in_process() -> bool`.
    pub is_in_process: DefId,
    /// `struct SpecConst<T>`, the type of specialization constants.
    pub spec_const: Option<DefId>,
    /// `struct Specialized<T>`, the type of captures that are constants when a kernel is compiled.
    pub specialized: Option<DefId>,
    /// `trait ExportToDevice`, whose implementations list functions for kernels of other crates.
    pub export_to_device: Option<DefId>,
    /// `trait ImportToDevice`, whose implementations list functions that other crates export.
    pub import_to_device: Option<DefId>,
}

/// Whether the crate sees a runtime, under any name and through any crate. Only such a crate can
/// launch kernels.
pub(crate) fn is_visible(tcx: TyCtxt<'_>) -> bool {
    let runtime = Symbol::intern(RUNTIME);
    // The runtime itself launches kernels in its tests alone.
    (tcx.sess.opts.test && tcx.crate_name(LOCAL_CRATE) == runtime)
        || tcx.crates(()).iter().any(|&krate| tcx.crate_name(krate) == runtime)
}

/// Finds the runtime among the crates that this one sees; empty for nearly every crate.
pub(crate) fn find(tcx: TyCtxt<'_>) -> Vec<RuntimeItems> {
    let runtime = Symbol::intern(RUNTIME);
    let mut found = Vec::new();
    if tcx.crate_name(LOCAL_CRATE) == runtime {
        found.extend(find_local(tcx));
    }
    let others = tcx.crates(()).iter().filter(|&&krate| tcx.crate_name(krate) == runtime);
    found.extend(others.filter_map(|&krate| find_upstream(tcx, krate)));
    found
}

fn find_upstream(tcx: TyCtxt<'_>, krate: CrateNum) -> Option<RuntimeItems> {
    let child = |module: DefId, name: &str| {
        let name = Symbol::intern(name);
        tcx.module_children(module).iter().find_map(|child| match child.res {
            Res::Def(DefKind::Mod | DefKind::Fn | DefKind::Struct | DefKind::Trait, id)
                if child.ident.name == name =>
            {
                Some(id)
            }
            _ => None,
        })
    };
    let private = child(krate.as_def_id(), "__private")?;
    Some(RuntimeItems {
        descriptor: child(private, "descriptor")?,
        device_entry: child(private, "device_entry")?,
        is_device: child(private, "is_device")?,
        is_in_process: child(private, "is_in_process")?,
        spec_const: child(private, "SpecConst"),
        specialized: child(private, "Specialized"),
        export_to_device: child(private, "ExportToDevice"),
        import_to_device: child(private, "ImportToDevice"),
    })
}

/// The runtime itself is being compiled: the items by their last name, in this crate.
fn find_local(tcx: TyCtxt<'_>) -> Option<RuntimeItems> {
    let item = |kind: DefKind, name: &str| {
        let name = Symbol::intern(name);
        tcx.hir_crate_items(())
            .definitions()
            .map(|id| id.to_def_id())
            .find(|&id| tcx.def_kind(id) == kind && tcx.opt_item_name(id) == Some(name))
    };
    let function = |name: &str| item(DefKind::Fn, name);
    Some(RuntimeItems {
        descriptor: function("descriptor")?,
        device_entry: function("device_entry")?,
        is_device: function("is_device")?,
        is_in_process: function("is_in_process")?,
        spec_const: item(DefKind::Struct, "SpecConst"),
        specialized: item(DefKind::Struct, "Specialized"),
        export_to_device: item(DefKind::Trait, "ExportToDevice"),
        import_to_device: item(DefKind::Trait, "ImportToDevice"),
    })
}

/// The runtimes' `NdItem` and `SubGroup`, the only types with access to barriers and sub-group
/// operations; empty for nearly every crate.
pub(crate) fn group_operations(tcx: TyCtxt<'_>) -> Vec<DefId> {
    /// The answer for the crate that the process compiles, since it is asked for every function.
    static KNOWN: Mutex<Option<(StableCrateId, Vec<DefId>)>> = Mutex::new(None);
    // Queried each time: for incremental compilation, results depend on the answer.
    let crates = tcx.crates(());
    let id = tcx.stable_crate_id(LOCAL_CRATE);
    let mut known = KNOWN.lock().expect("nothing panics under the lock");
    match &*known {
        Some((of, items)) if *of == id => items.clone(),
        _ => {
            let items = find_meeting(tcx, crates);
            *known = Some((id, items.clone()));
            items
        }
    }
}

fn find_meeting(tcx: TyCtxt<'_>, crates: &[CrateNum]) -> Vec<DefId> {
    let runtime = Symbol::intern(RUNTIME);
    let names = ["NdItem", "SubGroup"].map(Symbol::intern);
    let mut found = Vec::new();
    if tcx.crate_name(LOCAL_CRATE) == runtime {
        let definitions = tcx.hir_crate_items(()).definitions().map(|id| id.to_def_id());
        found.extend(definitions.filter(|&id| {
            tcx.def_kind(id) == DefKind::Struct
                && tcx.opt_item_name(id).is_some_and(|name| names.contains(&name))
        }));
    }
    let runtimes = crates.iter().filter(|&&krate| tcx.crate_name(krate) == runtime);
    let children = runtimes.flat_map(|krate| tcx.module_children(krate.as_def_id()));
    found.extend(children.filter_map(|child| match child.res {
        Res::Def(DefKind::Struct, id) if names.contains(&child.ident.name) => Some(id),
        _ => None,
    }));
    found
}
