//! Numbers for work-items.

use std::ops::{Range, RangeFrom};

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::error::LaunchError;

/// Numbers, counted from the first.
#[derive(Debug)]
pub struct Index {
    first: usize,
}

// SAFETY: numbers overlap nothing.
unsafe impl Source for Index {
    type Item<'item> = usize;

    #[inline(always)]
    unsafe fn get<'item>(&self, index: usize) -> Self::Item<'item> {
        self.first.wrapping_add(index)
    }
}

impl<M> Prepare<M> for Range<usize> {
    type Source = Index;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.add(self.len())
    }

    fn prepare(self) -> Index {
        Index { first: self.start }
    }
}

impl<M> Prepare<M> for RangeFrom<usize> {
    type Source = Index;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.any();
        Ok(())
    }

    fn prepare(self) -> Index {
        Index { first: self.start }
    }
}
