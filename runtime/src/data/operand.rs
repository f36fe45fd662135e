//! What is read and written where kernels reach it: slices of the host and data of devices.

use std::any::type_name;
use std::mem::MaybeUninit;
use std::slice;
use std::sync::Arc;

use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::device_copy::CopyOwner;
use crate::data::device_copy::DeviceCopy;
use crate::data::host_range::HostRange;
use crate::data::present::{Location, is_locating, locate};
use crate::data::source::length::Lengths;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::hal::address_window::is_in_window;
use crate::kernel::element::Element;
use crate::launch::report::Reports;

mod sealed {
    use super::{Readable, Writable};
    use crate::api::queue::Queue;
    use crate::error::LaunchError;
    use crate::kernel::element::Element;

    pub trait Read {
        /// The type of the elements.
        type Element: Element;

        /// The elements, where kernels of the queue can read them.
        fn read_on(&self, queue: &Queue) -> Result<Readable<'_, Self::Element>, LaunchError>;

        /// The elements, if they are a slice of the host's.
        fn host_elements(&self) -> Option<&[Self::Element]> {
            None
        }
    }

    pub trait Write: Read {
        /// The elements, where kernels of the queue can change them.
        fn write_on(&mut self, queue: &Queue) -> Result<Writable<'_, Self::Element>, LaunchError>;

        /// As [`write_on`](Self::write_on), for elements that are not read: nothing is copied to
        /// the device.
        ///
        /// # Safety
        /// All elements are written before one is read, and before [`Writable::finish`].
        unsafe fn overwrite_on(
            &mut self,
            queue: &Queue,
        ) -> Result<Writable<'_, Self::Element>, LaunchError> {
            self.write_on(queue)
        }
    }
}
pub(crate) use sealed::{Read, Write};

/// What an algorithm reads: `[T]`, `[T; N]`, `Vec<T>`, [`Buffer<T>`], [`View<T>`], [`ViewMut<T>`].
///
/// Kernels of the host devices read slices of the host in place. For a GPU they are copied there,
/// on each call, unless they are part of what [`Queue::resident`] keeps there; a buffer stays there.
#[diagnostic::on_unimplemented(
    message = "algorithms cannot read `{Self}`",
    note = "they read slices, arrays, `Vec<T>`, `Buffer<T>`, `View<T>` and `ViewMut<T>` of `Copy` elements"
)]
pub trait Input: Read {}

impl<I: Read + ?Sized> Input for I {}

/// What an algorithm changes: `[T]`, `[T; N]`, `Vec<T>`, [`Buffer<T>`], [`ViewMut<T>`]. The number
/// of elements stays the same.
///
/// Kernels of the host devices change slices of the host in place. For a GPU they are copied there
/// and back, on each call, and only back by algorithms that write all elements; a buffer stays there.
#[diagnostic::on_unimplemented(
    message = "algorithms cannot change `{Self}`",
    note = "they change slices, arrays, `Vec<T>`, `Buffer<T>` and `ViewMut<T>` of `Copy` elements"
)]
pub trait Output: Write + Input {}

impl<O: Write + ?Sized> Output for O {}

/// Elements that kernels of a queue can read.
#[derive(Debug)]
pub enum Readable<'a, T: Element> {
    InPlace(View<'a, T>),
    /// In a copy that was there before, and stays as long as its owner.
    Present(CopyOwner, View<'a, T>),
    Copied(Arc<Buffer<T>>),
}

impl<T: Element> Readable<'_, T> {
    pub(crate) fn view(&self) -> View<'_, T> {
        match self {
            Self::InPlace(view) | Self::Present(_, view) => *view,
            Self::Copied(buffer) => buffer.view(),
        }
    }
}

