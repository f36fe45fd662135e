//! Lets kernels in the program's process use the program's own statics.
//!
//! The compiler makes a static local to its object file if no other crate can name it. The bodies of
//! functions go along with each library, for kernels, so the kernels of any crate may use any static
//! that such a body names: under `--stdpar`, each static is a symbol that other objects see.

use std::sync::OnceLock;

use rustc_hir::def::DefKind;
use rustc_hir::def_id::{DefIdMap, DefIndex, LocalDefId};
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrFlags;
use rustc_middle::middle::exported_symbols::{
    SymbolExportInfo, SymbolExportKind, SymbolExportLevel,
};
use rustc_middle::query::LocalCrate;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;

use crate::rayon::inject;

type Reachable = for<'tcx> fn(TyCtxt<'tcx>, LocalCrate) -> DefIdMap<SymbolExportInfo>;
type IsReachable = for<'tcx> fn(TyCtxt<'tcx>, LocalDefId) -> bool;

/// rustc's own provider of `reachable_non_generics`, which ours calls.
static REACHABLE: OnceLock<Reachable> = OnceLock::new();

/// rustc's own provider of `is_reachable_non_generic`, which ours calls.
static IS_REACHABLE: OnceLock<IsReachable> = OnceLock::new();

/// Installs the providers of this module.
pub(crate) fn provide(providers: &mut Providers) {
    REACHABLE.get_or_init(|| providers.queries.reachable_non_generics);
    providers.queries.reachable_non_generics = |tcx, local| {
        let mut reachable = (REACHABLE.get().expect("set when ours was"))(tcx, local);
        if inject::library().is_some() && tcx.sess.opts.output_types.should_codegen() {
            for id in statics(tcx) {
                let flags = tcx.codegen_fn_attrs(id).flags;
                let is_thread_local = flags.contains(CodegenFnAttrFlags::THREAD_LOCAL);
                reachable.entry(id.to_def_id()).or_insert(export_info(match is_thread_local {
                    true => SymbolExportKind::Tls,
                    false => SymbolExportKind::Data,
                }));
            }
        }
        reachable
    };
    IS_REACHABLE.get_or_init(|| providers.queries.is_reachable_non_generic);
    providers.queries.is_reachable_non_generic = |tcx, id| {
        (IS_REACHABLE.get().expect("set when ours was"))(tcx, id)
            || (inject::library().is_some() && is_own_static(tcx, id))
    };
}

/// How a symbol is exported that other crates may name, and no other program.
pub(super) fn export_info(kind: SymbolExportKind) -> SymbolExportInfo {
    SymbolExportInfo {
        level: SymbolExportLevel::Rust,
        kind,
        used: false,
        rustc_std_internal_symbol: false,
    }
}

/// Whether a crate has a static, once its names are resolved and before anything else is known.
pub(crate) fn are_in(tcx: TyCtxt<'_>) -> bool {
    let count = tcx.untracked().definitions.read().num_definitions();
    (0..count).any(|index| {
        let id = LocalDefId { local_def_index: DefIndex::from_usize(index) };
        matches!(tcx.def_kind(id), DefKind::Static { nested: false, .. })
    })
}

fn statics(tcx: TyCtxt<'_>) -> impl Iterator<Item = LocalDefId> {
    tcx.hir_crate_items(()).definitions().filter(move |&id| is_own_static(tcx, id))
}

/// Whether something is a static that this crate defines.
fn is_own_static(tcx: TyCtxt<'_>, id: LocalDefId) -> bool {
    matches!(tcx.def_kind(id), DefKind::Static { nested: false, .. }) && !tcx.is_foreign_item(id)
}
