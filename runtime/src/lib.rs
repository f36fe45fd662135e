#![cfg_attr(schism_driver, feature(allocator_api, auto_traits, negative_impls, rustc_attrs))]
#![cfg_attr(schism_driver, allow(internal_features, reason = "words of an error for some types"))]
//! Ordinary Rust closures as kernels.
//!
//! ```
//! use schism::prelude::*;
//!
//! fn main() -> Result<(), schism::Error> {
//!     let queue = Queue::new()?;
//!     let n = 1 << 20;
//!     let x = Buffer::filled(&queue, n, 1.0_f32)?;
//!     let mut y = Buffer::filled(&queue, n, 2.0_f32)?;
//!     let a = 3.0;
//!
//!     // Every work-item owns its element: nothing to index, nothing to check, no data race.
//!     queue.for_each((&mut y, &x), move |(y, x)| *y += a * *x)?;
//!
//!     // Or place by place, over one to three dimensions, with views of whole buffers.
//!     let view = y.view();
//!     let mut halves = Buffer::with_len(&queue, n / 2)?;
//!     queue.for_each_in(n / 2, &mut halves, move |item, half| *half = view[2 * item.x()] / 2.0)?;
//!
//!     assert!(halves.to_vec().iter().all(|half| *half == 2.5));
//!     Ok(())
//! }
//! ```
//!
//! Built by `cargo schism build`, a crate is compiled once and split: its kernels are cut out as a device half that travels in the
//! program. Built by plain cargo the same program runs on the host alone.
//!
//! # What there is
//! - [`Device`]: what runs kernels; [`Queue`]: one launch after the other, on a device.
//! - [`Buffer`]: memory of a device; [`View`], [`ViewMut`]: what kernels capture of it.
//! - [`Queue::for_each`], [`Queue::for_each_in`], [`Queue::parallel_for`], [`Queue::parallel_for_groups`],
//!   [`Queue::for_each_in_groups`]: launch and wait. [`Queue::scope`]: launch, and wait
//!   later.
//! - [`NdRange`], [`NdItem`], [`Local`]: work-groups, whose work-items share local memory and wait for each other.
//! - [`SubGroup`]: the 32 work-items of a group that give each other values without memory.
//! - [`SpecConst`], [`Specialized`]: values that are constants when a kernel is compiled. [`Queue::with`], [`Queue::with_math`],
//!   [`Queue::with_adaptivity`]: options of launches.
//! - [`AtomicF32`], [`AtomicF64`], [`AtomicRef`], [`fence`](fence()): atomics of floats, and for the work-items that a [scope](memory_scope) says.
//! - [`device_clock`], [`device_time`]: clocks in kernels.
//! - [`Capture`], [`Element`]: what may go to a device.
//! - [`dprintln!`], [`dprint!`]: print from kernels.
//! - [`Error`]: what can go wrong.
//!
//! # Panics
//! A kernel that panics ends its launch with [`LaunchError::Panicked`], which says what the panic said, and in which work-item. The program
//! goes on, and so do the queue and its buffers. On every device, with every level of optimisation:
//! - **Memory** of buffers has all that this work-item stored before the panic, and nothing that it would have stored after it.
//! - **Other work-items** may have run, in part or not at all; how their stores are ordered with the panic is not said. Local memory and
//!   locals are gone.
//! - **Destructors** of the values that are alive in the work-item may run or not, and so may what they would store: the device `native`
//!   unwinds, as the host does, and runs them; other devices end the work-item where it panics. A kernel cannot catch a panic.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `SCHISM_DEVICE` | the default device: `cpu`, `native`, or a GPU: `cuda:0`, `cuda:1` and so on |
//! | `SCHISM_CPU_THREADS` | threads of the host devices; by default one for each core |
//! | `SCHISM_CPU_STACK` | the stack of a work-item on the host devices, if nobody knows what its kernel needs: in bytes or with `K`, `M`; by default `2M`. Nobody does on the device `native`, and on `cpu` where a kernel calls itself, or functions through pointers |
//! | `SCHISM_LIBDEVICE` | kernels on GPUs take `sin`, `exp` and the like from NVIDIA's libdevice, and not from schism's own library: `1` for that of the toolkit in `CUDA_HOME`, `CUDA_PATH` or `/usr/local/cuda`, or its file. Results are then CUDA's, and not those of other devices |
//! | `SCHISM_CPU_MATH` | the mathematics library of kernels on the device `cpu`: `host` (default), or `portable`, schism's own, which gives the same bits on all devices |
//! | `SCHISM_CUDA` | the path of NVIDIA's driver library, in place of the system's `libcuda.so.1`; empty: no GPUs |
//! | `SCHISM_ADAPTIVITY` | how far kernels are compiled for the launches that there are: `off`, `basic` (default), `full`; see [`Adaptivity`] |
//! | `SCHISM_TRACE` | shows each step on standard error: `1`, or `error`, `warn`, `info`, `debug`, `trace` |
//! | `SCHISM_TIME_PASSES` | `1`: how long each pass of stage 2 took, on standard error; the compiler reads it for stage 1 |
//! | `SCHISM_DISABLE_PASSES` | names of optional passes of stage 2, separated by commas, that do not run: to find the one that miscompiles a kernel. `strip-mine` reads past slices on GPUs, within a page: disable it for tools that check each access. Code that was made ahead of time does not change |
//! | `SCHISM_PRINT_AFTER` | names of passes, separated by commas, or `all`: the kernel's LLVM IR after them, on standard error; the compiler reads it for stage 1 |
//! | `SCHISM_VERIFY_PASSES` | `1`: the LLVM IR is verified after each pass |
//! | `SCHISM_CACHE` | `0`: compiled kernels are not kept on disk |
//! | `SCHISM_CACHE_DIR` | where they are kept; by default `kernels` in schism's home |
//! | `SCHISM_CACHE_SIZE` | the most that is kept, in bytes or with `K`, `M`, `G`; by default `512M` |
//! | `SCHISM_JIT` | the path of `libschism_jit.so`, the compiler for the device `cpu` |
//! | `SCHISM_HOME` | where `cargo schism setup` has put things; by default `schism` in the user's cache folder |
//!
//! Variables that name code or folders take paths from the root. What they name, and what is found elsewhere, is loaded only if nobody can
//! have changed it but root, the user and the program's owner. Programs with rights that their users lack (setuid) do not obey them.
//!
//! # Where things are, for those who read the source
//! A launch goes down the stairs: `api` (the user's closure, its elements) → `launch` (its type is erased) → `code` (which machine code)
//! → `hal` (which device, stack and thread). Kernels see `kernel` and `data`.

