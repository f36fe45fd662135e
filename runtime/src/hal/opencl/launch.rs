//! One launch: its groups, its arguments, its submission to the queue, and its completion.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::code::captured;
use crate::code::display_name::KernelName;
use crate::data::device_heap::HeldHeap;
use crate::data::shared_heap;
use crate::error::{DriverError, LaunchError};
use crate::hal::PendingOps;
use crate::hal::messages::{MessageBuffer, RangeShape};
use crate::hal::opencl::api::{RawEvent, RawKernel, RawQueue, number, symbol};
use crate::hal::opencl::context::Context;
use crate::hal::opencl::driver;
use crate::hal::opencl::grid::{Grid, MOST_GROUPS};
use crate::hal::opencl::kernel::{ClKernel, FlattenedKind, FlattenedParameter};
use crate::hal::opencl::properties::USUAL_SLACK;
use crate::launch::desc::{HostAddresses, LaunchDesc};
use crate::util::timeline::{self, Clock, Launched, Track};

/// A launch that is in its queue, or has ended.
#[derive(Debug)]
pub(crate) struct ClPending {
    context: Arc<Context>,
    /// Of the last of its commands.
    event: RawEvent,
    /// Kept until it has ended.
    kernel: Arc<ClKernel>,
    buffer: Option<MessageBuffer>,
    /// What its work-items allocate from.
    heap: Option<HeldHeap>,
    timed: bool,
    /// What the timeline will have of it.
    seen: Option<(Box<Launched>, Arc<Track>)>,
    name: KernelName,
    shape: RangeShape,
}

