//! Loans: buffers and slices that several launches of one scope use one after the other.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::source::cells::CellChunks;
use crate::data::source::chunks::{Chunks, ChunksMut};
use crate::data::source::elements::{Each, EachMut};
use crate::data::source::length::Lengths;
use crate::data::source::per_group::InGroups;
use crate::data::source::tiles::TilesMut;
use crate::data::source::traits::Scoped;
use crate::data::source::traits::{Prepare, Source};
use crate::data::source::whole::Whole;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::atomic::AtomicElement;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::value::GroupValue;

/// A buffer, a slice or a view lent to a [scope](crate::Queue::scope): the scope's launches use it one
/// after the other, exclusively or shared, as each one needs. For a device with its own memory,
/// each launch copies a slice; what [`Queue::resident`](crate::Queue::resident) keeps is copied once.
///
/// A submitted launch may still be running when the next one is submitted, so the borrow checker
/// would not let both borrow the buffer. The queue runs them in order, however, and each one's
/// access ends with it. A loan expresses that: it is borrowed only for the call that submits, and
/// only launches of the loan's scope accept it.
///
/// As a source, `&mut loan` gives `&mut T`, `&loan` gives `&T`; [`chunks`](Self::chunks),
/// [`chunks_mut`](Self::chunks_mut) and [`whole`](Self::whole) work as they do for buffers.
///
/// One launch cannot use it both shared and exclusively:
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
/// With two buffers it can: both are lent, and the loans are swapped between the launches. The
/// loans change places, not the buffers, so after an odd number of swaps the result is in the other
/// one.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use std::mem::swap;
///
/// use schism::prelude::*;
///
/// // Heat spreads along a rod: in each step a point becomes the mean of its neighbours and itself.
/// let (queue, steps) = (Queue::new()?, 2);
/// let mut rods = [
///     Buffer::from_slice(&queue, &[0, 0, 0, 64, 0, 0, 0])?,
///     Buffer::from_slice(&queue, &[0; 7])?,
/// ];
/// let [now, next] = &mut rods;
/// queue.scope(|scope| {
///     let (mut now, mut next) = (scope.lend(now), scope.lend(next));
///     for _ in 0..steps {
///         scope.for_each((0.., &mut next, now.whole()), |(i, next, now)| {
///             let (left, right) = (i.saturating_sub(1), (i + 1).min(now.len() - 1));
///             *next = (now[left] + 2 * now[i] + now[right]) / 4;
///         })?;
///         swap(&mut now, &mut next);
///     }
///     Ok(())
/// })?;
/// assert_eq!(rods[steps % 2].to_vec(), [0, 4, 16, 24, 16, 4, 0]);
/// # Ok(())
/// # }
/// ```
///
/// Two launches can have it one after the other:
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
    pub(crate) const fn new(view: ViewMut<'scope, T>) -> Self {
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

    /// A source that gives every work-item all elements as atomics, as
    /// [`Buffer::atomic_view`](crate::Buffer::atomic_view) does.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::sync::atomic::Ordering::Relaxed;
    ///
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4])?;
    /// let mut sum = Buffer::filled(&queue, 1, 0_u32)?;
    /// queue.scope(|scope| {
    ///     let mut sum = scope.lend(&mut sum);
    ///     scope.for_each((&numbers, sum.atomics()), |(number, sum)| {
    ///         sum[0].fetch_add(*number, Relaxed);
    ///     })?;
    ///     scope.for_each(&mut sum, |sum| *sum *= 10)?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum.to_vec(), [100]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn atomics(&mut self) -> LentAtomics<'_, 'scope, T>
    where
        T: AtomicElement,
    {
        LentAtomics(self)
    }

    /// A source that gives every work-item an exclusive view of all elements, whose access is
    /// `unsafe`: a captured [`ViewMut`](crate::ViewMut), for loans.
    #[must_use]
    pub const fn view_mut(&mut self) -> LentViewMut<'_, 'scope, T> {
        LentViewMut(self)
    }

    /// A source that gives each group `size` neighbouring elements as cells: see
    /// [`Buffer::cells`](crate::Buffer::cells).
    #[must_use]
    pub const fn cells(&mut self, size: usize) -> LentCells<'_, 'scope, T>
    where
        T: GroupValue,
    {
        LentCells { loan: self, size }
    }

    /// A source of the tiles of a matrix in rows of `width`: see
    /// [`Buffer::tiles_mut`](crate::Buffer::tiles_mut).
    #[must_use]
    pub const fn tiles_mut<const H: usize, const W: usize>(
        &mut self,
        width: usize,
    ) -> LentTilesMut<'_, 'scope, T, H, W> {
        LentTilesMut { loan: self, width }
    }

    /// A launch reads the elements, which other launches of the scope may change.
    fn reads(&self, lengths: &mut Lengths) {
        lengths.reads_lent(self.elements.as_ptr(), self.len);
    }

    /// A launch reads and changes the elements.
    fn changes(&self, lengths: &mut Lengths) {
        lengths.changes(self.elements.as_ptr(), self.len);
    }

    fn waiting(&self, size: usize, placement: &Placement) -> Waiting<'scope, T> {
        let elements = placement.exclusive(self.elements);
        Waiting { elements, len: self.len, size, scope: PhantomData }
    }
}

