//! One launch: its grid, its parameters, its submission to the stream, and its completion.
//!
//! The driver takes parameters as addresses of their values, so most come straight from the
//! closure. Buffer addresses are translated: a closure contains window addresses.

use std::cell::LazyCell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use schism_jit_abi::GPU_BLOCKS;

use crate::code::assumptions::Assumptions;
use crate::code::captured::{self, CapturedAddress};
use crate::code::display_name::KernelName;
use crate::code::recent::KnownVersions;
use crate::code::requirements::LaunchRequirements;
use crate::data::device_heap::HeldHeap;
use crate::data::shared_heap;
use crate::error::{DriverError, LaunchError};
use crate::hal::address_window::{LARGEST_DANGLING, Windows, is_in_window};
use crate::hal::gpu::api::{DevicePtr, RawStream, symbol};
use crate::hal::gpu::context::Context;
use crate::hal::gpu::kernel::{FlattenedKind, FlattenedParameter, LoadedKernel};
use crate::hal::gpu::memory;
use crate::hal::gpu::repeat::KeptLaunch;
use crate::hal::gpu::stream::{Order, Stream, Timer};
use crate::hal::messages::{MessageBuffer, RangeShape};
use crate::hal::{NumberedLaunch, PendingOps, Submitted};
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::{HostAddresses, LaunchDesc};
use crate::launch::range::Extent;
use crate::util::timeline::{self, Clock, Launched};

/// How a launch's range is divided: the threads of a block, and the blocks of the grid, x first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    block: [usize; 3],
    blocks: [usize; 3],
    /// The range is a multiple of the block in each dimension.
    divisible: bool,
    /// It needs several sub-grids.
    is_too_large: bool,
}

/// Work-items of a block, where the launch does not choose.
const BLOCK: usize = GPU_BLOCKS[0][0] as usize;

/// Most kernels have fewer parameters, which then need no allocation.
const MOST_PARAMETERS: usize = 48;

/// Whether a block can be a group of the launch, for a kernel whose blocks have at most `most`
/// threads.
#[inline]
pub(super) fn group_fits(launch: &LaunchDesc<'_>, context: &Context, most: u32) -> bool {
    let gpu = context.gpu;
    launch.groups.as_ref().is_none_or(|groups| {
        let Extent { items, xyz, .. } = *groups.local;
        items <= gpu.max_block.min(most) as usize
            && (0..3).all(|axis| xyz[axis] <= gpu.max_block_xyz[axis] as usize)
    })
}

/// The threads of a block of a launch without groups, on a device with blocks of so many threads at
/// most, and so many multiprocessors. It may request a number.
#[inline]
fn block(
    range: &Extent,
    block_size: Option<usize>,
    max_block: usize,
    multiprocessors: usize,
) -> [usize; 3] {
    let Extent { dimensions, xyz: [nx, ny, nz], .. } = *range;
    // At most what the device allows; at least 1.
    let asked = block_size.map(|asked| asked.min(max_block));
    if let (1, Some(threads)) = (dimensions, asked) {
        return [threads, 1, 1];
    }
    if dimensions == 1 {
        // A small range is distributed over all multiprocessors: at least one block for each, if
        // possible.
        let others = multiprocessors.saturating_sub(1);
        let mut block = BLOCK;
        while block > 32 && nx <= block * others {
            block /= 2;
        }
        return [block, 1, 1];
    }
    // Rows as wide as a warp, unless the range is narrower. All of these are powers of two.
    let x = nx.min(32).next_power_of_two();
    let threads = asked.map_or(BLOCK, |asked| 1 << asked.ilog2());
    let x = x.min(threads);
    let y = ny.min(if dimensions == 2 { threads / x } else { 4.min(threads / x) });
    let y = y.next_power_of_two();
    let z = nz.min(threads / x / y).min(64).next_power_of_two();
    [x, y, z]
}

