//! Copies between buffers and the host, and between buffers.

use crate::data::buffer::Buffer;
use crate::data::view::bounds;
use crate::error::BufferError;
use crate::kernel::element::Element;
use crate::launch::options::bytes_of;

impl<T: Element> Buffer<T> {
    /// Copies the elements to a new `Vec`.
    ///
    /// # Panics
    /// If the buffer is in device memory and the copy fails, for example because the device was
    /// lost. [`try_to_vec`](Self::try_to_vec) returns an error instead.
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
    /// [`BufferError::DeviceLost`] and [`BufferError::Driver`], for a buffer in device memory.
    pub fn try_to_vec(&self) -> Result<Vec<T>, BufferError> {
        let mut elements = Vec::<T>::with_capacity(self.len());
        // SAFETY: there is room for as many elements.
        unsafe { self.read_elements(0, elements.as_mut_ptr(), self.len())? };
        // SAFETY: there is room for as many, and those of the buffer are initialised. Where it has
        // no memory, they have no bytes.
        unsafe { elements.set_len(self.len()) };
        tracing::debug!(bytes = size_of::<T>() * self.len(), "copied to the host");
        Ok(elements)
    }

    /// The element at `index`, or `None` if `index` is out of bounds. Each call copies from the
    /// device; for many elements use [`read`](Self::read), [`read_at`](Self::read_at) or
    /// [`to_vec`](Self::to_vec).
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
    /// numbers.set(1, 20)?;
    /// assert_eq!((numbers.get(1), numbers.get(3)), (Some(20), None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`to_vec`](Self::to_vec).
    #[must_use]
    #[track_caller]
    pub fn get(&self, index: usize) -> Option<T> {
        if index >= self.len() {
            return None;
        }
        match self.try_get(index) {
            Ok(element) => Some(element),
            Err(error) => panic!("{error}"),
        }
    }

    /// The element at `index`.
    ///
    /// # Errors
    /// [`BufferError::Range`] if `index` is out of bounds; [`BufferError::DeviceLost`] and
    /// [`BufferError::Driver`], for a buffer in device memory.
    pub(crate) fn try_get(&self, index: usize) -> Result<T, BufferError> {
        bounds(index..=index, self.len())?;
        let mut element = std::mem::MaybeUninit::<T>::uninit();
        // SAFETY: there is room for one element, which the buffer has.
        unsafe { self.read_elements(index, element.as_mut_ptr(), 1)? };
        // SAFETY: it was copied, or it has no bytes.
        Ok(unsafe { element.assume_init() })
    }

    /// Replaces the element at `index`. Each call copies to the device; for many elements use
    /// [`write`](Self::write) or [`write_at`](Self::write_at).
    ///
    /// # Errors
    /// [`BufferError::Range`] if `index` is out of bounds; [`BufferError::DeviceLost`] and
    /// [`BufferError::Driver`], for a buffer in device memory.
    pub fn set(&mut self, index: usize, value: T) -> Result<(), BufferError> {
        self.write_at(index, &[value])
    }

    /// Copies all elements to `to`.
    ///
    /// # Errors
    /// [`BufferError::Length`] unless `to` is as long as the buffer; [`BufferError::DeviceLost`]
    /// and [`BufferError::Driver`], for a buffer in device memory.
    pub fn read(&self, to: &mut [T]) -> Result<(), BufferError> {
        if to.len() != self.len() {
            return Err(BufferError::Length { buffer: self.len(), host: to.len() });
        }
        self.read_at(0, to)
    }

    /// Copies elements to `to`: as many as it has, starting at `begin`.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3, 4, 5])?;
    /// numbers.write_at(3, &[40, 50])?;
    /// let mut some = [0; 3];
    /// numbers.read_at(1, &mut some)?;
    /// assert_eq!(some, [2, 3, 40]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BufferError::Range`] if the buffer has fewer elements; [`BufferError::DeviceLost`] and
    /// [`BufferError::Driver`], for a buffer in device memory.
    pub fn read_at(&self, begin: usize, to: &mut [T]) -> Result<(), BufferError> {
        let (begin, _) = bounds(begin..begin.saturating_add(to.len()), self.len())?;
        // SAFETY: there is room for as many elements, which the buffer has.
        unsafe { self.read_elements(begin, to.as_mut_ptr(), to.len())? };
        tracing::debug!(bytes = size_of_val(to), "copied to the host");
        Ok(())
    }

