//! Typed memory of a device.

use std::alloc::Layout;
use std::fmt;
use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::slice;

use crate::api::queue::Queue;
use crate::data::source::chunks::{Chunks, ChunksMut};
use crate::data::view::{View, ViewMut};
use crate::error::BufferError;
use crate::hal::dispatch::BackendMemory;
use crate::kernel::element::Element;
use crate::launch::options::bytes_of;

/// Buffers start on a boundary of this many bytes: a cache line on any host, and wide enough for any vector instruction.
const ALIGNMENT: usize = 128;

/// `len` elements of type `T` in memory that a queue's device reaches.
///
/// The host reads and writes it by copying ([`read`](Self::read), [`write`](Self::write), [`to_vec`](Self::to_vec)). Kernels reach it
/// as sources of [`Queue::for_each`], or through captured views ([`view`](Self::view), [`view_mut`](Self::view_mut),
/// [`atomic_view`](Self::atomic_view)). The borrow checker keeps these apart: while a launch may still use a buffer, the host cannot.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut squares = Buffer::from_slice(&queue, &[1, 2, 3, 4])?;
/// queue.for_each(&mut squares, |x| *x *= *x)?;
/// assert_eq!(squares.to_vec(), [1, 4, 9, 16]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<T: Element> {
    /// On a device with memory of its own, an address that stands for the device's.
    elements: NonNull<T>,
    len: usize,
    /// `None` if the elements take no room.
    memory: Option<BackendMemory>,
}