/// Submits a launch to the queue.
///
/// # Safety
/// The closure is of the type that the kernel is compiled for and allows this range, and what it
/// refers to lives until the launch has ended. The closure itself may be dropped when this returns.
pub(super) unsafe fn launch(
    context: &Arc<Context>,
    (queue, track): (RawQueue, &Arc<Track>),
    kernel: Arc<ClKernel>,
    desc: &LaunchDesc<'_>,
    grid: Grid,
) -> Result<ClPending, LaunchError> {
    let raw = desc.kernel;
    let failed = |error| context.launch_error(raw.name(), error);
    let dimensions = desc.range.dimensions;
    let local = local_memory(context, &kernel, desc)?;
    let grid = grid.at_most(kernel.max_group);
    let in_sub_grids = grid.is_too_large();
    if in_sub_grids && !kernel.base {
        let error = driver::error(-63, symbol::launch);
        return Err(failed(error));
    }
    for parameter in &kernel.flattened {
        // SAFETY: flattened parameters lie in the closure.
        let place = unsafe { raw.closure.cast::<u8>().add(parameter.offset) };
        let uses_hosts = desc.host_addresses != HostAddresses::None;
        // SAFETY: the parameter is of the kernel's type.
        let good = uses_hosts || unsafe { is_known(context, parameter, place) };
        if !good {
            return Err(LaunchError::ForeignBuffer {
                kernel: raw.name(),
                device: context.name().to_owned(),
                memory: "the host".to_owned(),
            });
        }
    }
    let heap = || shared_heap::hold_for_kernels(context.device.sees_host, context.name());
    let has_changes = || kernel.is_undone && desc.changes.iter().any(|range| !range.is_empty());
    let mut heap = (kernel.allocates() || has_changes()).then(heap).transpose()?;
    if let Some(heap) = &mut heap {
        heap.save(desc.changes, context.name(), &copy_saved)?;
    }
    let mut buffer = None;
    if kernel.takes_message_buffer() {
        let shared = |bytes| {
            let address = context.allocate(bytes, 64)?;
            Ok((address, address.expose_provenance() as u64))
        };
        buffer = Some(context.message_buffers.take(shared, kernel.prints()).map_err(failed)?);
    }
    let seen = desc.seen().map(|seen| (seen, Arc::clone(track)));
    let mut event = RawEvent::NULL;
    let submitted = {
        let function = kernel.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let mut arguments = Arguments { context, kernel: *function, index: 0 };
        let mut all = || -> Result<(), DriverError> {
            for parameter in &kernel.flattened {
                // SAFETY: flattened parameters lie in the closure.
                let place = unsafe { raw.closure.cast::<u8>().add(parameter.offset) };
                match parameter.kind {
                    FlattenedKind::Pointer => {
                        // SAFETY: the parameter is an address; a field of a packed struct may lie
                        // anywhere.
                        let address = unsafe { place.cast::<*const c_void>().read_unaligned() };
                        arguments.address(address)?;
                    }
                    _ => arguments.bytes(place.cast(), parameter.size)?,
                }
            }
            if kernel.offset {
                for word in &desc.range.offset {
                    arguments.word(*word)?;
                }
            }
            if kernel.takes_range() {
                for word in &desc.range.xyz[..dimensions as usize] {
                    arguments.word(*word)?;
                }
            }
            context.tell_addresses(*function)?;
            let base = arguments.index;
            if kernel.base {
                (0..3).try_for_each(|_| arguments.word(0))?;
            }
            if let Some(buffer) = &buffer {
                let address = std::ptr::with_exposed_provenance(buffer.device as usize);
                arguments.address(address)?;
            }
            if let Some(heap) = heap.as_ref().filter(|_| kernel.allocates()) {
                let address = std::ptr::with_exposed_provenance(heap.address() as usize);
                arguments.address(address)?;
            }
            if kernel.takes_local_memory() {
                // An argument of no bytes is none.
                arguments.bytes(null(), local.max(kernel.local_slack.saturating_add(1)))?;
            }
            let sizes = arguments.index;
            // In work-items, or in groups where there are some.
            let unit = if kernel.has_groups() { [1; 3] } else { grid.group };
            for_each_sub_grid(grid.groups, |first, groups| {
                if kernel.base {
                    arguments.index = base;
                    (0..3).try_for_each(|axis| arguments.word(first[axis] * unit[axis]))?;
                }
                release(context, std::mem::replace(&mut event, RawEvent::NULL));
                let mut dimensions = dimensions;
                let mut group = grid.group;
                let mut global: [usize; 3] =
                    std::array::from_fn(|axis| groups[axis] * grid.group[axis]);
                if kernel.has_sub_groups() && dimensions > 1 {
                    // In one dimension: then consecutive work-items are in one sub-group.
                    arguments.index = sizes;
                    let all = group.into_iter().chain(groups);
                    all.into_iter().try_for_each(|size| arguments.half_word(size))?;
                    dimensions = 1;
                    group = [group.iter().product(), 1, 1];
                    global = [global.iter().product(), 1, 1];
                }
                // SAFETY: all arguments are set, and no others are set meanwhile; the queue
                // is of the context; the caller vouches for what the kernel does.
                let code = unsafe {
                    let (group, event) = (group.as_ptr(), &raw mut event);
                    let launch = context.api().launch;
                    let global = global.as_ptr();
                    launch(queue, *function, dimensions, null(), global, group, 0, null(), event)
                };
                driver::check(code, symbol::launch)
            })?;
            // SAFETY: the queue is the caller's.
            driver::check(unsafe { (context.api().queue_flush)(queue) }, symbol::queue_flush)
        };
        all()
    };
    if let Err(error) = submitted {
        release(context, event);
        // A part of it may be running, so the buffer is not used again.
        if let Some(buffer) = buffer.filter(|_| !in_sub_grids) {
            context.message_buffers.give(buffer);
        }
        return Err(failed(error));
    }
    tracing::debug!(
        kernel = raw.name(), device = context.name(), version = &*kernel.version,
        range = ?desc.range.slowest_first(), grid = ?grid.groups, group = ?grid.group, local, "launched"
    );
    Ok(ClPending {
        context: Arc::clone(context),
        event,
        kernel,
        buffer,
        heap,
        timed: desc.timed,
        seen,
        name: raw.lazy_name(),
        shape: RangeShape::of(desc),
    })
}

/// Sets a kernel's arguments, one after the other.
struct Arguments<'a> {
    context: &'a Context,
    kernel: RawKernel,
    index: u32,
}

