//! Queues and their launch functions.

mod deferral;
mod over_sources;
mod placed;

use std::alloc::Layout;
use std::any::type_name;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::device::Device;
use crate::api::fallback::{Fallback, FalseCondition};
use crate::api::watcher::Watcher;
use crate::code::background;
use crate::data::device_copy::Allocate;
use crate::data::host_copies::HostCopies;
use crate::data::host_range::AllPlaced;
use crate::data::pending::Deferral;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Blocking, IntoSource, Source};
use crate::error::{BufferError, DeviceError, LaunchError};
use crate::hal::Submitted;
use crate::hal::dispatch::{self, BackendMemory, BackendPending};
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::offset::At;
use crate::kernel::spec_const::SpecConst;
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::{HostAddresses, HostThreads, LaunchDesc, OnRefusal};
use crate::launch::elementwise::{ForEach, ForEachIn, ParallelFor};
use crate::launch::erased::{ErasedKernel, RawKernel};
use crate::launch::failure;
use crate::launch::options::{Math, Options};
use crate::launch::report::{LaunchReport, Reports};
use crate::launch::shape::{LaunchRange, LaunchShape};
use crate::util::fork::{self, NoForkGuard};
use crate::util::trace;
use crate::util::warn_once::WarnOnce;

/// An in-order queue of launches on one device: each launch begins when the previous one has ended.
///
/// Threads may share a queue, and its clones are the same queue. Launches of different queues may
/// run at the same time.
///
/// The launch functions of this type return when the work is done. Those of a
/// [`scope`](Self::scope) do not wait.
#[derive(Clone)]
pub struct Queue {
    pub(super) device: Device,
    pub(super) queue: dispatch::BackendQueue,
    options: Option<Arc<Options>>,
    adaptivity: Adaptivity,
    /// Threads of a block on GPUs, for launches without groups.
    block_size: Option<usize>,
    /// Whether launches in scopes are timed.
    timed: bool,
    /// Which threads run launches on the host.
    threads: HostThreads,
    pub(super) on_refusal: OnRefusal,
    /// What runs launches on the host in the device's place; `None` if the device is the host.
    pub(super) fallback: Option<Arc<Fallback>>,
    /// That of a handle whose condition is false: then the device and the queue above are the host's.
    pub(super) condition: Option<FalseCondition>,
    /// What becomes of the launches, if the program asks.
    reports: Option<Reports>,
    /// Whether launches may return before they have ended.
    deferral: Option<Deferral>,
    /// Waits for what was submitted, where the program does not.
    watcher: Arc<Watcher>,
}

impl Queue {
    /// Creates a queue on the [default device](Device::default_device).
    ///
    /// # Errors
    /// [`DeviceError`] if `SCHISM_DEVICE` names a device that is unavailable, or threads cannot be
    /// started.
    pub fn new() -> Result<Self, DeviceError> {
        trace::install();
        Self::on(&Device::default_device()?)
    }

    /// Creates a queue on `device`.
    ///
    /// # Errors
    /// [`DeviceError::Threads`] if threads cannot be started, [`DeviceError::CpuMath`],
    /// [`DeviceError::CpuLanes`] or [`DeviceError::CpuStack`] if `SCHISM_CPU_MATH`,
    /// `SCHISM_CPU_LANES` or `SCHISM_CPU_STACK` is invalid,
    /// [`DeviceError::Driver`] if a GPU's driver fails, [`DeviceError::Forked`] for a GPU that the
    /// parent process used. A [default device](Device::default_device) that was not demanded does not
    /// fail: then the queue is on one of the host's, and the user is warned once.
    pub fn on(device: &Device) -> Result<Self, DeviceError> {
        trace::install();
        device.refuse_if_broken()?;
        let _no_fork = NoForkGuard::enter();
        failure::install_hook();
        let (device, queue) = match (device.backend().queue(), device.substitute()) {
            (Err(error), Some(substitute)) => {
                let queue = substitute.backend().queue()?;
                static WARNING: WarnOnce = WarnOnce::new();
                WARNING.warn_unless(
                    device.on_refusal() == OnRefusal::Silent,
                    format_args!("kernels run on the device `{substitute}`: {error}"),
                );
                (substitute, queue)
            }
            (made, _) => (device.clone(), made?),
        };
        let fallback = Fallback::of(&device).map(Arc::new);
        let has_driver = matches!(queue.tasks(), Ok(None));
        let adaptivity = Adaptivity::from_environment();
        let on_refusal = device.on_refusal();
        Ok(Self {
            device,
            queue,
            options: None,
            adaptivity,
            block_size: None,
            timed: false,
            threads: HostThreads::ANY,
            on_refusal,
            fallback,
            condition: None,
            reports: None,
            deferral: None,
            watcher: Arc::new(Watcher::new(has_driver)),
        })
    }

