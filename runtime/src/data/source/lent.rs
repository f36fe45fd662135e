//! Buffers that several launches of one scope use in turn.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::source::chunks::{Chunks, ChunksMut};
use crate::data::source::elements::{Each, EachMut};
use crate::data::source::length::Lengths;
use crate::data::source::per_group::InGroups;
use crate::data::source::traits::Prepare;
use crate::data::source::traits::Scoped;
use crate::data::source::whole::Whole;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// A buffer lent to a [scope](crate::Queue::scope): the scope's launches use it one after the other, exclusively or shared, as
/// each one needs.
///
/// A launch that was submitted may still be running when the next one is written down, so the borrow checker would not let
/// both borrow the buffer. The queue runs them in order, however, and each one's access ends with it. A loan expresses that: it
/// is borrowed only for the call that submits, and is accepted by the launches of its own scope only.
///
/// As a source, `&mut loan` gives `&mut T`, `&loan` gives `&T`; [`chunks`](Self::chunks), [`chunks_mut`](Self::chunks_mut) and
/// [`whole`](Self::whole) work as they do for buffers.
///
/// One launch cannot have it both ways:
///
/// ```compile_fail,E0502
/// # fn main() -> Result<(), schism::Error> {
/// # use schism::prelude::*;
/// # let queue = Queue::new()?;
/// # let mut data = Buffer::from_slice(&queue, &[1, 2, 3])?;
/// queue.scope(|scope| {
///     let mut data = scope.lend(&mut data);
///     scope.for_each((&mut data, &data), |(to, from)| *to += *from)?;
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// Two launches can:
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// # use schism::prelude::*;
/// # let queue = Queue::new()?;
/// # let mut data = Buffer::from_slice(&queue, &[1, 2, 3])?;
/// # let mut sums = Buffer::from_slice(&queue, &[0, 0, 0])?;
/// queue.scope(|scope| {
///     let mut data = scope.lend(&mut data);
///     scope.for_each(&mut data, |x| *x += 1)?;
///     scope.for_each((&mut sums, &data), |(to, from)| *to += *from)?;
///     Ok(())
/// })?;
/// assert_eq!(sums.to_vec(), [2, 3, 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Lent<'scope, T> {
    elements: NonNull<T>,
    len: usize,
    scope: PhantomData<(Scoped<'scope>, &'scope mut [T])>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for Lent<'_, T> {}
// SAFETY: it gives no access by itself.
unsafe impl<T: Element> Sync for Lent<'_, T> {}

impl<'scope, T: Element> Lent<'scope, T> {
    pub(crate) fn new(buffer: &'scope mut Buffer<T>) -> Self {
        let view = buffer.view_mut();
        Self { elements: view.elements(), len: view.len(), scope: PhantomData }
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

    /// A source that gives each work-item `size` neighbouring elements to read.
    #[must_use]
    pub const fn chunks(&self, size: usize) -> LentChunks<'_, 'scope, T> {
        LentChunks { loan: self, size }
    }

    /// A source that gives each work-item `size` neighbouring elements to change.
    #[must_use]
    pub const fn chunks_mut(&mut self, size: usize) -> LentChunksMut<'_, 'scope, T> {
        LentChunksMut { loan: self, size }
    }

    /// A source that gives every work-item all elements to read.
    #[must_use]
    pub const fn whole(&self) -> LentWhole<'_, 'scope, T> {
        LentWhole(self)
    }

    const fn waiting(&self, size: usize) -> Waiting<'scope, T> {
        Waiting { elements: self.elements, len: self.len, size, scope: PhantomData }
    }
}

/// A loan's use by a launch that was not started. Launches before it may be changing the elements, so this is no reference.
#[derive(Debug)]
pub struct Waiting<'scope, T> {
    elements: NonNull<T>,
    len: usize,
    /// Of the chunks; unused otherwise.
    size: usize,
    scope: PhantomData<Scoped<'scope>>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for Waiting<'_, T> {}

