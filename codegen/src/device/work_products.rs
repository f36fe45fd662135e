//! Reuses the container's object of an earlier session if none of its inputs has changed.
//!
//! Incremental compilation knows of the device half's codegen unit what it knows of the host's:
//! whether anything has changed that was read when it was lowered. The other inputs of a container
//! (the kernels and their parameters, panics, specialization constants, variables of the
//! environment, the plugin itself) are hashed into the name under which the object is stored, so an
//! object that is found has the right ones. A container with warnings is not stored: the warnings
//! must appear each time.

use std::fmt::Debug;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_codegen_ssa::CompiledModule;
use rustc_data_structures::fingerprint::Fingerprint;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use rustc_span::Symbol;

use crate::rustc::stable_hasher::StableHasher;

/// The suffix of the file's name.
const EXTENSION: &str = "o";

/// The plugin's file, beside the driver.
const PLUGIN: &str = "librustc_codegen_schism.so";

/// An object that is still valid.
pub(crate) struct SavedObject {
    /// Where it is.
    pub object: PathBuf,
    id: WorkProductId,
    product: WorkProduct,
}

/// The name for an object that is made from `unit` and `ingredients`; `None` in a session that
/// stores nothing.
pub(crate) fn name(tcx: TyCtxt<'_>, unit: Symbol, ingredients: &impl Debug) -> Option<String> {
    if !tcx.dep_graph.is_fully_enabled() {
        return None;
    }
    let mut hasher = StableHasher::new();
    plugin(tcx.sess)?.hash(&mut hasher);
    format!("{ingredients:?}").hash(&mut hasher);
    let hash: Fingerprint = hasher.finish();
    Some(format!("{unit}-{}", hash.to_hex()))
}

/// The object with that name, if the codegen unit has not changed.
pub(crate) fn find(tcx: TyCtxt<'_>, unit: Symbol, name: &str) -> Option<SavedObject> {
    let id = WorkProductId::from_cgu_name(name);
    let product = tcx.dep_graph.previous_work_product(&id)?;
    let file = product.saved_files.get(EXTENSION)?;
    let object = rustc_incremental::in_incr_comp_dir_sess(tcx.sess, file);
    if !object.is_file() {
        return None;
    }
    // Queries the unit itself first: without that, the compiler could not tell whether it has
    // changed.
    let lowered = tcx.codegen_unit(unit).codegen_dep_node(tcx);
    tcx.dep_graph.try_mark_green(tcx, &lowered)?;
    Some(SavedObject { object, id, product })
}

impl SavedObject {
    /// Keeps the object for the next session.
    pub(crate) fn again(self) -> (WorkProductId, WorkProduct) {
        (self.id, self.product)
    }
}

/// Stores an object for the next session.
pub(crate) fn keep(
    sess: &Session,
    name: &str,
    module: &CompiledModule,
) -> Option<(WorkProductId, WorkProduct)> {
    let object: &Path = module.object.as_deref()?;
    crate::rustc::save_work_product(sess, name, &[(EXTENSION, object)], &[])
}

/// Identifies this build of the plugin. `None` if the plugin is not where it is expected.
fn plugin(sess: &Session) -> Option<(u64, SystemTime)> {
    let file = match &sess.opts.unstable_opts.codegen_backend {
        // As for rustc: what has no dot is a name.
        Some(path) if path.contains('.') => PathBuf::from(path),
        _ => std::env::current_exe().ok()?.with_file_name(PLUGIN),
    };
    let about = file.metadata().ok()?;
    Some((about.len(), about.modified().ok()?))
}