// SAFETY: a buffer owns its elements as a `Vec` does.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: a shared buffer gives shared access only, and elements are `Sync`.
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T: Element> Buffer<T> {
    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::OutOfMemory`] and [`BufferError::TooLarge`].
    pub fn from_slice(queue: &Queue, data: &[T]) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(queue, data.len())?;
        if let Some(memory) = &mut buffer.memory {
            // SAFETY: the memory is as large as `data`.
            unsafe { memory.write(0, data.as_ptr().cast(), size_of_val(data))? };
        }
        buffer.len = data.len();
        tracing::debug!(bytes = size_of_val(data), device = %queue.device(), "copied to the device");
        Ok(buffer)
    }

    /// A buffer of `len` times `value`.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::OutOfMemory`] and [`BufferError::TooLarge`].
    pub fn filled(queue: &Queue, len: usize, value: T) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(queue, len)?;
        match &mut buffer.memory {
            Some(memory) if !memory.is_on_host() => memory.fill(&bytes_of(value))?,
            _ => {
                for index in 0..len {
                    // SAFETY: `allocate` made room for `len` elements, which the host reaches.
                    unsafe { buffer.elements.add(index).write(value) };
                }
            }
        }
        buffer.len = len;
        Ok(buffer)
    }

    /// A buffer of `len` default values: zeros, for numbers.
    ///
    /// # Errors
    /// [`BufferError::OutOfMemory`] or [`BufferError::TooLarge`].
    pub fn with_len(queue: &Queue, len: usize) -> Result<Self, BufferError>
    where
        T: Default,
    {
        Self::filled(queue, len, T::default())
    }

    /// Memory for `capacity` elements, of which none counts yet.
    fn allocate(queue: &Queue, capacity: usize) -> Result<Self, BufferError> {
        let layout = Layout::array::<T>(capacity)
            .and_then(|layout| layout.align_to(ALIGNMENT))
            .map_err(|_| BufferError::TooLarge { len: capacity, element_size: size_of::<T>() })?;
        if layout.size() == 0 {
            return Ok(Self { elements: NonNull::dangling(), len: 0, memory: None });
        }
        let memory = queue.backend().allocate(layout)?;
        Ok(Self { elements: memory.address().cast(), len: 0, memory: Some(memory) })
    }

    /// The number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies the elements to a new `Vec`.
    ///
    /// # Panics
    /// If the buffer is in a device's memory and the copy fails, as it does when the device was lost. [`try_to_vec`](Self::try_to_vec)
    /// returns an error then.
    #[must_use]
    #[track_caller]
    pub fn to_vec(&self) -> Vec<T> {
        match self.try_to_vec() {
            Ok(elements) => elements,
            Err(error) => panic!("{error}"),
        }
    }

    /// Copies the elements to a new `Vec`.
    ///
    /// # Errors
    /// [`BufferError::DeviceLost`] and [`BufferError::Driver`], for a buffer in a device's memory.
    pub fn try_to_vec(&self) -> Result<Vec<T>, BufferError> {
        let mut elements = Vec::<T>::with_capacity(self.len);
        if let Some(memory) = &self.memory {
            // SAFETY: there is room for as many elements.
            unsafe { memory.read(0, elements.as_mut_ptr().cast(), size_of::<T>() * self.len)? };
        }
        // SAFETY: there is room for as many, and those of the buffer are initialised. Where it has no memory, they have no bytes.
        unsafe { elements.set_len(self.len) };
        tracing::debug!(bytes = size_of::<T>() * self.len, "copied to the host");
        Ok(elements)
    }

    /// Copies all elements to `to`.
    ///
    /// # Errors
    /// [`BufferError::Length`] unless `to` is as long as the buffer; [`BufferError::DeviceLost`] and [`BufferError::Driver`], for a
    /// buffer in a device's memory.
    pub fn read(&self, to: &mut [T]) -> Result<(), BufferError> {
        if to.len() != self.len {
            return Err(BufferError::Length { buffer: self.len, host: to.len() });
        }
        if let Some(memory) = &self.memory {
            // SAFETY: as many elements.
            unsafe { memory.read(0, to.as_mut_ptr().cast(), size_of_val(to))? };
        }
        tracing::debug!(bytes = size_of_val(to), "copied to the host");
        Ok(())
    }

    /// Replaces all elements by those of `from`.
    ///
    /// # Errors
    /// [`BufferError::Length`] unless `from` is as long as the buffer; [`BufferError::DeviceLost`] and [`BufferError::Driver`], for a
    /// buffer in a device's memory, whose elements may then be any of both.
    pub fn write(&mut self, from: &[T]) -> Result<(), BufferError> {
        if from.len() != self.len {
            return Err(BufferError::Length { buffer: self.len, host: from.len() });
        }
        if let Some(memory) = &mut self.memory {
            // SAFETY: as many elements.
            unsafe { memory.write(0, from.as_ptr().cast(), size_of_val(from))? };
        }
        tracing::debug!(bytes = size_of_val(from), "copied to the device");
        Ok(())
    }

    /// A read-only view for kernels to capture.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        if let Some(memory) = &self.memory {
            memory.shared();
        }
        View::new(self.elements())
    }

    /// An exclusive view: a source for [`Queue::for_each`], or a capture with `unsafe` access.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        self.exclusive(false)
    }

    /// The view; if it is `atomic`, only kernels of the buffer's device reach the elements through what is made of it.
    pub(crate) fn exclusive(&mut self, atomic: bool) -> ViewMut<'_, T> {
        if let Some(memory) = &mut self.memory {
            memory.exclusive(atomic);
        }
        // SAFETY: the buffer is borrowed exclusively while the view lives, and `len` elements are initialised.
        unsafe { ViewMut::new(self.elements, self.len) }
    }

    /// A view of some of the elements, with indices from 0.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the range ends beyond the buffer or before it starts.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>, BufferError> {
        self.view().slice(range)
    }

    /// An exclusive view of some of the elements, with indices from 0.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the range ends beyond the buffer or before it starts.
    pub fn slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<ViewMut<'_, T>, BufferError> {
        self.view_mut().slice(range)
    }

    /// A source that gives each work-item `size` neighbouring elements to read, such as a row of an image; the last one gets
    /// what is left. A launch with a `size` of 0 is an error.
    #[must_use]
    pub fn chunks(&self, size: usize) -> Chunks<'_, T> {
        self.view().chunks(size)
    }

    /// A source that gives each work-item `size` neighbouring elements to change; the last one gets what is left. A launch with
    /// a `size` of 0 is an error.
    #[must_use]
    pub fn chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        self.view_mut().chunks_mut(size)
    }

    pub(crate) const fn address(&self) -> *const T {
        self.elements.as_ptr()
    }

    /// The elements, which the host must not look at if they are in a device's memory.
    const fn elements(&self) -> &[T] {
        // SAFETY: `len` elements are initialised, and `&self` excludes writers.
        unsafe { slice::from_raw_parts(self.elements.as_ptr(), self.len) }
    }
}

impl<'a, T: Element> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.view()
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&*self.view()).finish()
    }
}
