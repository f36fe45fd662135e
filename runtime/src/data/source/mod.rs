//! Sources: where the work-items of [`Queue::for_each`](crate::Queue::for_each) get their elements
//! from.
//!
//! A source comes in two forms. Users write an [`IntoSource`]: a borrow of a buffer, a view, a
//! range of numbers, a tuple of those. A launch checks that the lengths agree and turns it into a
//! [`Source`], the form that the kernel holds: bare pointers, from which work-item `i` takes its
//! own element without a check.
//!
//! This is sound because `i` is below the checked length; an exclusive source is consumed by its
//! launch, so within the launch nothing else accesses its elements; distinct work-items get
//! distinct elements; and the kernel must accept its element for any lifetime, so it cannot keep
//! it.

pub(crate) mod atomics;
pub(crate) mod cells;
pub(crate) mod chunks;
mod elements;
mod index;
pub(crate) mod length;
pub(crate) mod lent;
mod local;
pub(crate) mod out;
pub(crate) mod per_group;
pub(crate) mod permuted;
pub(crate) mod rectangle;
pub(crate) mod share;
mod slices;
pub(crate) mod tiles;
pub(crate) mod traits;
mod tuple;
pub(crate) mod whole;
