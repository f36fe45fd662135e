//! Message buffers: kernels write the messages of panics and of prints there.
//!
//! A message buffer lies in host memory that the device can access. Each launch in flight that may
//! write a message has one; the host reads it when the launch has ended. `schism_jit_abi` defines
//! the layout. Most panic messages refer to constants of the kernel, which the host then copies
//! from the device: the kernel stays loaded as long as the launch is known.

use std::array;
use std::cell::{Cell, OnceCell};
use std::fmt::Write as _;
use std::mem::size_of;
use std::sync::{Mutex, PoisonError};

use schism_jit_abi::{GPU_STATE_EXHAUSTED, GPU_STATE_FREE, GpuMessageBuffer};
use schism_message::buffer::{Message, MessageBuffer as Content};
use schism_message::{Memory, Recorded};

use crate::code::display_name::KernelName;
use crate::error::{DriverError, KernelPanic, LaunchError};
use crate::kernel::print;
use crate::launch::desc::LaunchDesc;
use crate::launch::failure::Panic;
use crate::launch::payload::Payload;
use crate::util::variables::DEVICE_HEAP;
use crate::util::warn_once;

/// An address in a device's memory.
type DevicePtr = u64;

/// Room for a panic's message.
const PANIC_BYTES: usize = 16 << 10;
/// Room for the output of a launch: some thousand lines with several values each, including the
/// data to format them.
pub(crate) const PRINT_BYTES: usize = 8 << 20;
/// The longest message, in bytes.
const LIMIT: usize = 1 << 16;
/// The number of buffers that are allocated from the driver at once, without room for printing.
const AT_ONCE: usize = 8;

const HEADER: usize = size_of::<GpuMessageBuffer>();
const PLAIN: usize = HEADER + PANIC_BYTES;
const PRINTING: usize = PLAIN + PRINT_BYTES;

/// A message buffer. The driver owns the memory and frees it with the context.
#[derive(Debug)]
pub(crate) struct MessageBuffer {
    host: *mut u8,
    pub(crate) device: DevicePtr,
    prints: bool,
}

// SAFETY: nothing else refers to its memory, except for a launch in flight.
unsafe impl Send for MessageBuffer {}
// SAFETY: its memory is read and written through `&mut` only.
unsafe impl Sync for MessageBuffer {}

/// The unused message buffers of a context.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffers {
    plain: Mutex<Vec<MessageBuffer>>,
    printing: Mutex<Vec<MessageBuffer>>,
}

/// The messages of a launch.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) panic: Option<Panic>,
    /// There was no memory for a work-item.
    pub(crate) is_exhausted: bool,
    pub(crate) printed: Vec<String>,
    /// Messages that did not fit.
    pub(crate) lost: u64,
}

/// What of a launch's range tells where one of its work-items is.
#[derive(Debug)]
pub(crate) struct RangeShape {
    dimensions: u32,
    offset: [usize; 3],
    /// Work-items of a group, if it has groups.
    group: Option<[usize; 3]>,
}

impl RangeShape {
    pub(crate) fn of(launch: &LaunchDesc<'_>) -> Self {
        Self {
            dimensions: launch.range.dimensions,
            offset: launch.range.offset,
            group: launch.groups.as_ref().map(|groups| groups.local.xyz),
        }
    }

    /// The slowest dimension first.
    pub(crate) fn place(&self, xyz: [usize; 3]) -> Vec<usize> {
        xyz[..self.dimensions as usize].iter().rev().copied().collect()
    }

    /// The same of a work-item's place in the range, which begins at the offset.
    pub(crate) fn moved(&self, xyz: [usize; 3]) -> Vec<usize> {
        self.place(array::from_fn(|axis| xyz[axis].wrapping_add(self.offset[axis])))
    }
}

