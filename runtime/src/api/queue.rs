//! Queues: where launches go.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use crate::api::device::Device;
use crate::data::source::length::Lengths;
use crate::data::source::per_group::InGroups;
use crate::data::source::traits::{Blocking, IntoSource, Source};
use crate::error::{DeviceError, LaunchError};
use crate::hal::dispatch::{self, BackendPending};
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::{self, ForEachInGroups, Groups, Locals, NdItem, NdRange};
use crate::kernel::item::Item;
use crate::kernel::offset::{At, Origin};
use crate::kernel::spec_const::SpecConst;
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::{GroupDesc, LaunchDesc};
use crate::launch::elementwise::{ForEach, ForEachIn};
use crate::launch::erased::RawKernel;
use crate::launch::failure;
use crate::launch::options::{Math, Options};
use crate::launch::range::{Extent, IntoRange};
use crate::util::fork::{self, Section};
use crate::util::trace;

/// An in-order queue of launches on one device: each launch begins when the one before it is over.
///
/// A queue may be shared by threads, and clones of it are the same queue. Launches of different queues run at the same time.
///
/// The launches of this type return when the work is done. [`scope`](Self::scope) has those that do not wait.
#[derive(Clone)]
pub struct Queue {
    device: Device,
    queue: dispatch::BackendQueue,
    options: Option<Arc<Options>>,
    adaptivity: Adaptivity,
    /// Launches in scopes say how long they took.
    timed: bool,
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
    /// [`DeviceError::Threads`] if threads cannot be started, [`DeviceError::CpuMath`] if `SCHISM_CPU_MATH` is not understood,
    /// [`DeviceError::CpuStack`] if `SCHISM_CPU_STACK` is not, [`DeviceError::Driver`] if a GPU's driver refuses,
    /// [`DeviceError::Forked`] for a GPU that the process's parent used.
    pub fn on(device: &Device) -> Result<Self, DeviceError> {
        trace::install();
        device.refuse_if_broken()?;
        let _section = Section::enter();
        failure::install_hook();
        let queue = device.backend().queue()?;
        let adaptivity = Adaptivity::from_environment();
        Ok(Self { device: device.clone(), queue, options: None, adaptivity, timed: false })
    }

