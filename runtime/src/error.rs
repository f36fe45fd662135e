//! Errors: what failed, and what to do about it.
//!
//! Each message is complete: it names what failed and for whom, and says what to do. It includes
//! its cause, so causes are not a `source` of the error, whose text would be printed twice; the
//! exception is the error of a device's driver, which programs may want to inspect.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;

use crate::launch::payload::Payload;

mod driver;
mod image;
mod race;

pub use driver::DriverError;
pub use image::ImageError;
pub use race::{Race, RacingAccess};

/// Any error of this crate.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A device does not exist or cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An operation on device memory failed.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A launch failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// A requested device is unavailable.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No device of this machine has the name.
    #[error(
        "no device `{requested}`; SCHISM_DEVICE and `Device::by_name` take one of this machine's: {available}"
    )]
    Unknown {
        /// The requested name.
        requested: String,
        /// The existing names, separated by commas.
        available: String,
    },
    /// The requested device needs stage 2, which compiles for it, and that cannot be loaded.
    #[error(
        "the device `{device}` was asked for, but its compiler cannot be loaded: {reason}; run `cargo schism setup`, point SCHISM_JIT at \
         libschism_jit.so, build with `cargo schism build --targets host,ptx:sm_80`, or use SCHISM_DEVICE=native"
    )]
    Stage2 {
        /// The requested device.
        device: String,
        /// What was tried, with its results.
        reason: String,
    },
    /// The requested device needs stage 2, and that belongs to another version of schism than the
    /// program.
    #[error(
        "the device `{device}` was asked for, but its compiler {} speaks version {} of the interface, and this program speaks version \
         {expected}: they belong to different versions of schism; run `cargo schism setup` and build the program again, both with one \
         version, point SCHISM_JIT at the libschism_jit.so of the program's version, or use SCHISM_DEVICE=native",
        .path.display(), .found.map_or("?".to_owned(), |found| found.to_string())
    )]
    Stage2Version {
        /// The requested device.
        device: String,
        /// The library that was found.
        path: PathBuf,
        /// The interface version of the library, if it can be determined.
        found: Option<u32>,
        /// The interface version of the program.
        expected: u32,
    },
    /// A GPU was requested, and none can be used.
    #[error(
        "the device `{device}` was asked for, but {reason}; use SCHISM_DEVICE=cpu, or point {} at the driver",
        driver_variable(.device)
    )]
    NoGpu {
        /// The requested device.
        device: String,
        /// What was tried, with its results.
        reason: String,
    },
    /// A device of OpenCL was requested, and it cannot be used.
    #[error(
        "the device `{device}` was asked for, but {reason}; use SCHISM_DEVICE=cpu, or point SCHISM_OPENCL at the loader libOpenCL.so.1"
    )]
    NoOpenCl {
        /// The requested device.
        device: String,
        /// What was tried, with its results.
        reason: String,
    },
    /// The device's driver failed.
    #[error("the device `{device}` cannot be used: {source}")]
    Driver {
        /// The device.
        device: String,
        /// The driver's error.
        source: Box<DriverError>,
    },
    /// The process was forked from one that used the device.
    #[error(
        "the device `{device}` cannot be used, because this process was forked, and {reason}; use it in the parent only, fork before the \
         device is first asked for, or start another program with `std::process::Command`"
    )]
    Forked {
        /// The device.
        device: String,
        /// Why it is unavailable here.
        reason: String,
    },
    /// The worker threads could not be started.
    #[error(
        "the worker threads of the host devices cannot be started: {reason}; SCHISM_CPU_THREADS sets their number"
    )]
    Threads {
        /// The system's error.
        reason: String,
    },
    /// `SCHISM_CPU_STACK` is not a valid stack size.
    #[error(
        "SCHISM_CPU_STACK is `{value}`: the stack of a work-item on the host devices has {least} to {most} bytes, written as a number, or as \
         one with K or M behind it"
    )]
    CpuStack {
        /// The variable's value.
        value: String,
        /// The minimum in bytes.
        least: usize,
        /// The maximum in bytes.
        most: usize,
    },
    /// `SCHISM_CPU_LANES` is not a number of lanes.
    #[error("SCHISM_CPU_LANES is `{value}`: it can be `auto`, `off`, `4`, `8`, `16` or `32`")]
    CpuLanes {
        /// The variable's value.
        value: String,
    },
    /// `SCHISM_CPU_MATH` does not name a mathematics library.
    #[error(
        "SCHISM_CPU_MATH is `{value}`: the device `cpu` can take its mathematics from the `host` or from schism's own, `portable`, library"
    )]
    CpuMath {
        /// The variable's value.
        value: String,
    },
}