/// Quotient and remainder. Almost all blocks are powers of two, for which this takes a tenth of the
/// time of a division.
#[inline]
fn divide(items: usize, block: usize) -> (usize, usize) {
    if block.is_power_of_two() {
        (items >> block.trailing_zeros(), items & (block - 1))
    } else {
        (items / block, items % block)
    }
}

impl Grid {
    /// The grid of a launch.
    #[inline]
    pub(super) fn of(launch: &LaunchDesc<'_>, context: &Context) -> Self {
        let gpu = context.gpu;
        let block = match &launch.groups {
            Some(groups) => groups.local.xyz,
            None => block(
                launch.range,
                launch.block_size,
                gpu.max_block as usize,
                gpu.multiprocessors as usize,
            ),
        };
        let mut grid = Self { block, blocks: [1; 3], divisible: true, is_too_large: false };
        // In the other dimensions there is one item, in one block.
        for (axis, items) in block.into_iter().enumerate().take(launch.range.dimensions as usize) {
            let (blocks, rest) = divide(launch.range.xyz[axis], items);
            let blocks = blocks + usize::from(rest != 0);
            grid.blocks[axis] = blocks;
            grid.divisible &= rest == 0;
            grid.is_too_large |= blocks > gpu.max_grid_xyz[axis] as usize;
        }
        grid
    }

    /// What the code must support, and what it can assume. A `strict` launch has groups that are
    /// too large for code that is compiled for all sizes.
    #[inline]
    pub(super) fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        strict: bool,
    ) -> LaunchRequirements<'a> {
        let Extent { xyz, offset, .. } = *launch.range;
        let small = (0..3).all(|axis| xyz[axis].saturating_add(offset[axis]) <= i32::MAX as usize);
        let mut assumptions = Assumptions { small, ..Assumptions::default() };
        if launch.adaptivity != Adaptivity::Off {
            assumptions.divisible = self.divisible;
            assumptions.block = self.threads();
        }
        if strict {
            assumptions.block = self.threads();
        }
        LaunchRequirements {
            sub_grids: self.is_too_large,
            assumptions,
            groups: launch.groups.is_some(),
            demands_block: strict,
            ..LaunchRequirements::of(launch)
        }
    }

    /// The threads of a block, as the driver takes them: no block has more than fit in this type.
    fn threads(&self) -> [u32; 3] {
        self.block.map(|items| items as u32)
    }
}

/// A launch that is in its stream, or has ended, and that has more to it than its end.
#[derive(Debug)]
pub(crate) struct GpuPending {
    stream: Arc<Stream>,
    number: u64,
    buffer: Option<MessageBuffer>,
    /// What its work-items allocate from.
    heap: Option<HeldHeap>,
    timer: Option<Timer>,
    /// Whether the program asks how long it ran.
    timed: bool,
    /// What the timeline will have of it.
    seen: Option<Box<Launched>>,
    /// The name of the user's closure.
    name: KernelName,
    shape: RangeShape,
}

