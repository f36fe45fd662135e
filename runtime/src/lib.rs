#![cfg_attr(
    not(feature = "directives"),
    allow(dead_code, reason = "what is for the data of directives is used by them alone")
)]
#![cfg_attr(
    schism_driver,
    feature(
        allocator_api,
        atomic_internals,
        auto_traits,
        cfg_version,
        generic_atomic,
        negative_impls,
        rustc_attrs
    )
)]
#![cfg_attr(schism_driver, allow(internal_features, reason = "words of an error for some types"))]
//! Ordinary Rust closures as kernels.
//!
//! `cargo schism build` compiles a crate once and splits it: its kernels become a device half that
//! travels inside the program. Plain cargo builds the same program for the host alone.
//!
//! # A first program: elements
//! ```
//! use schism::prelude::*;
//!
//! fn main() -> Result<(), Report> {
//!     let queue = Queue::new()?;
//!     let x = vec![1.0_f32; 1 << 20];
//!     let mut y = vec![2.0_f32; 1 << 20];
//!     let a = 3.0;
//!
//!     // Each work-item owns one element of `y` and sees one of `x`.
//!     queue.for_each((&mut y, &x), move |(y, x)| *y += a * *x)?;
//!
//!     assert!(y.iter().all(|y| *y == 5.0));
//!     Ok(())
//! }
//! ```
//! A [`Queue`] runs one launch after the other on a device; [`Queue::for_each`] returns when the
//! launch has ended. The closure is the kernel: it runs once for each element, and `&mut y` gives
//! every work-item its own element, so there is no index to check and no data race.
//!
//! The host's devices use the vectors in place. For a GPU a launch copies them, [`Queue::resident`]
//! keeps them there over several launches, and a [`Buffer`] is memory of the device.
//!
//! # A second program: a range, and neighbours
//! ```
//! use schism::prelude::*;
//!
//! fn main() -> Result<(), Report> {
//!     let queue = Queue::new()?;
//!     let (height, width) = (30, 40);
//!     let pixels: Vec<f32> = (0..height * width).map(|i| (i % 7) as f32).collect();
//!     let input = Buffer::from_slice(&queue, &pixels)?;
//!     let mut output = Buffer::with_len(&queue, pixels.len())?;
//!
//!     // A work-item for each pixel. What it owns comes from a source, what it looks at from a view.
//!     let image = input.view();
//!     queue.for_each_in([height, width], &mut output, move |item, out| {
//!         let [row, column] = item.id();
//!         let left = image[row * width + column.saturating_sub(1)];
//!         let right = image[row * width + (column + 1).min(width - 1)];
//!         *out = (right - left) / 2.0;
//!     })?;
//!
//!     assert_eq!(output.get(0), Some(0.5));
//!     Ok(())
//! }
//! ```
//! [`Queue::for_each_in`] takes a range of one to three dimensions and passes each work-item its
//! place in the range. A kernel captures a [`View`] of a whole buffer and indexes it like a slice.
//! A kernel that panics, for example at an index out of bounds, ends its launch with an error.
//!
//! # A third program: work-groups
//! ```
//! use schism::prelude::*;
//!
//! fn main() -> Result<(), Report> {
//!     let queue = Queue::new()?;
//!     let (rows, columns) = (10, 300);
//!     let numbers: Vec<f32> = (0..rows * columns).map(|i| (i % 9) as f32).collect();
//!     let mut matrix = Buffer::from_slice(&queue, &numbers)?;
//!
//!     // A group of 64 work-items for each row, which divides it by its largest element.
//!     let range = NdRange::from_groups(rows, 64)?;
//!     let row_of_group = per_group(matrix.chunks_mut(columns));
//!     queue.for_each_in(range, row_of_group, |item, mut row| {
//!         let own = row.iter_mut().fold(f32::NEG_INFINITY, |most, (_, x)| most.max(*x));
//!         let largest = item.reduce_max(own);
//!         for (_, x) in row {
//!             *x /= largest;
//!         }
//!     })?;
//!
//!     assert!(matrix.to_vec().chunks(columns).all(|row| row.contains(&1.0)));
//!     Ok(())
//! }
//! ```
//! An [`NdRange`] divides the range into groups. The work-items of a group share local memory, wait
//! for each other ([`NdItem::barrier`]) and reduce values together. [`per_group`](fn@per_group)
//! divides a group's row among them.
//!
//! # What there is
//! - [`Device`]: what runs kernels; [`Queue`]: one launch after the other, on a device.
//!   [`LaunchReport`]: where one ran, and why.
//! - [`Buffer`]: memory of a device; [`View`], [`ViewMut`]: what kernels capture of it.
//! - [`Queue::parallel_for`], [`Queue::for_each`], [`Queue::for_each_in`]: launch and wait.
//!   [`Queue::scope`]: launch, and wait later. [`Queue::submit`]: launch, and let an [`OwnedEvent`], which is
//!   also a future, keep what the launch uses.
//! - [`NdRange`], [`NdItem`], [`Local`], [`Local2d`]: work-groups, whose work-items share local
//!   memory and synchronize at barriers.
//! - [`IntoSource`]: where work-items get their elements from. [`per_group`](fn@per_group),
//!   [`Share`], [`TileShare`], [`Cells`]: what the work-items of a group write together.
//!   [`GroupValue`]: values that they can exchange.
//! - [`SubGroup`]: the 32 work-items of a group that exchange values without memory.
//! - [`SpecConst`], [`Specialized`]: values that are constants when a kernel is compiled.
//!   [`Queue::with_constant`], [`Queue::with_math`], [`Queue::with_adaptivity`]: launch options.
//! - [`AtomicF32`], [`AtomicF64`], [`AtomicRef`], [`fence`](fence()): atomic floats, and atomics
//!   with a [memory scope](memory_scope).
//! - [`algorithms`]: scans, sorts, searches, merges: C++'s parallel algorithms over slices and
//!   buffers.
//! - [`device_clock`], [`device_time`]: clocks in kernels.
//! - [`unroll`], [`unroll_full`], [`no_unroll`]: how often the loop around the call is
//!   unrolled.
//! - [`Capture`], [`Element`]: types that may go to a device.
//! - [`dprintln!`], [`dprint!`]: print from kernels.
//! - [`Error`]: everything that can fail. [`Report`]: return type for `main` that prints an error
//!   as a sentence.
//!
//! # Panics
//! A kernel that panics ends its launch with [`LaunchError::Panicked`], which has the panic's
//! message and the work-item. The program continues, and the queue and its buffers stay usable. On
//! every device and at every level of optimisation:
//! - **Memory:** buffers contain everything that this work-item stored before the panic, and
//!   nothing that it would have stored after it.
//! - **Other work-items** may have run completely, in part or not at all. The order of their stores
//!   relative to the panic is unspecified. Local memory and local variables are gone.
//! - **Destructors** of values that are alive in the work-item may or may not run: the device
//!   `native` unwinds like the host and runs them; other devices end the work-item where it panics.
//!   A kernel cannot catch a panic.
//! - **Where nothing can unwind**, the device `native` ends the process after the panic's message: in
//!   programs with `panic = "abort"`, in functions that must not unwind (`extern "C"`), and when a
//!   destructor panics during a panic. Other devices end the launch with an error there, too.
//!
//! # Environment
//! A program that chooses no device uses the best that is there: a GPU, otherwise `cpu`, otherwise
//! `native` ([`Device::default_device`]). `SCHISM_DEVICE` chooses another: one name is a demand, as in
//! `SCHISM_DEVICE=cuda:1`, and what that device cannot do is an error. Several are a wish:
//! `SCHISM_DEVICE=cuda,cpu` is a GPU where there is one, and `cpu` elsewhere.
//!
//! A device that was not demanded never fails a program: a kernel that the GPU cannot have, or a buffer that it
//! has no memory for, goes to the host, with a warning. A program decides for its own launches by
//! [`Queue::when`], [`Queue::optional`], [`Queue::mandatory`] and [`Device::optional`]. [`Queue::report`] says
//! where launches ran:
//! ```
//! # fn main() -> Result<(), schism::Error> {
//! use schism::prelude::*;
//!
//! let queue = Queue::new()?;
//! let mut numbers = Buffer::filled(&queue, 1000, 2_u64)?;
//! let (outcome, reports) = queue.report(|queue| queue.for_each(&mut numbers, |x| *x *= *x));
//! outcome?;
//! for report in &reports {
//!     println!("{} ran on {}: {}", report.kernel, report.device, report.why);
//! }
//! assert_eq!((reports.len(), numbers.get(999)), (1, Some(4)));
//! # Ok(())
//! # }
//! ```
//! `SCHISM_TRACE=1` shows the choice and each step, and `cargo schism doctor` lists the devices, and
//! why one is not there. [`environment`] lists all variables that programs read.
//!
//! # Where things are, for readers of the source
//! A launch passes through `api` (the user's closure and its elements) → `launch` (its type is
//! erased) → `code` (which machine code) → `hal` (which device, stack and thread). Kernels use
//! `kernel` and `data`. `algorithms` is made of launches.

