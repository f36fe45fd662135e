//! The container's object of an earlier session, as long as nothing has changed that it was made of.
//!
//! Incremental compilation knows of the device half's codegen unit what it knows of the host's:
//! whether anything has changed that was read when it was lowered. What else goes into a container (the kernels and
//! their parameters, panics, specialization constants, variables of the environment, the plugin
//! itself) makes the name under which the object is kept, so an object that is found has the right ones.
//! A container with something to warn of is not kept: the warnings are to come each time.

use std::fmt::Debug;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_codegen_ssa::CompiledModule;
use rustc_data_structures::fingerprint::Fingerprint;
use rustc_data_structures::stable_hasher::StableHasher;
use rustc_middle::dep_graph::{WorkProduct, WorkProductId};
use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use rustc_span::Symbol;

/// What the file's name ends with.
const EXTENSION: &str = "o";

/// The plugin's file, beside the driver.
const PLUGIN: &str = "librustc_codegen_schism.so";

/// An object that still holds.
pub(crate) struct SavedObject {
    /// Where it is.
    pub object: PathBuf,
    id: WorkProductId,
    product: WorkProduct,
}

/// The name under which an object is kept that is made of `unit` and of `ingredients`; `None` in a
/// session that keeps nothing.
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

/// The object of that name, if the codegen unit is what it was.
pub(crate) fn find(tcx: TyCtxt<'_>, unit: Symbol, name: &str) -> Option<SavedObject> {
    let id = WorkProductId::from_cgu_name(name);
    let product = tcx.dep_graph.previous_work_product(&id)?;
    let file = product.saved_files.get(EXTENSION)?;
    let object = rustc_incremental::in_incr_comp_dir_sess(tcx.sess, file);
    if !object.is_file() {
        return None;
    }
    // Asks for the unit itself first: without that, the compiler could not tell whether it has changed.
    let lowered = tcx.codegen_unit(unit).codegen_dep_node(tcx);
    tcx.dep_graph.try_mark_green(tcx, &lowered)?;
    Some(SavedObject { object, id, product })
}

impl SavedObject {
    /// What the next session is to find: the same.
    pub(crate) fn again(self) -> (WorkProductId, WorkProduct) {
        (self.id, self.product)
    }
}

/// Keeps an object for the next session.
pub(crate) fn keep(
    sess: &Session,
    name: &str,
    module: &CompiledModule,
) -> Option<(WorkProductId, WorkProduct)> {
    let object: &Path = module.object.as_deref()?;
    rustc_incremental::copy_cgu_workproduct_to_incr_comp_cache_dir(
        sess,
        name,
        &[(EXTENSION, object)],
        &[],
    )
}

/// Tells this build of the plugin from others. `None` if the plugin is not where it is expected.
fn plugin(sess: &Session) -> Option<(u64, SystemTime)> {
    let file = match &sess.opts.unstable_opts.codegen_backend {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe().ok()?.with_file_name(PLUGIN),
    };
    let about = file.metadata().ok()?;
    Some((about.len(), about.modified().ok()?))
}