/// A loan's use by a launch that was not started. Launches before it may be changing the elements,
/// so this is no reference.
#[derive(Debug)]
pub struct Waiting<'scope, T> {
    elements: NonNull<T>,
    len: usize,
    /// Of the chunks, or of a row; unused otherwise.
    size: usize,
    scope: PhantomData<Scoped<'scope>>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for Waiting<'_, T> {}

impl<'scope, T: Element> Waiting<'scope, T> {
    /// # Safety
    /// The launch starts now, and has no exclusive use of the same loan.
    const unsafe fn shared(&self) -> View<'scope, T> {
        // SAFETY: the buffer is borrowed for 'scope; the launches of the scope, which alone reach
        // it, follow one another.
        View::new(unsafe { std::slice::from_raw_parts(self.elements.as_ptr(), self.len) })
    }

    /// # Safety
    /// The launch starts now, and has no other use of the same loan.
    const unsafe fn exclusive(&self) -> ViewMut<'scope, T> {
        // SAFETY: the buffer is borrowed for 'scope; the launches of the scope, which alone reach
        // it, follow one another.
        unsafe { ViewMut::new(self.elements, self.len) }
    }
}

/// The kinds of launches of a scope.
#[diagnostic::on_unimplemented(
    message = "a buffer that was lent to a scope is a source for the launches of that scope only",
    label = "this launch is not the scope's",
    note = "launch through the scope (`scope.for_each`, not `queue.for_each`), or use the loan when the scope is over"
)]
pub trait OfScope<'scope> {}

impl<'scope> OfScope<'scope> for Scoped<'scope> {}
impl<'scope> OfScope<'scope> for InGroups<Scoped<'scope>> {}

// In all implementations below: the source holds the borrow of the loan until `prepare`, and a
// launch prepares all its sources at once, after which nothing can be added to it. So the borrow
// checker sees all uses of a loan by one launch side by side.

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for &Lent<'scope, T> {
    type Source = Each<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.reads(lengths);
        lengths.add(self.len)
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.waiting(1, placement)
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
        self.changes(lengths);
        lengths.add(self.len)
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.waiting(1, placement)
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
        self.loan.reads(lengths);
        lengths.add_chunks(self.loan.len, self.size)
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.loan.waiting(self.size, placement)
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
        self.loan.changes(lengths);
        lengths.add_chunks(self.loan.len, self.size)
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.loan.waiting(self.size, placement)
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
        self.0.reads(lengths);
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.0.waiting(1, placement)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> Whole<'scope, T> {
        // SAFETY: the launch starts now; see above.
        Whole::new(unsafe { ready.shared() })
    }
}

