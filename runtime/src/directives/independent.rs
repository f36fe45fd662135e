//! Arrays whose iterations access what the program says no other one does.

use std::ops::{Index, IndexMut};

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::directives::elements::Exclusive;
use crate::directives::races;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// A source that gives every iteration all elements, to read and to change.
#[derive(Debug)]
pub struct Independent<'a, T>(Exclusive<'a, T>);

impl<'a, T: Element> Independent<'a, T> {
    /// # Safety
    /// No two work-items of the launch access the same element, unless both only read it.
    pub const unsafe fn new(elements: ViewMut<'a, T>) -> Self {
        Self(Exclusive::new(elements))
    }
}

// SAFETY: the caller of `new` promises that work-items do not meet.
unsafe impl<T: Element> Source for Independent<'_, T> {
    type Item<'item> = Shared<'item, T>;

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> Shared<'item, T> {
        Shared(self.0.in_kernel())
    }
}

impl<T: Element, M> Prepare<M> for Independent<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.0.tell(lengths);
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self(self.0.placed(placement))
    }
}

/// All elements, of which an iteration accesses those that no other one does.
#[derive(Debug)]
pub struct Shared<'item, T>(Exclusive<'item, T>);

/// An index, of the access number so and so in the loop.
#[derive(Clone, Copy, Debug)]
pub struct At<const ACCESS: usize>(pub usize);

impl<T> Shared<'_, T> {
    /// The number of elements.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it stands for the array")]
    pub const fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T, const ACCESS: usize> Index<At<ACCESS>> for Shared<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, At(index): At<ACCESS>) -> &T {
        let element = self.0.element(index);
        races::access(ACCESS, index, false);
        // SAFETY: an element of the array; the caller of `Independent::new` promises that nothing
        // changes it meanwhile.
        unsafe { element.as_ref() }
    }
}

impl<T, const ACCESS: usize> IndexMut<At<ACCESS>> for Shared<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, At(index): At<ACCESS>) -> &mut T {
        let mut element = self.0.element(index);
        races::access(ACCESS, index, true);
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { element.as_mut() }
    }
}
