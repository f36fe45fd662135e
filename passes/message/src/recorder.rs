//! The device's side of a message buffer: copies a message into it. Runs on the device; the host's
//! side is [`crate::buffer`].

use core::mem::size_of;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use schism_jit_abi::{
    GPU_MESSAGE_COMPLETE, GPU_MESSAGE_CUT, GPU_MESSAGE_IN_GROUP, GPU_STATE_CLAIMED,
    GPU_STATE_COMPLETE, GPU_STATE_FREE, GpuChunk, GpuMessage, GpuMessageBuffer,
};

use crate::Kind;
use crate::walk::{Sink, walk, walk_plain};

/// The bytes of a `core::panic::Location`: the file's two words, line and column.
pub(crate) const LOCATION: u64 = 24;

/// Whether the values of a kind are but their own bytes. Messages of no others can be left as plain
/// ones, with less.
#[must_use]
pub const fn is_plain(kind: Kind) -> bool {
    crate::walk::is_plain(kind)
}

/// The work-item that leaves a message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WorkItem {
    /// Its global id, without the launch's offset.
    pub global_id: [u64; 3],
    /// Its place in its group.
    pub local_id: [u64; 3],
    /// Whether the launch has groups.
    pub in_group: bool,
}

/// Copies pieces of memory as chunks after a message, or counts their bytes.
struct Copy {
    /// Where the message begins; null to count only.
    to: *mut u8,
    /// Bytes of the message so far.
    used: u64,
    /// Bytes that it may have.
    room: u64,
    cut: bool,
}

impl Sink for Copy {
    unsafe fn bytes(&mut self, address: u64, len: u64) {
        if len == 0 {
            return;
        }
        let size = (size_of::<GpuChunk>() as u64).wrapping_add(len.wrapping_add(15) & !15);
        if len > self.room || self.used.wrapping_add(size) > self.room {
            self.cut = true;
            return;
        }
        if !self.to.is_null() {
            // SAFETY: the chunk ends within the room, which the caller of `panic` or `print`
            // promises; the bytes can be read, as promised by the caller of this.
            unsafe {
                let chunk = self.to.add(self.used as usize);
                chunk.cast::<GpuChunk>().write(GpuChunk { address, len });
                let bytes = chunk.add(size_of::<GpuChunk>());
                let from = ptr::with_exposed_provenance::<u8>(address as usize);
                let mut at = 0;
                while at < len as usize {
                    bytes.add(at).write(from.add(at).read());
                    at += 1;
                }
            }
        }
        self.used = self.used.wrapping_add(size);
    }

    fn is_code(&self, address: u64) -> bool {
        crate::is_code(address)
    }
}

impl Copy {
    fn new(to: *mut u8, room: u64) -> Self {
        Self { to, used: size_of::<GpuMessage>() as u64, room, cut: false }
    }

    /// # Safety
    /// The words are those of a message and of a location or null, as in [`panic()`].
    #[inline(never)]
    unsafe fn take<const PLAIN: bool>(&mut self, template: u64, args: u64, location: u64) {
        // SAFETY: as promised by the caller.
        unsafe {
            if location != 0 {
                let words = ptr::with_exposed_provenance::<u64>(location as usize);
                self.bytes(location, LOCATION);
                self.bytes(words.read(), words.add(1).read());
            }
            if PLAIN {
                walk_plain(template, args, self);
            } else {
                walk(template, args, self);
            }
        }
    }

    /// Writes what stands before the chunks. Done first, so that it need not be kept meanwhile.
    ///
    /// # Safety
    /// `to` has room for it.
    unsafe fn begin(&self, [template, args, location]: [u64; 3], work_item: &WorkItem) {
        let flags = if work_item.in_group { GPU_MESSAGE_IN_GROUP } else { 0 };
        let WorkItem { global_id, local_id, .. } = *work_item;
        let head = GpuMessage { size: 0, flags, global_id, local_id, template, args, location };
        // SAFETY: as promised by the caller; a buffer is as aligned as its parts.
        unsafe { self.to.cast::<GpuMessage>().write(head) };
    }

    /// Says that the message is complete.
    ///
    /// # Safety
    /// It was begun.
    unsafe fn end(&self) {
        let cut = if self.cut { GPU_MESSAGE_CUT } else { 0 };
        // SAFETY: the message is there, as promised by the caller.
        unsafe {
            let head = self.to.cast::<GpuMessage>();
            (*head).size = self.used as u32;
            (*head).flags |= GPU_MESSAGE_COMPLETE | cut;
        }
    }
}

/// Leaves the message of a panic, unless another work-item has left one.
///
/// # Safety
/// `buffer` is a [`GpuMessageBuffer`] with the room that it says, of which nothing else writes but
/// through this module. `template` and `args` are the two words of a message with descriptors for
/// formatters, `location` is 0 or the address of a `core::panic::Location`, and what they refer to
/// can be read. If it is `PLAIN`, all values of the message are of kinds that [`is_plain`].
pub unsafe fn panic<const PLAIN: bool>(
    buffer: *mut GpuMessageBuffer,
    template: u64,
    args: u64,
    location: u64,
    work_item: &WorkItem,
) {
    // SAFETY: the buffer is there; its state is only ever accessed as an atomic while work-items
    // run.
    let state = unsafe { AtomicU32::from_ptr(&raw mut (*buffer).state) };
    let claimed = state.compare_exchange(
        GPU_STATE_FREE,
        GPU_STATE_CLAIMED,
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
    if claimed.is_err() {
        return;
    }
    // SAFETY: the room after the buffer is there, and the work-item that claims it is the only one to write;
    // the rest is the caller's promise.
    unsafe {
        let room = (*buffer).panic_bytes;
        let mut copy = Copy::new(buffer.add(1).cast(), room.into());
        copy.begin([template, args, location], work_item);
        copy.take::<PLAIN>(template, args, location);
        copy.end();
    }
    state.store(GPU_STATE_COMPLETE, Ordering::Release);
}

/// Leaves a message that is printed, or counts it as lost.
///
/// # Safety
/// As for [`panic()`].
pub unsafe fn print<const PLAIN: bool>(
    buffer: *mut GpuMessageBuffer,
    template: u64,
    args: u64,
    work_item: &WorkItem,
) {
    let mut count = Copy::new(ptr::null_mut(), u32::MAX as u64);
    // SAFETY: the buffer is there, its counters are only ever accessed as atomics while work-items
    // run, and the rest is the caller's promise. What was taken of the room is this work-item's
    // own.
    unsafe {
        count.take::<PLAIN>(template, args, 0);
        let used = AtomicU64::from_ptr(&raw mut (*buffer).print_used);
        let room = (*buffer).print_bytes;
        // Looked at first, so that the sum does not overflow.
        let begin =
            match used.load(Ordering::Relaxed).saturating_add(count.used) > room || count.cut {
                true => None,
                false => Some(used.fetch_add(count.used, Ordering::Relaxed)),
            };
        let Some(begin) = begin.filter(|begin| begin.saturating_add(count.used) <= room) else {
            AtomicU64::from_ptr(&raw mut (*buffer).print_lost).fetch_add(1, Ordering::Relaxed);
            return;
        };
        let to = buffer.add(1).cast::<u8>().add((*buffer).panic_bytes as usize + begin as usize);
        let mut copy = Copy::new(to, count.used);
        copy.begin([template, args, 0], work_item);
        copy.take::<PLAIN>(template, args, 0);
        copy.end();
    }
}
