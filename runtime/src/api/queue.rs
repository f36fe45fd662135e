//! Queues: where launches go.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use crate::api::device::{Device, Place};
use crate::code::kernels::Asked;
use crate::code::resolve::{resolve, resolve_cuda, resolve_groups};
use crate::data::source::{Blocking, IntoSource, Lengths, Source};
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
use crate::kernel::group::{NdExtent, Placement};
use crate::kernel::offset::At;
use crate::kernel::spec_const::SpecConst;
use crate::launch::adaptivity::Adaptivity;
use crate::launch::elementwise::{ForEach, ForEachIn, ParallelFor};
use crate::launch::erased::RawKernel;
use crate::launch::failure::{self, Failure, Panic};
use crate::launch::options::{Math, Options};
use crate::launch::range::Extent;
use crate::launch::shape::{LaunchRange, LaunchShape};
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

    /// Returns a handle to this queue; launches made through it use `value` for `constant`.
    ///
    /// It is one queue: launches through both run one after the other. A kernel that does not read the constant is not affected.
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
        self.changed(|options| options.set(constant, value))
    }

    /// Returns a handle to this queue; launches made through it compute as exactly as `math` says.
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

    /// Returns a handle to this queue; kernels that are launched through it are compiled for the launches that there have been, as far as
    /// `adaptivity` says. The default is what the environment variable `SCHISM_ADAPTIVITY` says (`off`, `basic`, `full`), or else [`Adaptivity::Basic`].
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

    /// Returns a handle to this queue; launches in [scopes](Self::scope) made through it are timed: see [`Event::duration`].
    ///
    /// [`Event::duration`]: crate::Event::duration
    #[must_use]
    pub fn with_timing(&self) -> Self {
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
    /// see [`IntoRange`](crate::range::IntoRange). The kernel gets its [place](crate::Item) in the range.
    ///
    /// A range may also be an [`NdRange`](crate::NdRange). The work-items are then in work-groups, which share local memory and wait for each
    /// other at barriers; the kernel gets its [place in the group](crate::NdItem), too.
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
    /// [`LaunchError`]. After [`LaunchError::Panicked`] some work-items have run and some have not; the queue goes on. Launches with groups
    /// have errors of their own: [`LaunchError::GroupTooLarge`], [`LaunchError::LocalMemory`], [`LaunchError::DivergentBarrier`],
    /// [`LaunchError::DivergentSubGroup`].
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
        unsafe { self.run(raw, shape, 0) }
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
        let shape = lengths.length()?.shape()?;
        let mut placement = Placement::new();
        // SAFETY: the launch starts here; it runs once, over the sources' length.
        let kernel = unsafe { ForEach::new(S::start(sources.prepare(&mut placement)), kernel) };
        let raw = RawKernel::new::<_, 1>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(raw, shape, placement.bytes()) }
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
    /// Over an [`NdRange`](crate::NdRange), in work-groups, there are sources with an element for each group
    /// ([`per_group`](fn@crate::per_group)), and local memory is one, too ([`local`](fn@crate::local)):
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
    /// [`LaunchError`], among others [`LaunchError::Length`] if a source has not as many elements as the range has points, or groups.
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
        let shape = range.shape()?;
        let mut lengths = shape.lengths();
        sources.check(&mut lengths)?;
        self.check_memory::<F>(&lengths)?;
        let mut placement = Placement::new();
        let ready = sources.prepare(&mut placement);
        // SAFETY: the launch starts here; it runs once, over a range of the sources' length, with the memory that they have asked for.
        let kernel = unsafe { ForEachIn::<R, _, _>::new(S::start(ready), kernel) };
        let kernel = At::<R::Origin, _>::new(kernel);
        let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
        // SAFETY: the kernel lives in this frame, and is `Sync`.
        unsafe { self.run(raw, shape, placement.bytes()) }
    }

    /// Waits for its turn and runs the kernel.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit).
    unsafe fn run(
        &self,
        kernel: RawKernel,
        shape: LaunchShape,
        dynamic: usize,
    ) -> Result<(), LaunchError> {
        self.refuse_inside_kernels()?;
        let _turn = self.turn()?;
        // SAFETY: the caller's promises.
        finish(unsafe { self.submit(kernel, shape, dynamic) }?)
    }

    /// Runs the kernel, or has a GPU run it; the caller has the queue's turn.
    ///
    /// # Safety
    /// As for [`execute`](Self::execute). `dynamic` is the memory that the launch adds for each group.
    pub(crate) unsafe fn submit(
        &self,
        kernel: RawKernel,
        shape: LaunchShape,
        dynamic: usize,
    ) -> Result<Option<Pending>, LaunchError> {
        // SAFETY: the caller's promises.
        unsafe {
            match shape.groups {
                Some(groups) => self.execute_groups(kernel, groups, dynamic),
                None => self.execute(kernel, shape.range),
            }
        }
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
    unsafe fn execute(
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
    unsafe fn execute_groups(
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