    /// The device that the launches run on.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Returns a handle to this queue; launches made through it use `value` for `constant`.
    ///
    /// The handle is the same queue: launches through both run one after the other. Kernels that do
    /// not read the constant are not affected.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// static FACTOR: SpecConst<u32> = SpecConst::new(2);
    /// static ADDEND: SpecConst<u32> = SpecConst::new(0);
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
    /// let mut change = |queue: &Queue| {
    ///     queue.for_each(&mut numbers, |number| *number = *number * FACTOR.get() + ADDEND.get())?;
    ///     Ok::<_, schism::Error>(numbers.to_vec())
    /// };
    /// assert_eq!(change(&queue)?, [2, 4, 6]);
    /// assert_eq!(change(&queue.with_constant(&FACTOR, 10).with_constant(&ADDEND, 1))?, [21, 41, 61]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_constant<T: Element>(&self, constant: &'static SpecConst<T>, value: T) -> Self {
        self.changed(|options| constant.set(options, value))
    }

    /// Returns a handle to this queue; launches made through it compute as precisely as `math`
    /// says.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::Math;
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::filled(&queue, 10_000, 0.1_f32)?;
    /// let mut sum = Buffer::filled(&queue, 1, 0.0)?;
    /// // In any order, so with many numbers at a time.
    /// queue.with_math(Math::Relaxed).for_each((&mut sum, whole(&numbers)), |(sum, numbers)| {
    ///     *sum = numbers.iter().sum::<f32>();
    /// })?;
    /// assert!((sum.to_vec()[0] - 1000.0).abs() < 1.0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_math(&self, math: Math) -> Self {
        self.changed(|options| options.math = math)
    }

    /// Returns a handle to this queue; kernels launched through it are specialized for the launches
    /// that occur, within the limits of `adaptivity`. The default is the value of the environment
    /// variable `SCHISM_ADAPTIVITY` (`off`, `basic`, `full`), or [`Adaptivity::Basic`].
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::Adaptivity;
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::filled(&queue, 1000, 1_u64)?;
    /// for (stride, adaptivity) in [(1, Adaptivity::Off), (2, Adaptivity::Basic), (3, Adaptivity::Full)] {
    ///     queue.with_adaptivity(adaptivity).for_each(&mut numbers, move |number| *number *= stride)?;
    /// }
    /// assert_eq!(numbers.to_vec(), [6; 1000]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_adaptivity(&self, adaptivity: Adaptivity) -> Self {
        Self { adaptivity, ..self.clone() }
    }

    /// Returns a handle to this queue; launches without groups made through it run in blocks of
    /// `threads` on GPUs. Their code is compiled for blocks of that size, with as many registers as
    /// still allow one block. By default a block has 256 threads, or fewer for a small range. No
    /// block is larger than the device allows.
    ///
    /// Results do not depend on the block size, and other devices ignore it. A launch over an
    /// [`NdRange`](crate::NdRange) uses the blocks of that range.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::filled(&queue, 1000, 1)?;
    /// queue.with_block_size(64).for_each(&mut numbers, |number| *number += 1)?;
    /// assert_eq!(numbers.to_vec(), [2; 1000]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_block_size(&self, threads: usize) -> Self {
        Self { block_size: Some(threads.max(1)), ..self.clone() }
    }

    /// Returns a handle to this queue; launches in [scopes](Self::scope) made through it are timed:
    /// see [`Event::duration`].
    ///
    /// [`Event::duration`]: crate::Event::duration
    #[must_use]
    pub fn with_timing(&self) -> Self {
        Self { timed: true, ..self.clone() }
    }

    /// A handle to this queue whose launches run in order on the calling thread, if the device is the
    /// host.
    #[cfg(feature = "directives")]
    pub(crate) fn on_one_thread(&self) -> Self {
        Self { threads: HostThreads { most: 1, ..HostThreads::ANY }, ..self.clone() }
    }

    /// Runs `launch` with a handle to this queue, and returns the reports of the launches that were
    /// made through it, in the order in which they were submitted: on which device each ran, why,
    /// and what was copied for it. Launches through other handles, and of other threads through
    /// them, are not among these.
    ///
    /// Launches that ran nothing, because their range is empty or because they are an error, have no
    /// report.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
    /// let (outcome, reports) = queue.report(|queue| queue.for_each(&mut numbers, |x| *x += 1));
    /// outcome?;
    /// assert_eq!(reports.len(), 1);
    /// // A device that was asked for by name runs it, or it is an error. One that was not may have
    /// // left it to another, over copies of the buffers.
    /// let report = &reports[0];
    /// if report.device == queue.device().name() {
    ///     assert_eq!((report.bytes_to, report.bytes_from), (0, 0));
    /// } else {
    ///     println!("{} ran on {}: {}", report.kernel, report.device, report.why);
    /// }
    /// assert_eq!(numbers.to_vec(), [2, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn report<R>(&self, launch: impl FnOnce(&Self) -> R) -> (R, Vec<LaunchReport>) {
        let reports = Reports::default();
        let result = launch(&self.with_reports(reports.clone()));
        (result, reports.take())
    }

    /// A handle whose launches are listed, as those of this one if they are.
    pub(crate) fn reporting(&self) -> Self {
        self.with_reports(self.reports.clone().unwrap_or_default())
    }

    fn with_reports(&self, reports: Reports) -> Self {
        Self { reports: Some(reports), ..self.clone() }
    }

    pub(crate) const fn watcher(&self) -> &Arc<Watcher> {
        &self.watcher
    }

    pub(crate) const fn is_timed(&self) -> bool {
        self.timed
    }

    fn changed(&self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.options.as_deref().cloned().unwrap_or_default();
        change(&mut options);
        Self { options: Some(Arc::new(options)), ..self.clone() }
    }

    /// Runs `kernel` once for each point of `range`, and returns when all work-items have ended.
    ///
    /// The kernel reads through captured [views](crate::View), and writes through captured views of
    /// atomics or, with `unsafe`, through a captured [`ViewMut`](crate::ViewMut). Where each
    /// work-item writes its own element, [`for_each`](Self::for_each) and
    /// [`for_each_in`](Self::for_each_in) are safe and faster.
    ///
    /// An empty range is allowed and runs nothing. A range need not begin at zero, for example
    /// `5..100` or `[5..10, 3..9]`: see [`IntoRange`](crate::range::IntoRange). The kernel gets its
    /// [place](crate::Item) in the range.
    ///
    /// A range may also be an [`NdRange`](crate::NdRange). The work-items then form work-groups,
    /// which share local memory and wait for each other at barriers; the kernel also gets its
    /// [place in the group](crate::NdItem).
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
    /// In work-groups:
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::sync::atomic::Ordering::Relaxed;
    ///
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::from_slice(&queue, &(0..1024).collect::<Vec<u32>>())?;
    /// let mut sum = Buffer::filled(&queue, 1, 0_u32)?;
    /// let (from, to) = (numbers.view(), sum.atomic_view());
    /// queue.parallel_for(NdRange::new(1024, 256)?, move |item| {
    ///     let of_group = item.reduce_add(from[item.x()]);
    ///     if item.local_x() == 0 {
    ///         to[0].fetch_add(of_group, Relaxed);
    ///     }
    /// })?;
    /// assert_eq!(sum.to_vec(), [1023 * 1024 / 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError`]. After [`LaunchError::Panicked`] some work-items have run and some have not;
    /// the queue stays usable. Launches with groups have errors of their own:
    /// [`LaunchError::GroupTooLarge`], [`LaunchError::LocalMemory`],
    /// [`LaunchError::DivergentBarrier`], [`LaunchError::DivergentSubGroup`].
    pub fn parallel_for<const D: usize, R, F>(&self, range: R, kernel: F) -> Result<(), LaunchError>
    where
        R: LaunchRange<D>,
        F: for<'g> Fn(R::Item<'g>) + Send + Sync + Capture,
    {
        let shape = range.shape()?;
        // SAFETY: it runs over this range.
        let kernel = At::<R::Origin, _>::new(unsafe { ParallelFor::<R, _>::new(kernel) });
        let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(raw, &shape, 0) }
    }

    /// Runs `kernel` once for each element of `sources`, and returns when all work-items have
    /// ended. Each work-item gets its own element of each source; [`IntoSource`] lists the types
    /// that are sources.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let (x, mut y) = (vec![1.0, 2.0, 3.0], vec![10.0, 20.0, 30.0]);
    /// let a = 2.0;
    /// queue.for_each((&mut y, &x), move |(y, x)| *y += a * *x)?;
    /// assert_eq!(y, [12.0, 24.0, 36.0]);
    ///
    /// // Rows of an image.
    /// let mut image = Buffer::filled(&queue, 6, 1_u8)?;
    /// queue.for_each((0.., image.chunks_mut(3)), |(y, row)| row[y] = 0)?;
    /// assert_eq!(image.to_vec(), [0, 1, 1, 1, 0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A work-item cannot keep its element beyond the launch:
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
    /// It can lend it to a function:
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
        // SAFETY: it runs once, over the sources' length.
        let kernel = |sources| unsafe { ForEach::new(sources, kernel) };
        // SAFETY: the kernel goes with any length, and its parts are `Sync`.
        unsafe { self.run_over_sources::<Blocking, _, _, 1>(None, sources, kernel, type_name::<F>) }
    }

    /// Runs `kernel` once for each point of `range`, and returns when all work-items have ended.
    /// Each work-item gets its place in the range and its own element of each source, in row-major
    /// order: the first work-item of the range gets the first element, wherever the range begins.
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
    /// Over an [`NdRange`](crate::NdRange), sources may also have one element for each group
    /// ([`per_group`](fn@crate::per_group)), and local memory is a source, too
    /// ([`local`](fn@crate::local)):
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let input = Buffer::from_slice(&queue, &[3, 1, 2, 9, 7, 8])?;
    /// let mut places = Buffer::with_len(&queue, 6)?;
    /// let mut largest = Buffer::with_len(&queue, 2)?;
    /// let range = NdRange::new(6, 3)?;
    /// let sources = (local::<u32>(3), &input, &mut places, per_group(&mut largest));
    /// queue.for_each_in(range, sources, |item, (tile, x, place, largest)| {
    ///     tile.set(item.local_x(), *x);
    ///     item.barrier();
    ///     // How many of the group come before it.
    ///     *place = (0..tile.len()).filter(|i| tile.get(*i) < *x).count();
    ///     if let Some(largest) = largest {
    ///         *largest = (0..tile.len()).map(|i| tile.get(i)).fold(0, u32::max);
    ///     }
    /// })?;
    /// assert_eq!(places.to_vec(), [2, 0, 1, 2, 0, 1]);
    /// assert_eq!(largest.to_vec(), [3, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError`], among others [`LaunchError::Length`] if the length of a source differs from
    /// the number of points of the range, or of groups.
    pub fn for_each_in<const D: usize, R, S, F>(
        &self,
        range: R,
        sources: S,
        kernel: F,
    ) -> Result<(), LaunchError>
    where
        R: LaunchRange<D>,
        S: IntoSource<R::Mode<Blocking>>,
        F: for<'g> Fn(R::Item<'g>, <S::Source as Source>::Item<'g>) + Send + Sync + Capture,
    {
        let kernel = |sources| {
            // SAFETY: it runs once, over a range of the sources' length, with the memory that they
            // have asked for.
            At::<R::Origin, _>::new(unsafe { ForEachIn::<R, _, _>::new(sources, kernel) })
        };
        let (shape, name) = (Some(range.shape()), type_name::<F>);
        // SAFETY: the kernel is for this range, and its parts are `Sync`.
        unsafe { self.run_over_sources::<R::Mode<Blocking>, _, _, D>(shape, sources, kernel, name) }
    }

    /// As [`for_each_in`](Self::for_each_in), but returns at once where the device itself keeps
    /// launches in order.
    ///
    /// # Safety
    /// What the kernel refers to lives until the launch has ended.
    pub(crate) unsafe fn start_in<const D: usize, R, S, F>(
        &self,
        range: R,
        sources: S,
        kernel: F,
    ) -> Result<Submitted<BackendPending>, LaunchError>
    where
        R: LaunchRange<D>,
        S: IntoSource<R::Mode<Blocking>>,
        F: for<'g> Fn(R::Item<'g>, <S::Source as Source>::Item<'g>) + Send + Sync + Capture,
    {
        if self.queue.tasks()?.is_some() {
            return self.for_each_in(range, sources, kernel).map(|()| Submitted::Ended);
        }
        self.refuse_inside_kernels()?;
        let kernel = |sources| {
            // SAFETY: as for `for_each_in`.
            At::<R::Origin, _>::new(unsafe { ForEachIn::<R, _, _>::new(sources, kernel) })
        };
        let (shape, name) = (range.shape(), type_name::<F>);
        // SAFETY: the caller's promise; the kernel is for this range, and its parts are `Sync`.
        unsafe {
            self.start_over_sources::<R::Mode<Blocking>, _, _, D>(shape, sources, kernel, name)
        }
    }

    /// Ends a launch with this outcome: copies back what it has changed of the host's memory.
    pub(crate) fn finish(
        &self,
        copies: Option<&HostCopies>,
        outcome: Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        let Some(copies) = copies else { return outcome };
        let (bytes, outcome) = copies.finish(outcome);
        if let Some(reports) = &self.reports {
            reports.copied_from(bytes);
        }
        outcome
    }

    /// Copies sources in the host's memory to the device, if it needs that, into memory by
    /// `allocate`, and says where they are there.
    ///
    /// # Safety
    /// As for [`HostCopies::new`].
    pub(crate) unsafe fn copy_sources(
        &self,
        lengths: &mut Lengths,
        shape: &LaunchShape,
        allocate: Allocate<'_>,
    ) -> Result<(Option<HostCopies>, AllPlaced), LaunchError> {
        let ranges = lengths.take_host_ranges();
        // Without work-items nothing is used.
        if ranges.is_empty() || shape.range.items == 0 {
            return Ok((None, AllPlaced::new()));
        }
        self.refuse_inside_kernels()?;
        // SAFETY: the caller's promise.
        let copies = unsafe { HostCopies::new(&self.queue, allocate, ranges)? };
        if copies.is_in_place() {
            return Ok((None, AllPlaced::new()));
        }
        if lengths.has_host_atomics() {
            return Err(self.foreign_buffer("a launch over atomics", "the host"));
        }
        let placed = copies.placed();
        if let Some(reports) = &self.reports {
            reports.copied_to(copies.bytes());
        }
        Ok((Some(copies), placed))
    }

    /// Locks the queue, runs a launch, and waits for its end.
    ///
    /// # Safety
    /// As for [`submit_raw`](Self::submit_raw).
    pub(crate) unsafe fn run(
        &self,
        kernel: RawKernel,
        shape: &LaunchShape,
        dynamic: usize,
    ) -> Result<(), LaunchError> {
        self.refuse_inside_kernels()?;
        let launch = self.describe(&kernel, shape, dynamic);
        // SAFETY: the caller's promises.
        let run = |launch: &LaunchDesc<'_>| unsafe { self.queue.run(launch) };
        // SAFETY: as above.
        unsafe { self.run_somewhere(&launch, run, ()) }
    }

    /// As [`run`](Self::run), for a kernel that uses addresses of the host's as they are, on
    /// these threads of the host, and that makes these changes.
    ///
    /// # Safety
    /// As for [`submit_raw`](Self::submit_raw), inside a call of the backend's `with_host_memory` unless
    /// they are [`HostAddresses::Shared`].
    pub(crate) unsafe fn run_with_host_addresses(
        &self,
        kernel: &RawKernel,
        shape: &LaunchShape,
        dynamic: usize,
        (host_addresses, threads): (HostAddresses, HostThreads),
        changes: &[Range<usize>],
    ) -> Result<(), LaunchError> {
        self.refuse_inside_kernels()?;
        let described = self.describe(kernel, shape, dynamic);
        let launch = LaunchDesc { host_addresses, threads, changes, ..described };
        // SAFETY: the caller's promises.
        unsafe { self.queue.run(&launch) }
    }

    /// Runs a launch, or has the device run it asynchronously; the caller holds the queue.
    ///
    /// # Safety
    /// The kernel's data lives until this returns, is `Sync`, and allows this shape, with `dynamic`
    /// bytes of local memory that the launch adds for each group. What it refers to lives until the
    /// launch has ended.
    #[inline(never)]
    pub(crate) unsafe fn submit_raw(
        &self,
        kernel: &RawKernel,
        shape: &LaunchShape,
        dynamic: usize,
    ) -> Result<Submitted<BackendPending>, LaunchError> {
        let launch = self.describe(kernel, shape, dynamic);
        // SAFETY: the caller's promises.
        let submit = |launch: &LaunchDesc<'_>| unsafe { self.queue.submit(launch) };
        // SAFETY: as above.
        unsafe { self.run_somewhere(&launch, submit, Submitted::Ended) }
    }

    /// Memory for a buffer: of the device, or of the host if the device has none and was not demanded.
    pub(crate) fn allocate(&self, layout: Layout) -> Result<BackendMemory, BufferError> {
        self.queue.allocate(layout).or_else(|refused| match self.fallback() {
            Some(fallback) => fallback.allocate(layout, refused, self.on_refusal),
            None => Err(refused),
        })
    }

    /// Has the code of a kernel made in the background, for launches that begin at zero, in groups
    /// or without. The kernel has no data, so the code adapts to nothing.
    pub(crate) fn prepare(
        &self,
        kernel: ErasedKernel,
        in_groups: bool,
        told: Box<dyn FnOnce(Result<(), LaunchError>, Duration) + Send>,
    ) -> bool {
        // SAFETY: null, or a constant of the kernel's shared object, in which the caller is.
        let Some(descriptor) = (unsafe { kernel.raw().descriptor.as_ref() }) else { return false };
        let queue = self.clone().with_adaptivity(Adaptivity::Off);
        let run = move || {
            let begin = Instant::now();
            // Nothing reads it, but where a closure would be there are as many bytes.
            let closure = vec![0_u64; kernel.raw().layout.size() / 8 + 1];
            let kernel = kernel.with_data(closure.as_ptr().cast());
            let shape = if in_groups {
                NdRange::from_groups(1, 1).and_then(LaunchRange::shape)
            } else {
                1_usize.shape()
            };
            let outcome = shape.and_then(|shape| {
                // SAFETY: the shared object is there: its end waits for this work, or drops it.
                unsafe { queue.queue.prepare(&queue.describe(&kernel, &shape, 0)) }
            });
            told(outcome, begin.elapsed());
        };
        background::submit_now(descriptor.container_begin as usize, Box::new(run))
    }

    #[inline]
    fn describe<'a>(
        &'a self,
        kernel: &'a RawKernel,
        shape: &'a LaunchShape,
        dynamic: usize,
    ) -> LaunchDesc<'a> {
        let (options, adaptivity, timed) = (self.options.as_ref(), self.adaptivity, self.timed);
        let (on_refusal, block_size) = (self.on_refusal, self.block_size);
        let (range, groups) = (&shape.range, shape.groups(dynamic));
        let host_addresses = HostAddresses::None;
        LaunchDesc {
            kernel,
            range,
            groups,
            options,
            adaptivity,
            block_size,
            timed,
            on_refusal,
            replaced: None,
            host_addresses,
            threads: self.threads,
            changes: &[],
        }
    }

    /// Refuses sources in GPU memory for a launch on the host. GPUs check addresses themselves.
    /// `kernel` says whose sources they are.
    pub(crate) fn check_memory(
        &self,
        lengths: &Lengths,
        kernel: fn() -> &'static str,
    ) -> Result<(), LaunchError> {
        if lengths.has_host_atomics() && self.queue.has_own_memory() {
            return Err(self.foreign_buffer(kernel(), "the host"));
        }
        let is_copied = self.condition.as_ref().is_some_and(|condition| condition.device.is_some());
        if !lengths.is_in_device_memory() || self.queue.has_own_memory() || is_copied {
            return Ok(());
        }
        Err(self.foreign_buffer(kernel(), "a GPU"))
    }

    #[cold]
    pub(crate) fn foreign_buffer(&self, kernel: &str, memory: &str) -> LaunchError {
        let (kernel, device) = (kernel.to_owned(), self.device.to_string());
        LaunchError::ForeignBuffer { kernel, device, memory: memory.to_owned() }
    }

    /// Returns an error inside kernels, since a kernel that waits for another launch could wait for
    /// itself; and in a process in which forking has left nothing usable.
    #[inline]
    pub(crate) fn refuse_inside_kernels(&self) -> Result<(), LaunchError> {
        if fork::is_broken() {
            return Err(broken());
        }
        if failure::inside() { Err(LaunchError::InsideKernel) } else { Ok(()) }
    }

    /// What lists the reports, if the program asks for them.
    pub(crate) const fn reports(&self) -> Option<&Reports> {
        self.reports.as_ref()
    }

    pub(crate) const fn backend(&self) -> &dispatch::BackendQueue {
        &self.queue
    }
}

#[cold]
fn broken() -> LaunchError {
    LaunchError::Forked { reason: fork::BROKEN_BY.to_owned() }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", &self.device.name()).finish_non_exhaustive()
    }
}