/// Submits a launch to the stream.
///
/// # Safety
/// The closure is of the type that the kernel is compiled for and allows this range, and what it
/// refers to lives until the launch has ended. The closure itself may be dropped when this returns.
pub(crate) unsafe fn launch(
    (stream, order): (&Arc<Stream>, &mut Order),
    kernel: &Arc<LoadedKernel>,
    desc: &LaunchDesc<'_>,
    grid: &Grid,
    versions: Option<KnownVersions>,
) -> Result<Submitted<GpuPending>, LaunchError> {
    let (raw, range) = (desc.kernel, desc.range);
    let host_addresses = desc.host_addresses != HostAddresses::None;
    let context = &*stream.context;
    let failed = |error| context.launch_error(raw.name(), error);
    let block = grid.threads();
    let shared = shared_memory(context, kernel, desc)?;
    kernel.allow_shared_memory(shared).map_err(failed)?;

    // Everything that parameters point to lives until the driver has copied it, which is before
    // this returns.
    let flattened = kernel.flattened.len();
    let mut words_here = [const { MaybeUninit::<u64>::uninit() }; MOST_PARAMETERS];
    let mut words_there;
    let words = if flattened <= MOST_PARAMETERS {
        &mut words_here[..flattened]
    } else {
        words_there = Box::new_uninit_slice(flattened);
        &mut *words_there
    };
    let mut copies = Vec::new();
    let mut parameters = Parameters::new(flattened + HIDDEN);
    {
        let windows: LazyCell<Windows> = LazyCell::new(Windows::read);
        for (parameter, word) in kernel.flattened.iter().zip(words) {
            // SAFETY: flattened parameters lie in the closure.
            let place = unsafe { raw.closure.cast::<u8>().add(parameter.offset) };
            // SAFETY: as above.
            let value = unsafe {
                if host_addresses {
                    Ok(place.cast())
                } else {
                    value(&windows, context, parameter, place, word, &mut copies)
                }
            };
            let value =
                value.map_err(|address| foreign_buffer(&windows, context, raw.name(), address))?;
            parameters.push(value);
        }
    }
    let mut hidden_base = [0_u64; 3];
    let hidden_base = &raw mut hidden_base;
    if kernel.offset {
        for word in &range.offset {
            parameters.push(std::ptr::from_ref(word).cast());
        }
    }
    if kernel.takes_range() {
        for word in &range.xyz[..range.dimensions as usize] {
            parameters.push(std::ptr::from_ref(word).cast());
        }
    }
    let in_sub_grids = grid.is_too_large;
    if kernel.base {
        for axis in 0..3 {
            parameters.push(hidden_base.cast::<u64>().wrapping_add(axis).cast());
        }
    }
    let sees_all = context.gpu.sees_pageable_memory;
    let heap = || shared_heap::hold_for_kernels(sees_all, context.name());
    let has_changes = || kernel.is_undone && desc.changes.iter().any(|range| !range.is_empty());
    let mut heap = (kernel.allocates() || has_changes()).then(heap).transpose()?;
    if let Some(heap) = &mut heap {
        heap.save(desc.changes, context.name(), &|to, from, bytes| {
            copy_saved(context, (to, from, bytes)).map_err(failed)
        })?;
    }
    let mut buffer = None;
    if kernel.takes_message_buffer() {
        buffer = Some(take_buffer(context, kernel).map_err(failed)?);
    }
    let buffer_address = buffer.as_ref().map_or(0, |buffer| buffer.device);
    if buffer.is_some() {
        parameters.push(std::ptr::from_ref(&buffer_address).cast());
    }
    let heap_address = heap.as_ref().map_or(0, HeldHeap::address);
    if kernel.allocates() {
        parameters.push(std::ptr::from_ref(&heap_address).cast());
    }

    let launch_sub_grid = |stream, blocks: [usize; 3]| {
        let grid = (blocks.map(|blocks| blocks as u32), block, shared);
        // SAFETY: the parameters are those that the kernel was compiled for, and can be read; the caller
        // vouches for what the kernel does.
        unsafe { call(context, kernel, grid, stream, parameters.as_ptr()) }
    };
    let seen = desc.seen();
    let is_timed = desc.timed || seen.is_some();
    let timer = is_timed.then(|| stream.take_timer(order)).transpose().map_err(failed)?;
    let submitted = stream.submit(order, kernel, timer.as_ref(), |stream| {
        if !in_sub_grids {
            return launch_sub_grid(stream, grid.blocks);
        }
        // In work-items, or in groups where there are some.
        let unit = if kernel.has_groups() { [1; 3] } else { grid.block };
        let most = context.gpu.max_grid_xyz.map(|most| most as usize);
        for_each_sub_grid(grid.blocks, most, |first, blocks| {
            // SAFETY: it lives, and the driver has copied its value for the sub-grid before.
            unsafe {
                hidden_base.write(std::array::from_fn(|axis| (first[axis] * unit[axis]) as u64));
            }
            launch_sub_grid(stream, blocks)
        })
    });
    drop(copies);
    let pending = (submitted, buffer, heap, timer, seen);
    let submitted =
        end(stream, kernel, desc, pending, (grid.blocks, block, shared), [in_sub_grids, false])?;
    if let Some(versions) = versions.filter(|_| !in_sub_grids) {
        let blocks = grid.blocks.map(|blocks| blocks as u32);
        order.repeats.keep(versions.number, || {
            let windows: LazyCell<Windows> = LazyCell::new(Windows::read);
            let translate = |address| translate(&windows, context, address).ok();
            // SAFETY: the caller's promises.
            unsafe {
                let grid = (blocks, block, shared);
                KeptLaunch::new(kernel, desc, grid, versions.attention, translate)
            }
        });
    }
    Ok(submitted)
}

