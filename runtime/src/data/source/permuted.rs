//! Permuted sources: each work-item owns an element in another order.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::home::BufferHome;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::error::{BufferError, LaunchError};
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// A permutation: a bijection of the indices below a length.
///
/// # Safety
/// For any length that [`fits`](Self::fits), `index` of what [`kernel`](Self::kernel) gives maps
/// the indices below the length to indices below the length, no two to the same.
pub unsafe trait Permutes {
    /// What a kernel holds of it.
    #[doc(hidden)]
    type Kernel: Kernel + Send + Sync;

    /// Why it is no permutation of `len` elements.
    #[doc(hidden)]
    fn fits(&self, len: usize) -> Result<(), String>;

    /// What a kernel needs for `len` elements, which fit.
    #[doc(hidden)]
    fn kernel(self, len: usize) -> Self::Kernel;

    /// Where its own data is.
    #[doc(hidden)]
    fn data(&self) -> Option<*const u32> {
        None
    }
}

/// The part of a permutation that kernels have.
pub trait Kernel {
    /// Where the element `index` goes.
    #[doc(hidden)]
    fn index(&self, index: usize) -> usize;
}

/// The last element first: with it, [`Buffer::permuted_mut`] reverses the order.
#[derive(Clone, Copy, Debug)]
pub struct Reversal;

#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct FromLast(usize);

// SAFETY: the distances from the last index are distinct and no larger than it.
unsafe impl Permutes for Reversal {
    type Kernel = FromLast;

    fn fits(&self, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn kernel(self, len: usize) -> FromLast {
        FromLast(len.wrapping_sub(1))
    }
}

impl Kernel for FromLast {
    #[inline(always)]
    fn index(&self, index: usize) -> usize {
        self.0.wrapping_sub(index)
    }
}

/// The bits of the index in reverse: the order of the results of a fast Fourier transform, for
/// lengths that are powers of two.
#[derive(Clone, Copy, Debug)]
pub struct BitReversal;

#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ReversedBits {
    bits: u32,
}

// SAFETY: reversal of the bits is its own inverse.
unsafe impl Permutes for BitReversal {
    type Kernel = ReversedBits;

    fn fits(&self, len: usize) -> Result<(), String> {
        if len == 0 || len.is_power_of_two() {
            return Ok(());
        }
        Err(format!(
            "its {len} elements are to be in the order of reversed bits, and {len} is no power of two"
        ))
    }

    fn kernel(self, len: usize) -> ReversedBits {
        ReversedBits { bits: len.checked_ilog2().unwrap_or(0) }
    }
}

impl Kernel for ReversedBits {
    #[inline(always)]
    fn index(&self, index: usize) -> usize {
        // Of one element there are no bits, and a shift by all of them is none.
        (index << 1).reverse_bits().wrapping_shr((usize::BITS - 1).wrapping_sub(self.bits))
    }
}

/// A permutation given as a list: element `i` goes where the list says. Creating it checks the
/// list.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::Permutation;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let order = Permutation::new(&queue, &[2, 0, 1])?;
/// let input = Buffer::from_slice(&queue, &[10, 20, 30])?;
/// let mut output = Buffer::filled(&queue, 3, 0)?;
/// queue.for_each((output.permuted_mut(&order), &input), |(to, from)| *to = *from)?;
/// assert_eq!(output.to_vec(), [20, 30, 10]);
///
/// let error = Permutation::new(&queue, &[2, 0, 2]).unwrap_err();
/// assert!(error.to_string().contains("index 2 is twice"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Permutation(Buffer<u32>);

impl Permutation {
    /// Creates the permutation in which element `i` is at `places[i]`.
    ///
    /// # Errors
    /// [`BufferError::Permutation`] unless each index below the length is there once, and fewer
    /// than 2^32 of them; those of [`Buffer::from_slice`].
    pub fn new(on: &impl BufferHome, places: &[usize]) -> Result<Self, BufferError> {
        let len = places.len();
        let wrong = |index: usize, reason| Err(BufferError::Permutation { index, reason });
        let mut seen = vec![false; len];
        let mut list = Vec::with_capacity(len);
        for &place in places {
            let Ok(short) = u32::try_from(place) else { return wrong(place, "is too large") };
            match seen.get_mut(place) {
                None => return wrong(place, "is not below the length"),
                Some(true) => return wrong(place, "is twice there"),
                Some(seen) => *seen = true,
            }
            list.push(short);
        }
        Ok(Self(Buffer::from_slice(on, &list)?))
    }

