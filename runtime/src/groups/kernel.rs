//! The kernel that a launch with groups makes of a closure.

use super::local::{self, Locals};
use super::nd_item::NdItem;
use crate::__private::Kernel;
use crate::item::Item;

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
