//! Queues: where launches go.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use crate::body::Work;
use crate::capture::Capture;
use crate::device::Device;
use crate::error::{DeviceError, KernelPanic, LaunchError};
use crate::for_each::{ForEach, ForEachIn};
use crate::item::Item;
use crate::launch::RawKernel;
use crate::order::Order;
use crate::origin::At;
use crate::panics::{self, Failure};
use crate::pool::pool;
use crate::range::{Extent, IntoRange};
use crate::resolve::resolve;
use crate::schedule;
use crate::source::{IntoSource, Lengths, Source};
use crate::trace;

/// An in-order queue of launches on one device: each launch begins when the one before it is over.
///
/// A queue may be shared by threads, and clones of it are the same queue. Launches of different queues run at the same time.
///
/// The launches of this type return when the work is done. [`scope`](Self::scope) has those that do not wait.
#[derive(Clone)]
pub struct Queue {
    device: Device,
    order: Arc<Order>,
}

impl Queue {
    /// A queue on the [default device](Device::default_device).
    ///
    /// # Errors
    /// [`DeviceError`] if `SCHISM_DEVICE` names a device that cannot be had, or threads cannot be started.
    pub fn new() -> Result<Self, DeviceError> {
        trace::install();
        Self::on(&Device::default_device()?)
    }

    /// A queue on `device`.
    ///
    /// # Errors
    /// [`DeviceError::Threads`] if threads cannot be started.
    pub fn on(device: &Device) -> Result<Self, DeviceError> {
        trace::install();
        panics::install_hook();
        Ok(Self { device: device.clone(), order: Order::new(pool()?) })
    }

