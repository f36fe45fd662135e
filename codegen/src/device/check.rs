//! `cargo check`: reports what a build would report about kernels.
//!
//! rustc generates no code then, and does not call the backend. The driver makes the device half
//! anyway, after rustc's own analysis, up to the passes; it reports what they refuse and writes
//! nothing.

use rustc_middle::ty::TyCtxt;

use crate::collect::check::lacks_bodies;
use crate::device::compose::{self, Purpose};
use crate::kernels::runtime_items;
use crate::session::is_check;

/// Reports what a build would report about the crate's kernels. Called after rustc's own analysis.
pub(crate) fn kernels(tcx: TyCtxt<'_>) {
    if !is_check(tcx.sess)
        || tcx.dcx().has_errors_or_delayed_bugs().is_some()
        || !runtime_items::is_visible(tcx)
    {
        return;
    }
    if let Some(half) = compose::make(tcx, Purpose::Check) {
        half.report(tcx.sess);
    }
    if lacks_bodies(tcx) {
        let mut warning = tcx.dcx().struct_warn("not all kernels of this crate could be checked");
        warning.note("a dependency was checked by another compiler, so the bodies of its generic functions are missing");
        warning.help("build the crate, or check it and its dependencies with `cargo schism check`");
        warning.emit();
    }
}
