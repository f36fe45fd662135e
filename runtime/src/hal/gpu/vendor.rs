//! What the drivers of GPUs differ in. A folder for each vendor's interface (`hal/cuda`, `hal/hip`)
//! has one [`Vendor`].

use std::ffi::c_uint;

use crate::hal::gpu::api::{FindContexts, Symbols};
use crate::util::device_nodes::Nodes;
use crate::util::variables::Variable;

/// A vendor's driver.
#[derive(Debug)]
pub(in crate::hal) struct Vendor {
    /// The vendor's name.
    pub(in crate::hal) name: &'static str,
    /// The name of the interface.
    pub(in crate::hal) interface: &'static str,
    /// The prefix of its devices' names.
    pub(in crate::hal) devices: &'static str,
    /// The environment variable that names the driver's library; no other place is searched then.
    /// An empty value means that there is no driver.
    pub(in crate::hal) variable: &'static Variable,
    /// Where the driver is installed, as the dynamic linker knows it.
    pub(in crate::hal) file_names: &'static [&'static str],
    /// What the system has where the driver is.
    pub(in crate::hal) nodes: Nodes,
    /// The driver's own variables that hide devices from programs: all, where one is empty.
    pub(in crate::hal) hides: &'static [&'static str],
    /// Its functions' symbols.
    pub(in crate::hal) symbols: Symbols,
    /// Looks up the functions of contexts.
    pub(in crate::hal) contexts: FindContexts,
    /// What contexts are made with.
    pub(in crate::hal) context_flags: c_uint,
    /// Whether calls with a stream or an event of a context that is not current are refused.
    pub(in crate::hal) refuses_other_contexts: bool,
    /// Whether the stacks of kernels have a size that the context sets.
    pub(in crate::hal) has_stack_limit: bool,
}