#[doc(hidden)]
pub mod __private;
mod api;
mod code;
mod data;
mod error;
mod hal;
mod kernel;
mod launch;
mod util;

pub use api::device::Device;
pub use api::event::Event;
pub use api::queue::Queue;
pub use api::scope::Scope;
pub use data::buffer::Buffer;
pub use data::source::chunks::{Chunks, ChunksMut};
pub use data::source::lent::{Lent, LentChunks, LentChunksMut, LentWhole};
pub use data::source::per_group::{InGroups, OfGroups, PerGroup, per_group};
pub use data::source::traits::{Blocking, IntoSource, Scoped, Source};
pub use data::source::whole::{Whole, whole};
pub use data::view::{View, ViewMut};
pub use error::{
    BufferError, DeviceError, DriverError, Error, ImageError, KernelPanic, LaunchError,
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
    LaneNumber, LaneValue, Local, LocalArray, LocalNumber, Locals, NdItem, NdRange, SubGroup, local,
};
pub use kernel::item::Item;
pub use kernel::offset::{Begin, Origin, Zero};
pub use kernel::spec_const::SpecConst;
pub use kernel::specialized::Specialized;
pub use launch::adaptivity::Adaptivity;
pub use launch::options::Math;
pub use launch::range::{IntoRange, Range};

/// Prints to standard output from a kernel, or from anywhere else.
///
/// Takes what [`print!`](std::print) takes. Each message comes out in one piece; the order of the work-items is not said. A kernel
/// that ends in a panic has printed what it printed before. What a kernel prints on a GPU appears when its launch is over; a launch has room
/// for 8 MiB of messages there, and standard error says how many did not fit.
///
/// Integers, floats, `bool`, `char`, strings, references, tuples, arrays, slices and types with a derived `Debug` are shown as
/// everywhere. A device does not run formatting code, so of a type with a `Display` or `Debug` of its own it shows the name:
/// `<path::Type>`. The same holds for the messages of panics.
#[macro_export]
macro_rules! dprint {
    ($($argument:tt)*) => {
        $crate::__private::print($crate::__private::format_args!($($argument)*))
    };
}

/// Prints a line from a kernel, or from anywhere else: [`dprint!`] with a line's end.
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

/// Makes functions of this crate device code for the kernels of other crates, which know them by their declarations only.
///
/// Most functions need none of this: a kernel calls any function of its own crate, and generic and inline functions of others; built by
/// `cargo schism`, libraries carry all their functions for kernels. Two kinds need it: functions that others find by their symbol, as
/// `#[unsafe(no_mangle)] extern "C" fn`, which the other side lists with [`import_to_device!`]; and functions of libraries that are compiled
/// with `-Zcodegen-backend` alone.
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
/// The functions may call what kernels may call. They cannot use work-groups, specialization constants or the launch's offset, of which
/// only a kernel knows. They are linked to a kernel when that is first launched, so code that is made ahead of time is not made of such
/// kernels. Nothing is added to the host's code.
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

/// Lets kernels call functions that are declared here, and that the device code of another crate of the program defines and lists with
/// [`export_to_device!`].
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
/// A launch of a kernel that calls one finds the definition among all that the program has linked or loaded. If there is none, or more
/// than one, or one of another type, the launch is an error that says so.
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

/// What most programs need.
pub mod prelude {
    pub use crate::{
        Buffer, Capture, Device, Element, Event, Item, LaunchError, Lent, Local, NdItem, NdRange,
        Queue, Range, Scope, SpecConst, View, ViewMut, local, per_group, whole,
    };
}
