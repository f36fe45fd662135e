//! Slices that stay on a device over several launches.

use std::panic::{self, AssertUnwindSafe};

use crate::api::queue::Queue;
use crate::data::host_range::HostRange;
use crate::data::operand::{Read, Readable, Writable, Write, filled};
use crate::data::present::PresentCopy;
use crate::data::source::out::Outputs;
use crate::data::view::{View, ViewMut};
use crate::error::{Error, LaunchError};
use crate::kernel::element::Element;

mod sealed {
    use crate::api::queue::Queue;
    use crate::error::LaunchError;

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot stay on a device",
        label = "not a reference to elements",
        note = "what stays is `&` or `&mut` of slices, arrays, `Vec<T>`, boxed slices, buffers and views, `out` of what is `&mut`, and tuples of these"
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
/// [`Buffer`](crate::Buffer) or a view, [`out`](fn@crate::out) of what can be `&mut`, or a tuple of two
/// to eight of these.
pub trait Resident: Keep {}

impl<R: Keep> Resident for R {}

/// Elements that launches read.
#[derive(Debug)]
pub struct Shared<'a, T: Element> {
    elements: Readable<'a, T>,
    /// By it launches that are given a part of the slice know of the copy.
    #[expect(dead_code, reason = "it is only kept")]
    present: Option<PresentCopy>,
}

impl<'a, T: Element> Shared<'a, T> {
    /// Copies elements to the device of a queue, unless they are there. The result is not forgotten.
    pub(crate) fn of<E: Read<Element = T> + ?Sized>(
        queue: &Queue,
        kept: &'a E,
    ) -> Result<Self, LaunchError> {
        let elements = kept.read_on(queue)?;
        let mut present = None;
        if let Readable::Copied(buffer) = &elements
            && let Some(host) = kept.host_elements()
            && let Some(range) = HostRange::read(host.as_ptr(), host.len())
        {
            let copy = buffer.view().raw().as_ptr().cast();
            let device = queue.backend().device_name();
            present = Some(PresentCopy::new(&range, copy, buffer.clone(), device, true));
        }
        Ok(Self { elements, present })
    }
}

impl<'a, E: Read + ?Sized> Keep for &'a E {
    type Views<'kept> = View<'kept, E::Element>;
    type Kept = Shared<'a, E::Element>;

    fn keep(self, queue: &Queue) -> Result<Self::Kept, LaunchError> {
        Shared::of(queue, self)
    }

    fn views(kept: &mut Self::Kept) -> Self::Views<'_> {
        kept.elements.view()
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

impl<'a, T: Element> Keep for Outputs<'a, T> {
    type Views<'kept> = ViewMut<'kept, T>;
    type Kept = Writable<'a, T>;

    fn keep(self, queue: &Queue) -> Result<Self::Kept, LaunchError> {
        filled(queue, self.into_view())
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
    /// [`View::as_slice`]. A launch, a region or an algorithm that is given a part of a slice that is
    /// kept shared, by a function that knows nothing of the view, copies nothing either. One that is
    /// given more than the region keeps is an error, on devices that copy.
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
    /// buffer of another device, and
    /// [`BufferError::PartlyPresent`](crate::BufferError::PartlyPresent) for a slice of which a region
    /// around this one keeps a part.
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
