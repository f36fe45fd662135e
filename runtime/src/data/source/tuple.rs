//! Several sources at once.

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source};
use crate::error::LaunchError;

macro_rules! tuples {
    ($(($($name:ident $index:tt)*))*) => {$(
        // SAFETY: element by element as the parts promise.
        unsafe impl<$($name: Source),*> Source for ($($name,)*) {
            type Item<'item> = ($($name::Item<'item>,)*);

            #[inline(always)]
            unsafe fn get<'item>(&self, index: usize) -> Self::Item<'item> {
                // SAFETY: the caller's promises hold for each part.
                unsafe { ($(self.$index.get(index),)*) }
            }
        }

        impl<Mode, $($name: Prepare<Mode>),*> Prepare<Mode> for ($($name,)*) {
            type Source = ($($name::Source,)*);
            type Ready = ($($name::Ready,)*);

            fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
                $(self.$index.check(lengths)?;)*
                Ok(())
            }

            fn prepare(self) -> Self::Ready {
                ($(self.$index.prepare(),)*)
            }

            unsafe fn start(ready: Self::Ready) -> Self::Source {
                // SAFETY: the caller's promises hold for each part.
                unsafe { ($($name::start(ready.$index),)*) }
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 E 3)
    (A 0 B 1 C 2 E 3 F 4)
    (A 0 B 1 C 2 E 3 F 4 G 5)
    (A 0 B 1 C 2 E 3 F 4 G 5 H 6)
    (A 0 B 1 C 2 E 3 F 4 G 5 H 6 I 7)
}
