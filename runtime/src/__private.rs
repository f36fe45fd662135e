//! Items that stage 1 and the macros find in this crate by path. Not for users: nothing here is
//! stable.

pub use std::format_args;

pub use crate::api::heap;
pub use crate::api::placement::{Placement, placement, with_placement};
pub use crate::api::unchecked::{
    concurrency, default_of_host, device_traits, in_group, note, prepare_unchecked, processor_time,
    row_of_group, run_in_groups, run_on_threads, run_unchecked, warn, with_host_memory,
};
pub mod history {
    pub use crate::code::history::{kernel_hash, recall, remember};
}
pub use crate::hal::DeviceTraits;
pub use crate::hal::address_window::has_buffers as has_device_buffers;
pub use crate::kernel::abi::{
    __schism_is_device, DESCRIPTOR_ABI, Descriptor, ExportToDevice, ImportToDevice, Kernel,
    descriptor, device_entry, is_device, is_in_process,
};
pub use crate::kernel::copy_of::copy_of;
pub use crate::kernel::group::{Access, LocalSite, local_array};
pub use crate::kernel::spec_const::SpecConst;
pub use crate::kernel::specialized::Specialized;
pub use crate::kernel::unroll::independent_iterations;
pub use crate::launch::desc::{HostThreads, ProgramPool};
pub use crate::launch::erased::{ErasedKernel, KernelType};
pub use crate::launch::failure::Hook;
pub use crate::util::{timeline, variables};

/// What directives expand to.
#[cfg(feature = "directives")]
pub mod directives {
    pub use crate::directives::acc;
    pub use crate::directives::atomic::{AtomicBits, AtomicPlace};
    pub use crate::directives::elements::{Elements, ElementsMut, Part};
    pub use crate::directives::independent::{At, Independent, Shared};
    pub use crate::directives::nests::{product, unfolded};
    pub use crate::directives::offload::arrays::{Receive, Section, copied, copy_into};
    pub use crate::directives::offload::statement::{Offload, Outcome};
    pub use crate::directives::offload::target::Target;
    pub use crate::directives::outcome::{LaunchOutcome, chosen, done, submitted};
    pub use crate::directives::owned::{All, Axis, InPlane, Near, Own, Owned, Within, are_apart};
    pub use crate::directives::parts::Parts;
    pub use crate::directives::queue::{
        asynchronous, is_kept_elsewhere, queue, queue_if, reducing,
    };
    pub use crate::directives::races::{Races, iteration};
    pub use crate::directives::reduction::{
        And, BitAnd, BitOr, BitXor, Max, Min, Or, Product, Sum,
    };
    pub use crate::directives::region::{MapClause, Region, SharedRegion};
    pub use crate::directives::sizes::{Sizes, sized};
    pub use crate::directives::steps::{Fixed, Known, Steps};
    pub use crate::directives::turns::{Division, Turns};
    pub use crate::directives::update::{
        check_present, device_ptr_mut, exit, update_device, update_self,
    };
}

/// Prints a message; `dprint!` expands to this.
#[inline(always)]
pub fn print(message: std::fmt::Arguments<'_>) {
    crate::kernel::print::print(message);
}
