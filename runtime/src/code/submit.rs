//! Submits a launch: what its device requires of the code, the code, and the launch itself.

use std::sync::Arc;

use crate::code::kernels;
use crate::code::recent::{KnownVersions, RecentCode};
use crate::code::requirements::LaunchRequirements;
use crate::error::{ImageError, LaunchError};
use crate::hal::{CodeLoader, HeldOf, PendingOps, QueueOps, Submitted};
use crate::launch::desc::{LaunchDesc, OnRefusal};
use crate::launch::erased::NativeBody;
use crate::launch::range::Extent;
use crate::util::timeline;
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
    // SAFETY: the caller's promises.
    match unsafe { submit_with(queue, launch, || queue.lock())? } {
        Submitted::Ended => Ok(()),
        Submitted::Numbered(launch) => queue.wait(&launch),
        Submitted::Pending(pending) => pending.finish().0,
    }
}

/// Runs a launch of a scope, or has the device run it.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run`] and [`QueueOps::hold`].
#[inline]
pub(crate) unsafe fn submit<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
) -> Result<Submitted<Q::Pending>, LaunchError> {
    // SAFETY: the caller's promises; each guard is dropped before there is another one.
    unsafe { submit_with(queue, launch, || queue.hold()) }
}

/// Runs a launch, or has the device run it, while `hold` has the queue.
///
/// # Safety
/// As for [`run`].
#[inline]
unsafe fn submit_with<'q, Q: QueueOps>(
    queue: &'q Q,
    launch: &LaunchDesc<'_>,
    hold: impl Fn() -> Result<Q::Guard<'q>, LaunchError>,
) -> Result<Submitted<Q::Pending>, LaunchError> {
    let begin = timeline::begin();
    // SAFETY: the caller's promises.
    let outcome = unsafe { submit_unseen(queue, launch, hold, begin.is_none()) };
    if let Some(begin) = begin {
        launch.show(queue.device_name(), begin, outcome.is_ok());
    }
    outcome
}

/// As [`submit_with`], without a place in the timeline; as one before it only if `again` allows that.
///
/// # Safety
/// As for [`run`].
#[inline]
unsafe fn submit_unseen<'q, Q: QueueOps>(
    queue: &'q Q,
    launch: &LaunchDesc<'_>,
    hold: impl Fn() -> Result<Q::Guard<'q>, LaunchError>,
    again: bool,
) -> Result<Submitted<Q::Pending>, LaunchError> {
    let mut guard = hold()?;
    // SAFETY: the caller's promises.
    match again.then(|| unsafe { submit_again(queue, &mut guard, launch) }).flatten() {
        Some(submitted) => submitted,
        // SAFETY: as above.
        None => unsafe { submit_anew(queue, launch, guard, hold) },
    }
}

/// As [`submit_with`], for a launch that is not the same as one before it, while the guard has the queue.
///
/// # Safety
/// As for [`run`].
unsafe fn submit_anew<'q, Q: QueueOps>(
    queue: &'q Q,
    launch: &LaunchDesc<'_>,
    mut guard: Q::Guard<'q>,
    hold: impl Fn() -> Result<Q::Guard<'q>, LaunchError>,
) -> Result<Submitted<Q::Pending>, LaunchError> {
    let held = &mut *guard;
    check_group(queue, launch)?;
    if launch.range.items == 0 {
        return Ok(Submitted::Ended);
    }
    let plan = queue.plan(launch)?;
    let requirements = queue.requirements(launch, &plan, false);
    let recent = &mut held.recent;
    // SAFETY: the caller's promises.
    if let Some((code, versions)) = unsafe { find_ready(queue, recent, launch, &requirements) }
        && queue.admits(launch, &code).is_ok()
    {
        // The common case.
        // SAFETY: the caller's promises, and there is at least one work-item.
        unsafe { queue.submit(&mut held.order, launch, code, plan, versions) }
    } else {
        // Others need not wait for a compiler.
        drop(guard);
        // SAFETY: as above.
        unsafe { find_and_submit(queue, launch, plan, &requirements, hold) }
    }
}