    /// Copies elements to the host.
    ///
    /// # Safety
    /// The buffer has `count` elements from `begin` on, and there is room for them at `to`.
    unsafe fn read_elements(
        &self,
        begin: usize,
        to: *mut T,
        count: usize,
    ) -> Result<(), BufferError> {
        let size = size_of::<T>();
        match self.memory() {
            // SAFETY: the caller's promises.
            Some(memory) if count != 0 => unsafe {
                memory.read(size * begin, to.cast(), size * count)
            },
            _ => Ok(()),
        }
    }

    /// Replaces all elements by those of `from`.
    ///
    /// # Errors
    /// [`BufferError::Length`] unless `from` is as long as the buffer; [`BufferError::DeviceLost`]
    /// and [`BufferError::Driver`], for a buffer in device memory. Each element then has its old or
    /// its new value.
    pub fn write(&mut self, from: &[T]) -> Result<(), BufferError> {
        if from.len() != self.len() {
            return Err(BufferError::Length { buffer: self.len(), host: from.len() });
        }
        self.write_at(0, from)
    }

    /// Replaces elements by those of `from`: as many as it has, starting at `begin`.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the buffer has fewer elements; [`BufferError::DeviceLost`] and
    /// [`BufferError::Driver`], for a buffer in device memory. Each element then has its old or its
    /// new value.
    pub fn write_at(&mut self, begin: usize, from: &[T]) -> Result<(), BufferError> {
        let (begin, _) = bounds(begin..begin.saturating_add(from.len()), self.len())?;
        if let Some(memory) = self.memory_mut()
            && !from.is_empty()
        {
            // SAFETY: the elements are in the buffer, and as many.
            unsafe {
                memory.write(size_of::<T>() * begin, from.as_ptr().cast(), size_of_val(from))?;
            };
        }
        tracing::debug!(bytes = size_of_val(from), "copied to the device");
        Ok(())
    }

    /// Replaces all elements by `value`.
    ///
    /// # Errors
    /// [`BufferError::DeviceLost`] and [`BufferError::Driver`], for a buffer in device memory. Each
    /// element then has its old or its new value.
    pub fn fill(&mut self, value: T) -> Result<(), BufferError> {
        match self.memory_mut() {
            Some(memory) if !memory.is_on_host() => memory.fill(&bytes_of(value)),
            _ => {
                self.elements_mut().fill(value);
                Ok(())
            }
        }
    }

    /// Replaces all elements by those of another buffer, which may be on another device. Copies
    /// within a device do not pass through the host.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let first = Buffer::from_slice(&queue, &[1, 2, 3])?;
    /// let mut second = Buffer::with_len(&queue, 3)?;
    /// second.copy_from(&first)?;
    /// assert_eq!(second.to_vec(), [1, 2, 3]);
    /// second.fill(7)?;
    /// assert_eq!(second.to_vec(), [7; 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BufferError::Length`] unless the buffers have the same length; [`BufferError::DeviceLost`]
    /// and [`BufferError::Driver`], for a buffer in device memory. Each element then has its old or
    /// its new value.
    pub fn copy_from(&mut self, from: &Self) -> Result<(), BufferError> {
        if from.len() != self.len() {
            return Err(BufferError::Length { buffer: self.len(), host: from.len() });
        }
        let (Some(to), Some(memory)) = (self.memory_mut(), from.memory()) else { return Ok(()) };
        if to.copy_from(memory)? {
            return Ok(());
        }
        if memory.is_on_host() {
            self.write(from.elements())
        } else if to.is_on_host() {
            from.read(self.elements_mut())
        } else {
            self.write(&from.try_to_vec()?)
        }
    }
}
