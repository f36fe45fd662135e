//! Submits a launch: what its device requires of the code, the code, and the launch itself.

use crate::code::kernels;
use crate::code::requirements::LaunchRequirements;
use crate::error::{ImageError, LaunchError};
use crate::hal::{PendingOps, QueueOps};
use crate::launch::desc::LaunchDesc;
use crate::launch::range::Extent;
use crate::util::warn_once::WarnOnce;

/// Locks the queue, runs a launch, and waits for its end.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`QueueOps::submit`]; the range may be empty. The kernel's descriptor is its own, and its
/// shared object is loaded.
#[inline]
pub(crate) unsafe fn run<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
) -> Result<(), LaunchError> {
    let _guard = queue.lock()?;
    // SAFETY: the caller's promises.
    unsafe { submit(queue, launch)? }.map_or(Ok(()), |pending| pending.finish().0)
}

/// Runs a launch, or has the device run it; the caller holds the queue.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run`].
#[inline]
pub(crate) unsafe fn submit<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
) -> Result<Option<Q::Pending>, LaunchError> {
    if let Some(groups) = &launch.groups
        && groups.local.items > queue.max_group_size()
    {
        return Err(group_too_large(queue, groups.local));
    }
    if launch.range.items == 0 {
        return Ok(None);
    }
    let plan = queue.plan(launch)?;
    let requirements = queue.requirements(launch, &plan, false);
    // SAFETY: the caller's promises.
    if let Some(code) = unsafe { find_ready(queue, launch, &requirements) }
        && queue.admits(launch, &code).is_ok()
    {
        // The common case.
        // SAFETY: the caller's promises, and there is at least one work-item.
        return unsafe { queue.submit(launch, code, plan) };
    }
    // SAFETY: as above.
    unsafe { find_and_submit(queue, launch, plan, &requirements) }
}

/// Finds or makes the code that a launch would run, and launches nothing.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// The kernel's descriptor is its own, and its shared object is loaded. Where the closure would be
/// there are as many bytes, which need not be one if the launch does not adapt.
pub(crate) unsafe fn prepare<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
) -> Result<(), LaunchError> {
    let plan = queue.plan(launch)?;
    // SAFETY: the caller's promises.
    unsafe { find(queue, launch, &queue.requirements(launch, &plan, false)) }.map(drop)
}

/// Returns the code that runs a launch, if it is ready. Reports no errors and prints no warnings:
/// [`find`] does.
///
/// # Safety
/// As for [`run`].
#[inline]
unsafe fn find_ready<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
    requirements: &LaunchRequirements<'_>,
) -> Option<Q::Code> {
    // SAFETY: null, or a constant of the kernel's shared object.
    let descriptor = unsafe { launch.kernel.descriptor.as_ref() }?;
    match queue.loader() {
        // SAFETY: the caller's promises.
        Some(loader) => unsafe {
            kernels::find_ready(loader, descriptor, launch.kernel, requirements).map(Q::compiled)
        },
        // SAFETY: as above.
        None => unsafe { native::<Q>(launch) },
    }
}

/// Finds or makes the code that runs a launch, and submits the launch.
///
/// # Safety
/// As for [`run`]; there is at least one work-item.
#[inline(never)]
unsafe fn find_and_submit<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
    plan: Q::Plan,
    requirements: &LaunchRequirements<'_>,
) -> Result<Option<Q::Pending>, LaunchError> {
    // SAFETY: the caller's promises.
    let mut code = unsafe { find(queue, launch, requirements) }?;
    if queue.admits(launch, &code).is_err() {
        // Code for this group size alone can use fewer registers.
        // SAFETY: as above.
        code = unsafe { find(queue, launch, &queue.requirements(launch, &plan, true)) }?;
        queue.admits(launch, &code)?;
    }
    // SAFETY: as above.
    unsafe { queue.submit(launch, code, plan) }
}

#[cold]
fn group_too_large<Q: QueueOps>(queue: &Q, local: &Extent) -> LaunchError {
    let (items, limit) = (local.items, queue.max_group_size());
    let (local, device) = (local.slowest_first(), queue.device_name().to_owned());
    LaunchError::GroupTooLarge { local, items, limit, device }
}

/// Returns the code that runs a launch: that of the device, compiled if necessary. The host half's
/// own body replaces it where the queue has no compiler or the device was not selected by name.
///
/// # Safety
/// As for [`run`].
unsafe fn find<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
    requirements: &LaunchRequirements<'_>,
) -> Result<Q::Code, LaunchError> {
    // SAFETY: null, or a constant of the kernel's shared object.
    let descriptor = unsafe { launch.kernel.descriptor.as_ref() };
    if let (Some(loader), Some(descriptor)) = (queue.loader(), descriptor) {
        // SAFETY: the caller's promises.
        return match unsafe { kernels::find(loader, descriptor, launch.kernel, requirements) } {
            Ok(kernel) => Ok(Q::compiled(kernel)),
            // SAFETY: the caller's promises.
            Err(cause) => unsafe { not_compiled(queue, launch, cause) },
        };
    }
    // SAFETY: the caller's promises.
    match unsafe { native::<Q>(launch) } {
        Some(code) if !launch.demanded || queue.loader().is_none() => {
            if descriptor.is_none() && !launch.demanded {
                plain_program();
            }
            Ok(code)
        }
        _ => Err(no_device_code(queue, launch)),
    }
}

/// Returns the host half's own body for a launch whose code failed to compile, unless the device
/// was selected by name: that is an error.
///
/// # Safety
/// As for [`run`].
unsafe fn not_compiled<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
    cause: ImageError,
) -> Result<Q::Code, LaunchError> {
    let kernel = launch.kernel.name();
    // SAFETY: the caller's promises.
    match unsafe { native::<Q>(launch) } {
        Some(code) if !launch.demanded => {
            static WARNING: WarnOnce = WarnOnce::new();
            WARNING.warn(format_args!(
                "kernel `{kernel}` runs on the device `native`, because on `{}` {cause}",
                queue.device_name()
            ));
            Ok(code)
        }
        _ => {
            let device = queue.device_name().to_owned();
            Err(LaunchError::Image { kernel, device, cause: Box::new(cause) })
        }
    }
}

/// Warns once that the program contains no code for devices.
fn plain_program() {
    static WARNING: WarnOnce = WarnOnce::new();
    WARNING.warn(
        "this program was compiled by plain rustc, so its kernels run on the device `native`; build it with `cargo schism build` to \
         have them compiled for devices, or set SCHISM_DEVICE=native to be content with this",
    );
}

fn no_device_code<Q: QueueOps>(queue: &Q, launch: &LaunchDesc<'_>) -> LaunchError {
    let (kernel, device) = (launch.kernel.name(), queue.device_name().to_owned());
    LaunchError::NoDeviceCode { kernel, device }
}

/// The host half's own body, where that can run.
///
/// # Safety
/// As for [`run`].
#[inline]
unsafe fn native<Q: QueueOps>(launch: &LaunchDesc<'_>) -> Option<Q::Code> {
    let mut body = launch.kernel.native();
    if launch.groups.is_some() {
        // SAFETY: null, or a constant of the kernel's shared object.
        let descriptor = unsafe { launch.kernel.descriptor.as_ref() };
        body.shares_threads = descriptor.is_some_and(|descriptor| {
            // SAFETY: the caller's promises.
            unsafe { kernels::no_thread_locals(descriptor, launch.kernel.layout) }
        });
    }
    Q::native(body)
}