/// Submits a launch that is the same as one before it with code of the same versions; `None` if there is
/// none, and nothing is submitted.
///
/// # Safety
/// As for [`launch`].
#[inline]
pub(super) unsafe fn launch_again(
    (stream, order): (&Arc<Stream>, &mut Order),
    desc: &LaunchDesc<'_>,
    versions: KnownVersions,
) -> Option<Result<Submitted<GpuPending>, LaunchError>> {
    let mut place = order.repeats.take(versions.number)?;
    // SAFETY: the caller's promise.
    let kept = unsafe { place.same(desc, versions) };
    // SAFETY: it is the same launch, so its parameters are those that the kernel was compiled for.
    let submitted = kept.map(|kept| unsafe { launch_kept(stream, order, kept, desc) });
    order.repeats.give(place);
    submitted
}

/// # Safety
/// As for [`launch`]; the launch is the same as the kept one.
unsafe fn launch_kept(
    stream: &Arc<Stream>,
    order: &mut Order,
    kept: &KeptLaunch,
    desc: &LaunchDesc<'_>,
) -> Result<Submitted<GpuPending>, LaunchError> {
    let (context, kernel) = (&*stream.context, &kept.kernel);
    kept.changed.iter().for_each(|address| memory::becomes_stale(*address));
    let buffer = kernel.takes_message_buffer().then(|| take_buffer(context, kernel)).transpose();
    let buffer = buffer.map_err(|error| context.launch_error(desc.kernel.name(), error))?;
    let parameters = kept.parameters(buffer.as_ref().map_or(0, |buffer| buffer.device));
    let grid = (kept.blocks, kept.block, kept.shared);
    let submitted = stream.submit(order, kernel, None, |stream| {
        // SAFETY: the parameters were made for this kernel, and live as long as what is kept; the caller
        // vouches for what the kernel does.
        unsafe { call(context, kernel, grid, stream, parameters) }
    });
    let blocks = kept.blocks.map(|blocks| blocks as usize);
    let pending = (submitted, buffer, None, None, None);
    end(stream, kernel, desc, pending, (blocks, kept.block, kept.shared), [false, true])
}

/// An empty message buffer for a launch of a kernel.
fn take_buffer(context: &Context, kernel: &LoadedKernel) -> Result<MessageBuffer, DriverError> {
    context.message_buffers.take(|bytes| context.pinned(bytes), kernel.prints())
}

/// Has the driver launch blocks of a kernel, of so many threads and bytes of shared memory.
///
/// # Safety
/// The parameters are those that the kernel was compiled for, and can be read; the stream is of the
/// context, and the kernel may run.
#[inline]
unsafe fn call(
    context: &Context,
    kernel: &LoadedKernel,
    (blocks, block, shared): ([u32; 3], [u32; 3], u32),
    stream: RawStream,
    parameters: *mut *mut c_void,
) -> Result<(), DriverError> {
    // SAFETY: the caller's promises; the function is of the context. The driver does nothing where it
    // refuses.
    let launch = || unsafe {
        (context.api().launch)(
            kernel.function,
            blocks[0],
            blocks[1],
            blocks[2],
            block[0],
            block[1],
            block[2],
            shared,
            stream,
            parameters,
            std::ptr::null_mut(),
        )
    };
    context.call(symbol::launch, launch)
}

/// What is to end of a launch, if it was submitted.
type Pending = (
    Result<u64, DriverError>,
    Option<MessageBuffer>,
    Option<HeldHeap>,
    Option<Timer>,
    Option<Box<Launched>>,
);

