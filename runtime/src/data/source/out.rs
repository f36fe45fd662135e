//! Elements that a launch writes and does not read.

use crate::data::source::elements::EachMut;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// Elements that are written: see [`out`](fn@out).
#[derive(Debug)]
pub struct Outputs<'a, T>(ViewMut<'a, T>);

/// A source of elements that the kernel writes and does not read: each work-item gets [`Out<T>`](Out),
/// its own element. The elements are those of a slice, an array, a `Vec`, a boxed slice, a buffer or
/// a view.
///
/// `&mut y` gives the same elements, to be read and written. A slice of the host is then copied to a
/// GPU that has its own memory, and back; of what is `out`, nothing is copied there. It does not
/// matter for buffers, and on the host's devices.
///
/// An element that its work-item does not set has some value: the one it had, or the one that the
/// first element had. If the launch fails, that holds for all of them.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (x, mut squares) = (vec![1, 2, 3], vec![0; 3]);
/// queue.for_each((out(&mut squares), &x), |(square, x)| square.set(x * x))?;
/// assert_eq!(squares, [1, 4, 9]);
/// # Ok(())
/// # }
/// ```
///
/// [`Queue::resident`](crate::Queue::resident) takes it, too: the elements are not copied to the
/// device when the region begins. Its view is like others; launches should write each element before
/// one reads it.
#[must_use]
pub fn out<'a, T: Element>(elements: impl Into<ViewMut<'a, T>>) -> Outputs<'a, T> {
    Outputs(elements.into())
}

impl<'a, T> Outputs<'a, T> {
    /// The elements, which are valid.
    pub(crate) fn into_view(self) -> ViewMut<'a, T> {
        self.0
    }
}

/// An element that a work-item writes and does not read: see [`out`](fn@out).
#[derive(Debug)]
pub struct Out<'item, T>(&'item mut T);

impl<T: Element> Out<'_, T> {
    /// Writes the element.
    #[inline(always)]
    pub fn set(self, value: T) {
        *self.0 = value;
    }
}

/// What kernels hold of it.
#[derive(Debug)]
pub struct EachOut<'a, T>(EachMut<'a, T>);

// SAFETY: as of `EachMut`.
unsafe impl<T: Element> Source for EachOut<'_, T> {
    type Item<'item> = Out<'item, T>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Out<'item, T> {
        // SAFETY: the caller's promises.
        Out(unsafe { self.0.get(at) })
    }
}

impl<'a, T: Element, M> Prepare<M> for Outputs<'a, T> {
    type Source = EachOut<'a, T>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        // SAFETY: the view has exclusive access to elements that have values.
        unsafe { lengths.writes(self.0.elements(), self.0.len()) };
        lengths.add(self.0.len())
    }

    fn prepare(self, placement: &mut Placement) -> EachOut<'a, T> {
        EachOut(Prepare::<M>::prepare(self.0, placement))
    }
}
