//! All elements for every work-item, as atomics.

use std::slice;

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, ready_at_once};
use crate::data::source::whole::Whole;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::atomic::AtomicElement;
use crate::kernel::group::local::Placement;

/// All elements as atomics: see [`atomics`](fn@atomics).
#[derive(Debug)]
pub struct Atomics<'a, T>(ViewMut<'a, T>);

/// A source that gives every work-item all elements of a slice, a buffer or a view as atomics, which
/// each may change.
///
/// A captured [atomic view](crate::Buffer::atomic_view) of a buffer gives a kernel the same. Slices
/// of the host have none, since a device with its own memory needs a copy of them.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use std::sync::atomic::Ordering::Relaxed;
///
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (text, mut counts) = (b"to be or not to be", vec![0_u32; 256]);
/// queue.for_each((text, atomics(&mut counts)), |(byte, counts)| {
///     counts[usize::from(*byte)].fetch_add(1, Relaxed);
/// })?;
/// assert_eq!(counts[usize::from(b'o')], 4);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn atomics<'a, T: AtomicElement>(elements: impl Into<ViewMut<'a, T>>) -> Atomics<'a, T> {
    Atomics(elements.into())
}

impl<'a, T: AtomicElement, M> Prepare<M> for Atomics<'a, T> {
    type Source = Whole<'a, T::Atomic>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.0.elements().as_ptr(), self.0.len());
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Self::Source {
        const { assert!(align_of::<T>() == align_of::<T::Atomic>(), "any element can be an atomic") };
        let elements = placement.exclusive(self.0.elements()).as_ptr().cast::<T::Atomic>();
        // SAFETY: the elements are borrowed exclusively, as long as the launch runs. The atomic has the
        // layout of the element.
        Whole::new(View::new(unsafe { slice::from_raw_parts(elements, self.0.len()) }))
    }
}
