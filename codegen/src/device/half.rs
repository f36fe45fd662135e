//! The device half of a crate, from `codegen_crate` to `join_codegen`.

use rustc_session::Session;
use rustc_span::Span;

use crate::device::work_products::SavedObject;
use crate::kernels::KernelInfo;
use crate::report::diagnostics;
use crate::report::failure::{Failure, PerformanceLints};
use crate::stdpar::refuse::Pipelines;

/// The device half of a crate.
pub(crate) enum DeviceHalf {
    /// It has been made.
    Made {
        /// The container.
        record: Record,
        /// What makes its kernels slow, to be warned of.
        lints: Option<Box<PerformanceLints>>,
        /// Which kernels are made of pipelines of rayon, and which are not.
        pipelines: Box<Pipelines>,
        /// The kernels in the container.
        kernels: Vec<KernelInfo>,
        /// Requested AOT code that cannot be compiled.
        missing: Vec<(String, &'static str, Span)>,
        /// The name under which its object is kept for the next session, if it is.
        keep_as: Option<String>,
    },
    /// The object of an earlier session is still valid.
    Saved {
        /// The object.
        object: SavedObject,
        /// Identifies the crate among all crates of a program.
        crate_id: String,
    },
    /// There is none.
    Failed(Box<Failure>),
}

/// A finished container and the crate it belongs to.
pub(crate) struct Record {
    /// The framed bytes.
    pub bytes: Vec<u8>,
    /// Identifies the crate among all crates of a program.
    pub crate_id: String,
    /// What kernels in the program's process need of it.
    pub host_symbols: Vec<String>,
    /// A symbol that each program has.
    pub everywhere: String,
}

impl DeviceHalf {
    /// Reports its diagnostics. After an error, rustc ends before it writes any output.
    pub(crate) fn report(&self, sess: &Session) {
        match self {
            Self::Made { lints, missing, pipelines, kernels, .. } => {
                pipelines.explain(sess, kernels);
                missing.iter().for_each(|missing| diagnostics::warn_of_missing(sess, missing));
                if let Some(lints) = lints {
                    diagnostics::warn(sess, lints);
                }
            }
            Self::Failed(failure) => diagnostics::report(sess, failure),
            Self::Saved { .. } => {}
        }
    }
}