#[doc(hidden)]
pub mod __private;
pub mod algorithms;
mod api;
mod code;
mod data;
#[cfg(feature = "directives")]
pub mod directives;
mod error;
mod hal;
mod kernel;
mod launch;
mod util;

pub use api::after::{After, AnyEvent, wait_all, wait_any};
pub use api::device::Device;
pub use api::event::Event;
pub use api::owned_event::OwnedEvent;
pub use api::placement::{device, host};
pub use api::queue::Queue;
pub use api::scope::Scope;
pub use data::buffer::Buffer;
pub use data::source::atomics::atomics;
pub use data::source::cells::Cells;
pub use data::source::lent::Lent;
pub use data::source::out::{Out, out};
pub use data::source::per_group::{per_group, per_sub_group};
pub use data::source::permuted::{BitReversal, Permutation, Reversal};
pub use data::source::share::Share;
pub use data::source::tiles::TileShare;
pub use data::source::traits::IntoSource;
pub use data::source::whole::whole;
pub use data::view::{View, ViewMut};
pub use error::{
    BufferError, DeviceError, DriverError, Error, ImageError, KernelPanic, LaunchError, Race,
    RacingAccess,
};
pub use hal::dispatch::DeviceKind;
pub use kernel::abi::is_device;
pub use kernel::atomic::{
    AtomicElement, AtomicF32, AtomicF64, AtomicRef, MemoryScope, fence, memory_scope,
};
pub use kernel::capture::Capture;
pub use kernel::clock::{device_clock, device_time};
pub use kernel::element::Element;
pub use kernel::group::{
    GroupNumber, GroupValue, Local, Local2d, NdItem, NdRange, SubGroup, local, local_2d,
};
pub use kernel::item::Item;
pub use kernel::spec_const::SpecConst;
pub use kernel::specialized::Specialized;
pub use kernel::unroll::{no_unroll, unroll, unroll_full};
pub use launch::adaptivity::Adaptivity;
pub use launch::options::Math;
pub use launch::range::Range;
pub use launch::report::LaunchReport;
pub use util::report::Report;
pub use util::variables::environment;

