//! What was so until rustc 1.96.

use std::path::PathBuf;

pub(crate) use rustc_data_structures::stable_hasher;
use rustc_middle::ty::{Instance, Ty, TyCtxt};
use rustc_session::Session;
use rustc_session::config::OutputFilenames;

#[path = "until_1_97.rs"]
mod until_1_97;

pub(crate) use until_1_97::*;

/// The function that drops a value of a type.
pub(crate) fn drop_glue<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> Instance<'tcx> {
    Instance::resolve_drop_in_place(tcx, ty)
}

/// Where the object of a codegen unit goes.
pub(crate) fn object_path(sess: &Session, outputs: &OutputFilenames, unit: &str) -> PathBuf {
    outputs.temp_path_ext_for_cgu("hcf.o", unit, sess.invocation_temp.as_deref())
}

/// What a definition says after its parameters are replaced, as it says it.
pub(crate) fn as_written<T>(value: T) -> T {
    value
}

/// What is to be normalised.
pub(crate) fn to_normalize<T>(value: T) -> T {
    value
}
