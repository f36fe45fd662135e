//! Captures that are constants of the compiled kernel.

use std::fmt;
use std::ops::Deref;

/// A captured value that is a constant when its kernel is compiled: loops over it are unrolled,
/// branches on it disappear.
///
/// A kernel that captures one by value is compiled once for each value that launches pass; these
/// versions are kept, for up to 32 sets of values. Launches with further values run code that reads
/// the value like any other capture. So use it for values that change rarely: sizes of tiles and
/// filters, modes, coefficients. Unlike a [`SpecConst`](crate::SpecConst) it needs no name, and no
/// option of the queue.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
/// use schism::Specialized;
///
/// let queue = Queue::new()?;
/// let signal = Buffer::from_slice(&queue, &[0.0, 0.0, 6.0, 0.0, 0.0])?;
/// let mut smooth = Buffer::with_len(&queue, signal.len())?;
/// let mut blur = |radius: usize| {
///     let radius = Specialized::new(radius);
///     queue.for_each((0.., &mut smooth, whole(&signal)), move |(i, to, signal)| {
///         let begin = i.saturating_sub(*radius);
///         let end = (i + *radius + 1).min(signal.len());
///         *to = signal[begin..end].iter().sum::<f32>() / (end - begin) as f32;
///     })?;
///     Ok::<_, schism::Error>(smooth.to_vec())
/// };
/// assert_eq!(blur(1)?, [0.0, 2.0, 2.0, 2.0, 0.0]);
/// assert_eq!(blur(2)?, [2.0, 1.5, 1.2, 1.5, 2.0]);
/// # Ok(())
/// # }
/// ```
///
/// Where the value cannot be made a constant it is read, with the same result: on the device
/// `native`, with [`Adaptivity::Off`](crate::Adaptivity::Off), inside an enum, for addresses such
/// as those in views, and where this type itself is in an enum or in an array of more than sixteen
/// elements.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Specialized<T>(T);

impl<T: Copy> Specialized<T> {
    /// Wraps a value.
    #[inline(always)]
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> T {
        self.0
    }
}

impl<T: Copy> Deref for Specialized<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Copy> From<T> for Specialized<T> {
    #[inline(always)]
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Specialized<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
