//! Compiling kernels for GPUs, and the messages of their panics and prints.

use core::ffi::c_void;

use crate::{Bytes, KernelRequest};

/// [`GpuRequest::target`]: the text of NVIDIA's PTX.
pub const TARGET_PTX: u32 = 1;

/// [`GpuRequest::target`]: SPIR-V, as OpenCL's drivers take it. It has no processor and no version:
/// `arch` is empty and `isa` is 0.
pub const TARGET_SPIRV: u32 = 2;

/// [`GpuRequest::target`]: a code object, as the driver of AMD's GPUs takes it. `arch` is one of
/// [`AMD_PROCESSORS`], and `isa` is 0.
pub const TARGET_CODE_OBJECT: u32 = 3;

/// [`GpuRequest::target`]: the assembly of [`TARGET_CODE_OBJECT`], for people.
pub const TARGET_AMD_ASSEMBLY: u32 = 4;

/// The processors of AMD that code can be made for, and the work-items of a wave of each.
pub const AMD_PROCESSORS: [(&str, u32); 5] =
    [("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx1030", 32), ("gfx1100", 32)];

/// The processors that PTX can be compiled for, and the first PTX version that knows each, times
/// ten. A suffix means that the code runs only on that architecture (`a`) or its family (`f`).
pub const PTX_PROCESSORS: [(&str, u32); 28] = [
    ("sm_70", 60),
    ("sm_72", 61),
    ("sm_75", 63),
    ("sm_80", 70),
    ("sm_86", 71),
    ("sm_87", 74),
    ("sm_88", 90),
    ("sm_89", 78),
    ("sm_90", 78),
    ("sm_90a", 80),
    ("sm_100", 86),
    ("sm_100a", 86),
    ("sm_100f", 88),
    ("sm_101", 86),
    ("sm_101a", 86),
    ("sm_101f", 88),
    ("sm_103", 88),
    ("sm_103a", 88),
    ("sm_103f", 88),
    ("sm_110", 90),
    ("sm_110a", 90),
    ("sm_110f", 90),
    ("sm_120", 87),
    ("sm_120a", 87),
    ("sm_120f", 88),
    ("sm_121", 88),
    ("sm_121a", 88),
    ("sm_121f", 88),
];

/// What to compile for a GPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuRequest {
    /// What to compile.
    pub common: KernelRequest,
    /// What to make: one of the `TARGET_` constants.
    pub target: u32,
    /// The PTX version, times ten: 80 is PTX 8.0. 0 means the lowest that `arch` allows.
    pub isa: u32,
    /// The processor, such as `sm_90`.
    pub arch: Bytes,
    /// What every launch of this code satisfies: a sum of `ASSUME_` constants.
    pub assumptions: u32,
    /// The alignment that the kernel's local memory needs, in bytes, a power of two; 0 if it has no
    /// requirement.
    pub local_align: u64,
    /// Bit `i`: parameter `i` is a pointer or an integer of 64 bits, and in every launch of this
    /// code a multiple of [`ALIGNED`].
    pub aligned: u64,
    /// Bit `i`: parameter `i` is an integer of 64 bits, and in every launch of this code below
    /// [`NARROW`].
    pub narrow: u64,
    /// NVIDIA's mathematics library, as LLVM bitcode: its functions are used where it has them, and
    /// stage 2's own otherwise. Empty: all are stage 2's own.
    pub libdevice: Bytes,
}

/// The unit of [`GpuRequest::aligned`]: for an address, the largest access of one instruction; for
/// a number, such as the width of a picture, it means that each row begins at such an address, and
/// that an unrolled loop has no remainder.
pub const ALIGNED: u64 = 16;

/// The limit of [`GpuRequest::narrow`]: smaller numbers are the same as signed and as unsigned
/// 32-bit integers.
pub const NARROW: u64 = 1 << 31;

/// The blocks of launches that choose none, by the dimensions of their range: threads in each
/// dimension, x first. Small ranges have smaller ones.
pub const GPU_BLOCKS: [[u32; 3]; 3] = [[256, 1, 1], [32, 8, 1], [32, 4, 2]];

/// The launch's range, and its last id including the offset, are below 2³¹ in each dimension.
pub const ASSUME_INDEX_32: u32 = 1;
/// The range is a multiple of the block in each dimension: every work-item of a block is inside.
pub const ASSUME_DIVISIBLE: u32 = 2;
/// With [`TARGET_SPIRV`]: one thread of the device computes all work-items of a group.
pub const ASSUME_GROUP_ON_THREAD: u32 = 4;

/// A kernel for a GPU's driver: a text, SPIR-V's little-endian words, or a code object.
///
/// The parameters of the entry, in this order: the request's parameters (aggregates by value,
/// everything else as it is); with [`crate::FLAG_OFFSET`] the launch's offset, three `u64`; with
/// [`GPU_RANGE`] the launch's range, a `u64` for each dimension; with [`crate::FLAG_BASE`] the
/// first id of the sub-grid, three `u64` (in groups, for a kernel with [`GPU_GROUPS`]); with
/// [`GPU_MESSAGES`] the address of a [`GpuMessageBuffer`]; with [`GPU_HEAP`] that of a [`Heap`](crate::heap::Heap).
///
/// Without [`GPU_GROUPS`] a launch uses any blocks (or those of [`KernelRequest::group`], if given)
/// that cover the range; with it, the blocks are the work-groups. Local memory is the block's
/// dynamic shared memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuKernel {
    /// What [`crate::JitApi::release_gpu`] takes.
    pub handle: *mut c_void,
    /// The code. A NUL follows a text, which is not counted.
    pub code: Bytes,
    /// The name of the entry in the code. A NUL follows, which is not counted.
    pub entry: Bytes,
    /// What the kernel needs and takes: a sum of `GPU_` constants.
    pub flags: u32,
    /// With [`GPU_ADDRESSES`]: where the closure has them, in bytes. They live as long as the code.
    pub addresses: *const u64,
    /// How many there are.
    pub addresses_len: usize,
    /// How long compiling took, in microseconds.
    pub lower_micros: u64,
    /// The passes that failed, so that the code is without them: text for people, a line each.
    pub failures: Bytes,
}

