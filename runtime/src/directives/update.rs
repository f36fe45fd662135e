//! Copies between the host and what regions keep on devices, and where that is.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::api::queue::Queue;
use crate::data::device_copy::DeviceCopy;
use crate::data::host_range::{HostAccess, HostRange};
use crate::data::present::{self, Location};
use crate::data::view::{View, ViewMut};
use crate::directives::elements::{Elements, ElementsMut};
use crate::directives::outcome::{or_panic, settle};
use crate::directives::queue::queue;
use crate::error::{BufferError, Error};
use crate::kernel::element::Element;

/// The host's range of some elements that may be changed; `None` if they are on a device anyway.
fn changed_range<T: Element>(view: &ViewMut<'_, T>) -> Option<HostRange> {
    HostRange::changed(view.as_mut_ptr(), view.len())
}

/// Whether launches of a queue find a range on its device, or need not.
///
/// # Errors
/// [`BufferError::PartlyPresent`].
fn is_found(queue: &Queue, range: &HostRange) -> Result<bool, BufferError> {
    let range = HostRange { access: HostAccess::Reads, ..range.clone() };
    Ok(!queue.backend().has_own_memory()
        || !matches!(present::locate(queue.backend(), &range)?, Location::Host))
}

fn not_present(queue: &Queue, range: &HostRange) -> BufferError {
    BufferError::NotPresent {
        slice: range.begin.addr()..range.end(),
        nearest: present::nearest(range.begin.addr()),
        device: queue.backend().device_name().to_owned(),
    }
}

/// Whether launches of a queue use elements without a copy for them alone.
///
/// # Errors
/// As for [`is_found`].
pub(super) fn is_present<T: Element>(queue: &Queue, elements: View<'_, T>) -> Result<bool, Error> {
    let elements = elements.raw();
    match HostRange::read(elements.as_ptr(), elements.len()) {
        Some(range) => Ok(is_found(queue, &range)?),
        None => Ok(true),
    }
}

/// The copy whose values count instead of the host's; `None` if the latter do.
///
/// # Errors
/// [`BufferError::NotPresent`] if the device of the queue has no such elements, unless `if_present`.
fn copy_of(
    queue: &Queue,
    range: &HostRange,
    if_present: bool,
) -> Result<Option<Arc<DeviceCopy>>, Error> {
    queue.refuse_inside_kernels()?;
    let found = present::exclusive(range)?;
    if found.is_none() && !if_present && !is_found(queue, range)? {
        return Err(not_present(queue, range).into());
    }
    Ok(found)
}

/// The host gets the values that the device has, or that gets those of the host, if it is `to_host` or not.
///
/// # Errors
/// As for [`copy_of`]; that of the copy.
pub(super) fn update<T: Element>(
    view: ViewMut<'_, T>,
    to_host: bool,
    if_present: bool,
) -> Result<(), Error> {
    match changed_range(&view) {
        Some(range) => update_range(&range, to_host, if_present),
        None => Ok(()),
    }
}

fn update_range(range: &HostRange, to_host: bool, if_present: bool) -> Result<(), Error> {
    let queue = queue();
    let Some(copy) = copy_of(&queue, range, if_present)? else { return Ok(()) };
    let (address, reports) = (range.begin.addr(), queue.reports());
    // SAFETY: the copy has all of the range. That is borrowed exclusively, so no launch uses this part of
    // the copy.
    unsafe {
        if to_host {
            copy.read(address, range.begin, range.bytes)?;
            reports.inspect(|reports| reports.copied_from(range.bytes));
        } else {
            copy.write(address, range.begin, range.bytes)?;
            reports.inspect(|reports| reports.copied_to(range.bytes));
        }
    }
    Ok(())
}

/// The first element's address for the device's own libraries, which may write there.
///
/// # Errors
/// As for [`copy_of`].
pub(super) fn address<T: Element>(view: ViewMut<'_, T>, if_present: bool) -> Result<*mut T, Error> {
    let Some(range) = changed_range(&view) else { return Ok(view.as_mut_ptr()) };
    Ok(match copy_of(&queue(), &range, if_present)? {
        None => view.as_mut_ptr(),
        Some(copy) => {
            copy.changes();
            std::ptr::with_exposed_provenance_mut(copy.device_address(range.begin.addr()))
        }
    })
}

/// The host's address of what is at an address for the device's own libraries.
pub(super) fn host_address<T>(device: *const T) -> Option<NonNull<T>> {
    let address = present::host_address(device.addr())?;
    NonNull::new(std::ptr::with_exposed_provenance_mut(address))
}

/// `present(array)`
///
/// # Panics
/// If the array is not on the device, and that has its own memory.
#[track_caller]
pub fn check_present<A: Elements + ?Sized>(array: &A) {
    let (elements, queue) = (array.__elements(), queue());
    if !or_panic(is_present(&queue, elements))
        && let Some(range) = HostRange::read(elements.raw().as_ptr(), elements.raw().len())
    {
        or_panic(Err::<(), _>(not_present(&queue, &range)));
    }
}

/// `update self(array)`
///
/// # Panics
/// If the array is not on the device, unless it `if_present`; if the copy fails.
#[track_caller]
pub fn update_self<A: ElementsMut + ?Sized>(array: &mut A, if_present: bool) {
    settle();
    or_panic(update(array.__elements_mut(), true, if_present));
}

/// `update device(array)`
///
/// # Panics
/// As [`update_self`].
#[track_caller]
pub fn update_device<A: ElementsMut + ?Sized>(array: &mut A, if_present: bool) {
    settle();
    or_panic(update(array.__elements_mut(), false, if_present));
}

/// `exit data`: what `enter data` has begun ends, with a copy of what launches have changed.
///
/// # Panics
/// If the copy fails.
#[track_caller]
pub fn exit<A: ElementsMut + ?Sized>(array: &mut A, is_final: bool) {
    settle();
    let Some(range) = changed_range(&array.__elements_mut()) else { return };
    // SAFETY: it is borrowed exclusively.
    let bytes = or_panic(unsafe { present::exit(&range, is_final) });
    if let Some(reports) = queue().reports() {
        reports.copied_from(bytes);
    }
}

/// `host_data use_device(array)`; the host's address unless it `is_used`.
///
/// # Panics
/// As [`update_self`].
#[track_caller]
pub fn device_ptr_mut<A: ElementsMut + ?Sized>(
    array: &mut A,
    is_used: bool,
    if_present: bool,
) -> *mut A::Element {
    let view = array.__elements_mut();
    if !is_used {
        return view.as_mut_ptr();
    }
    or_panic(address(view, if_present))
}
