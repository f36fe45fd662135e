//! What is read and written where kernels reach it: slices of the host and data of devices.

use std::any::type_name;
use std::slice;

use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::host_range::HostRange;
use crate::data::source::length::Lengths;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

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
    }
}
pub(crate) use sealed::{Read, Write};

/// What an algorithm reads: `[T]`, `[T; N]`, `Vec<T>`, [`Buffer<T>`], [`View<T>`], [`ViewMut<T>`].
///
/// Kernels of the host devices read slices of the host in place. For a GPU they are copied there,
/// on each call; a buffer stays there.
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
/// and back, on each call; a buffer stays there.
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
    Copied(Buffer<T>),
}

impl<T: Element> Readable<'_, T> {
    pub(crate) fn view(&self) -> View<'_, T> {
        match self {
            Self::InPlace(view) => *view,
            Self::Copied(buffer) => buffer.view(),
        }
    }
}

/// Elements that kernels of a queue can change.
#[derive(Debug)]
pub enum Writable<'a, T: Element> {
    InPlace(ViewMut<'a, T>),
    Copied(Buffer<T>, &'a mut [T]),
}

impl<T: Element> Writable<'_, T> {
    pub(crate) fn view_mut(&mut self) -> ViewMut<'_, T> {
        match self {
            Self::InPlace(view) => view.reborrow(),
            Self::Copied(buffer, _) => buffer.view_mut(),
        }
    }

    /// Brings the elements back to where they came from.
    pub(crate) fn finish(self) -> Result<(), LaunchError> {
        match self {
            Self::InPlace(_) => Ok(()),
            Self::Copied(buffer, host) => Ok(buffer.read(host)?),
        }
    }
}

impl<T: Element> Read for [T] {
    type Element = T;

    fn read_on(&self, queue: &Queue) -> Result<Readable<'_, T>, LaunchError> {
        Ok(if queue.backend().translates_addresses() {
            Readable::Copied(Buffer::from_slice(queue, self)?)
        } else {
            Readable::InPlace(View::new(self))
        })
    }

    fn host_elements(&self) -> Option<&[T]> {
        Some(self)
    }
}

impl<T: Element> Write for [T] {
    fn write_on(&mut self, queue: &Queue) -> Result<Writable<'_, T>, LaunchError> {
        Ok(if queue.backend().translates_addresses() {
            Writable::Copied(Buffer::from_slice(queue, self)?, self)
        } else {
            Writable::InPlace(ViewMut::of_slice(self))
        })
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
    if is_copied(queue, buffer.address(), buffer.len()) {
        return Err(queue.foreign_buffer(type_name::<Buffer<T>>(), "the host"));
    }
    Ok(())
}

/// Whether elements are the host's, and the queue's device has no access to them.
fn is_copied<T>(queue: &Queue, elements: *const T, len: usize) -> bool {
    queue.backend().translates_addresses()
        && HostRange::new(elements.cast_mut(), len, false).is_some()
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
            // SAFETY: the view has exclusive access to elements of the host's, and is borrowed.
            let elements = unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), self.len()) };
            return Ok(Writable::Copied(Buffer::from_slice(queue, elements)?, elements));
        }
        check_memory::<Self, T>(queue, self.as_mut_ptr())?;
        Ok(Writable::InPlace(self.reborrow()))
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