/// Elements that kernels of a queue can change.
#[derive(Debug)]
pub enum Writable<'a, T: Element> {
    InPlace(ViewMut<'a, T>),
    /// In a copy that was there before, and stays as long as its owner.
    Present(CopyOwner, ViewMut<'a, T>),
    Copied(Buffer<T>, Origin<'a, T>),
    /// They are written before they are read.
    Overwritten(Buffer<MaybeUninit<T>>, Origin<'a, T>),
}

/// Where elements were copied from, and are copied to.
#[derive(Debug)]
pub struct Origin<'a, T> {
    host: &'a mut [T],
    /// The copy on another device whose values count; `None` if those of the host do.
    copy: Option<Arc<DeviceCopy>>,
    reports: Option<Reports>,
}

impl<T: Element> Origin<'_, T> {
    fn bring(self, buffer: &Buffer<T>) -> Result<(), LaunchError> {
        match &self.copy {
            None => buffer.read(self.host)?,
            Some(copy) => {
                let (elements, begin) = (buffer.try_to_vec()?, self.host.as_ptr().addr());
                // SAFETY: the copy has what the host has, which is borrowed exclusively; there are as many
                // elements.
                unsafe {
                    copy.write(begin, elements.as_ptr().cast(), size_of_val(&elements[..]))?;
                }
            }
        }
        if let Some(reports) = &self.reports {
            reports.copied_from(size_of_val(self.host));
        }
        Ok(())
    }
}

impl<T: Element> Writable<'_, T> {
    pub(crate) fn view_mut(&mut self) -> ViewMut<'_, T> {
        match self {
            Self::InPlace(view) | Self::Present(_, view) => view.reborrow(),
            Self::Copied(buffer, _) => buffer.view_mut(),
            Self::Overwritten(buffer, _) => {
                let view = buffer.view_mut();
                // SAFETY: the view has the elements for as long. What they are is asked when they
                // have been written: the promise to `overwrite_on`.
                unsafe { ViewMut::new(view.elements().cast(), view.len()) }
            }
        }
    }

    /// Brings the elements back to where they came from.
    pub(crate) fn finish(self) -> Result<(), LaunchError> {
        match self {
            Self::InPlace(_) | Self::Present(..) => Ok(()),
            Self::Copied(buffer, origin) => origin.bring(&buffer),
            // SAFETY: the promise to `overwrite_on`.
            Self::Overwritten(buffer, origin) => origin.bring(&unsafe { buffer.assume_init() }),
        }
    }
}

/// A copy of elements on the queue's device, by their values.
fn copied<T: Element>(queue: &Queue, values: &[T]) -> Result<Buffer<T>, LaunchError> {
    let buffer = Buffer::from_slice(queue, values)?;
    if let Some(reports) = queue.reports() {
        reports.copied_to(size_of_val(values));
    }
    Ok(buffer)
}

/// The values of elements that count on another device.
fn values_of<T: Element>(elements: &[T], copy: &DeviceCopy) -> Result<Vec<T>, LaunchError> {
    let mut values: Vec<T> = Vec::with_capacity(elements.len());
    let begin = elements.as_ptr().addr();
    // SAFETY: the copy has all elements, which are borrowed, so that no launch changes them; there is room
    // for as many.
    unsafe { copy.read(begin, values.as_mut_ptr().cast(), size_of_val(elements))? };
    // SAFETY: there are as many.
    unsafe { values.set_len(elements.len()) };
    Ok(values)
}

/// Where launches of a queue have the elements of a slice of the host's.
fn location(queue: &Queue, range: Option<HostRange>) -> Result<Location, LaunchError> {
    match range {
        Some(range) if is_locating(queue.backend()) => Ok(locate(queue.backend(), &range)?),
        _ => Ok(Location::Host),
    }
}