/// Prints to standard output from a kernel, or from anywhere else.
///
/// Takes the arguments of [`print!`](std::print). Each message is printed in one piece; the order
/// of the work-items is unspecified. A kernel that panics has printed everything before the panic.
/// Output of a kernel on a GPU appears when its launch has ended. A launch has room for 8 MiB of
/// messages there; standard error says how many did not fit.
///
/// Integers, floats, `bool`, `char`, strings, references, tuples, arrays, slices and types with a
/// derived `Debug` are shown as everywhere. A device does not run formatting code, so a type with a
/// handwritten `Display` or `Debug` is shown by its name: `<path::Type>`. The same holds for panic
/// messages.
#[macro_export]
macro_rules! dprint {
    ($($argument:tt)*) => {
        $crate::__private::print($crate::__private::format_args!($($argument)*))
    };
}

/// Prints a line from a kernel, or from anywhere else: [`dprint!`] with a newline.
///
/// ```
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// queue.parallel_for(4, |item| schism::dprintln!("work-item {} of {:?}", item.x(), item.range()))?;
/// # Ok::<(), schism::Error>(())
/// ```
#[macro_export]
macro_rules! dprintln {
    () => { $crate::dprint!("\n") };
    ($($argument:tt)*) => {
        $crate::dprint!("{}\n", $crate::__private::format_args!($($argument)*))
    };
}

