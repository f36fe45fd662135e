//! What stage 1 ends with besides images: errors, and findings about performance.

use schism_hcf::HcfError;
use schism_passes::Stage1Error;
use schism_passes::pipeline::OptionsError;
use schism_passes::spec::report::Lints;

use crate::collect::call_map::CallMap;
use crate::kernels::KernelInfo;

/// What makes the kernels of a finished container slow, with the data for diagnostics.
pub(crate) struct PerformanceLints {
    /// The findings.
    pub lints: Lints,
    /// The crate's kernels.
    pub kernels: Vec<KernelInfo>,
    /// The call graph.
    pub map: CallMap,
}

/// Why there is no container, with the data for diagnostics.
pub(crate) struct Failure {
    /// The error.
    pub cause: Stage1Failure,
    /// The crate's kernels.
    pub kernels: Vec<KernelInfo>,
    /// The call graph.
    pub map: CallMap,
}

/// Errors on the path to a container.
pub(crate) enum Stage1Failure {
    /// An invalid value in the environment.
    Options(OptionsError),
    /// In the passes.
    Passes(Stage1Error),
    /// In the container.
    Container(HcfError),
    /// Kernels of pipelines, by their indices, that turned out to be unsuitable for devices, and why.
    Pipelines(Vec<(usize, &'static str)>),
    /// In the AOT code.
    Aot(String),
    /// The thread panicked.
    Panicked,
}