/// A buffer cannot be created, or a copy does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// More bytes than an address space has.
    #[error(
        "a buffer of {len} elements of {element_size} bytes is larger than any memory; work in smaller pieces"
    )]
    TooLarge {
        /// The requested number of elements.
        len: usize,
        /// Bytes of one element.
        element_size: usize,
    },
    /// The device has not enough free memory.
    #[error(
        "device `{device}` has no room for a buffer of {bytes} bytes{}; free buffers or work in smaller pieces",
        Available(*.available)
    )]
    OutOfMemory {
        /// The requested bytes.
        bytes: usize,
        /// The device.
        device: String,
        /// Free bytes, perhaps not contiguous, where the device reports them.
        available: Option<usize>,
    },
    /// The host has no address space left for an address window that represents the device's
    /// memory.
    #[error("the host has no {bytes} bytes of address space for a buffer on a device: {reason}")]
    AddressSpace {
        /// The requested bytes.
        bytes: usize,
        /// The system's error.
        reason: String,
    },
    /// The device's driver failed.
    #[error("a buffer on device `{device}`: {source}")]
    Driver {
        /// The device.
        device: String,
        /// The driver's error.
        source: Box<DriverError>,
    },
    /// The device cannot be used.
    #[error("no buffer can be made on device `{device}`: {reason}")]
    Unavailable {
        /// The device.
        device: String,
        /// The text of the [`DeviceError`].
        reason: String,
    },
    /// The process was forked from the one that owns the buffer.
    #[error(
        "a buffer on device `{device}` cannot be used, because this process was forked, and {reason}; use it in the parent only"
    )]
    Forked {
        /// The device.
        device: String,
        /// Why it cannot be used here.
        reason: String,
    },
    /// The device was lost, and the contents of its memory with it.
    #[error(
        "a buffer on device `{device}`, which was lost: {source}; make a new queue and new buffers"
    )]
    DeviceLost {
        /// The device.
        device: String,
        /// What the device was lost by.
        source: Box<DriverError>,
    },
    /// The host's slice and the buffer differ in length.
    #[error(
        "a buffer of {buffer} elements cannot be copied from or to a slice of {host}; copy part of it, or make the lengths equal"
    )]
    Length {
        /// Elements of the buffer.
        buffer: usize,
        /// Elements of the host's slice.
        host: usize,
    },
    /// A list is not a permutation.
    #[error(
        "the list is no permutation: index {index} {reason}; each index below the length has to be there once"
    )]
    Permutation {
        /// The offending index of the list.
        index: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A rectangle is not inside the matrix.
    #[error(
        "rows {rows:?} and columns {columns:?} are not part of a matrix of {len} elements in rows of {width}"
    )]
    Rectangle {
        /// The requested rows.
        rows: std::ops::Range<usize>,
        /// The requested columns.
        columns: std::ops::Range<usize>,
        /// Elements of a row of the matrix.
        width: usize,
        /// Elements of the matrix.
        len: usize,
    },
    /// A part of a slice is kept on the device by [`Queue::resident`](crate::Queue::resident), the
    /// rest is not.
    #[error(
        "the bytes at {slice:#x?} are in part on device `{device}`, where a region keeps those at {present:#x?}; keep all of the slice, or use the parts one by one"
    )]
    PartlyPresent {
        /// The addresses of the slice.
        slice: std::ops::Range<usize>,
        /// The addresses of what is kept.
        present: std::ops::Range<usize>,
        /// The device.
        device: String,
    },
    /// A directive needs a slice on the device that no region keeps there.
    #[error(
        "the bytes at {slice:#x?} are not on device `{device}`{}; put the directive into a region that has the array, or say `if_present`",
        Nearest(.nearest.as_ref())
    )]
    NotPresent {
        /// The addresses of the slice.
        slice: std::ops::Range<usize>,
        /// The addresses that are nearest to it of those that a device has a copy of.
        nearest: Option<std::ops::Range<usize>>,
        /// The device.
        device: String,
    },
    /// A range is not inside the buffer.
    #[error(
        "elements {begin}{}{end} are not part of {len} elements; a range ends at {len} at most, and does not end before it begins",
        if *.inclusive { "..=" } else { ".." }
    )]
    Range {
        /// The first requested element.
        begin: usize,
        /// One past the last requested element, or that element.
        end: usize,
        /// Whether `end` is the last requested element: of `..=usize::MAX`, which has no element
        /// past it.
        inclusive: bool,
        /// Elements of the buffer or view.
        len: usize,
    },
}

