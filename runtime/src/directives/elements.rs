//! What directives take as arrays: slices and what derefs to one, buffers, and views.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::source::chunks::{Chunks, ChunksMut};
use crate::data::source::length::Lengths;
use crate::data::view::{View, ViewMut};
use crate::directives::room::check;
use crate::kernel::element::Element;
use crate::kernel::group::local::Placement;

/// Arrays that a directive's loops read.
pub trait Elements {
    /// What the array has.
    type Element: Element;

    /// All of them, to read.
    fn __elements(&self) -> View<'_, Self::Element>;

    /// The array that a `Vec`, a box or a reference has.
    fn __array(&self) -> &Self {
        self
    }
}

/// Arrays that a directive's loops change.
pub trait ElementsMut: Elements {
    /// All of them, to change.
    fn __elements_mut(&mut self) -> ViewMut<'_, Self::Element>;

    /// The array that a `Vec`, a box or a reference has.
    fn __array_mut(&mut self) -> &mut Self {
        self
    }
}

impl<T: Element> Elements for [T] {
    type Element = T;

    fn __elements(&self) -> View<'_, T> {
        View::new(self)
    }
}

impl<T: Element> ElementsMut for [T] {
    fn __elements_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut::of_slice(self)
    }
}

impl<T: Element> Elements for Buffer<T> {
    type Element = T;

    fn __elements(&self) -> View<'_, T> {
        self.view()
    }
}

impl<T: Element> ElementsMut for Buffer<T> {
    fn __elements_mut(&mut self) -> ViewMut<'_, T> {
        self.view_mut()
    }
}

impl<T: Element> Elements for View<'_, T> {
    type Element = T;

    fn __elements(&self) -> View<'_, T> {
        *self
    }
}

impl<T: Element> Elements for ViewMut<'_, T> {
    type Element = T;

    fn __elements(&self) -> View<'_, T> {
        self.shared()
    }
}

impl<T: Element> ElementsMut for ViewMut<'_, T> {
    fn __elements_mut(&mut self) -> ViewMut<'_, T> {
        self.reborrow()
    }
}

/// The first elements of a view, as a source.
pub trait Part: Sized {
    /// The same in chunks.
    type Chunks;

    /// How many elements there are.
    fn __count(&self) -> usize;

    /// `count` of them, of as many or more.
    fn __first(self, count: usize) -> Self;

    /// `count` chunks of `size` elements, of as many or more; the last one may have fewer.
    fn __first_chunks(self, count: usize, size: usize) -> Self::Chunks;
}

macro_rules! parts {
    ($($view:ident $chunks:ident $in_chunks:ident;)*) => {$(
        impl<'a, T: Element> Part for $view<'a, T> {
            type Chunks = $chunks<'a, T>;

            fn __count(&self) -> usize {
                self.__elements().raw().len()
            }

            fn __first(self, count: usize) -> Self {
                self.slice(..count).expect("a loop goes no further than its shortest part")
            }

            fn __first_chunks(self, count: usize, size: usize) -> Self::Chunks {
                let len = self.__count();
                self.__first(count.saturating_mul(size).min(len)).$in_chunks(size)
            }
        }
    )*};
}
parts! {
    View Chunks chunks;
    ViewMut ChunksMut chunks_mut;
}

/// Elements that are borrowed exclusively, as kernels hold them.
#[derive(Debug)]
pub(super) struct Exclusive<'a, T> {
    elements: NonNull<T>,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for Exclusive<'_, T> {}
// SAFETY: what is shared gives only addresses; who accesses the elements there says why no other
// work-item does.
unsafe impl<T: Element> Sync for Exclusive<'_, T> {}

impl<'a, T: Element> Exclusive<'a, T> {
    pub(super) const fn new(elements: ViewMut<'a, T>) -> Self {
        Self { elements: elements.elements(), len: elements.len(), borrow: PhantomData }
    }

    /// Tells a launch of the elements.
    pub(super) fn tell(&self, lengths: &mut Lengths) {
        lengths.changes(self.elements.as_ptr(), self.len);
    }

    /// The elements where the kernel has them.
    pub(super) fn placed(self, placement: &Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

impl<T> Exclusive<'_, T> {
    /// The same for a work-item.
    #[inline(always)]
    pub(super) const fn in_kernel<'item>(&self) -> Exclusive<'item, T> {
        Exclusive { elements: self.elements, len: self.len, borrow: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn begin(&self) -> NonNull<T> {
        self.elements
    }

    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Where an element is.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[track_caller]
    pub(super) fn element(&self, index: usize) -> NonNull<T> {
        check(index, self.len);
        // SAFETY: the index is below the length.
        unsafe { self.elements.add(index) }
    }
}
