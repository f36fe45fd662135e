//! The kernels that `for_each` and `for_each_in` make of a closure and its sources.

use crate::data::source::traits::Source;
use crate::kernel::abi::Kernel;
use crate::kernel::item::Item;

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
        // SAFETY: whoever made this launches it over the sources' length, once; the closure cannot keep what it gets, for it has
        // to accept any lifetime.
        (self.body)(unsafe { self.sources.get(item.x()) });
    }
}

/// A closure that gets its place and its elements.
#[derive(Debug)]
pub(crate) struct ForEachIn<S, F> {
    sources: S,
    body: F,
}

impl<S, F> ForEachIn<S, F> {
    /// # Safety
    /// It runs once over a range of as many work-items as the sources' common length.
    pub(crate) const unsafe fn new(sources: S, body: F) -> Self {
        Self { sources, body }
    }
}

impl<S: Source, F: for<'item> Fn(Item<D>, S::Item<'item>), const D: usize> Kernel<D>
    for ForEachIn<S, F>
{
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        // SAFETY: whoever made this launches it over as many work-items as the sources have elements, once; linear ids are below
        // that and distinct; the closure cannot keep what it gets.
        (self.body)(item, unsafe { self.sources.get(item.linear_id()) });
    }
}
