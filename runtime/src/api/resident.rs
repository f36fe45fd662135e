//! Slices that stay on a device over several launches.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::operand::{Read, Readable, Writable, Write};
use crate::data::present::PresentCopy;
use crate::data::view::{View, ViewMut};
use crate::error::{Error, LaunchError};
use crate::kernel::element::Element;

mod sealed {
    use crate::api::queue::Queue;
    use crate::error::LaunchError;

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot stay on a device",
        label = "not a reference to elements",
        note = "what stays is `&` or `&mut` of slices, arrays, `Vec<T>`, boxed slices, buffers and views, and tuples of these"
    )]
    pub trait Keep {
        /// What the launches get.
        type Views<'kept>;
        /// What keeps it on the device.
        type Kept;

        fn keep(self, queue: &Queue) -> Result<Self::Kept, LaunchError>;

        fn views(kept: &mut Self::Kept) -> Self::Views<'_>;

        fn finish(kept: Self::Kept) -> Result<(), LaunchError>;
    }
}
use sealed::Keep;

/// What [`Queue::resident`] takes: `&` or `&mut` of a slice, an array, a `Vec`, a boxed slice, a
/// [`Buffer`](crate::Buffer) or a view, or a tuple of two to eight of these.
pub trait Resident: Keep {}

impl<R: Keep> Resident for R {}

/// Elements that launches read.
#[derive(Debug)]
pub enum Shared<'a, T: Element> {
    InPlace(View<'a, T>),
    /// Launches that are given a part of the slice learn of the copy.
    Copied(Arc<Buffer<T>>, Option<PresentCopy>),
}

impl<'a, E: Read + ?Sized> Keep for &'a E {
    type Views<'kept> = View<'kept, E::Element>;
    type Kept = Shared<'a, E::Element>;

    fn keep(self, queue: &Queue) -> Result<Self::Kept, LaunchError> {
        Ok(match self.read_on(queue)? {
            Readable::InPlace(view) => Shared::InPlace(view),
            Readable::Copied(buffer) => {
                let buffer = Arc::new(buffer);
                let device = queue.device().name();
                let copy = buffer.view().raw().as_ptr();
                let present = self.host_elements().map(|host| {
                    PresentCopy::new(host, copy, Arc::<Buffer<_>>::clone(&buffer), device)
                });
                Shared::Copied(buffer, present)
            }
        })
    }

    fn views(kept: &mut Self::Kept) -> Self::Views<'_> {
        match kept {
            Shared::InPlace(view) => *view,
            Shared::Copied(buffer, _) => buffer.view(),
        }
    }

    fn finish(_: Self::Kept) -> Result<(), LaunchError> {
        Ok(())
    }
}

impl<'a, E: Write + ?Sized> Keep for &'a mut E {
    type Views<'kept> = ViewMut<'kept, E::Element>;
    type Kept = Writable<'a, E::Element>;

    fn keep(self, queue: &Queue) -> Result<Self::Kept, LaunchError> {
        self.write_on(queue)
    }

    fn views(kept: &mut Self::Kept) -> Self::Views<'_> {
        kept.view_mut()
    }

    fn finish(kept: Self::Kept) -> Result<(), LaunchError> {
        kept.finish()
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))+) => {$(
        impl<$($name: Keep),+> Keep for ($($name,)+) {
            type Views<'kept> = ($($name::Views<'kept>,)+);
            type Kept = ($($name::Kept,)+);

            fn keep(self, queue: &Queue) -> Result<Self::Kept, LaunchError> {
                Ok(($(self.$index.keep(queue)?,)+))
            }

            fn views(kept: &mut Self::Kept) -> Self::Views<'_> {
                ($($name::views(&mut kept.$index),)+)
            }

            fn finish(kept: Self::Kept) -> Result<(), LaunchError> {
                // All of them, whatever fails.
                let results = [$($name::finish(kept.$index)),+];
                results.into_iter().collect()
            }
        }
    )+};
}
tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

impl Queue {
    /// Keeps elements of the host on the device while `body` runs, which gets views of them: they
    /// are copied there once, and those that were borrowed exclusively are copied back once, however
    /// `body` ends: by a value, by an error, or by a panic. Devices that use the host's memory copy
    /// nothing.
    ///
    /// Launches in `body` use the views as they use those of buffers, and the host reads them by
    /// [`View::as_slice`]. A launch that is given a part of a slice that is
    /// kept shared, by a function that knows nothing of the view, copies nothing either.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut y = vec![1.0; 1000];
    /// let x = vec![2.0; 1000];
    /// queue.resident((&mut y, &x), |(mut y, x)| {
    ///     for _ in 0..10 {
    ///         queue.for_each((&mut y, x), |(y, x)| *y += 0.5 * x)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(y, [11.0; 1000]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `body`; otherwise that of a copy, also [`LaunchError::ForeignBuffer`] for a
    /// buffer of another device.
    ///
    /// # Panics
    /// If `body` panics, after the elements have been copied back.
    pub fn resident<K, R, F>(&self, elements: K, body: F) -> Result<R, Error>
    where
        K: Resident,
        F: for<'kept> FnOnce(K::Views<'kept>) -> Result<R, Error>,
    {
        self.refuse_inside_kernels()?;
        let mut kept = elements.keep(self)?;
        let result = panic::catch_unwind(AssertUnwindSafe(|| body(K::views(&mut kept))));
        let finished = K::finish(kept);
        match result {
            Err(payload) => panic::resume_unwind(payload),
            Ok(result) => {
                let result = result?;
                finished?;
                Ok(result)
            }
        }
    }
}