    /// The number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a>(&'a [u32]);

// SAFETY: the list was checked when it was made, and cannot be changed since.
unsafe impl<'a> Permutes for &'a Permutation {
    type Kernel = Listed<'a>;

    fn fits(&self, len: usize) -> Result<(), String> {
        if len == self.len() {
            return Ok(());
        }
        Err(format!("its {len} elements are to be in an order of {}", self.len()))
    }

    fn kernel(self, _: usize) -> Listed<'a> {
        Listed(self.0.view().raw())
    }

    fn data(&self) -> Option<*const u32> {
        Some(self.0.address())
    }
}

impl Kernel for Listed<'_> {
    #[inline(always)]
    fn index(&self, index: usize) -> usize {
        // SAFETY: the list is as long as the source, whose indices these are.
        unsafe { *NonNull::from(self.0).cast::<u32>().add(index).as_ref() as usize }
    }
}

/// Exclusive elements in another order: see [`Buffer::permuted_mut`].
#[derive(Debug)]
pub struct Permuted<'a, T, P> {
    elements: NonNull<T>,
    len: usize,
    order: P,
    borrow: PhantomData<&'a mut [T]>,
}

impl<'a, T: Element, P> Permuted<'a, T, P> {
    pub(crate) const fn new(view: ViewMut<'a, T>, order: P) -> Self {
        Self { elements: view.elements(), len: view.len(), order, borrow: PhantomData }
    }
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element, P: Send> Send for Permuted<'_, T, P> {}

/// What kernels hold of it.
#[derive(Debug)]
pub struct PermutedElements<'a, T, K> {
    elements: NonNull<T>,
    order: K,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element, K: Send> Send for PermutedElements<'_, T, K> {}
// SAFETY: work-items share it, but each takes another element.
unsafe impl<T: Element, K: Sync> Sync for PermutedElements<'_, T, K> {}

// SAFETY: a bijection maps distinct indices to distinct elements.
unsafe impl<T: Element, K: Kernel + Send + Sync> Source for PermutedElements<'_, T, K> {
    type Item<'item> = &'item mut T;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item mut T {
        // SAFETY: the index is below the length and this work-item's own, and so is where the order
        // has it; the borrow outlives the launch.
        unsafe { self.elements.add(self.order.index(at.index)).as_mut() }
    }
}

impl<'a, T: Element, P: Permutes, M> Prepare<M> for Permuted<'a, T, P> {
    type Source = PermutedElements<'a, T, P::Kernel>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        if let Some(data) = self.order.data() {
            lengths.elements_at(data);
        }
        lengths.refuse(self.order.fits(self.len))?;
        lengths.add(self.len)
    }

    fn prepare(self, placement: &mut Placement) -> Self::Source {
        let order = self.order.kernel(self.len);
        let elements = placement.exclusive(self.elements);
        PermutedElements { elements, order, borrow: PhantomData }
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// A source of the elements in another order: see
    /// [`Buffer::permuted_mut`](crate::Buffer::permuted_mut).
    #[must_use]
    pub fn permuted_mut<P: Permutes>(self, order: P) -> Permuted<'a, T, P> {
        Permuted::new(self, order)
    }
}

impl<T: Element> Buffer<T> {
    /// A source that gives each work-item one element to change, in another order: work-item `i`
    /// gets the element to which `order` maps `i`. `order` is [`Reversal`](crate::Reversal),
    /// [`BitReversal`](crate::BitReversal), or the list of a [`Permutation`](crate::Permutation).
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::Reversal;
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::with_len(&queue, 4)?;
    /// queue.for_each((0.., numbers.permuted_mut(Reversal)), |(i, number)| *number = i)?;
    /// assert_eq!(numbers.to_vec(), [3, 2, 1, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn permuted_mut<P: Permutes>(&mut self, order: P) -> Permuted<'_, T, P> {
        self.view_mut().permuted_mut(order)
    }
}