/// Ends the submission of a launch in blocks, of so many threads and bytes of shared memory: in sub-grids,
/// or as one before it.
#[inline]
fn end(
    stream: &Arc<Stream>,
    kernel: &LoadedKernel,
    desc: &LaunchDesc<'_>,
    (submitted, buffer, heap, timer, seen): Pending,
    (blocks, block, shared): ([usize; 3], [u32; 3], u32),
    [in_sub_grids, again]: [bool; 2],
) -> Result<Submitted<GpuPending>, LaunchError> {
    let (raw, range, context) = (desc.kernel, desc.range, &*stream.context);
    let number = match submitted {
        Ok(number) => number,
        Err(error) => {
            // A part of it may be running, so the buffer is not used again; it is freed with the
            // context.
            if let Some(buffer) = buffer.filter(|_| !in_sub_grids) {
                context.message_buffers.give(buffer);
            }
            return Err(context.launch_error(raw.name(), error));
        }
    };
    tracing::debug!(
        kernel = raw.name(), device = context.name(), version = &*kernel.version,
        range = ?range.slowest_first(), grid = ?blocks, ?block, shared, again, "launched"
    );
    if buffer.is_none() && heap.is_none() && timer.is_none() {
        return Ok(Submitted::Numbered(NumberedLaunch { number, kernel: raw.lazy_name() }));
    }
    Ok(Submitted::Pending(GpuPending {
        stream: Arc::clone(stream),
        number,
        buffer,
        heap,
        timer,
        timed: desc.timed,
        seen,
        name: raw.lazy_name(),
        shape: RangeShape::of(desc),
    }))
}

/// The maximum number of hidden parameters: offset, range, base, message buffer, heap.
const HIDDEN: usize = 11;

/// Addresses of parameters' values.
struct Parameters {
    /// The first `len` have values.
    here: [MaybeUninit<*mut c_void>; MOST_PARAMETERS + HIDDEN],
    len: usize,
    /// Used instead, if there are many.
    there: Vec<*mut c_void>,
}

impl Parameters {
    fn new(most: usize) -> Self {
        let there =
            if most <= MOST_PARAMETERS + HIDDEN { Vec::new() } else { Vec::with_capacity(most) };
        Self { here: [const { MaybeUninit::uninit() }; _], len: 0, there }
    }

    fn push(&mut self, value: *const c_void) {
        if self.there.capacity() == 0 {
            self.here[self.len].write(value.cast_mut());
            self.len += 1;
        } else {
            self.there.push(value.cast_mut());
        }
    }

    fn as_ptr(&self) -> *mut *mut c_void {
        let there = self.there.capacity() != 0;
        let values = if there { self.there.as_ptr() } else { self.here.as_ptr().cast() };
        // The driver only reads.
        values.cast_mut()
    }
}

/// The address of a flattened parameter's value for the driver: in the closure, or in `word` or
/// `copies`.
///
/// # Errors
/// An address that is invalid on the device.
///
/// # Safety
/// `place` is the flattened parameter in a closure of the kernel's type.
unsafe fn value(
    windows: &LazyCell<Windows>,
    context: &Context,
    parameter: &FlattenedParameter,
    place: *const u8,
    word: &mut MaybeUninit<u64>,
    copies: &mut Vec<Box<[u64]>>,
) -> Result<*const c_void, usize> {
    match parameter.kind {
        FlattenedKind::Value => Ok(place.cast()),
        FlattenedKind::Pointer { readonly } => {
            // SAFETY: the caller's promise; a field of a packed struct may lie anywhere.
            let address = unsafe { place.cast::<usize>().read_unaligned() };
            let word = word.write(translate(windows, context, address)?);
            if !readonly {
                memory::becomes_stale(address);
            }
            Ok(std::ptr::from_ref(word).cast())
        }
        FlattenedKind::Bytes { size, ref addresses } => {
            // Words may be partly uninitialised, so they are only copied as such.
            let mut copy = vec![0_u64; size.div_ceil(8)].into_boxed_slice();
            let to = copy.as_mut_ptr().cast::<u8>();
            // SAFETY: there is as much room.
            unsafe { copy_bytes(place, to, size) };
            // SAFETY: the flattened parameter is of the kernel's type, and the container says where
            // addresses and tags are in it.
            let found = unsafe {
                captured::for_each_address(addresses, place, |found| {
                    let Some(device) = translated(windows, context, found)? else {
                        return Ok::<(), usize>(());
                    };
                    if !found.read_only {
                        memory::becomes_stale(found.address);
                    }
                    // SAFETY: the copy is as large as the flattened parameter, which contains the
                    // address.
                    to.add(found.offset).cast::<u64>().write_unaligned(device);
                    Ok(())
                })
            };
            found?;
            copies.push(copy);
            Ok(copies.last().map_or(place.cast(), |copy| copy.as_ptr().cast()))
        }
    }
}

