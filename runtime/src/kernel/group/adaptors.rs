//! The kernels that launches with groups make of a closure.

use crate::data::source::traits::Source;
use crate::kernel::abi::Kernel;
use crate::kernel::group::local::{self, Locals};
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::item::Item;

/// A closure that gets its place in its group, and local memory.
#[derive(Debug)]
pub(crate) struct Groups<L, F> {
    locals: L,
    body: F,
}

impl<L: Locals, F> Groups<L, F> {
    /// # Safety
    /// The locals are placed, and it runs with groups that have memory for them.
    pub(crate) const unsafe fn new(locals: L, body: F) -> Self {
        Self { locals, body }
    }
}

impl<L: Locals, F: for<'g> Fn(NdItem<'g, D>, L::Handles<'g>), const D: usize> Kernel<D>
    for Groups<L, F>
{
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        // SAFETY: whoever made this launches it with groups that have the memory; the closure cannot keep what it gets, for it has
        // to accept any lifetime.
        let handles = unsafe { self.locals.handles(local::dynamic::<L>()) };
        (self.body)(NdItem::current(item), handles);
    }
}

/// A closure that gets its place in its group, local memory, and its elements.
#[derive(Debug)]
pub(crate) struct ForEachInGroups<L, S, F> {
    locals: L,
    sources: S,
    body: F,
}

impl<L: Locals, S, F> ForEachInGroups<L, S, F> {
    /// # Safety
    /// The locals are placed, and it runs once with groups that have memory for them, over a range of as many work-items and groups
    /// as the sources have agreed to.
    pub(crate) const unsafe fn new(locals: L, sources: S, body: F) -> Self {
        Self { locals, sources, body }
    }
}

impl<L, S, F, const D: usize> Kernel<D> for ForEachInGroups<L, S, F>
where
    L: Locals,
    S: Source,
    F: for<'g> Fn(NdItem<'g, D>, L::Handles<'g>, S::Item<'g>),
{
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        // SAFETY: whoever made this launches it with groups that have the memory, once, over as many work-items as the sources have
        // elements; linear ids are below that and distinct; the closure cannot keep what it gets, for it has to accept any lifetime.
        let (handles, elements) = unsafe {
            (self.locals.handles(local::dynamic::<L>()), self.sources.get(item.linear_id()))
        };
        (self.body)(NdItem::current(item), handles, elements);
    }
}