/// A launch did not happen, or failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The product of the range overflows.
    #[error("the range {range:?} has more than {} work-items; launch it in parts", isize::MAX)]
    RangeOverflow {
        /// The range, slowest dimension first.
        range: Vec<usize>,
    },
    /// A work-group has no work-items.
    #[error("a work-group of {local:?} has no work-items; use at least 1 in each dimension")]
    EmptyGroup {
        /// The group's range, slowest dimension first.
        local: Vec<usize>,
    },
    /// The work-groups do not fill the range.
    #[error(
        "the range {global:?} is no multiple of the work-group {local:?}; round the range up to {rounded:?}: the surplus work-items must \
         access no elements, and must not return early, but come to the same barriers and operations of groups and sub-groups as the others; \
         or use groups of {dividing:?}, which fill it"
    )]
    UnevenGroups {
        /// The range, slowest dimension first.
        global: Vec<usize>,
        /// The group's range, slowest dimension first.
        local: Vec<usize>,
        /// The next larger range that such groups divide.
        rounded: Vec<usize>,
        /// The largest groups of at most `local`, and of at most 1024 in a dimension, that divide the range: of whole sub-groups
        /// if there are any.
        dividing: Vec<usize>,
    },
    /// The device does not support work-groups of that size.
    #[error(
        "a work-group of {local:?} has {items} work-items, and device `{device}` allows {limit}; use smaller groups"
    )]
    GroupTooLarge {
        /// The group's range, slowest dimension first.
        local: Vec<usize>,
        /// Its work-items.
        items: usize,
        /// The device's limit.
        limit: usize,
        /// The device.
        device: String,
    },
    /// The local arrays of a kernel and its launch are larger than the device's local memory.
    #[error(
        "the local arrays of kernel `{kernel}` take {bytes} bytes, and device `{device}` has {limit} for a work-group; use smaller \
         arrays or groups"
    )]
    LocalMemory {
        /// The kernel.
        kernel: String,
        /// Bytes needed; those that are known.
        bytes: usize,
        /// Bytes available.
        limit: usize,
        /// The device.
        device: String,
    },
    /// Some work-items of a group ended while others waited at a barrier. Other groups may or may
    /// not have run.
    #[error(
        "kernel `{kernel}` has a barrier that not all work-items of a group come to: on device `{device}`, in group {group:?}, \
         {waiting} waited when {ended} had ended; put the barrier where all or none of a group come by"
    )]
    DivergentBarrier {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The group, slowest dimension first.
        group: Vec<usize>,
        /// Work-items at a barrier.
        waiting: usize,
        /// Work-items that had ended; none if they waited at different barriers.
        ended: usize,
    },
    /// Some work-items of a sub-group reached one of its operations (a shuffle, a vote) and others
    /// did not. Other groups may or may not have run.
    #[error(
        "kernel `{kernel}` has an operation of a sub-group that not all of its work-items come to: on device `{device}`, in sub-group \
         {sub_group} of group {group:?}, {waiting} waited when {elsewhere} had ended or waited for something else; put the operation \
         where all or none of a sub-group come by"
    )]
    DivergentSubGroup {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The group, slowest dimension first.
        group: Vec<usize>,
        /// The sub-group in the group.
        sub_group: usize,
        /// Work-items at the operation.
        waiting: usize,
        /// Work-items that had ended, or waited at another operation or at a barrier.
        elsewhere: usize,
    },
    /// The kernel needs more stack than is available: for one work-item, or for those of a group
    /// that wait for each other.
    #[error(
        "kernel `{kernel}` needs {bytes} bytes of stack for {}, and device `{device}` has {limit}; put large arrays into buffers or local \
         memory{}", Items(*.items), if *.items > 1 { ", or use smaller groups" } else { "" }
    )]
    Stack {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// Bytes that the work-items need.
        bytes: usize,
        /// How many work-items: one, or those of a group.
        items: usize,
        /// The limit for that many work-items.
        limit: usize,
    },
    /// The system has no memory for a stack of the kernel's work-items.
    #[error(
        "kernel `{kernel}` has no stack of {bytes} bytes on device `{device}`: {reason}; put large arrays into buffers, use smaller groups \
         or fewer threads (SCHISM_CPU_THREADS), or allow the process more memory"
    )]
    NoStack {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// Bytes of the stack.
        bytes: usize,
        /// The system's error.
        reason: String,
    },
    /// The system cannot start a thread for a work-item that waits for others of its group. Only
    /// the device `native` needs them.
    #[error(
        "kernel `{kernel}` has no thread for a work-item that waits at a barrier, on device `{device}`: {reason}; use smaller groups, allow \
         the process more threads, or launch it on the device `cpu`"
    )]
    NoThread {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The system's error.
        reason: String,
    },
    /// None of the sources determines the number of work-items.
    #[error(
        "no source of the launch has a length; add one that has, or use `for_each_in` with a range"
    )]
    NoLength,
    /// A source has chunks of 0 elements.
    #[error("source {source_index} of the launch is cut into chunks of 0 elements; use at least 1")]
    EmptyChunks {
        /// Which source, from 0.
        source_index: usize,
    },
    /// A source of tiles whose matrix is not a whole number of rows.
    #[error(
        "source {source_index} of the launch is a matrix of {elements} elements, which are no rows of {width}; give the width of a row in \
         elements"
    )]
    Rows {
        /// Which source, from 0.
        source_index: usize,
        /// Elements of the matrix.
        elements: usize,
        /// Elements of a row.
        width: usize,
    },
    /// A source cannot provide its elements in the requested way.
    #[error("source {source_index} of the launch cannot be used: {reason}")]
    Source {
        /// Which source, from 0.
        source_index: usize,
        /// Why.
        reason: String,
    },
    /// Sources of one launch differ in length.
    #[error(
        "source {source_index} of the launch has {found} elements where {expected} are needed; slice it, or make the lengths equal"
    )]
    Length {
        /// Which source, from 0.
        source_index: usize,
        /// The length of the sources before it, the size of the range, or how many groups or sub-groups it has.
        expected: usize,
        /// Its own length.
        found: usize,
    },
    /// A kernel launches a kernel or waits for one.
    #[error(
        "a kernel can neither launch kernels nor wait for them; do that on the host, after the launch"
    )]
    InsideKernel,
    /// The process was forked from the one that submitted the launch, or lacks what the launch
    /// needs.
    #[error(
        "nothing is launched, because this process was forked, and {reason}; launch in the parent, fork when no other thread uses schism, \
         or start another program with `std::process::Command`"
    )]
    Forked {
        /// What is missing.
        reason: String,
    },
    /// The device was requested by name, but the program has no device code.
    #[error(
        "kernel `{kernel}` has no code for device `{device}`: the program was compiled by plain rustc; build it with `cargo \
         schism build`, or use SCHISM_DEVICE=native"
    )]
    NoDeviceCode {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
    },
    /// The device was requested by name, but the kernel's device code cannot be used.
    #[error("kernel `{kernel}` cannot run on device `{device}`: {cause}")]
    Image {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// What is wrong with the code.
        cause: Box<ImageError>,
    },
    /// The kernel captures a view of a buffer that is not in the device's memory.
    #[error(
        "kernel `{kernel}` is launched on device `{device}` with a buffer in the memory of {memory}; make the buffer with a queue \
         on `{device}`"
    )]
    ForeignBuffer {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The device that owns the buffer's memory.
        memory: String,
    },
    /// A kernel that uses the program's own memory was launched on a device that cannot access all
    /// of it. Nothing has run.
    #[error("the device `{device}` cannot use all of this program's memory: {reason}")]
    HostMemory {
        /// The device.
        device: String,
        /// Which memory, and why.
        reason: String,
    },
    /// The device's driver failed.
    #[error("kernel `{kernel}` on device `{device}`: {source}")]
    Driver {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The driver's error.
        source: Box<DriverError>,
    },
    /// The device was lost: by this launch, by an earlier one, or by another process. The contents
    /// of its memory are lost too.
    #[error(
        "kernel `{kernel}`: the device `{device}` was lost: {source}; make a new queue and new buffers, or start the program \
         again if the driver refuses that. If an address was illegal, look at `unsafe` code of kernels first, then at how deep they \
         call themselves"
    )]
    DeviceLost {
        /// The kernel whose launch detected the loss.
        kernel: String,
        /// The device.
        device: String,
        /// What the device was lost by.
        source: Box<DriverError>,
    },
    /// An algorithm has no memory for its intermediate results, or cannot copy its data to the
    /// device or back.
    #[error(transparent)]
    Memory(#[from] BufferError),
    /// Two iterations of a directive's loop access the same element, and one changes it; the program
    /// says by `unsafe(independent)` that none do. `SCHISM_CHECK_RACES` checks that.
    #[error(transparent)]
    Race(Box<Race>),
    /// The kernel panicked. Everything that the work-item stored before is in memory; other
    /// work-items may or may not have run. See [Panics](crate#panics).
    #[error(transparent)]
    Panicked(Box<KernelPanic>),
}

