//! Slices of the host, and what derefs to one: one element for each work-item.

use crate::data::source::elements::{Each, EachMut};
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, ready_at_once};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::group::local::Placement;

macro_rules! slices {
    ($([$($generics:tt)*] $slice:ty;)*) => {$(
        impl<'a, T: Element, $($generics)* M> Prepare<M> for &'a $slice {
            type Source = Each<'a, T>;
            ready_at_once!();

            fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
                Prepare::<M>::check(&View::new(&self[..]), lengths)
            }

            fn prepare(self, placement: &mut Placement) -> Each<'a, T> {
                Prepare::<M>::prepare(View::new(&self[..]), placement)
            }
        }

        impl<'a, T: Element, $($generics)* M> Prepare<M> for &'a mut $slice {
            type Source = EachMut<'a, T>;
            ready_at_once!();

            fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
                let elements = self.as_ptr().cast_mut();
                lengths.changes(elements, self.len());
                lengths.add(self.len())
            }

            fn prepare(self, placement: &mut Placement) -> EachMut<'a, T> {
                Prepare::<M>::prepare(ViewMut::of_slice(&mut self[..]), placement)
            }
        }

        impl<'a, T: Element, $($generics)*> From<&'a $slice> for View<'a, T> {
            fn from(elements: &'a $slice) -> Self {
                Self::new(&elements[..])
            }
        }

        impl<'a, T: Element, $($generics)*> From<&'a mut $slice> for ViewMut<'a, T> {
            fn from(elements: &'a mut $slice) -> Self {
                Self::of_slice(&mut elements[..])
            }
        }
    )*};
}
impl<'a, T: Element> From<&'a ViewMut<'_, T>> for View<'a, T> {
    fn from(view: &'a ViewMut<'_, T>) -> Self {
        view.shared()
    }
}

impl<'a, T: Element> From<&'a mut ViewMut<'_, T>> for ViewMut<'a, T> {
    fn from(view: &'a mut ViewMut<'_, T>) -> Self {
        view.reborrow()
    }
}

slices! {
    [] [T];
    [] Vec<T>;
    [] Box<[T]>;
    [const N: usize,] [T; N];
}