impl<'scope, T: Element> Waiting<'scope, T> {
    /// # Safety
    /// The launch starts now, and has no exclusive use of the same loan.
    const unsafe fn shared(&self) -> View<'scope, T> {
        // SAFETY: the buffer is borrowed for 'scope; the launches of the scope, which alone reach it, follow one another.
        View::new(unsafe { std::slice::from_raw_parts(self.elements.as_ptr(), self.len) })
    }

    /// # Safety
    /// The launch starts now, and has no other use of the same loan.
    const unsafe fn exclusive(&self) -> ViewMut<'scope, T> {
        // SAFETY: the buffer is borrowed for 'scope; the launches of the scope, which alone reach it, follow one another.
        unsafe { ViewMut::new(self.elements, self.len) }
    }
}

/// The kinds of launches of a scope.
pub trait OfScope<'scope> {}

impl<'scope> OfScope<'scope> for Scoped<'scope> {}
impl<'scope> OfScope<'scope> for InGroups<Scoped<'scope>> {}

// In all implementations below: the source holds the borrow of the loan until `prepare`, and a launch prepares all its sources
// at once, after which nothing can be added to it. So the borrow checker sees all uses of a loan by one launch side by side.

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for &Lent<'scope, T> {
    type Source = Each<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.elements.as_ptr());
        lengths.add(self.len)
    }

    fn prepare(self) -> Waiting<'scope, T> {
        self.waiting(1)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> Each<'scope, T> {
        // SAFETY: the launch starts now; see above.
        Each::new(unsafe { ready.shared() })
    }
}

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for &mut Lent<'scope, T> {
    type Source = EachMut<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.elements.as_ptr());
        lengths.add(self.len)
    }

    fn prepare(self) -> Waiting<'scope, T> {
        self.waiting(1)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> EachMut<'scope, T> {
        // SAFETY: the launch starts now; see above.
        EachMut::new(unsafe { ready.exclusive() })
    }
}

/// Runs of neighbouring elements of a loan, shared: see [`Lent::chunks`].
#[derive(Debug)]
pub struct LentChunks<'loan, 'scope, T> {
    loan: &'loan Lent<'scope, T>,
    size: usize,
}

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for LentChunks<'_, 'scope, T> {
    type Source = Chunks<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.loan.elements.as_ptr());
        lengths.add_chunks(self.loan.len, self.size)
    }

    fn prepare(self) -> Waiting<'scope, T> {
        self.loan.waiting(self.size)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> Chunks<'scope, T> {
        // SAFETY: the launch starts now; see above.
        Chunks::new(unsafe { ready.shared() }, ready.size)
    }
}

/// Runs of neighbouring elements of a loan, exclusive: see [`Lent::chunks_mut`].
#[derive(Debug)]
pub struct LentChunksMut<'loan, 'scope, T> {
    loan: &'loan mut Lent<'scope, T>,
    size: usize,
}

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for LentChunksMut<'_, 'scope, T> {
    type Source = ChunksMut<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.loan.elements.as_ptr());
        lengths.add_chunks(self.loan.len, self.size)
    }

    fn prepare(self) -> Waiting<'scope, T> {
        self.loan.waiting(self.size)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> ChunksMut<'scope, T> {
        // SAFETY: the launch starts now; see above.
        ChunksMut::new(unsafe { ready.exclusive() }, ready.size)
    }
}

/// All elements of a loan: see [`Lent::whole`].
#[derive(Debug)]
pub struct LentWhole<'loan, 'scope, T>(&'loan Lent<'scope, T>);

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for LentWhole<'_, 'scope, T> {
    type Source = Whole<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.0.elements.as_ptr());
        lengths.any();
        Ok(())
    }

    fn prepare(self) -> Waiting<'scope, T> {
        self.0.waiting(1)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> Whole<'scope, T> {
        // SAFETY: the launch starts now; see above.
        Whole::new(unsafe { ready.shared() })
    }
}