/// As [`location`], of a slice that is changed: where it is used in place, or what a copy is of.
fn writable_location<'a, T: Element>(
    queue: &Queue,
    host: &'a mut [T],
) -> Result<Result<Writable<'a, T>, Origin<'a, T>>, LaunchError> {
    let copy = match location(queue, HostRange::changed(host.as_mut_ptr(), host.len()))? {
        Location::Host if !queue.backend().has_own_memory() => {
            return Ok(Ok(Writable::InPlace(ViewMut::of_slice(host))));
        }
        Location::Here(owner, copy) => {
            // SAFETY: the copy is aligned and has as many elements, which stay as long as the owner. It
            // stands for the host's, which are borrowed exclusively. Kernels of the device use them.
            let view = unsafe { ViewMut::new(copy.cast(), host.len()) };
            return Ok(Ok(Writable::Present(owner, view)));
        }
        Location::Host => None,
        Location::Elsewhere(copy) => Some(copy),
    };
    Ok(Err(Origin { host, copy, reports: queue.reports().cloned() }))
}

/// Elements that launches of the queue's device change. If they are copies, they are not those of
/// the host, but all the first one.
pub(crate) fn filled<'a, T: Element>(
    queue: &Queue,
    view: ViewMut<'a, T>,
) -> Result<Writable<'a, T>, LaunchError> {
    if !is_copied(queue, view.as_mut_ptr(), view.len()) {
        check_memory::<ViewMut<'_, T>, T>(queue, view.as_mut_ptr())?;
        return Ok(Writable::InPlace(view));
    }
    // SAFETY: the view has exclusive access to elements of the host's, for as long, and is given up.
    let host: &'a mut [T] = unsafe { slice::from_raw_parts_mut(view.as_mut_ptr(), view.len()) };
    let origin = match writable_location(queue, host)? {
        Ok(used) => return Ok(used),
        Err(origin) => origin,
    };
    let buffer = match origin.host.first() {
        Some(first) => Buffer::filled(queue, origin.host.len(), *first)?,
        None => Buffer::from_slice(queue, origin.host)?,
    };
    Ok(Writable::Copied(buffer, origin))
}

impl<T: Element> Read for [T] {
    type Element = T;

    fn read_on(&self, queue: &Queue) -> Result<Readable<'_, T>, LaunchError> {
        match location(queue, HostRange::read(self.as_ptr(), self.len()))? {
            Location::Host if !queue.backend().has_own_memory() => {
                Ok(Readable::InPlace(View::new(self)))
            }
            Location::Here(owner, copy) => {
                // SAFETY: the copy is aligned and has as many elements, which stay as long as the owner
                // and do not change as long as the slice is borrowed. Kernels of the device read them.
                let elements = unsafe { slice::from_raw_parts(copy.as_ptr().cast(), self.len()) };
                Ok(Readable::Present(owner, View::new(elements)))
            }
            Location::Host => Ok(Readable::Copied(Arc::new(copied(queue, self)?))),
            Location::Elsewhere(copy) => {
                let values = values_of(self, &copy)?;
                Ok(Readable::Copied(Arc::new(copied(queue, &values)?)))
            }
        }
    }

    fn host_elements(&self) -> Option<&[T]> {
        Some(self)
    }
}

impl<T: Element> Write for [T] {
    fn write_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
        let origin = match writable_location(queue, self)? {
            Ok(used) => return Ok(used),
            Err(origin) => origin,
        };
        let buffer = match &origin.copy {
            None => copied(queue, origin.host)?,
            Some(copy) => copied(queue, &values_of(origin.host, copy)?)?,
        };
        Ok(Writable::Copied(buffer, origin))
    }

    unsafe fn overwrite_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
        match writable_location(queue, self)? {
            Ok(used) => Ok(used),
            Err(origin) => {
                let buffer = Buffer::uninit(queue, origin.host.len())?;
                Ok(Writable::Overwritten(buffer, origin))
            }
        }
    }
}