impl Arguments<'_> {
    fn bytes(&mut self, value: *const c_void, size: usize) -> Result<(), DriverError> {
        let set = self.context.api().kernel_argument;
        // SAFETY: the kernel is locked; the value is as long as it says, or null for local memory;
        // the driver copies it.
        let code = unsafe { set(self.kernel, self.index, size, value) };
        self.index += 1;
        driver::check(code, symbol::kernel_argument)
    }

    fn word(&mut self, value: usize) -> Result<(), DriverError> {
        self.bytes((&raw const value).cast(), size_of::<u64>())
    }

    /// A number that is small enough for 32 bits.
    fn half_word(&mut self, value: usize) -> Result<(), DriverError> {
        let value = value as u32;
        self.bytes((&raw const value).cast(), size_of::<u32>())
    }

    fn address(&mut self, address: *const c_void) -> Result<(), DriverError> {
        // SAFETY: the kernel is locked; the driver only notes the address.
        let code =
            unsafe { (self.context.device.shared.argument)(self.kernel, self.index, address) };
        self.index += 1;
        driver::check(code, self.context.device.shared.argument_by())
    }
}

/// Whether kernels can use all addresses of a parameter.
///
/// # Safety
/// `place` is the parameter in a closure of the kernel's type.
unsafe fn is_known(context: &Context, parameter: &FlattenedParameter, place: *const u8) -> bool {
    match &parameter.kind {
        FlattenedKind::Value => true,
        FlattenedKind::Pointer => {
            // SAFETY: the caller's promise; a field of a packed struct may lie anywhere.
            context.knows(unsafe { place.cast::<usize>().read_unaligned() })
        }
        FlattenedKind::Bytes(addresses) => {
            // SAFETY: the caller's promise, and the container says where addresses are.
            let found = unsafe {
                captured::for_each_address(addresses, place, |found| {
                    if found.uncertain || context.knows(found.address) { Ok(()) } else { Err(()) }
                })
            };
            found.is_ok()
        }
    }
}

/// Bytes of local memory for each group, with what a driver needs to put it anywhere.
fn local_memory(
    context: &Context,
    kernel: &ClKernel,
    desc: &LaunchDesc<'_>,
) -> Result<usize, LaunchError> {
    let Some(groups) = &desc.groups else { return Ok(0) };
    let bytes = kernel.local_memory.saturating_add(groups.dynamic);
    let limit = context.device.local_memory;
    if bytes == 0 {
        return Ok(0);
    }
    // What every kernel's memory takes more is not part of the limit.
    let beyond = kernel.local_slack.saturating_sub(USUAL_SLACK);
    if bytes.saturating_add(beyond) <= limit {
        return Ok(bytes + kernel.local_slack);
    }
    let (kernel, device) = (desc.kernel.name(), context.name().to_owned());
    Err(LaunchError::LocalMemory { kernel, bytes, limit, device })
}

/// Calls `launch` with the first group and the groups of each sub-grid.
fn for_each_sub_grid<E>(
    groups: [usize; 3],
    mut launch: impl FnMut([usize; 3], [usize; 3]) -> Result<(), E>,
) -> Result<(), E> {
    let steps = |axis: usize| (0..groups[axis]).step_by(MOST_GROUPS[axis]);
    for z in steps(2) {
        for y in steps(1) {
            for x in steps(0) {
                let first = [x, y, z];
                let part = |axis: usize| MOST_GROUPS[axis].min(groups[axis] - first[axis]);
                launch(first, std::array::from_fn(part))?;
            }
        }
    }
    Ok(())
}

fn release(context: &Context, event: RawEvent) {
    if event != RawEvent::NULL {
        // SAFETY: the event is the driver's, and is not used again.
        unsafe { (context.api().event_release)(event) };
    }
}

impl PendingOps for ClPending {
    fn is_over(&self) -> bool {
        if self.context.forked().is_some() {
            return true;
        }
        self.status().is_none_or(|status| status <= number::EVENT_COMPLETE)
    }

    fn is_known_over(&self) -> bool {
        false
    }

    fn finish(mut self) -> (Result<(), LaunchError>, Option<Duration>) {
        let result = self.wait();
        let took = self.measure();
        (result, took.filter(|_| self.timed))
    }
}