/// Copies bytes that may be partly uninitialised.
///
/// # Safety
/// `size` bytes can be read and written, and the two ranges do not overlap.
unsafe fn copy_bytes(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller's promises. Bytes without a value stay so, and only the driver looks at
    // them.
    unsafe { std::ptr::copy_nonoverlapping(from, to, size) };
}

/// Translates an address of a closure to the device's.
fn translate(windows: &LazyCell<Windows>, context: &Context, address: usize) -> Result<u64, usize> {
    if is_in_window(address)
        && let Some(window) = windows.find(address)
        && window.context == context.id
    {
        return Ok(window.translate(address));
    }
    if address < LARGEST_DANGLING { Ok(address as u64) } else { Err(address) }
}

/// Translates an address among a flattened parameter's bytes; `None` if it stays as it is.
fn translated(
    windows: &LazyCell<Windows>,
    context: &Context,
    found: CapturedAddress,
) -> Result<Option<u64>, usize> {
    // A word of a union is translated if it is an address of a buffer.
    if found.uncertain && (!is_in_window(found.address) || windows.find(found.address).is_none()) {
        return Ok(None);
    }
    translate(windows, context, found.address).map(Some)
}

#[cold]
fn foreign_buffer(
    windows: &LazyCell<Windows>,
    context: &Context,
    kernel: String,
    address: usize,
) -> LaunchError {
    let elsewhere = is_in_window(address) && windows.find(address).is_some();
    let memory = if elsewhere { "another device, or one that was lost" } else { "the host" };
    LaunchError::ForeignBuffer {
        kernel,
        device: context.gpu.name.clone(),
        memory: memory.to_owned(),
    }
}

/// Bytes of shared memory for each block.
fn shared_memory(
    context: &Context,
    kernel: &LoadedKernel,
    launch: &LaunchDesc<'_>,
) -> Result<u32, LaunchError> {
    let Some(groups) = &launch.groups else { return Ok(0) };
    let bytes = kernel.local_memory.saturating_add(groups.dynamic);
    u32::try_from(bytes).ok().filter(|bytes| *bytes <= context.gpu.shared_memory).ok_or_else(|| {
        LaunchError::LocalMemory {
            kernel: launch.kernel.name(),
            bytes,
            limit: context.gpu.shared_memory as usize,
            device: context.gpu.name.clone(),
        }
    })
}

/// Calls `launch` with the first block and the blocks of each sub-grid, none larger than `most`.
fn for_each_sub_grid<E>(
    grid: [usize; 3],
    most: [usize; 3],
    mut launch: impl FnMut([usize; 3], [usize; 3]) -> Result<(), E>,
) -> Result<(), E> {
    for z in (0..grid[2]).step_by(most[2]) {
        for y in (0..grid[1]).step_by(most[1]) {
            for x in (0..grid[0]).step_by(most[0]) {
                let first = [x, y, z];
                launch(
                    first,
                    std::array::from_fn(|axis| most[axis].min(grid[axis] - first[axis])),
                )?;
            }
        }
    }
    Ok(())
}

