//! The values of a reduction: one of each work-item, and what becomes of them.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::directives::reduction::Reduce;
use crate::error::LaunchError;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// What the work-items of a loop make of a variable by the operator `O`.
#[derive(Debug)]
pub struct Parts<O, T> {
    values: Vec<T>,
    operator: PhantomData<fn() -> O>,
}

impl<O, T: Reduce<O>> Parts<O, T> {
    /// What each of so many work-items begins with, for a variable of the same type.
    #[must_use]
    pub fn new(_: &T, items: usize) -> Self {
        Self { values: vec![T::IDENTITY; items], operator: PhantomData }
    }

    /// A value for each work-item.
    pub fn source(&mut self) -> PartsMut<'_, O, T> {
        let values = NonNull::from(&mut *self.values).cast();
        PartsMut { values, len: self.values.len(), parts: PhantomData }
    }

    /// The variable's value before the loop, combined with what the work-items have made: in an order
    /// that depends on the device and the number of iterations alone. There are few, so the host does
    /// it, and a program has no kernel for it.
    #[must_use]
    pub fn combined(self, before: T) -> T {
        self.values.iter().fold(before, |all, own| all.combine(*own))
    }
}

/// A source that takes a value from each work-item, and copies none to a device.
#[derive(Debug)]
pub struct PartsMut<'a, O, T> {
    values: NonNull<T>,
    len: usize,
    parts: PhantomData<&'a mut Parts<O, T>>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<O, T: Reduce<O>> Send for PartsMut<'_, O, T> {}
// SAFETY: work-items share it, but each takes another value.
unsafe impl<O, T: Reduce<O>> Sync for PartsMut<'_, O, T> {}

// SAFETY: points that differ have other indices.
unsafe impl<O, T: Reduce<O>> Source for PartsMut<'_, O, T> {
    type Item<'item> = Part<'item, O, T>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Part<'item, O, T> {
        // SAFETY: the index is below the length, and no other work-item has it.
        Part { value: unsafe { self.values.add(at.index).as_mut() }, operator: PhantomData }
    }
}

impl<O, T: Reduce<O>, M> Prepare<M> for PartsMut<'_, O, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        // SAFETY: they are borrowed exclusively, and have values.
        unsafe { lengths.writes(self.values, self.len) };
        lengths.add(self.len)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { values: placement.exclusive(self.values), ..self }
    }
}

/// The value of a work-item.
#[derive(Debug)]
pub struct Part<'item, O, T> {
    value: &'item mut T,
    operator: PhantomData<fn() -> O>,
}

impl<O, T: Reduce<O>> Part<'_, O, T> {
    /// What changes nothing that it is combined with.
    #[inline(always)]
    #[must_use]
    pub fn identity(&self) -> T {
        T::IDENTITY
    }

    /// Takes what the work-item has made.
    #[inline(always)]
    pub fn set(self, value: T) {
        *self.value = value;
    }
}
