//! Finds the bodies of the standard library's functions without MIR.
//!
//! The index of the bodies that kernels can use ([`StdBodies`]) belongs to one compiler and is made
//! once. It lies in schism's home:
//!
//! ```text
//! ${SCHISM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/schism}/bodies/<compiler and rlibs>
//! ```
//!
//! It is complete before it is renamed into place, so processes do not disturb each other; a
//! damaged one is made again; where it cannot be stored, it is made each time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hir::def::DefKind;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::Symbol;
use rustc_span::def_id::{DefId, DefIndex};
use schism_passes::frontend::std_bodies::{build_index, rlib};
use schism_passes::spec::std_bodies::index::{HEADER, SpecialFunctions};
use schism_passes::{Formatter, StdBodies};
use schism_trust::Home;

use crate::collect::formatters::{Formatters, WRITER};
use crate::collect::panics::Panics;
use crate::kernels::names::{is_std, own_path_of};

/// The crates of the standard library with code that kernels may use; each uses those after it.
const CRATES: [&str; 3] = ["std", "alloc", "core"];

/// Identifies the result of [`load`].
pub(crate) fn identity(tcx: TyCtxt<'_>) -> String {
    key(tcx, &rlibs(tcx))
}

/// The bodies of the standard library that this crate is compiled against. `None` if there is none:
/// then such functions have no code for devices, and the device check reports them.
pub(crate) fn load(tcx: TyCtxt<'_>) -> Option<Arc<StdBodies>> {
    let rlibs = rlibs(tcx);
    if rlibs.is_empty() {
        return None;
    }
    let place = home(tcx).map(|home| home.join("bodies").join(key(tcx, &rlibs)));
    if let Some(place) = &place
        && let Some(Ok(bodies)) = kept(tcx, place).map(StdBodies::from_text)
    {
        return Some(Arc::new(bodies));
    }
    let modules: Result<Vec<_>, _> = rlibs.iter().map(|path| rlib::modules(path)).collect();
    let build =
        |modules: Vec<Vec<_>>| build_index::build(modules.concat(), special_functions_of_std(tcx));
    match modules.and_then(build) {
        Ok(bodies) => {
            if let Some(place) = place {
                // It is only stored to save time.
                let _ = keep(&place, bodies.text());
            }
            Some(Arc::new(bodies))
        }
        Err(error) => {
            tcx.dcx().warn(format!("kernels cannot use all of the standard library: {error}"));
            None
        }
    }
}

/// The non-generic panic functions and formatting functions of the standard library, in the order
/// of their symbols: also those that no available MIR calls.
fn special_functions_of_std(tcx: TyCtxt<'_>) -> SpecialFunctions {
    let (mut panics, mut formatters) = (Panics::default(), Formatters::new(tcx));
    let mut special = SpecialFunctions::default();
    let store = rustc_metadata::creader::CStore::from_tcx(tcx);
    for &krate in tcx.crates(()) {
        if !is_std(tcx.crate_name(krate)) {
            continue;
        }
        for index in 0..store.num_def_ids_untracked(krate) {
            let def_id = DefId { krate, index: DefIndex::from_usize(index) };
            if matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
                && !tcx.generics_of(def_id).requires_monomorphization(tcx)
            {
                let instance = Instance::mono(tcx, def_id);
                panics.note(tcx, &mut formatters, instance);
                if let Some((ty, by)) = formatters.formatter(instance) {
                    let symbol = tcx.symbol_name(instance).name.to_owned();
                    let ty = formatters.describe(ty, by);
                    special.formatters.push(Formatter { symbol, ty });
                }
                if own_path_of(tcx, def_id) == WRITER {
                    special.writer = tcx.symbol_name(instance).name.to_owned();
                }
            }
        }
    }
    special.panics = panics.sorted();
    special.formatters.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    special.types = formatters.types;
    special
}

/// The rlibs of [`CRATES`]. A crate that is not linked here may be known by another of its files,
/// beside its rlib.
fn rlibs(tcx: TyCtxt<'_>) -> Vec<PathBuf> {
    let path = |name: &str| {
        let name = Symbol::intern(name);
        let krate = tcx.crates(()).iter().find(|&&krate| tcx.crate_name(krate) == name)?;
        let known = tcx.used_crate_source(*krate).paths().next()?;
        Some(known.with_extension("rlib")).filter(|path| path.is_file())
    };
    CRATES.iter().filter_map(|name| path(name)).collect()
}

/// A file name that changes with the compiler, the plugin and the rlibs.
fn key(tcx: TyCtxt<'_>, rlibs: &[PathBuf]) -> String {
    use std::hash::Hash;
    let mut hasher = crate::rustc::stable_hasher::StableHasher::new();
    tcx.sess.cfg_version.hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    HEADER.hash(&mut hasher);
    for rlib in rlibs {
        rlib.hash(&mut hasher);
        if let Ok(about) = rlib.metadata() {
            about.len().hash(&mut hasher);
            about.modified().ok().hash(&mut hasher);
        }
    }
    let hash: rustc_data_structures::fingerprint::Fingerprint = hasher.finish();
    format!("{}-{}", tcx.sess.target.llvm_target, hash.to_hex())
}

/// No index is nearly as large.
const MOST: u64 = 256 << 20;

/// The index, if it exists. A file that an untrusted user could have changed is ignored.
fn kept(tcx: TyCtxt<'_>, place: &Path) -> Option<String> {
    match schism_trust::read(place, MOST) {
        Ok(bytes) => String::from_utf8(bytes).ok(),
        Err(error) => {
            if !error.is_missing() {
                tcx.dcx().warn(format!("{}; the index is made again", error.about(place)));
            }
            None
        }
    }
}

/// Schism's home.
fn home(tcx: TyCtxt<'_>) -> Option<PathBuf> {
    let home = Home::from_environment();
    for told in home.told() {
        tcx.dcx().warn(told);
    }
    home.path
}

fn keep(place: &Path, text: &str) -> std::io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    if schism_trust::check_folder(folder).is_err() {
        // No process would trust files there.
        return Ok(());
    }
    let draft = place.with_extension(format!("draft-{}", std::process::id()));
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, place)
}
