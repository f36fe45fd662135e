//! Vectors on a device for as long as a value lives, which functions can return.

use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::data::buffer::Buffer;
use crate::data::device_copy::DeviceCopy;
use crate::data::host_range::HostRange;
use crate::data::present::{ExclusiveCopy, Lifetime};
use crate::directives::queue::try_queue;
use crate::directives::region::RegionCopy;
use crate::error::{BufferError, Error};
use crate::kernel::element::Element;

/// A vector that is on a device. Its elements are the host's, of which launches use and change the
/// device's copy: [`update_self`](super::acc::update_self) and
/// [`update_device`](super::acc::update_device) copy between the two.
///
/// It has the vector itself, which is empty meanwhile, and gives it back when it is dropped. If it is
/// forgotten, the vector stays empty.
#[derive(Debug)]
pub struct Entered<'a, T: Element> {
    elements: Vec<T>,
    from: &'a mut Vec<T>,
    kept: RegionCopy,
}

/// OpenACC's `enter data copyin(elements)`: copies a vector to the device of this thread's directives,
/// unless that uses the host's memory. It stays there until the result is dropped, or [copied
/// out](Entered::copyout).
///
/// # Errors
/// As for [`Queue::new`](crate::Queue::new), and [`BufferError`](crate::BufferError).
pub fn copyin<T: Element>(elements: &mut Vec<T>) -> Result<Entered<'_, T>, Error> {
    let queue = try_queue()?;
    let mut entered =
        Entered { elements: mem::take(elements), from: elements, kept: RegionCopy::default() };
    let range = HostRange::changed(entered.elements.as_mut_ptr(), entered.elements.len());
    // SAFETY: the vector is the value's own, whose drop ends the copy. If it is forgotten, nothing else
    // ever has this memory.
    entered.kept = unsafe { RegionCopy::new(&queue, range, Lifetime::Dynamic)? };
    Ok(entered)
}

/// OpenACC's `enter data create(elements)`: as [`copyin`], so that all elements have values.
///
/// # Errors
/// As for [`copyin`].
pub fn create<T: Element>(elements: &mut Vec<T>) -> Result<Entered<'_, T>, Error> {
    copyin(elements)
}

impl<T: Element> Entered<'_, T> {
    /// OpenACC's `exit data copyout`: copies what launches have changed back, as its drop does.
    ///
    /// # Errors
    /// [`BufferError`](crate::BufferError).
    pub fn copyout(mut self) -> Result<(), Error> {
        // SAFETY: the elements are the value's own.
        unsafe { self.kept.end(self.elements.as_mut_ptr().cast()) }.map_err(Error::from)
    }

    /// OpenACC's `exit data delete`: leaves the host what it has.
    pub fn delete(mut self) {
        self.kept.discard();
    }
}

impl<T: Element> Deref for Entered<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T: Element> DerefMut for Entered<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T: Element> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        struct GiveBack<'a, T>(&'a mut Vec<T>, &'a mut Vec<T>);
        impl<T> Drop for GiveBack<'_, T> {
            fn drop(&mut self) {
                mem::swap(self.0, self.1);
            }
        }
        let both = GiveBack(&mut self.elements, self.from);
        // SAFETY: the elements are the value's own.
        unsafe { self.kept.end_or_panic(both.0.as_mut_ptr().cast()) };
    }
}

/// Memory of a device that is the copy of elements of the host's: of [`map_data`].
#[derive(Debug)]
pub struct Mapped<T: Element> {
    copy: Option<ExclusiveCopy>,
    len: usize,
    element: PhantomData<T>,
}

/// OpenACC's `acc_map_data`: launches that are given any part of `elements` use the buffer instead, whose
/// values stay what they are.
///
/// # Safety
/// The buffer is one of the device of this thread's directives. `elements` are valid, and until [`Mapped::unmap`] nothing frees them, or borrows any of them without
/// being meant to use the buffer.
///
/// # Errors
/// [`BufferError::Length`](crate::BufferError::Length) unless both have as many elements.
pub unsafe fn map_data<T: Element>(
    elements: *mut [T],
    buffer: Buffer<T>,
) -> Result<Mapped<T>, Error> {
    let (queue, len) = (try_queue()?, elements.len());
    if buffer.len() != len {
        return Err(BufferError::Length { buffer: buffer.len(), host: len }.into());
    }
    let range = HostRange::changed(elements.cast::<T>(), len);
    let copy = match (range, buffer.into_memory()) {
        (Some(range), Some(memory)) => {
            let copy = DeviceCopy::of_memory(queue.backend(), memory, &range);
            Some(ExclusiveCopy::of(Arc::new(copy), Lifetime::Dynamic))
        }
        _ => None,
    };
    Ok(Mapped { copy, len, element: PhantomData })
}

impl<T: Element> Mapped<T> {
    /// OpenACC's `acc_unmap_data`: launches use the host's elements again, whose values stay what they
    /// are.
    pub fn unmap(mut self) {
        if let Some(copy) = self.copy.take() {
            copy.discard();
        }
    }

    /// How many elements there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}
