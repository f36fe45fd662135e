//! Local memory that a launch brings.

use crate::data::source::length::Lengths;
use crate::data::source::per_group::HasGroups;
use crate::data::source::traits::{Prepare, Source};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::local::{Local, LocalArray};
use crate::kernel::group::local_2d::{Local2d, LocalArray2d};

macro_rules! local_sources {
    ($($array:ident $handle:ident)*) => {$(
        // SAFETY: handles of the group's memory, which all of its work-items may have.
        unsafe impl<T: Element> Source for $array<T> {
            type Item<'item> = $handle<'item, T>;

            #[inline(always)]
            unsafe fn get<'item>(&self, _: GridPoint) -> Self::Item<'item> {
                // SAFETY: `prepare` has placed it, and the launch makes room for what is placed.
                unsafe { self.handle() }
            }
        }

        impl<T: Element, G: HasGroups<$array<T>>> Prepare<G> for $array<T> {
            type Source = Self;
            type Ready = Self;

            fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
                lengths.any();
                Ok(())
            }

            fn prepare(mut self, placement: &mut Placement) -> Self {
                self.place(placement);
                self
            }

            unsafe fn start(ready: Self) -> Self {
                ready
            }
        }
    )*};
}
local_sources! { LocalArray Local LocalArray2d Local2d }