impl LaunchError {
    /// Whether work-items have run.
    pub(crate) const fn has_run(&self) -> bool {
        matches!(
            self,
            Self::Panicked(_) | Self::DivergentBarrier { .. } | Self::DivergentSubGroup { .. }
        )
    }
}

/// The environment variable that names the driver of a device.
fn driver_variable(device: &str) -> String {
    let kind = device.split(':').next().unwrap_or_default();
    format!("SCHISM_{}", kind.to_ascii_uppercase())
}

/// A panic in a kernel: the first one of a launch that the device recorded.
///
/// Memory contains everything that this work-item stored before; see [Panics](crate#panics).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct KernelPanic {
    /// The kernel.
    pub kernel: String,
    /// The device that it ran on.
    pub device: String,
    /// The panic's message, as the standard library prints it. Values of types with a handwritten
    /// `Display` or `Debug` are shown as the type's name if a device other than the native one ran
    /// the kernel.
    pub message: String,
    /// `file:line:column` of the panic, where it is known.
    pub location: Option<String>,
    /// The work-item that panicked, in the order of [`Item::id`](crate::Item::id), where it is
    /// known.
    pub work_item: Option<Vec<usize>>,
    /// Its place in its work-group, if it was launched with groups.
    pub local_id: Option<Vec<usize>>,
    pub(crate) payload: Payload,
}

