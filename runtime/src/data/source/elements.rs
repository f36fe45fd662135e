//! One element for each work-item.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{GroupSource, Prepare, Source, ready_at_once};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::member::Member;

/// Shared elements. It holds a slice, not a pointer: that tells LLVM that they are not written.
#[derive(Debug)]
pub struct Each<'a, T>(&'a [T]);

// SAFETY: shared references to what the borrow keeps from changing, or to atomics.
unsafe impl<T: Sync + 'static> Source for Each<'_, T> {
    type Item<'item> = &'item T;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item T {
        // SAFETY: the index is below the length; the borrow outlives the launch.
        unsafe { NonNull::from(self.0).cast::<T>().add(at.index).as_ref() }
    }
}

// SAFETY: shared references to what the borrow keeps from changing, or to atomics.
unsafe impl<T: Sync + 'static> GroupSource for Each<'_, T> {
    type Item<'item> = &'item T;

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, _: Member) -> &'item T {
        // SAFETY: the caller's promises.
        unsafe { self.get(group) }
    }
}

/// Exclusive elements.
#[derive(Debug)]
pub struct EachMut<'a, T> {
    elements: NonNull<T>,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for EachMut<'_, T> {}
// SAFETY: work-items share it, but each takes another element.
unsafe impl<T: Element> Sync for EachMut<'_, T> {}

// SAFETY: distinct indices are distinct elements.
unsafe impl<T: Element> Source for EachMut<'_, T> {
    type Item<'item> = &'item mut T;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item mut T {
        // SAFETY: the index is below the length and this work-item's own; the borrow outlives the
        // launch.
        unsafe { self.elements.add(at.index).as_mut() }
    }
}

// SAFETY: distinct groups are distinct elements, and of a group only the first work-item gets the
// element.
unsafe impl<T: Element> GroupSource for EachMut<'_, T> {
    type Item<'item> = Option<&'item mut T>;

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, member: Member) -> Option<&'item mut T> {
        // SAFETY: the caller's promises; no other member is the first.
        if member.is_first { Some(unsafe { self.get(group) }) } else { None }
    }
}

impl<'a, T> Each<'a, T> {
    pub(super) const fn new(view: View<'a, T>) -> Self {
        Self(view.raw())
    }
}

impl<'a, T: Element> EachMut<'a, T> {
    pub(super) const fn new(view: ViewMut<'a, T>) -> Self {
        Self { elements: view.elements(), borrow: PhantomData }
    }
}

impl<'a, T: Sync + 'static, M> Prepare<M> for View<'a, T> {
    type Source = Each<'a, T>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.reads(self.raw().as_ptr(), self.raw().len());
        lengths.add(self.raw().len())
    }

    fn prepare(self, placement: &mut Placement) -> Each<'a, T> {
        Each(placement.shared(self.raw()))
    }
}

impl<'a, T: Element, M> Prepare<M> for &'a Buffer<T> {
    type Source = Each<'a, T>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.address());
        lengths.add(self.len())
    }

    fn prepare(self, _: &mut Placement) -> Each<'a, T> {
        Each::new(self.view())
    }
}

impl<'a, T: Element, M> Prepare<M> for ViewMut<'a, T> {
    type Source = EachMut<'a, T>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements().as_ptr(), self.len());
        lengths.add(self.len())
    }

    fn prepare(self, placement: &mut Placement) -> EachMut<'a, T> {
        EachMut { elements: placement.exclusive(self.elements()), borrow: PhantomData }
    }
}

impl<'a, T: Element, M> Prepare<M> for &'a mut ViewMut<'_, T> {
    type Source = EachMut<'a, T>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements().as_ptr(), self.len());
        lengths.add(self.len())
    }

    fn prepare(self, placement: &mut Placement) -> EachMut<'a, T> {
        Prepare::<M>::prepare(self.reborrow(), placement)
    }
}

impl<'a, T: Element, M> Prepare<M> for &'a mut Buffer<T> {
    type Source = EachMut<'a, T>;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.address());
        lengths.add(self.len())
    }

    fn prepare(self, _: &mut Placement) -> EachMut<'a, T> {
        EachMut::new(self.view_mut())
    }
}