/// Submits a launch that is the same as one before it; `None` if it is not, and nothing is submitted.
///
/// # Safety
/// As for [`run`].
#[inline]
unsafe fn submit_again<Q: QueueOps>(
    queue: &Q,
    held: &mut HeldOf<Q>,
    launch: &LaunchDesc<'_>,
) -> Option<Result<Submitted<Q::Pending>, LaunchError>> {
    // SAFETY: the caller's promises.
    let known = || unsafe { kernels::known_kernel(&held.recent, launch) };
    let kernel = Q::REPEATS.then(known)??;
    let versions = kernel.known(launch.adaptivity);
    // SAFETY: as above.
    let submitted = unsafe { queue.submit_again(&mut held.order, launch, versions) };
    if submitted.is_some() {
        kernel.set.profiler.note_again(versions.attention);
    }
    submitted
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
unsafe fn find_ready<'a, Q: QueueOps>(
    queue: &Q,
    recent: &'a mut RecentCode<KernelOf<Q>>,
    launch: &LaunchDesc<'_>,
    requirements: &LaunchRequirements<'_>,
) -> Option<(Q::Code<'a>, Option<KnownVersions>)> {
    // SAFETY: null, or a constant of the kernel's shared object.
    let descriptor = unsafe { launch.kernel.descriptor.as_ref() }?;
    match queue.loader() {
        // SAFETY: the caller's promises.
        Some(loader) => unsafe {
            kernels::find_ready(recent, loader, descriptor, launch.kernel, requirements)
                .map(|(code, versions)| (Q::compiled(code), Some(versions)))
        },
        // SAFETY: as above.
        None => unsafe { native(launch) }.and_then(Q::native).map(|code| (code, None)),
    }
}

type KernelOf<Q> = <<Q as QueueOps>::Loader as CodeLoader>::Kernel;

/// Code for a launch.
enum Found<K> {
    Compiled(Arc<K>),
    /// The host half's own body, where that can run.
    Native(NativeBody),
}

/// The code that was found, as the queue takes it.
///
/// # Errors
/// [`LaunchError::NoDeviceCode`] if it can run there neither.
fn code<'a, Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
    found: &'a Found<KernelOf<Q>>,
) -> Result<Q::Code<'a>, LaunchError> {
    match found {
        Found::Compiled(kernel) => Ok(Q::compiled(kernel)),
        Found::Native(body) => Q::native(*body).ok_or_else(|| no_device_code(queue, launch)),
    }
}

/// Finds or makes the code that runs a launch, and submits the launch.
///
/// # Safety
/// As for [`run`]; there is at least one work-item.
#[inline(never)]
unsafe fn find_and_submit<'q, Q: QueueOps>(
    queue: &'q Q,
    launch: &LaunchDesc<'_>,
    plan: Q::Plan,
    requirements: &LaunchRequirements<'_>,
    hold: impl Fn() -> Result<Q::Guard<'q>, LaunchError>,
) -> Result<Submitted<Q::Pending>, LaunchError> {
    // SAFETY: the caller's promises.
    let mut found = unsafe { find(queue, launch, requirements) }?;
    if queue.admits(launch, &code(queue, launch, &found)?).is_err() {
        // Code for this group size alone can use fewer registers.
        // SAFETY: as above.
        found = unsafe { find(queue, launch, &queue.requirements(launch, &plan, true)) }?;
        queue.admits(launch, &code(queue, launch, &found)?)?;
    }
    let code = code(queue, launch, &found)?;
    let mut guard = hold()?;
    // SAFETY: as above.
    unsafe { queue.submit(&mut guard.order, launch, code, plan, None) }
}