impl KernelPanic {
    /// The payload, as [`std::panic::catch_unwind`] returns it, for
    /// [`resume_unwind`](std::panic::resume_unwind). There is one where kernels unwind (see
    /// [Panics](crate#panics)), and only the first call returns it.
    #[must_use]
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        self.payload.take()
    }
}

/// As the standard library prints a panic, then the work-item and the device:
///
/// ```text
/// kernel `saxpy::main::{closure#0}` panicked at src/main.rs:7:21:
/// index out of bounds: the len is 3 but the index is 7
/// work-item [7] on device `cpu`
/// ```
impl fmt::Display for KernelPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` panicked", self.kernel)?;
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        write!(f, ":\n{}\n", self.message)?;
        if let Some(id) = &self.work_item {
            write!(f, "work-item {id:?} ")?;
        }
        if let Some(id) = &self.local_id {
            write!(f, "({id:?} in its group) ")?;
        }
        write!(f, "on device `{}`", self.device)
    }
}

/// How many work-items.
struct Items(usize);

impl fmt::Display for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => write!(f, "a work-item"),
            items => write!(f, "the {items} work-items of a group"),
        }
    }
}

/// How much room there is, if that is known.
struct Available(Option<usize>);

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |bytes| write!(f, " ({bytes} bytes are free)"))
    }
}

/// What is on a device, if anything is.
struct Nearest<'a>(Option<&'a std::ops::Range<usize>>);

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(range) => write!(f, ", and the nearest that are have the addresses {range:#x?}"),
            None => f.write_str(", nor is anything else"),
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
