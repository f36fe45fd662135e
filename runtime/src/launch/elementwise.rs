//! The kernels that launches make of a closure, its sources, and the kind of its range.

use std::marker::PhantomData;

use crate::data::source::traits::Source;
use crate::kernel::abi::Kernel;
use crate::kernel::grid::GridPoint;
use crate::kernel::item::Item;
use crate::launch::shape::LaunchRange;

/// A closure that gets its place.
#[derive(Debug)]
pub(crate) struct ParallelFor<R, F> {
    body: F,
    range: PhantomData<fn() -> R>,
}

impl<R, F> ParallelFor<R, F> {
    /// # Safety
    /// It runs over a range of type `R`.
    pub(crate) const unsafe fn new(body: F) -> Self {
        Self { body, range: PhantomData }
    }
}

impl<R: LaunchRange<D>, F: for<'g> Fn(R::Item<'g>), const D: usize> Kernel<D>
    for ParallelFor<R, F>
{
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        // SAFETY: the maker of this launches it over such a range; the closure cannot keep what it
        // gets, for it has to accept any lifetime.
        (self.body)(unsafe { R::item(item) });
    }
}

/// A closure that gets its elements.
#[derive(Debug)]
pub(crate) struct ForEach<S, F> {
    sources: S,
    body: F,
}

impl<S, F> ForEach<S, F> {
    /// # Safety
    /// It runs once over a one-dimensional range of the sources' common length.
    pub(crate) const unsafe fn new(sources: S, body: F) -> Self {
        Self { sources, body }
    }
}

impl<S: Source, F: for<'item> Fn(S::Item<'item>)> Kernel<1> for ForEach<S, F> {
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        // SAFETY: the maker of this launches it over the sources' length, once; the closure cannot
        // keep what it gets, for it has to accept any lifetime.
        (self.body)(unsafe { self.sources.get(GridPoint::on_a_line(item.x(), item.size())) });
    }
}

/// A closure that gets its place and its elements.
#[derive(Debug)]
pub(crate) struct ForEachIn<R, S, F> {
    sources: S,
    body: F,
    range: PhantomData<fn() -> R>,
}

impl<R, S, F> ForEachIn<R, S, F> {
    /// # Safety
    /// It runs once over a range of type `R`, of as many work-items, groups and sub-groups as the
    /// sources have agreed to, with the local memory that they have asked for.
    pub(crate) const unsafe fn new(sources: S, body: F) -> Self {
        Self { sources, body, range: PhantomData }
    }
}

impl<R, S, F, const D: usize> Kernel<D> for ForEachIn<R, S, F>
where
    R: LaunchRange<D>,
    S: Source,
    F: for<'g> Fn(R::Item<'g>, S::Item<'g>),
{
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        // SAFETY: the maker of this launches it over as many work-items as the sources have
        // elements, once; points of its grid are distinct; the closure cannot keep what it gets,
        // for it has to accept any lifetime.
        let (place, elements) = unsafe { (R::item(item), self.sources.get(item.grid_point())) };
        (self.body)(place, elements);
    }
}