/// Checks that the device can have groups of the launch's size, with any code.
#[inline]
fn check_group<Q: QueueOps>(queue: &Q, launch: &LaunchDesc<'_>) -> Result<(), LaunchError> {
    let too_large = launch.groups.as_ref().map(|groups| groups.local);
    let too_large = too_large.filter(|local| local.items > queue.max_group_size());
    too_large.map_or(Ok(()), |local| Err(group_too_large(queue, local)))
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
) -> Result<Found<KernelOf<Q>>, LaunchError> {
    // SAFETY: null, or a constant of the kernel's shared object.
    let descriptor = unsafe { launch.kernel.descriptor.as_ref() };
    // SAFETY: the caller's promises.
    let body = || unsafe { native(launch) }.filter(|body| Q::native(*body).is_some());
    if let (Some(loader), Some(descriptor)) = (queue.loader(), descriptor) {
        // SAFETY: the caller's promises.
        let found = unsafe { kernels::find(loader, descriptor, launch.kernel, requirements) };
        let in_place = |cause| not_compiled(queue, launch, body(), cause).map(Found::Native);
        found.map_or_else(in_place, |kernel| Ok(Found::Compiled(kernel)))
    } else {
        let is_free = launch.on_refusal != OnRefusal::Fail;
        let body = body().filter(|_| is_free || queue.loader().is_none());
        let body = body.ok_or_else(|| no_device_code(queue, launch))?;
        if descriptor.is_none() && is_free {
            plain_program(launch.on_refusal == OnRefusal::Silent);
            replaced(launch, || "the program was compiled by plain rustc".to_owned());
        }
        Ok(Found::Native(body))
    }
}

/// Returns the host half's own body for a launch whose code failed to compile, unless the device
/// was selected by name: that is an error.
fn not_compiled<Q: QueueOps>(
    queue: &Q,
    launch: &LaunchDesc<'_>,
    body: Option<NativeBody>,
    cause: ImageError,
) -> Result<NativeBody, LaunchError> {
    let (kernel, device) = (launch.kernel.name(), queue.device_name());
    match body.filter(|_| launch.on_refusal != OnRefusal::Fail) {
        Some(body) => {
            static WARNING: WarnOnce = WarnOnce::new();
            WARNING.warn_unless(
                launch.on_refusal == OnRefusal::Silent,
                format_args!(
                    "kernel `{kernel}` runs on the device `native`, because on `{device}` {cause}"
                ),
            );
            replaced(launch, || format!("on `{device}` {cause}"));
            Ok(body)
        }
        None => {
            let device = device.to_owned();
            Err(LaunchError::Image { kernel, device, cause: Box::new(cause) })
        }
    }
}

/// Tells a launch that asks why the host half's own body runs in the place of the device's code.
fn replaced(launch: &LaunchDesc<'_>, why: impl FnOnce() -> String) {
    if let Some(told) = launch.replaced {
        told.get_or_init(why);
    }
}

/// Warns once that the program contains no code for devices, unless the launch `is_silent`.
fn plain_program(is_silent: bool) {
    static WARNING: WarnOnce = WarnOnce::new();
    WARNING.warn_unless(
        is_silent,
        "this program was compiled by plain rustc, so its kernels run on the device `native`; build it with `cargo schism build` to \
         have them compiled for devices, or set SCHISM_DEVICE=native to be content with this",
    );
}

fn no_device_code<Q: QueueOps>(queue: &Q, launch: &LaunchDesc<'_>) -> LaunchError {
    let (kernel, device) = (launch.kernel.name(), queue.device_name().to_owned());
    LaunchError::NoDeviceCode { kernel, device }
}

/// The host half's own body, if it has one.
///
/// # Safety
/// As for [`run`].
#[inline]
unsafe fn native(launch: &LaunchDesc<'_>) -> Option<NativeBody> {
    let mut body = launch.kernel.native()?;
    if launch.groups.is_some() {
        // SAFETY: null, or a constant of the kernel's shared object.
        let descriptor = unsafe { launch.kernel.descriptor.as_ref() };
        body.shares_threads = descriptor.is_some_and(|descriptor| {
            // SAFETY: the caller's promises.
            unsafe { kernels::no_thread_locals(descriptor, launch.kernel.layout) }
        });
    }
    Some(body)
}