impl Messages {
    /// Prints what a kernel has printed, and gives its panic as an error.
    #[cold]
    pub(crate) fn shown(
        self,
        kernel: &KernelName,
        device: &str,
        shape: &RangeShape,
    ) -> Result<(), LaunchError> {
        for text in self.printed {
            print::out(format_args!("{text}"));
        }
        if self.lost != 0 {
            warn_once::say(format_args!(
                "{} messages that kernel `{kernel}` printed had no room and are lost; a launch has room for {} MiB of them",
                self.lost,
                PRINT_BYTES >> 20
            ));
        }
        if self.is_exhausted {
            return Err(LaunchError::HostMemory {
                device: device.to_owned(),
                reason: format!("its work-items allocate more than their heap has ({DEVICE_HEAP})"),
            });
        }
        let Some(panic) = self.panic else { return Ok(()) };
        // Code that asks for no place in a group does not know it.
        let local_id = panic.local_id.or_else(|| {
            let (id, group) = (panic.work_item?, shape.group?);
            Some(array::from_fn(|axis| id[axis].checked_rem(group[axis]).unwrap_or(0)))
        });
        Err(LaunchError::Panicked(Box::new(KernelPanic {
            kernel: kernel.to_string(),
            device: device.to_owned(),
            message: panic.message,
            location: panic.location,
            work_item: panic.work_item.map(|id| shape.moved(id)),
            local_id: local_id.map(|id| shape.place(id)),
            payload: Default::default(),
        })))
    }
}

/// Copies bytes from the device to the host, from any memory that the driver knows.
pub(crate) type Read<'a> = &'a dyn Fn(&mut [u8], DevicePtr) -> Result<(), DriverError>;