macro_rules! of_a_slice {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<T: Element, $($generics)*> Read for $type {
            type Element = T;

            fn read_on(&self, queue: &Queue) -> Result<Readable<'_, T>, LaunchError> {
                self[..].read_on(queue)
            }

            fn host_elements(&self) -> Option<&[T]> {
                Some(&self[..])
            }
        }

        impl<T: Element, $($generics)*> Write for $type {
            fn write_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
                self[..].write_on(queue)
            }

            unsafe fn overwrite_on(
                &mut self,
                queue: &Queue,
            ) -> Result<Writable<'_, T>, LaunchError> {
                // SAFETY: the caller's promise.
                unsafe { self[..].overwrite_on(queue) }
            }
        }
    )*};
}
of_a_slice! {
    [] Vec<T>;
    [] Box<[T]>;
    [const N: usize] [T; N];
}

/// Returns an error if the host is to run kernels over elements that are in a GPU's memory.
fn check_memory<D: ?Sized, T>(queue: &Queue, elements: *const T) -> Result<(), LaunchError> {
    let mut lengths = Lengths::default();
    lengths.elements_at(elements);
    queue.check_memory(&lengths, type_name::<D>)
}

/// Returns an error if kernels of the queue cannot use a buffer's memory.
fn check_buffer<T: Element>(queue: &Queue, buffer: &Buffer<T>) -> Result<(), LaunchError> {
    check_memory::<Buffer<T>, T>(queue, buffer.address())?;
    let is_of_host = HostRange::read(buffer.address(), buffer.len()).is_some();
    if is_of_host && queue.backend().has_own_memory() {
        return Err(queue.foreign_buffer(type_name::<Buffer<T>>(), "the host"));
    }
    Ok(())
}

/// Whether elements are the host's, and the queue's device may have no access to them, or a copy of them
/// may count.
fn is_copied<T>(queue: &Queue, elements: *const T, len: usize) -> bool {
    is_locating(queue.backend()) && HostRange::read(elements, len).is_some()
}

impl<T: Element> Read for View<'_, T> {
    type Element = T;

    fn read_on(&self, queue: &Queue) -> Result<Readable<'_, T>, LaunchError> {
        if is_copied(queue, self.raw().as_ptr(), self.raw().len()) {
            return self.raw().read_on(queue);
        }
        check_memory::<Self, T>(queue, self.raw().as_ptr())?;
        Ok(Readable::InPlace(*self))
    }

    fn host_elements(&self) -> Option<&[T]> {
        (!is_in_window(self.raw().as_ptr().addr())).then_some(self.raw())
    }
}

impl<T: Element> Read for ViewMut<'_, T> {
    type Element = T;

    fn read_on(&self, queue: &Queue) -> Result<Readable<'_, T>, LaunchError> {
        if is_copied(queue, self.as_mut_ptr(), self.len()) {
            return self.shared().raw().read_on(queue);
        }
        check_memory::<Self, T>(queue, self.as_mut_ptr())?;
        Ok(Readable::InPlace(self.shared()))
    }
}

impl<T: Element> Write for ViewMut<'_, T> {
    fn write_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
        if is_copied(queue, self.as_mut_ptr(), self.len()) {
            return self.host_slice().write_on(queue);
        }
        check_memory::<Self, T>(queue, self.as_mut_ptr())?;
        Ok(Writable::InPlace(self.reborrow()))
    }

    unsafe fn overwrite_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
        if is_copied(queue, self.as_mut_ptr(), self.len()) {
            // SAFETY: the caller's promise.
            return unsafe { self.host_slice().overwrite_on(queue) };
        }
        self.write_on(queue)
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// The elements, which are the host's.
    pub(crate) fn host_slice(&mut self) -> &mut [T] {
        // SAFETY: the view has exclusive access to them, and is borrowed.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), self.len()) }
    }
}

impl<T: Element> Read for Buffer<T> {
    type Element = T;

    fn read_on(&self, queue: &Queue) -> Result<Readable<'_, T>, LaunchError> {
        check_buffer(queue, self)?;
        Ok(Readable::InPlace(self.view()))
    }
}

impl<T: Element> Write for Buffer<T> {
    fn write_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
        check_buffer(queue, self)?;
        Ok(Writable::InPlace(self.view_mut()))
    }
}