impl ClPending {
    /// How long the launch ran, which is over. The first call adds it to the timeline.
    fn measure(&mut self) -> Option<Duration> {
        if !self.timed && self.seen.is_none() || self.context.forked().is_some() {
            return None;
        }
        let (begin, end) = (self.time(number::EVENT_BEGIN), self.time(number::EVENT_END));
        if let Some((seen, track)) = self.seen.take() {
            let context = &*self.context;
            let queued = self.time(number::EVENT_QUEUED).filter(|queued| *queued != 0);
            let moved = |time| context.host_time(time, (queued?, seen.submitted()));
            let times = begin.and_then(moved).zip(end.and_then(moved));
            let by_host = (seen.submitted(), timeline::now());
            let clock = if times.is_some() { Clock::Device } else { Clock::Host };
            seen.ran((context.name(), &track), times.unwrap_or(by_host), clock);
        }
        let nanoseconds = end.zip(begin).and_then(|(end, begin)| end.checked_sub(begin));
        nanoseconds.map(Duration::from_nanos)
    }

    /// A time of the last command's, in nanoseconds of the device's clock.
    fn time(&self, what: u32) -> Option<u64> {
        let ask = self.context.api().event_time;
        driver::number_of(ask, self.event, what, 8, symbol::event_time).ok()
    }

    /// Where its last command is; `None` if the driver does not say.
    fn status(&self) -> Option<i32> {
        let ask = self.context.api().event_info;
        let status =
            driver::number_of(ask, self.event, number::EVENT_STATUS, 4, symbol::event_info);
        Some((status.ok()? as u32).cast_signed())
    }

    /// Waits for the end of the last command, and so of all before it.
    fn wait_for_event(&self) -> Result<(), DriverError> {
        // SAFETY: the event is the driver's.
        let wait = || unsafe { (self.context.api().wait)(1, &raw const self.event) };
        let code = if self.kernel.needs_stack { driver::on_large_stack(wait) } else { wait() };
        driver::check(code, symbol::wait)
    }

    fn wait(&mut self) -> Result<(), LaunchError> {
        if let Some(reason) = self.context.forked() {
            return Err(LaunchError::Forked { reason });
        }
        let wait = timeline::wait(self.context.name());
        let ended = self.wait_for_event();
        drop(wait);
        ended.map_err(|error| self.context.launch_error(self.name.to_string(), error))?;
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        let messages = buffer.collect(&|to, from| self.context.read(to, from));
        self.context.message_buffers.give(buffer);
        let Some(messages) = messages else { return Ok(()) };
        let shown = messages.shown(&self.name, self.context.name(), &self.shape);
        // SAFETY: the launch is over, and what it has made is not used where it has failed.
        shown.map_err(|error| unsafe {
            HeldHeap::roll_back(self.heap.as_mut(), error, self.context.name(), &copy_saved)
        })
    }
}

/// Copies between the heap of kernels and what a launch changes, while neither is used: devices that have such launches see the
/// host's memory.
fn copy_saved(to: usize, from: usize, bytes: usize) -> Result<(), LaunchError> {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(to);
    // SAFETY: the caller has both for as many bytes.
    unsafe { to.copy_from_nonoverlapping(std::ptr::with_exposed_provenance(from), bytes) };
    Ok(())
}

impl Drop for ClPending {
    fn drop(&mut self) {
        if self.context.forked().is_some() {
            return;
        }
        // The code and the buffer must stay until the launch has ended.
        let over = self.wait_for_event().is_ok();
        if over {
            self.measure();
        }
        if let Some(buffer) = self.buffer.take().filter(|_| over) {
            self.context.message_buffers.give(buffer);
        }
        release(&self.context, self.event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_grids_cover_the_grid() {
        let groups = [3, 65_536, 131_072];
        let mut count = 0_u64;
        let result = for_each_sub_grid(groups, |first, part| {
            for axis in 0..3 {
                assert!(part[axis] >= 1 && part[axis] <= MOST_GROUPS[axis]);
                assert!(first[axis] + part[axis] <= groups[axis]);
            }
            count += part.iter().map(|groups| *groups as u64).product::<u64>();
            Ok::<(), ()>(())
        });
        assert_eq!(result, Ok(()));
        assert_eq!(count, groups.iter().map(|groups| *groups as u64).product::<u64>());
    }
}