impl MessageBuffers {
    /// Takes an empty message buffer, with room for printing or without.
    ///
    /// `pinned` allocates memory of the host for so many bytes, aligned to 16, that the device can
    /// access, and returns its addresses on both. The driver keeps it.
    pub(crate) fn take(
        &self,
        pinned: impl FnOnce(usize) -> Result<(*mut u8, DevicePtr), DriverError>,
        prints: bool,
    ) -> Result<MessageBuffer, DriverError> {
        let (kept, size) = if prints { (&self.printing, PRINTING) } else { (&self.plain, PLAIN) };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffer) = kept.pop() {
            return Ok(buffer);
        }
        let count = if prints { 1 } else { AT_ONCE };
        let (host, device) = pinned(size * count)?;
        // SAFETY: that many bytes were allocated, and are not shared yet.
        unsafe { host.write_bytes(0, size * count) };
        for index in 0..count {
            let offset = index * size;
            let mut buffer = MessageBuffer {
                // SAFETY: inside the allocation.
                host: unsafe { host.add(offset) },
                device: device + offset as u64,
                prints,
            };
            buffer.clear(0);
            kept.push(buffer);
        }
        kept.pop().ok_or_else(|| DriverError {
            call: "",
            code: 0,
            name: String::new(),
            text: "no message buffer".to_owned(),
        })
    }

    /// Returns the message buffer of a launch that has ended.
    pub(crate) fn give(&self, buffer: MessageBuffer) {
        let kept = if buffer.prints { &self.printing } else { &self.plain };
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

impl MessageBuffer {
    fn header(&self) -> GpuMessageBuffer {
        // SAFETY: every message buffer begins with an aligned header; any bytes are numbers.
        // Volatile, because the device wrote it.
        unsafe { self.host.cast::<GpuMessageBuffer>().read_volatile() }
    }

    /// Resets it for a launch; `used` bytes of the room for printing are in use.
    fn clear(&mut self, used: usize) {
        let header = GpuMessageBuffer {
            state: GPU_STATE_FREE,
            panic_bytes: PANIC_BYTES as u32,
            print_bytes: if self.prints { PRINT_BYTES as u64 } else { 0 },
            print_used: 0,
            print_lost: 0,
        };
        let rooms = PANIC_BYTES + if self.prints { used.min(PRINT_BYTES) } else { 0 };
        // SAFETY: the message buffer is as large, and no launch uses it.
        unsafe {
            self.host.cast::<GpuMessageBuffer>().write_volatile(header);
            self.host.add(HEADER).write_bytes(0, rooms);
        }
    }

    /// Takes the messages of a launch that has ended, and empties the buffer.
    #[inline]
    pub(crate) fn collect(&mut self, read: Read<'_>) -> Option<Messages> {
        let header = self.header();
        let nothing =
            header.state == GPU_STATE_FREE && header.print_used == 0 && header.print_lost == 0;
        if nothing { None } else { Some(self.collect_all(read, header)) }
    }

    #[cold]
    fn collect_all(&mut self, read: Read<'_>, header: GpuMessageBuffer) -> Messages {
        let size = if self.prints { PRINTING } else { PLAIN };
        // SAFETY: that many initialised bytes, which are not written after the end of the launch.
        let bytes = unsafe { std::slice::from_raw_parts(self.host, size) };
        let content = Content::new(bytes);
        let mut messages = Messages { lost: header.print_lost, ..Messages::default() };
        if header.state == GPU_STATE_EXHAUSTED {
            messages.is_exhausted = true;
        } else if header.state != GPU_STATE_FREE {
            messages.panic = Some(panic(content.and_then(|content| content.panic()), read));
        }
        // Prints were copied completely.
        let prints = content.into_iter().flat_map(|content| content.prints());
        messages.printed.extend(prints.map(|message| text(&message, &Recorded(&[]))));
        self.clear(usize::try_from(header.print_used).unwrap_or(usize::MAX));
        messages
    }
}

fn text(message: &Message<'_>, device: &dyn Memory) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = message.write(device, &mut text, LIMIT);
    if message.is_cut() {
        let _ = write!(text, " (the rest of the message had no room)");
    }
    text
}

fn panic(message: Option<Message<'_>>, read: Read<'_>) -> Panic {
    let Some(message) = message else {
        return Panic {
            message: "a work-item panicked, and left no message".to_owned(),
            location: None,
            work_item: None,
            local_id: None,
            payload: Payload::default(),
        };
    };
    let device = DeviceMemory::new(|to: &mut [u8], from| match read(to, from) {
        Ok(()) => true,
        Err(error) => {
            let (address, bytes) = (format_args!("{from:#x}"), to.len());
            tracing::debug!(%address, bytes, %error, "a message refers to what the device does not have");
            false
        }
    });
    let location = message.location(&device);
    Panic {
        message: text(&message, &device),
        location: location.map(|at| format!("{}:{}:{}", at.file, at.line, at.column)),
        work_item: Some(message.global_id()),
        local_id: message.local_id(),
        payload: Payload::default(),
    }
}

/// The memory of a device that a message needs. Each part is copied when it is first read,
/// and kept; what the driver refuses to copy does not exist.
struct DeviceMemory<F> {
    /// Copies bytes from an address, or returns `false`.
    copy: F,
    first: OnceCell<Box<Fetched>>,
    /// Copies that may still be made.
    copies_left: Cell<usize>,
}

struct Fetched {
    address: u64,
    bytes: Box<[u8]>,
    next: OnceCell<Box<Fetched>>,
}

impl<F: Fn(&mut [u8], DevicePtr) -> bool> DeviceMemory<F> {
    /// The maximum number of copies for one message. Messages of kernels need a dozen.
    const COPIES: usize = 256;
    /// Addresses below are of functions, not of data: where kernels format for themselves, messages
    /// refer to such.
    const BEGIN: u64 = 1 << 24;
    /// The end of device addresses.
    const END: u64 = 1 << 56;

    fn new(copy: F) -> Self {
        Self { copy, first: OnceCell::new(), copies_left: Cell::new(Self::COPIES) }
    }

    /// Copies `begin..end`.
    fn fetch(&self, begin: u64, end: u64) -> Option<Box<Fetched>> {
        self.copies_left.set(self.copies_left.get().checked_sub(1)?);
        let mut bytes = vec![0; usize::try_from(end - begin).ok()?].into_boxed_slice();
        let copied = (self.copy)(&mut bytes, begin);
        copied.then(|| Box::new(Fetched { address: begin, bytes, next: OnceCell::new() }))
    }
}

impl<F: Fn(&mut [u8], DevicePtr) -> bool> Memory for DeviceMemory<F> {
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let end = address.checked_add(len as u64).filter(|end| *end <= Self::END)?;
        if len > LIMIT || address < Self::BEGIN {
            return None;
        }
        let part = |fetched: &Fetched| {
            let from = usize::try_from(address.checked_sub(fetched.address)?).ok()?;
            Some(from..from.checked_add(len).filter(|end| *end <= fetched.bytes.len())?)
        };
        let mut place = &self.first;
        while let Some(fetched) = place.get() {
            if let Some(part) = part(fetched) {
                return fetched.bytes.get(part);
            }
            place = &fetched.next;
        }
        // Not one byte more: constants lie close to unmapped device memory, and tools report
        // refused copies as errors.
        let fetched = self.fetch(address, end)?;
        let fetched = place.get_or_init(|| fetched);
        fetched.bytes.get(part(fetched)?)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A device with bytes from an address on, and a log of the copies.
    fn device(
        begin: u64,
        bytes: &[u8],
        copies: &RefCell<Vec<(u64, usize)>>,
    ) -> DeviceMemory<impl Fn(&mut [u8], DevicePtr) -> bool> {
        DeviceMemory::new(move |to: &mut [u8], from| {
            copies.borrow_mut().push((from, to.len()));
            let from = from.checked_sub(begin).and_then(|from| usize::try_from(from).ok());
            let found = from.and_then(|from| bytes.get(from..from.checked_add(to.len())?));
            found.is_some_and(|found| {
                to.copy_from_slice(found);
                true
            })
        })
    }

    #[test]
    fn what_is_there_is_copied_once_and_nothing_beside_it() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let copies = RefCell::default();
        let memory = device(0x7000_0000, &bytes, &copies);
        assert_eq!(memory.bytes(0x7000_0010, 200), Some(&bytes[16..216]));
        assert_eq!(memory.bytes(0x7000_0020, 3), Some(&bytes[32..35]));
        assert_eq!(memory.bytes(0x7000_0010, 200), Some(&bytes[16..216]));
        assert_eq!(copies.borrow()[..], [(0x7000_0010, 200)]);
        assert_eq!(memory.bytes(0x7000_0000 + 990, 10), Some(&bytes[990..]));
        assert_eq!(copies.borrow()[1..], [(0x7000_0000 + 990, 10)]);
        assert_eq!(memory.bytes(0x7000_0000 + 990, 11), None);
        assert_eq!(memory.bytes(0x7000_0020, 3), Some(&bytes[32..35]));
    }

    #[test]
    fn what_makes_no_sense_is_not_asked_of_the_device() {
        let copies = RefCell::default();
        let memory = device(0, &[0; 512], &copies);
        for (address, len) in [
            (0, 8),
            (0x3e0, 8),
            ((1 << 24) - 8, 8),
            (u64::MAX, 8),
            (u64::MAX - 7, 8),
            (1 << 56, 1),
            (8, LIMIT + 1),
            (8, usize::MAX),
        ] {
            assert_eq!(memory.bytes(address, len), None, "{address:#x}, {len}");
        }
        assert_eq!(memory.bytes(u64::MAX, 0), Some(&[][..]));
        assert!(copies.borrow().is_empty());
        // The number of copies is limited.
        for address in 1..2000 {
            assert_eq!(memory.bytes(address << 20, 8), None);
        }
        assert!(copies.borrow().len() <= 256);
    }
}