    /// The device that the launches run on.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Runs `kernel` once for each point of `range`, and returns when all are done.
    ///
    /// The kernel reads from captured [views](crate::View), and writes through captured views of atomics or, `unsafe`ly, through
    /// a captured [`ViewMut`](crate::ViewMut). Where each work-item writes its own element, [`for_each`](Self::for_each) and
    /// [`for_each_in`](Self::for_each_in) are safe and faster.
    ///
    /// An empty range is fine and runs nothing. A range may begin elsewhere than at zero, such as `5..100` or `[5..10, 3..9]`:
    /// see [`IntoRange`].
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::sync::atomic::Ordering::Relaxed;
    ///
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let text = Buffer::from_slice(&queue, b"to be or not to be")?;
    /// let mut counts = Buffer::filled(&queue, 256, 0_u32)?;
    /// let (bytes, bins) = (text.view(), counts.atomic_view());
    /// queue.parallel_for(text.len(), move |item| {
    ///     bins[usize::from(bytes[item.x()])].fetch_add(1, Relaxed);
    /// })?;
    /// assert_eq!(counts.to_vec()[usize::from(b'o')], 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError`]. After [`LaunchError::Panicked`] some work-items have run and some have not; the queue goes on.
    pub fn parallel_for<const D: usize, R, F>(&self, range: R, kernel: F) -> Result<(), LaunchError>
    where
        R: IntoRange<D>,
        F: Fn(Item<D>) + Send + Sync + Capture,
    {
        let extent = Extent::of(range)?;
        let kernel = At::<R::Origin, _>::new(kernel);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.launch(RawKernel::new::<_, D>(&raw const kernel, type_name::<F>), extent) }
    }

    /// Runs `kernel` once for each element of `sources`, and returns when all are done. Each work-item gets its own element of
    /// each source; [`IntoSource`] lists what can be a source.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = Buffer::from_slice(&queue, &[1.0, 2.0, 3.0])?;
    /// let mut y = Buffer::from_slice(&queue, &[10.0, 20.0, 30.0])?;
    /// let a = 2.0;
    /// queue.for_each((&mut y, &x), move |(y, x)| *y += a * *x)?;
    /// assert_eq!(y.to_vec(), [12.0, 24.0, 36.0]);
    ///
    /// // Rows of an image.
    /// let mut image = Buffer::filled(&queue, 6, 1_u8)?;
    /// queue.for_each((0.., image.chunks_mut(3)), |(y, row)| row[y] = 0)?;
    /// assert_eq!(image.to_vec(), [0, 1, 1, 1, 0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A work-item cannot keep its element:
    ///
    /// ```compile_fail,E0521
    /// # fn main() -> Result<(), schism::Error> {
    /// # use schism::prelude::*;
    /// # let queue = Queue::new()?;
    /// # let mut y = Buffer::from_slice(&queue, &[10, 20, 30])?;
    /// fn keep(_: &'static mut i32) {}
    /// queue.for_each(&mut y, |y| keep(y))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It can lend it:
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// # use schism::prelude::*;
    /// # let queue = Queue::new()?;
    /// # let mut y = Buffer::from_slice(&queue, &[10, 20, 30])?;
    /// fn double(y: &mut i32) {
    ///     *y *= 2;
    /// }
    /// queue.for_each(&mut y, |y| double(y))?;
    /// # assert_eq!(y.to_vec(), [20, 40, 60]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError`], among others [`LaunchError::Length`] if the sources differ in length.
    pub fn for_each<S, F>(&self, sources: S, kernel: F) -> Result<(), LaunchError>
    where
        S: IntoSource,
        F: for<'item> Fn(<S::Source as Source>::Item<'item>) + Send + Sync + Capture,
    {
        let mut lengths = Lengths::default();
        sources.check(&mut lengths)?;
        let extent = Extent::new([lengths.length()?])?;
        // SAFETY: the launch starts here; it runs once, over the sources' length.
        let kernel = unsafe { ForEach::new(S::start(sources.prepare()), kernel) };
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.launch(RawKernel::new::<_, 1>(&raw const kernel, type_name::<F>), extent) }
    }

    /// Runs `kernel` once for each point of `range`, and returns when all are done. Each work-item gets its place in the range,
    /// and its own element of each source, in row-major order: the first work-item of the range gets the first element, wherever
    /// the range begins.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let (height, width) = (2, 3);
    /// let image = Buffer::from_slice(&queue, &[1, 2, 3, 4, 5, 6])?;
    /// let mut mirrored = Buffer::with_len(&queue, image.len())?;
    /// queue.for_each_in([height, width], (&mut mirrored, whole(&image)), move |item, (to, image)| {
    ///     let [y, x] = item.id();
    ///     *to = image[y * width + (width - 1 - x)];
    /// })?;
    /// assert_eq!(mirrored.to_vec(), [3, 2, 1, 6, 5, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError`], among others [`LaunchError::Length`] if a source has not as many elements as the range has points.
    pub fn for_each_in<const D: usize, R, S, F>(
        &self,
        range: R,
        sources: S,
        kernel: F,
    ) -> Result<(), LaunchError>
    where
        R: IntoRange<D>,
        S: IntoSource,
        F: for<'item> Fn(Item<D>, <S::Source as Source>::Item<'item>) + Send + Sync + Capture,
    {
        let extent = Extent::of(range)?;
        sources.check(&mut Lengths::of_range(extent.items))?;
        // SAFETY: the launch starts here; it runs once, over a range of the sources' length.
        let kernel = unsafe { ForEachIn::new(S::start(sources.prepare()), kernel) };
        let kernel = At::<R::Origin, _>::new(kernel);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.launch(RawKernel::new::<_, D>(&raw const kernel, type_name::<F>), extent) }
    }

    /// Waits for its turn and runs the kernel.
    ///
    /// # Safety
    /// As for [`execute`](Self::execute).
    unsafe fn launch(&self, kernel: RawKernel, extent: Extent) -> Result<(), LaunchError> {
        self.refuse_inside_kernels()?;
        let _turn = Order::turn(&self.order);
        // SAFETY: the caller's promises.
        unsafe { self.execute(kernel, extent) }
    }

    /// Runs the kernel; the caller has the queue's turn.
    ///
    /// # Safety
    /// The kernel's data lives until this returns, can be shared by threads, and allows this range.
    pub(crate) unsafe fn execute(
        &self,
        kernel: RawKernel,
        extent: Extent,
    ) -> Result<(), LaunchError> {
        if extent.items == 0 {
            return Ok(());
        }
        // SAFETY: a kernel that can be launched is in a loaded shared object, with its descriptor.
        let body = unsafe { resolve(&self.device, &kernel, extent.offset != [0; 3])? };
        let work = Work { body, closure: kernel.closure, extent };
        let started = tracing::enabled!(tracing::Level::DEBUG).then(std::time::Instant::now);
        // SAFETY: the caller's promises, and there is at least one work-item.
        let spread = unsafe { schedule::run(work, self.order.pool()) }
            .map_err(|failure| self.panicked(&kernel, &extent, failure))?;
        if let Some(started) = started {
            tracing::debug!(
                kernel = kernel.name(), device = %self.device, range = ?extent.slowest_first(), intervals = spread.intervals,
                helpers = spread.helpers, micros = started.elapsed().as_micros() as u64, "launched"
            );
        }
        Ok(())
    }

    #[cold]
    fn panicked(&self, kernel: &RawKernel, extent: &Extent, failure: Failure) -> LaunchError {
        let Failure { message, location, work_item } = failure;
        let work_item = work_item.map(|xyz| {
            let id = |axis: usize| xyz[axis].wrapping_add(extent.offset[axis]);
            (0..extent.dimensions as usize).rev().map(id).collect()
        });
        LaunchError::Panicked(Box::new(KernelPanic {
            kernel: kernel.name(),
            device: self.device.to_string(),
            message,
            location,
            work_item,
        }))
    }

    /// A kernel that waited for another launch could wait for itself.
    pub(crate) fn refuse_inside_kernels(&self) -> Result<(), LaunchError> {
        if panics::inside() { Err(LaunchError::InsideKernel) } else { Ok(()) }
    }

    pub(crate) const fn order(&self) -> &Arc<Order> {
        &self.order
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", &self.device.name()).finish_non_exhaustive()
    }
}
