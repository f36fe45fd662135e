//! How a kernel is shown to people: its path, and where it stands in the source.

use std::fmt;

use crate::code::{images, lookup};
use crate::hal::host::stack;
use crate::kernel::abi::{DESCRIPTOR_ABI, Descriptor};
use crate::util::fork::NoForkGuard;

/// Where the name of a launched kernel comes from. Nothing is looked up before it is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelName {
    descriptor: *const Descriptor,
    type_name: fn() -> &'static str,
}

// SAFETY: a descriptor is a constant, but for its slot, which is atomic.
unsafe impl Send for KernelName {}
// SAFETY: as above.
unsafe impl Sync for KernelName {}

impl KernelName {
    /// `type_name` gives the name of the closure's type, which is shown where there is no
    /// container.
    ///
    /// # Safety
    /// `descriptor` is null or the kernel's own, and its shared object is loaded whenever the name
    /// is shown.
    pub(crate) const unsafe fn new(
        descriptor: *const Descriptor,
        type_name: fn() -> &'static str,
    ) -> Self {
        Self { descriptor, type_name }
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: null, or a descriptor of a loaded object, as `new` was promised.
        match unsafe { self.descriptor.as_ref().and_then(|descriptor| display_name(descriptor)) } {
            Some(name) => f.write_str(&name),
            None => f.write_str((self.type_name)()),
        }
    }
}

/// The name that the container has for people, such as `run::{closure#5} (src/main.rs:42)`. `None`
/// if the container is of another version, or damaged.
///
/// # Safety
/// The descriptor's shared object is loaded.
pub(crate) unsafe fn display_name(descriptor: &Descriptor) -> Option<String> {
    if descriptor.abi != DESCRIPTOR_ABI {
        // Nothing after this field can be trusted.
        return None;
    }
    let _no_fork = NoForkGuard::enter();
    let look = || {
        let container = images::container_of(descriptor);
        // SAFETY: the caller's promise.
        let record = unsafe { container.record() }.ok()?;
        let kernel = record.kernel(lookup::name_of(descriptor).ok()?)?;
        Some(kernel.display_name.to_string()).filter(|name| !name.is_empty())
    };
    stack::spacious(look)
}
