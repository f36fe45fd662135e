//! Queues: where launches go.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use crate::api::device::{Device, Place};
use crate::code::kernels::Asked;
use crate::code::resolve::{resolve, resolve_cuda, resolve_groups};
use crate::data::source::{Blocking, InGroups, IntoSource, Lengths, Source};
use crate::error::{DeviceError, KernelPanic, LaunchError};
use crate::hal::cuda::{self, Pending, Shape, Stream};
use crate::hal::host::groups::GroupWork;
use crate::hal::host::in_order::{InProcess, Order, Token};
use crate::hal::host::math;
use crate::hal::host::run::{Body, Work};
use crate::hal::host::stack::{self, TooMuch};
use crate::hal::host::work_sharing;
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::{self, ForEachInGroups, Groups, Locals, NdExtent, NdItem, NdRange};
use crate::kernel::item::Item;
use crate::kernel::offset::{At, Origin};
use crate::kernel::spec_const::SpecConst;
use crate::launch::adaptivity::Adaptivity;
use crate::launch::elementwise::{ForEach, ForEachIn};
use crate::launch::erased::RawKernel;
use crate::launch::failure::{self, Failure, Panic};
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
    lane: Lane,
    options: Option<Arc<Options>>,
    adaptivity: Adaptivity,
    /// Launches in scopes say how long they took.
    timed: bool,
}