/// All elements of a loan, as atomics: see [`Lent::atomics`].
#[derive(Debug)]
pub struct LentAtomics<'loan, 'scope, T>(&'loan mut Lent<'scope, T>);

impl<'scope, T: AtomicElement, M: OfScope<'scope>> Prepare<M> for LentAtomics<'_, 'scope, T> {
    type Source = Whole<'scope, T::Atomic>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.0.changes(lengths);
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.0.waiting(1, placement)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> Whole<'scope, T::Atomic> {
        let elements = ready.elements.as_ptr().cast::<T::Atomic>();
        // SAFETY: the launch starts now, and has no other use of the loan; see above. The atomic
        // has the layout of the element.
        Whole::new(View::new(unsafe { std::slice::from_raw_parts(elements, ready.len) }))
    }
}

/// An exclusive view of a loan for every work-item: see [`Lent::view_mut`].
#[derive(Debug)]
pub struct LentViewMut<'loan, 'scope, T>(&'loan mut Lent<'scope, T>);

/// What kernels hold of it.
#[derive(Debug)]
pub struct SharedViewMut<'a, T>(ViewMut<'a, T>);

// SAFETY: kernels keep the elements of different work-items apart: the methods of the view are
// `unsafe` where they write, and what they do not write is only read.
unsafe impl<T: Element> Source for SharedViewMut<'_, T> {
    type Item<'item> = ViewMut<'item, T>;

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> ViewMut<'item, T> {
        // SAFETY: the borrow outlives the launch; see above.
        unsafe { ViewMut::new(self.0.elements(), self.0.len()) }
    }
}

impl<'scope, T: Element, M: OfScope<'scope>> Prepare<M> for LentViewMut<'_, 'scope, T> {
    type Source = SharedViewMut<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.0.changes(lengths);
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.0.waiting(1, placement)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> SharedViewMut<'scope, T> {
        // SAFETY: the launch starts now; see above.
        SharedViewMut(unsafe { ready.exclusive() })
    }
}

/// Runs of neighbouring elements of a loan, as cells: see [`Lent::cells`].
#[derive(Debug)]
pub struct LentCells<'loan, 'scope, T> {
    loan: &'loan mut Lent<'scope, T>,
    size: usize,
}

impl<'scope, T: GroupValue, M: OfScope<'scope>> Prepare<M> for LentCells<'_, 'scope, T> {
    type Source = CellChunks<'scope, T>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.loan.changes(lengths);
        lengths.add_chunks(self.loan.len, self.size)
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.loan.waiting(self.size, placement)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> CellChunks<'scope, T> {
        // SAFETY: the launch starts now; see above.
        CellChunks::new(unsafe { ready.exclusive() }, ready.size)
    }
}

/// Tiles of a matrix in a loan: see [`Lent::tiles_mut`].
#[derive(Debug)]
pub struct LentTilesMut<'loan, 'scope, T, const H: usize, const W: usize> {
    loan: &'loan mut Lent<'scope, T>,
    width: usize,
}

impl<'scope, T: Element, M: OfScope<'scope>, const H: usize, const W: usize> Prepare<M>
    for LentTilesMut<'_, 'scope, T, H, W>
{
    type Source = TilesMut<'scope, T, H, W>;
    type Ready = Waiting<'scope, T>;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.loan.changes(lengths);
        lengths.add_tiles(self.loan.len, self.width, [H, W])
    }

    fn prepare(self, placement: &mut Placement) -> Waiting<'scope, T> {
        self.loan.waiting(self.width, placement)
    }

    unsafe fn start(ready: Waiting<'scope, T>) -> TilesMut<'scope, T, H, W> {
        // SAFETY: the launch starts now; see above.
        TilesMut::new(unsafe { ready.exclusive() }, ready.size)
    }
}