    /// The device that the launches run on.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// The same queue, whose launches by way of what is returned have another value for a constant.
    ///
    /// It is one queue: launches through both run one after the other. A kernel that does not read the constant does not mind.
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
    /// assert_eq!(change(&queue.with(&FACTOR, 10).with(&ADDEND, 1))?, [21, 41, 61]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with<T: Element>(&self, constant: &'static SpecConst<T>, value: T) -> Self {
        self.changed(|options| constant.set(options, value))
    }

    /// The same queue, whose launches by way of what is returned compute that exactly.
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

    /// The same queue, whose kernels by way of what is returned are compiled for the launches that there are so far. The default is
    /// what the environment variable `SCHISM_ADAPTIVITY` says (`off`, `basic`, `full`), or else [`Adaptivity::Basic`].
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

    /// The same queue, whose launches in [scopes](Self::scope) by way of what is returned are timed: see [`Event::duration`].
    ///
    /// [`Event::duration`]: crate::Event::duration
    #[must_use]
    pub fn timed(&self) -> Self {
        Self { timed: true, ..self.clone() }
    }

    pub(crate) const fn is_timed(&self) -> bool {
        self.timed
    }

    fn changed(&self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.options.as_deref().cloned().unwrap_or_default();
        change(&mut options);
        Self { options: Some(Arc::new(options)), ..self.clone() }
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
        unsafe { self.run(RawKernel::new::<_, D>(&raw const kernel, type_name::<F>), extent, None) }
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
        self.check_memory::<F>(&lengths)?;
        let extent = Extent::new([lengths.length()?])?;
        // SAFETY: the launch starts here; it runs once, over the sources' length.
        let kernel = unsafe { ForEach::new(S::start(sources.prepare()), kernel) };
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(RawKernel::new::<_, 1>(&raw const kernel, type_name::<F>), extent, None) }
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
        let mut lengths = Lengths::of_range(extent.items);
        sources.check(&mut lengths)?;
        self.check_memory::<F>(&lengths)?;
        // SAFETY: the launch starts here; it runs once, over a range of the sources' length.
        let kernel = unsafe { ForEachIn::new(S::start(sources.prepare()), kernel) };
        let kernel = At::<R::Origin, _>::new(kernel);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(RawKernel::new::<_, D>(&raw const kernel, type_name::<F>), extent, None) }
    }

    /// Runs `kernel` once for each point of `range`, in work-groups, and returns when all are done.
    ///
    /// The work-items of a group share local memory and can wait for each other at barriers. `locals` says what memory the launch adds
    /// for each group: nothing, `()`; an array, [`local`](crate::local); or a tuple of arrays. The kernel gets its
    /// [place](NdItem) and the [arrays](crate::Local).
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers: Vec<u32> = (0..1024).collect();
    /// let input = Buffer::from_slice(&queue, &numbers)?;
    /// let mut sums = Buffer::with_len(&queue, 4)?;
    /// let (from, to) = (input.view(), sums.view_mut());
    /// let range = NdRange::new(1024, 256)?;
    /// queue.parallel_for_groups(range, local::<u32>(256), move |item, tile| {
    ///     let i = item.local_x();
    ///     tile.set(i, from[item.x()]);
    ///     item.barrier();
    ///     let mut half = item.group_size() / 2;
    ///     while half > 0 {
    ///         if i < half {
    ///             tile.set(i, tile.get(i) + tile.get(i + half));
    ///         }
    ///         item.barrier();
    ///         half /= 2;
    ///     }
    ///     if i == 0 {
    ///         // SAFETY: one work-item of each group writes the group's element.
    ///         unsafe { to.set(item.group_x(), tile.get(0)) }
    ///     }
    /// })?;
    /// assert_eq!(sums.to_vec().iter().sum::<u32>(), 1023 * 1024 / 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError`], among others [`LaunchError::GroupTooLarge`], [`LaunchError::LocalMemory`] and
    /// [`LaunchError::DivergentBarrier`], [`LaunchError::DivergentSubGroup`].
    pub fn parallel_for_groups<const D: usize, O, L, F>(
        &self,
        range: NdRange<D, O>,
        mut locals: L,
        kernel: F,
    ) -> Result<(), LaunchError>
    where
        O: Origin,
        L: Locals,
        F: for<'g> Fn(NdItem<'g, D>, L::Handles<'g>) + Send + Sync + Capture,
    {
        let range = range.extent()?;
        let dynamic = group::place(&mut locals);
        // SAFETY: the locals are placed, and the launch makes room for them.
        let kernel = At::<O, _>::new(unsafe { Groups::new(locals, kernel) });
        let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(raw, range.global, Some(range.groups(dynamic))) }
    }

    /// [`parallel_for_groups`](Self::parallel_for_groups) for elements: runs `kernel` once for each point of `range`, in work-groups,
    /// and returns when all are done. Each work-item gets its own element of each source, in row-major order of the range, as
    /// [`for_each_in`](Self::for_each_in) does; a source that is made by [`per_group`](crate::per_group) has one element for each
    /// group. So groups write their results without `unsafe`.
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
    /// let sources = (&input, &mut places, per_group(&mut largest));
    /// queue.for_each_in_groups(range, local::<u32>(3), sources, |item, tile, (x, place, largest)| {
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
    /// Those of [`parallel_for_groups`](Self::parallel_for_groups); [`LaunchError::Length`] if a source has not as many elements as
    /// the range has points, or groups.
    pub fn for_each_in_groups<const D: usize, O, L, S, F>(
        &self,
        range: NdRange<D, O>,
        mut locals: L,
        sources: S,
        kernel: F,
    ) -> Result<(), LaunchError>
    where
        O: Origin,
        L: Locals,
        S: IntoSource<InGroups<Blocking>>,
        F: for<'g> Fn(NdItem<'g, D>, L::Handles<'g>, <S::Source as Source>::Item<'g>)
            + Send
            + Sync
            + Capture,
    {
        let range = range.extent()?;
        let mut lengths = range.lengths();
        sources.check(&mut lengths)?;
        self.check_memory::<F>(&lengths)?;
        let dynamic = group::place(&mut locals);
        // SAFETY: the launch starts here; it runs once, over a range of the sources' length. The locals are placed, and the launch
        // makes room for them.
        let kernel = unsafe { ForEachInGroups::new(locals, S::start(sources.prepare()), kernel) };
        let kernel = At::<O, _>::new(kernel);
        let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(raw, range.global, Some(range.groups(dynamic))) }
    }

    /// Waits for its turn, runs a launch, and waits for its end.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit).
    unsafe fn run(
        &self,
        kernel: RawKernel,
        range: Extent,
        groups: Option<GroupDesc>,
    ) -> Result<(), LaunchError> {
        self.refuse_inside_kernels()?;
        // SAFETY: the caller's promises.
        unsafe { self.queue.run(&self.describe(kernel, range, groups)) }
    }

    /// Runs a launch, or has the device run it; the caller has the queue's turn.
    ///
    /// # Safety
    /// The kernel's data lives until this returns, can be shared by threads, and allows this range and these groups. What it refers to
    /// lives until the launch is over.
    pub(crate) unsafe fn submit(
        &self,
        kernel: RawKernel,
        range: Extent,
        groups: Option<GroupDesc>,
    ) -> Result<Option<BackendPending>, LaunchError> {
        // SAFETY: the caller's promises.
        unsafe { self.queue.submit(&self.describe(kernel, range, groups)) }
    }

    fn describe(
        &self,
        kernel: RawKernel,
        range: Extent,
        groups: Option<GroupDesc>,
    ) -> LaunchDesc<'_> {
        let (options, adaptivity, timed) = (self.options.as_ref(), self.adaptivity, self.timed);
        let demanded = self.device.demanded();
        LaunchDesc { kernel, range, groups, options, adaptivity, timed, demanded }
    }

    /// Refuses sources that are in the memory of a GPU, for a launch on the host. Other devices look at addresses themselves.
    pub(crate) fn check_memory<F>(&self, lengths: &Lengths) -> Result<(), LaunchError> {
        if !lengths.is_in_device_memory() || self.queue.translates_addresses() {
            return Ok(());
        }
        let (kernel, device) = (type_name::<F>().to_owned(), self.device.to_string());
        Err(LaunchError::ForeignBuffer { kernel, device, memory: "a GPU".to_owned() })
    }

    /// A kernel that waited for another launch could wait for itself. Nothing can be launched in a process that was forked at the wrong
    /// time.
    #[inline]
    pub(crate) fn refuse_inside_kernels(&self) -> Result<(), LaunchError> {
        if fork::is_broken() {
            return Err(broken());
        }
        if failure::inside() { Err(LaunchError::InsideKernel) } else { Ok(()) }
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