impl PendingOps for GpuPending {
    fn is_over(&self) -> bool {
        self.stream.is_over(self.number)
    }

    fn is_known_over(&self) -> bool {
        self.stream.is_known_over(self.number)
    }

    fn finish(mut self) -> (Result<(), LaunchError>, Option<Duration>) {
        let result = self.wait();
        let took = self.measure();
        (result, took.filter(|_| self.timed))
    }
}

impl GpuPending {
    /// How long the launch ran, which is over. The first call adds it to the timeline.
    fn measure(&mut self) -> Option<Duration> {
        // Most launches have none.
        let timer = self.timer.take()?;
        let context = &*self.stream.context;
        if context.lost().is_some() || context.forked().is_some() {
            return None;
        }
        let (duration, times) = self.stream.give_timer(timer);
        if let Some(seen) = self.seen.take() {
            let by_host = (seen.submitted(), timeline::now());
            let clock = if times.is_some() { Clock::Device } else { Clock::Host };
            let on = (&*context.gpu.name, &self.stream.track);
            seen.ran(on, times.unwrap_or(by_host), clock);
        }
        duration
    }

    fn wait(&mut self) -> Result<(), LaunchError> {
        let context = &*self.stream.context;
        if let Some(reason) = context.forked() {
            // The buffer is memory that this process does not have.
            return Err(LaunchError::Forked { reason });
        }
        if let Err(error) = self.stream.wait(self.number) {
            return Err(context.launch_error(self.name.to_string(), error));
        }
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        let messages = buffer.collect(&|to, from| context.read_bytes(to, from));
        context.message_buffers.give(buffer);
        let Some(messages) = messages else { return Ok(()) };
        let shown = messages.shown(&self.name, &context.gpu.name, &self.shape);
        let name = &self.name;
        let copy = |to, from, bytes| {
            copy_saved(context, (to, from, bytes))
                .map_err(|error| context.launch_error(name.to_string(), error))
        };
        // SAFETY: the launch is over, and what it has made is not used where it has failed.
        shown.map_err(|error| unsafe {
            HeldHeap::roll_back(self.heap.as_mut(), error, context.name(), &copy)
        })
    }
}

/// Copies between the heap of kernels and what a launch changes, while neither is used: within the device's memory, if the driver
/// has both there.
fn copy_saved(
    context: &Context,
    (to, from, bytes): (usize, usize, usize),
) -> Result<(), DriverError> {
    if [to, from].into_iter().all(shared_heap::is_in_arena) {
        // SAFETY: the caller has both for as many bytes, and no launch uses them.
        return unsafe { context.copy(to as DevicePtr, from as DevicePtr, bytes) };
    }
    let to = std::ptr::with_exposed_provenance_mut::<u8>(to);
    // SAFETY: as above, and the host has both, too.
    unsafe { to.copy_from_nonoverlapping(std::ptr::with_exposed_provenance(from), bytes) };
    Ok(())
}

impl Drop for GpuPending {
    fn drop(&mut self) {
        if self.stream.context.forked().is_some() {
            return;
        }
        // This waits only if the result was never requested.
        let over = self.stream.wait(self.number).is_ok();
        if over {
            self.measure();
        }
        if let Some(buffer) = self.buffer.take().filter(|_| over) {
            self.stream.context.message_buffers.give(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_grids_cover_the_grid() {
        let mut seen = [0_u8; 7 * 5 * 3];
        let result = for_each_sub_grid([7, 5, 3], [3, 2, 3], |first, blocks| {
            for z in first[2]..first[2] + blocks[2] {
                for y in first[1]..first[1] + blocks[1] {
                    for x in first[0]..first[0] + blocks[0] {
                        seen[(z * 5 + y) * 7 + x] += 1;
                    }
                }
            }
            assert!((0..3).all(|axis| blocks[axis] <= [3, 2, 3][axis]));
            Ok::<(), ()>(())
        });
        assert_eq!(result, Ok(()));
        assert!(seen.iter().all(|times| *times == 1));
    }
}