/// The kernel reads its group: the blocks are the launch's work-groups.
pub const GPU_GROUPS: u32 = 1;
/// The kernel may wait for the other work-items of its group.
pub const GPU_BARRIER: u32 = 2;
/// The kernel takes the launch's range.
pub const GPU_RANGE: u32 = 4;
/// The kernel takes a message buffer: it may panic or print.
pub const GPU_MESSAGES: u32 = 8;
/// The kernel may print, so the message buffer needs room for it.
pub const GPU_PRINT: u32 = 16;

/// With [`TARGET_SPIRV`]: the entry takes the group's local memory, after all other parameters.
pub const GPU_LOCAL: u32 = 32;
/// With [`TARGET_SPIRV`]: the kernel has operations of sub-groups, and needs a device with
/// sub-groups of [`crate::SUB_GROUP_SIZE`] work-items. If its range has more than one dimension, it
/// is launched in one, and the entry takes, at the very end, the sizes of the groups and the numbers
/// of groups: six `u32`, each three x first.
pub const GPU_SUB_GROUPS: u32 = 64;

/// The kernel takes the address of a [`Heap`](crate::heap::Heap): it may allocate. It has
/// [`GPU_MESSAGES`], too.
pub const GPU_HEAP: u32 = 256;

/// The kernel reaches memory that the launch is not given for itself by known addresses in its
/// closure only, see [`GpuKernel::addresses`]: it finds no address in memory, and computes none from
/// numbers.
pub const GPU_ADDRESSES: u32 = 128;

/// Where kernels write messages: this header, then [`GpuMessageBuffer::panic_bytes`] for the
/// message of the first work-item that panics, then [`GpuMessageBuffer::print_bytes`] for prints.
/// Both begin with a [`GpuMessage`]; prints follow each other. It lies in memory that host and
/// device share, and the host reads it when the launch has ended. Initially everything is 0 except
/// the two sizes, including the first bytes of both parts.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct GpuMessageBuffer {
    /// Whether a work-item panicked, or had no memory: one of the `GPU_STATE_` constants.
    pub state: u32,
    /// The size of the part for a panic's message, a multiple of 16 and at least
    /// [`GPU_PANIC_LEAST`].
    pub panic_bytes: u32,
    /// The size of the part for prints, a multiple of 16.
    pub print_bytes: u64,
    /// Bytes that work-items have claimed of it; more than its size, if it was too small.
    pub print_used: u64,
    /// Messages that did not fit.
    pub print_lost: u64,
}

/// No work-item panicked.
pub const GPU_STATE_FREE: u32 = 0;
/// A work-item is writing its message.
pub const GPU_STATE_CLAIMED: u32 = 1;
/// The message is complete.
pub const GPU_STATE_COMPLETE: u32 = 2;
/// The launch has given up: its heap had no block for a work-item.
pub const GPU_STATE_EXHAUSTED: u32 = 3;

/// The minimum size of the part for a panic's message.
pub const GPU_PANIC_LEAST: u32 = 1024;

/// A message: this header, then [`GpuChunk`]s, up to its size. Addresses are those of the device;
/// their contents are in the chunks. With [`GPU_MESSAGE_SHAPED`], 64-bit words follow instead, and
/// addresses are those of constants, which stay in device memory as long as the kernel's code.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct GpuMessage {
    /// The bytes of the message with its chunks, a multiple of 16.
    pub size: u32,
    /// A sum of `GPU_MESSAGE_` constants.
    pub flags: u32,
    /// The work-item's global id: x, y, z, without the launch's offset.
    pub global_id: [u64; 3],
    /// The work-item's position in its group.
    pub local_id: [u64; 3],
    /// The first word of the message's `core::fmt::Arguments`; or the address of its shape, which
    /// describes the words.
    pub template: u64,
    /// The second word, if there is no shape.
    pub args: u64,
    /// The address of a panic's `core::panic::Location`; 0 if it is unknown.
    pub location: u64,
}

/// The message is written completely.
pub const GPU_MESSAGE_COMPLETE: u32 = 1;
/// Some of the message did not fit.
pub const GPU_MESSAGE_CUT: u32 = 2;
/// The launch has groups, so the local id is valid.
pub const GPU_MESSAGE_IN_GROUP: u32 = 4;
/// The message is a shape (`schism_message::shape`) and words.
pub const GPU_MESSAGE_SHAPED: u32 = 8;

/// A copy of some device memory: this header, then the bytes, padded to a multiple of 16.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct GpuChunk {
    /// The address of the bytes on the device.
    pub address: u64,
    /// How many.
    pub len: u64,
}