/// What keeps the launches of a queue in order.
#[derive(Clone)]
pub(crate) enum Lane {
    /// On the host devices: this crate.
    Host(Arc<Order>),
    /// On a GPU: the driver.
    Cuda(Arc<Stream>),
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
        if matches!(device.place(), Place::Cpu) {
            math::portable()?;
        }
        let lane = match device.place() {
            Place::Cpu | Place::Native => {
                stack::check()?;
                Lane::Host(Order::new()?)
            }
            Place::Cuda(gpu) => {
                let stream = Stream::new(gpu.context()?).map_err(|source| DeviceError::Driver {
                    device: device.to_string(),
                    source: Box::new(source),
                })?;
                Lane::Cuda(stream)
            }
        };
        let adaptivity = Adaptivity::from_environment();
        Ok(Self { device: device.clone(), lane, options: None, adaptivity, timed: false })
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
        self.changed(|options| options.set(constant, value))
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
        self.check_memory::<F>(&lengths)?;
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
        let mut lengths = Lengths::of_range(extent.items);
        sources.check(&mut lengths)?;
        self.check_memory::<F>(&lengths)?;
        // SAFETY: the launch starts here; it runs once, over a range of the sources' length.
        let kernel = unsafe { ForEachIn::new(S::start(sources.prepare()), kernel) };
        let kernel = At::<R::Origin, _>::new(kernel);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.launch(RawKernel::new::<_, D>(&raw const kernel, type_name::<F>), extent) }
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
    ///         unsafe { to.set_unchecked(item.group_x(), tile.get(0)) }
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
        self.refuse_inside_kernels()?;
        let _turn = self.turn()?;
        let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        finish(unsafe { self.execute_groups(raw, range, dynamic) }?)
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
        self.refuse_inside_kernels()?;
        let _turn = self.turn()?;
        // SAFETY: the launch starts here; it runs once, over a range of the sources' length. The locals are placed, and the launch
        // makes room for them.
        let kernel = unsafe { ForEachInGroups::new(locals, S::start(sources.prepare()), kernel) };
        let kernel = At::<O, _>::new(kernel);
        let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        finish(unsafe { self.execute_groups(raw, range, dynamic) }?)
    }

    /// Waits for its turn and runs the kernel.
    ///
    /// # Safety
    /// As for [`execute`](Self::execute).
    unsafe fn launch(&self, kernel: RawKernel, extent: Extent) -> Result<(), LaunchError> {
        self.refuse_inside_kernels()?;
        let _turn = self.turn()?;
        // SAFETY: the caller's promises.
        finish(unsafe { self.execute(kernel, extent) }?)
    }

    /// Waits until this is the next launch. A GPU's driver keeps the order itself.
    fn turn(&self) -> Result<Option<Token<'_>>, LaunchError> {
        match &self.lane {
            Lane::Host(order) => Ok(Some(InProcess::turn(in_process(order)?))),
            Lane::Cuda(_) => Ok(None),
        }
    }

    /// Refuses sources that are in the memory of a GPU, for a launch on the host. Other devices look at addresses themselves.
    pub(crate) fn check_memory<F>(&self, lengths: &Lengths) -> Result<(), LaunchError> {
        match &self.lane {
            Lane::Host(_) if lengths.is_remote() => Err(self.remote(type_name::<F>().to_owned())),
            Lane::Host(_) | Lane::Cuda(_) => Ok(()),
        }
    }

    #[cold]
    fn remote(&self, kernel: String) -> LaunchError {
        let (device, memory) = (self.device.to_string(), "a GPU".to_owned());
        LaunchError::ForeignBuffer { kernel, device, memory }
    }

    /// Runs the kernel, or has a GPU run it; the caller has the queue's turn.
    ///
    /// # Safety
    /// The kernel's data lives until this returns, can be shared by threads, and allows this range. What it refers to lives until the
    /// launch is over.
    pub(crate) unsafe fn execute(
        &self,
        kernel: RawKernel,
        extent: Extent,
    ) -> Result<Option<Pending>, LaunchError> {
        if extent.items == 0 {
            return Ok(None);
        }
        let asked = self.asked(extent.offset);
        if let Lane::Cuda(stream) = &self.lane {
            let (dimensions, range, offset) = (extent.dimensions, extent.xyz, extent.offset);
            let shape = Shape { dimensions, range, offset, group: None, dynamic: 0 };
            // SAFETY: the caller's promises.
            return unsafe { self.execute_cuda(stream, kernel, &shape, asked) }.map(Some);
        }
        // SAFETY: a kernel that can be launched is in a loaded shared object, with its descriptor.
        let body = unsafe { resolve(&self.device, &kernel, asked)? };
        let work = Work::new(body, &kernel, extent, None, self.options.clone());
        // SAFETY: the caller's promises, and there is at least one work-item.
        unsafe { self.spread(&work, &kernel) }?;
        Ok(None)
    }

    fn asked(&self, offset: [usize; 3]) -> Asked<'_> {
        let (options, adaptivity) = (self.options.as_deref(), self.adaptivity);
        Asked { offset: offset != [0; 3], options, adaptivity }
    }

    /// Has a GPU run the kernel.
    ///
    /// # Safety
    /// As for [`execute`](Self::execute).
    unsafe fn execute_cuda(
        &self,
        stream: &Arc<Stream>,
        kernel: RawKernel,
        shape: &Shape,
        asked: Asked<'_>,
    ) -> Result<Pending, LaunchError> {
        let context = &stream.context;
        if let Some(reason) = context.forked() {
            return Err(LaunchError::Forked { reason });
        }
        let _section = Section::enter();
        if let Some(lost) = context.lost() {
            let (kernel, device) = (kernel.name(), self.device.to_string());
            return Err(LaunchError::DeviceLost { kernel, device, source: Box::new(lost.clone()) });
        }
        if !shape.group_fits(context, u32::MAX) {
            return Err(self.group_too_large(shape, u32::MAX));
        }
        let grid = shape.grid(context);
        let of_gpu = shape.asks(context, &grid, asked.adaptivity);
        // SAFETY: a kernel that can be launched is in a loaded shared object, with its descriptor.
        let mut code = unsafe { resolve_cuda(&self.device, context, &kernel, asked, of_gpu) }?;
        if !shape.group_fits(context, code.max_block) {
            // Code for this size only is content with fewer registers.
            let of_gpu = shape.demands(context, &grid, asked.adaptivity);
            // SAFETY: as above.
            code = unsafe { resolve_cuda(&self.device, context, &kernel, asked, of_gpu) }?;
            if !shape.group_fits(context, code.max_block) {
                return Err(self.group_too_large(shape, code.max_block));
            }
        }
        // SAFETY: the caller's promises; the code is this kernel's.
        unsafe { cuda::launch(stream, code, &kernel, shape, &grid, self.timed) }
    }

    #[cold]
    fn group_too_large(&self, shape: &Shape, most: u32) -> LaunchError {
        let group = shape.group.unwrap_or([1; 3]);
        LaunchError::GroupTooLarge {
            local: group[..shape.dimensions as usize].iter().rev().copied().collect(),
            items: group.iter().product(),
            limit: self.device.max_group_size().min(most as usize),
            device: self.device.to_string(),
        }
    }

    /// Runs the kernel with groups; the caller has the queue's turn.
    ///
    /// # Safety
    /// As for [`execute`](Self::execute). `dynamic` is the memory that the launch adds for each group.
    pub(crate) unsafe fn execute_groups(
        &self,
        kernel: RawKernel,
        range: NdExtent,
        dynamic: usize,
    ) -> Result<Option<Pending>, LaunchError> {
        let (items, limit) = (range.local.items, self.device.max_group_size());
        if items > limit {
            let (local, device) = (range.local.slowest_first(), self.device.to_string());
            return Err(LaunchError::GroupTooLarge { local, items, limit, device });
        }
        if range.groups.items == 0 {
            return Ok(None);
        }
        let asked = self.asked(range.global.offset);
        if let Lane::Cuda(stream) = &self.lane {
            let shape = Shape {
                dimensions: range.global.dimensions,
                range: range.global.xyz,
                offset: range.global.offset,
                group: Some(range.local.xyz),
                dynamic,
            };
            // SAFETY: the caller's promises.
            return unsafe { self.execute_cuda(stream, kernel, &shape, asked) }.map(Some);
        }
        // SAFETY: as in `execute`.
        let body = unsafe { resolve_groups(&self.device, &kernel, asked)? };
        let groups = GroupWork::new(range, &body, dynamic)
            .map_err(|bytes| self.local_memory(&kernel, bytes))?;
        let work = Work::new(body, &kernel, range.groups, Some(groups), self.options.clone());
        // SAFETY: the caller's promises, and there is at least one group.
        unsafe { self.spread(&work, &kernel) }?;
        Ok(None)
    }

    /// Runs the work on all threads.
    ///
    /// # Safety
    /// As for [`work_sharing::run`].
    unsafe fn spread(&self, work: &Work, kernel: &RawKernel) -> Result<(), LaunchError> {
        let Lane::Host(order) = &self.lane else { return Ok(()) };
        let order = in_process(order)?;
        if let Body::Cpu(code) = &work.body
            // SAFETY: the closure is of the kernel's type.
            && unsafe { code.captures_remote(work.closure.cast()) }
        {
            return Err(self.remote(kernel.name()));
        }
        if let Some(too_much) = work.too_much_stack() {
            return Err(self.stack(kernel, too_much));
        }
        let extent = work.extent;
        let offset = work.groups.as_ref().map_or(extent.offset, GroupWork::offset);
        let started = tracing::enabled!(tracing::Level::DEBUG).then(|| {
            let version = match &work.body {
                Body::Cpu(code) => code.version.clone(),
                Body::Native(_) => Box::from("the host's"),
            };
            (std::time::Instant::now(), version)
        });
        // SAFETY: the caller's promises.
        let spread = unsafe { work_sharing::run(work, order.pool()) }
            .map_err(|failure| self.failed(kernel, extent.dimensions, offset, failure))?;
        if let Some((started, version)) = started {
            tracing::debug!(
                kernel = kernel.name(), device = %self.device, version, range = ?extent.slowest_first(),
                intervals = spread.intervals, helpers = spread.helpers, micros = started.elapsed().as_micros() as u64, "launched"
            );
        }
        Ok(())
    }

    #[cold]
    fn failed(
        &self,
        kernel: &RawKernel,
        dimensions: u32,
        offset: [usize; 3],
        failure: Failure,
    ) -> LaunchError {
        let place = |xyz: [usize; 3]| -> Vec<usize> {
            xyz[..dimensions as usize].iter().rev().copied().collect()
        };
        let (name, device) = (kernel.name(), self.device.to_string());
        match failure {
            Failure::Panic(Panic { message, location, work_item, local_id }) => {
                LaunchError::Panicked(Box::new(KernelPanic {
                    kernel: name,
                    device,
                    message,
                    location,
                    work_item: work_item.map(|xyz| {
                        place(std::array::from_fn(|axis| xyz[axis].wrapping_add(offset[axis])))
                    }),
                    local_id: local_id.map(place),
                }))
            }
            Failure::DivergentBarrier { group, waiting, ended } => LaunchError::DivergentBarrier {
                kernel: name,
                device,
                group: place(group),
                waiting,
                ended,
            },
            Failure::DivergentSubGroup { group, sub_group, waiting, elsewhere } => {
                LaunchError::DivergentSubGroup {
                    kernel: name,
                    device,
                    group: place(group),
                    sub_group,
                    waiting,
                    elsewhere,
                }
            }
            Failure::NoStack { bytes, reason } => {
                LaunchError::NoStack { kernel: name, device, bytes, reason }
            }
            Failure::NoThread { reason } => LaunchError::NoThread { kernel: name, device, reason },
            Failure::LocalMemory { bytes } => self.local_memory(kernel, bytes),
            Failure::Forked => LaunchError::Forked { reason: OF_PARENT.to_owned() },
        }
    }

    #[cold]
    fn local_memory(&self, kernel: &RawKernel, bytes: usize) -> LaunchError {
        LaunchError::LocalMemory {
            kernel: kernel.name(),
            bytes,
            limit: self.device.local_memory_size(),
            device: self.device.to_string(),
        }
    }

    #[cold]
    fn stack(&self, kernel: &RawKernel, TooMuch { bytes, items, limit }: TooMuch) -> LaunchError {
        let (kernel, device) = (kernel.name(), self.device.to_string());
        LaunchError::Stack { kernel, device, bytes, items, limit }
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

    pub(crate) const fn lane(&self) -> &Lane {
        &self.lane
    }
}

/// Why a launch does not end in a forked process.
pub(crate) const OF_PARENT: &str = "the launch is its parent's";

/// The order of a queue in this process. Only in one that was forked it may have to be made, and with it threads.
#[inline]
pub(crate) fn in_process(order: &Order) -> Result<&Arc<InProcess>, LaunchError> {
    order.known().map_or_else(|| begin(order), Ok)
}

#[cold]
fn begin(order: &Order) -> Result<&Arc<InProcess>, LaunchError> {
    order.here().map_err(|error| LaunchError::Forked { reason: error.to_string() })
}

#[cold]
fn broken() -> LaunchError {
    LaunchError::Forked { reason: fork::BROKEN_BY.to_owned() }
}

/// Waits for a launch that is not over.
fn finish(pending: Option<Pending>) -> Result<(), LaunchError> {
    pending.map_or(Ok(()), Pending::finish)
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", &self.device.name()).finish_non_exhaustive()
    }
}