/// Makes functions of this crate device code for kernels of other crates, which know them by
/// declaration only.
///
/// Most functions do not need this: a kernel calls any function of its crate, and generic and
/// inline functions of others; libraries that `cargo schism` builds carry all their functions for
/// kernels. Two kinds need it: functions that others find by symbol, such as `#[unsafe(no_mangle)]
/// extern "C" fn`, which the other side lists with [`import_to_device!`]; and functions of
/// libraries that are compiled with `-Zcodegen-backend` alone.
///
/// ```
/// #[unsafe(no_mangle)]
/// pub extern "C" fn scaled(x: f32) -> f32 {
///     2.0 * x
/// }
///
/// schism::export_to_device!(scaled);
/// ```
///
/// The functions may call what kernels may call. They cannot use work-groups, specialization
/// constants or the launch's offset, which only kernels know. They are linked to a kernel at its
/// first launch, so such kernels have no AOT code. Nothing is added to the host's code.
#[macro_export]
macro_rules! export_to_device {
    ($($function:path),+ $(,)?) => {
        const _: () = {
            #[allow(dead_code)]
            struct Listed;
            impl $crate::__private::ExportToDevice for Listed {
                fn functions() -> impl Sized {
                    ($($function,)+)
                }
            }
        };
    };
}

/// Lets kernels call functions that are declared here and defined by the device code of another
/// crate of the program, which lists them with [`export_to_device!`].
///
/// ```no_run
/// # mod elsewhere {
/// #     #[unsafe(no_mangle)]
/// #     pub extern "C" fn scaled(x: f32) -> f32 { 2.0 * x }
/// #     schism::export_to_device!(scaled);
/// # }
/// unsafe extern "C" {
///     fn scaled(x: f32) -> f32;
/// }
///
/// schism::import_to_device!(scaled);
/// ```
///
/// When a kernel that calls one is launched, the runtime looks for the definition in everything
/// that the program has linked or loaded. The launch fails with an error if there is none, or more
/// than one, or one of another type.
#[macro_export]
macro_rules! import_to_device {
    ($($function:path),+ $(,)?) => {
        const _: () = {
            #[allow(dead_code)]
            struct Listed;
            impl $crate::__private::ImportToDevice for Listed {
                fn functions() -> impl Sized {
                    ($($function,)+)
                }
            }
        };
    };
}

/// The types behind [sources](crate::IntoSource): what methods of buffers and loans return, and
/// what kernels hold of it. Programs rarely name them.
pub mod source {
    pub use crate::api::resident::Resident;
    pub use crate::data::home::BufferHome;
    pub use crate::data::source::atomics::Atomics;
    pub use crate::data::source::cells::CellChunks;
    pub use crate::data::source::chunks::{Chunks, ChunksMut};
    pub use crate::data::source::lent::{
        LentAtomics, LentCells, LentChunks, LentChunksMut, LentTilesMut, LentViewMut, LentWhole,
    };
    pub use crate::data::source::out::Outputs;
    pub use crate::data::source::per_group::{
        InGroups, OfGroups, OfSubGroups, PerGroup, PerSubGroup,
    };
    pub use crate::data::source::permuted::{Permuted, Permutes};
    pub use crate::data::source::rectangle::RectangleMut;
    pub use crate::data::source::share::ShareIter;
    pub use crate::data::source::tiles::{TileShareIter, TilesMut};
    pub use crate::data::source::traits::{Blocking, GroupSource, Scoped, Source};
    pub use crate::data::source::whole::Whole;
    pub use crate::kernel::group::{LocalArray, LocalArray2d, Strided};
}

/// The types behind launch ranges: the traits that `usize`, arrays, Rust's ranges and [`NdRange`]
/// have in common. Programs rarely name them.
pub mod range {
    pub use crate::kernel::offset::{NoOffset, Origin, WithOffset};
    pub use crate::launch::range::IntoRange;
    pub use crate::launch::shape::LaunchRange;
}

/// What most programs need.
pub mod prelude {
    pub use crate::{
        Buffer, Capture, Cells, Device, Element, Event, GroupValue, Item, LaunchError, Lent, Local,
        Local2d, NdItem, NdRange, Queue, Range, Report, Scope, Share, SpecConst, TileShare, View,
        ViewMut, atomics, local, local_2d, out, per_group, per_sub_group, whole,
    };
}
