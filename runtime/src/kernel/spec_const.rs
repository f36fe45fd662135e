//! Specialization constants: values that are known when a kernel is compiled for its device.

use std::cell::UnsafeCell;
use std::panic::Location;

use crate::kernel::abi::is_device;
use crate::kernel::element::Element;
use crate::kernel::spec_place::{ConstantPlace, type_identity};
use crate::launch::options::{self, Options};

/// A value that a launch can replace, and that is a constant when its kernel is compiled for the
/// device: loops over it are unrolled, branches on it disappear.
///
/// It is declared as a `static` with a default, read in kernels (and in functions that they call)
/// by [`get`](Self::get), and replaced for the launches of
/// [`Queue::with_constant`](crate::Queue::with_constant). A launch with new values compiles its
/// kernel once more; the compiled kernels of the latest few hundred values are kept.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// static RADIUS: SpecConst<usize> = SpecConst::new(1);
///
/// let queue = Queue::new()?;
/// let signal = Buffer::from_slice(&queue, &[0.0, 0.0, 6.0, 0.0, 0.0])?;
/// let mut smooth = Buffer::with_len(&queue, signal.len())?;
/// let mut blur = |queue: &Queue| {
///     queue.for_each((0.., &mut smooth, whole(&signal)), |(i, to, signal)| {
///         let begin = i.saturating_sub(RADIUS.get());
///         let end = (i + RADIUS.get() + 1).min(signal.len());
///         *to = signal[begin..end].iter().sum::<f32>() / (end - begin) as f32;
///     })?;
///     Ok::<_, schism::Error>(smooth.to_vec())
/// };
/// assert_eq!(blur(&queue)?, [0.0, 2.0, 2.0, 2.0, 0.0]);
/// assert_eq!(blur(&queue.with_constant(&RADIUS, 2))?, [2.0, 1.5, 1.2, 1.5, 2.0]);
/// assert_eq!(RADIUS.get(), 1);
/// # Ok(())
/// # }
/// ```
///
/// A constant is identified by its type and by the place of its declaration in the source.
/// Constants of one type that one use of a macro declares have the same place, as do the elements
/// of `[const { SpecConst::new(1) }; 2]`: give those names with [`named`](Self::named). If kernels
/// of one crate read two constants with one identity, a launch with a value for one of them is an
/// error ([`ImageError::AmbiguousConstant`](crate::ImageError::AmbiguousConstant)); a kernel that
/// reads only one of them takes the value of either. The device `native` identifies constants by
/// address, and confuses none. Constants of different types are never confused, whatever their
/// places and names.
///
/// The `static` may also be an array, a tuple or a struct with constants in it; each is a separate
/// constant.
///
/// ```
/// # use schism::prelude::*;
/// static SIZES: [SpecConst<usize>; 2] = [SpecConst::new(4), SpecConst::new(16)];
/// # fn main() -> Result<(), schism::Error> {
/// # let queue = Queue::new()?;
/// let mut out = Buffer::with_len(&queue, 2)?;
/// queue.with_constant(&SIZES[1], 5).for_each((0.., &mut out), |(i, out)| *out = SIZES[i].get())?;
/// assert_eq!(out.to_vec(), [4, 5]);
/// # Ok(())
/// # }
/// ```
///
/// Besides constants, such a `static` may hold plain data, but no references, no other interior
/// mutability, and no constant in an enum.
#[derive(Debug)]
#[repr(C)]
pub struct SpecConst<T> {
    // Stage 1 knows the order of the fields. A device has only the first one. It is in a cell,
    // because the compiler would otherwise fold reads of it before any launch can replace the
    // value.
    default: UnsafeCell<T>,
    name: &'static str,
    line: u32,
    column: u32,
}

// SAFETY: the cell is never written to.
unsafe impl<T: Sync> Sync for SpecConst<T> {}

impl<T: Element> SpecConst<T> {
    /// Creates a constant that is `default` unless a launch replaces it.
    #[must_use]
    #[track_caller]
    pub const fn new(default: T) -> Self {
        let place = Location::caller();
        let default = UnsafeCell::new(default);
        Self { default, name: place.file(), line: place.line(), column: place.column() }
    }

    /// Creates a constant with a name that is unique in the program.
    #[must_use]
    pub const fn named(name: &'static str, default: T) -> Self {
        Self { default: UnsafeCell::new(default), name, line: 0, column: 0 }
    }

    /// The value: in a kernel the one of the launch, elsewhere the default.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> T {
        // SAFETY: the cell is never written.
        let default = unsafe { *self.default.get() };
        if is_device() { default } else { options::value_at(self.address()).unwrap_or(default) }
    }

    /// Its address on the host.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Sets its value in the options of a launch.
    pub(crate) fn set(&'static self, options: &mut Options, value: T) {
        let place = ConstantPlace { name: self.name, line: self.line, column: self.column };
        options.set(self.address(), place, type_identity::<T>(), value);
    }
}
