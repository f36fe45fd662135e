//! The C interface between the runtime (`schism`) and stage 2 (`libschism_jit.so`).
//!
//! A program that uses schism links no LLVM: the runtime opens the stage 2 library when it first
//! needs it, looks up [`ENTRY_SYMBOL`], calls it with [`ABI_VERSION`] and gets a table of
//! functions, [`JitApi`]. Everything that crosses is a plain C type defined here; the two sides may
//! be built by different compilers.
//!
//! Ownership:
//!
//! * [`Bytes`] is borrowed. In a request it lives as long as the call; what a function of
//!   [`JitApi`] returns without taking a request ([`JitApi::version`], [`JitApi::cpu_name`]) lives
//!   as long as the library is loaded.
//! * The receiver of a [`Text`] owns it and frees it with [`JitApi::free_text`].
//! * The receiver of a [`CpuObject`] owns it and frees it with [`JitApi::release_cpu`], together
//!   with its bytes.
//! * The receiver of a [`GpuKernel`] owns it and frees it with [`JitApi::release_gpu`], together
//!   with its code.
//! * The message in a [`PanicRecord`] belongs to the process that loaded the code; the file is a constant of
//!   the loaded code.
//!
//! Any thread may call any function of [`JitApi`], concurrently. Nothing unwinds across the
//! interface. Once opened, the library stays loaded until the process ends: LLVM keeps pointers
//! into it.
//!
//! With the feature `hcf` a container's `schism_hcf::Parameter` converts to a [`Param`] by `From`.
//! The feature `library` adds the module `library`, which opens stage 2 and compiles with it,
//! through safe functions, and the module `ptxas`, which makes machine code of PTX.
#![no_std]

#[cfg(feature = "library")]
extern crate std;

pub mod code;
mod gpu;
#[cfg(feature = "hcf")]
mod hcf;
pub mod heap;
#[cfg(feature = "library")]
pub mod library;
#[cfg(feature = "library")]
pub mod ptxas;
pub mod variables;

use core::ffi::{CStr, c_void};

pub use gpu::*;

/// The version of everything in this crate. Any change of a layout or of a meaning increments it.
pub const ABI_VERSION: u32 = 26;

/// The library's one exported symbol, a [`EntryFn`].
pub const ENTRY_SYMBOL: &CStr = c"schism_jit_api";

/// The type of [`ENTRY_SYMBOL`]: takes the caller's [`ABI_VERSION`], returns null if the library
/// does not support it. The table lives as long as the library is loaded.
pub type EntryFn = unsafe extern "C" fn(abi_version: u32) -> *const JitApi;

/// The interface version of a library of another version of schism, for a message that names it: a
/// library supports one version, so each is tried. `None` if it supports none of the first
/// thousand.
///
/// # Safety
/// `entry` is a library's [`ENTRY_SYMBOL`], and the library is loaded.
#[must_use]
pub unsafe fn version_of(entry: EntryFn) -> Option<u32> {
    // SAFETY: as promised by the caller; any version may be asked for, and nothing of a table is
    // read.
    (1..1000).find(|version| !unsafe { entry(*version) }.is_null())
}

/// Borrowed bytes: `ptr` may be null (or anything) when `len` is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The first byte.
    pub ptr: *const u8,
    /// How many bytes.
    pub len: usize,
}

impl Bytes {
    /// No bytes.
    pub const EMPTY: Self = Self { ptr: core::ptr::null(), len: 0 };

    /// Borrows a slice; the caller ensures that the slice outlives the value.
    #[must_use]
    pub const fn new(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }

    /// The bytes as a slice; empty if `ptr` is null.
    ///
    /// # Safety
    /// `ptr` is null, or `len` is 0, or `len` bytes at `ptr` are initialised and neither change nor
    /// are freed during `'a`.
    #[must_use]
    pub const unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.len == 0 {
            return &[];
        }
        // SAFETY: `ptr` is not null and `len` is not 0, so the caller promises that the bytes are
        // valid for `'a`.
        unsafe { core::slice::from_raw_parts(self.ptr, self.len) }
    }
}

/// Text owned by the receiver: UTF-8, not NUL-terminated. It is freed once, with
/// [`JitApi::free_text`].
#[repr(C)]
#[derive(Debug)]
pub struct Text {
    /// The first byte; null if there is no text.
    pub ptr: *mut u8,
    /// How many bytes.
    pub len: usize,
}

impl Text {
    /// No text; the initial value for an output parameter.
    pub const EMPTY: Self = Self { ptr: core::ptr::null_mut(), len: 0 };

    /// The text's bytes.
    ///
    /// # Safety
    /// The text came from stage 2 (or is [`Text::EMPTY`]) and is not freed during the borrow.
    #[must_use]
    pub const unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: the caller promises the same about the same bytes.
        unsafe { Bytes { ptr: self.ptr, len: self.len }.as_slice() }
    }
}

/// The functions of stage 2.
#[repr(C)]
#[derive(Debug)]
pub struct JitApi {
    /// The version of this table: the caller's own, since the library returned it.
    pub abi_version: u32,
    /// Name and version of stage 2 and of its LLVM, such as `schism-jit 0.1.0 (LLVM 22.1.2)`. Two
    /// libraries that may generate different code have different texts.
    pub version: extern "C" fn() -> Bytes,
    /// The processor that [`JitApi::compile_cpu`] generates code for: LLVM's name, such as
    /// `znver3`.
    pub cpu_name: extern "C" fn() -> Bytes,
    /// Compiles one kernel for this process's processor, to an object that the caller loads.
    /// Returns [`OK`] and fills `out`, or returns another of the codes below and fills `error` with
    /// what failed and what to do; the other one is left unchanged.
    ///
    /// # Safety
    /// `request` points to a request whose [`Bytes`] and `params` can be read during the call;
    /// `out` and `error` can be written. If one of the three is null, that is an
    /// [`INVALID_REQUEST`]; without `error` there is no text.
    pub compile_cpu: unsafe extern "C" fn(
        request: *const CpuRequest,
        out: *mut CpuObject,
        error: *mut Text,
    ) -> u32,
    /// Frees an object's bytes. Null does nothing.
    ///
    /// # Safety
    /// `handle` is a [`CpuObject::handle`] that was not released yet, and its bytes are not read
    /// again.
    pub release_cpu: unsafe extern "C" fn(handle: *mut c_void),
    /// Compiles one kernel for a GPU, as [`JitApi::compile_cpu`] does for the CPU.
    ///
    /// # Safety
    /// As for [`JitApi::compile_cpu`]; the request's `values` can be read, too.
    pub compile_gpu: unsafe extern "C" fn(
        request: *const GpuRequest,
        out: *mut GpuKernel,
        error: *mut Text,
    ) -> u32,
    /// Frees a kernel's code. Null does nothing.
    ///
    /// # Safety
    /// `handle` is a [`GpuKernel::handle`] that was not released yet, and nothing of that kernel is
    /// read again.
    pub release_gpu: unsafe extern "C" fn(handle: *mut c_void),
    /// Frees a text. [`Text::EMPTY`] does nothing.
    ///
    /// # Safety
    /// The text came from a function of this table and was not freed yet.
    pub free_text: unsafe extern "C" fn(text: Text),
    /// Stops all compilations for good, because the process is ending: the library's threads run
    /// nothing any more that the end of the process tears down. Calls that wait for one of them do
    /// not return, and later ones are [`OUT_OF_RESOURCES`]. The library does the same by itself, in a
    /// function of `atexit`.
    pub stop: extern "C" fn(),
}

// The codes that `compile_cpu` and `compile_gpu` return.

/// The kernel was compiled.
pub const OK: u32 = 0;
/// The request itself is invalid: a null pointer, a dimension outside 1..=3, a parameter outside
/// the closure, a constant that the image does not have. A bug of the caller.
pub const INVALID_REQUEST: u32 = 1;
/// The image is not LLVM bitcode that this stage 2 reads, or violates the rules for an image: it is
/// damaged, or built by another version.
pub const INVALID_IMAGE: u32 = 2;
/// The image has no kernel with that name.
pub const UNKNOWN_KERNEL: u32 = 3;
/// The kernel's parameters in the image are not those of the request.
pub const SIGNATURE_MISMATCH: u32 = 4;
/// The kernel calls functions that exist neither in the image nor in this process; the text names
/// them. The loader of the object detects this.
pub const UNRESOLVED_SYMBOLS: u32 = 5;
/// The kernel uses something that this device lacks, such as thread-local storage.
pub const UNSUPPORTED: u32 = 6;
/// LLVM failed to generate code.
pub const BACKEND_FAILED: u32 = 7;
/// No memory for code, or no thread to compile on.
pub const OUT_OF_RESOURCES: u32 = 8;
/// A bug of stage 2.
pub const INTERNAL: u32 = 9;
/// A function that the kernel imports has another type in the image that defines it.
pub const IMPORT_MISMATCH: u32 = 10;

/// What to compile, for any kind of device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelRequest {
    /// The image: LLVM bitcode (format `llvm-ir`).
    pub image: Bytes,
    /// The kernel's name in the image, UTF-8.
    pub kernel: Bytes,
    /// The kernel's parameters, in the container's order.
    pub params: *const Param,
    /// How many parameters.
    pub params_len: usize,
    /// The closure's size in bytes.
    pub closure_size: u64,
    /// The closure's alignment in bytes, a power of two.
    pub closure_align: u64,
    /// How many dimensions the launch range has, 1..=3.
    pub dimensions: u32,
    /// A sum of `FLAG_` constants.
    pub flags: u32,
    /// Values of specialization constants that replace the image's own.
    pub constants: *const Constant,
    /// How many of them.
    pub constants_len: usize,
    /// Parameters whose values are known.
    pub values: *const KnownValue,
    /// How many of them.
    pub values_len: usize,
    /// Images that define what the kernel's image only declares, each like [`image`](Self::image).
    /// What the kernel does not reach is removed.
    pub links: *const Bytes,
    /// How many of them.
    pub links_len: usize,
    /// The work-items of a work-group in each dimension, x first, if the code is for such groups
    /// only; on the CPU [`CpuGroup::local_range`] is this. Dimensions beyond those of the range are
    /// 1. Zeros if it is for groups of all sizes.
    pub group: [u32; 3],
    /// What the environment asks of stage 2: the values of some of [`variables::STAGE2`].
    pub settings: *const Setting,
    /// How many of them.
    pub settings_len: usize,
}

/// What to compile for the CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuRequest {
    /// What to compile.
    pub common: KernelRequest,
    /// The processor to compile for, by LLVM's name, such as `x86-64-v3`, with exactly its
    /// features. Empty for the processor of this process.
    pub cpu: Bytes,
}

/// The value of a variable of the environment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The variable's name, UTF-8.
    pub name: Bytes,
    /// Its value.
    pub value: Bytes,
}

/// A parameter with the same value in every launch of the code. The code still takes it, but does
/// not read it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KnownValue {
    /// The parameter's index: an integer, a float or an aggregate.
    pub param: u32,
    /// The value's bytes, as many as the parameter has.
    pub bytes: Bytes,
}

/// The kernel is the variant that reads the launch's offset: it takes three more parameters, `i64`
/// each, which are [`CpuChunk::offset`]. Without the flag nothing reads that field.
pub const FLAG_OFFSET: u32 = 1;
/// Floating-point results may be rounded differently: sums may be reassociated, a multiplication
/// and an addition may be fused, a division may become a multiplication by the reciprocal, zeros
/// may lose their sign, functions may be approximated (LLVM's `reassoc contract arcp nsz afn`).
/// Without the flag every result is that of the host, bit for bit.
pub const FLAG_RELAXED_MATH: u32 = 2;
/// With [`FLAG_RELAXED_MATH`] only: no operand and no result is infinite or NaN; if one is, the
/// result may be any number. It is never poison: LLVM's `nnan ninf` are not used.
pub const FLAG_FINITE_MATH: u32 = 4;
/// For GPUs only: the launch is divided into sub-grids, and the kernel takes the first id of its
/// sub-grid.
pub const FLAG_BASE: u32 = 8;
/// For the CPU only: mathematical functions come from stage 2's own library, which gives the same
/// bits on all devices. Without the flag they are the host's. GPUs have none of their own.
pub const FLAG_PORTABLE_MATH: u32 = 16;

/// The values of the specialization constants in [`KernelRequest::constants`] are unknown yet. In the
/// code each of them is a symbol that begins with [`code::OPEN_CONSTANT`], unless nothing reads it.
/// It contains the image's own value until the loader of the code writes another. Values in the
/// request are ignored.
pub const FLAG_OPEN_CONSTANTS: u32 = 32;

/// For the CPU only: the image is for the process that runs the code. Kernels unwind, and what the
/// image declares is the host's.
pub const FLAG_IN_PROCESS: u32 = 64;

/// The value of a specialization constant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// The constant's symbol in the image, UTF-8.
    pub symbol: Bytes,
    /// The value's bytes, at most the size of the constant in the image.
    pub value: Bytes,
}

/// One flattened parameter: a part of the closure that the kernel takes as one parameter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Where the part begins in the closure, in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The alignment in bytes, a power of two that divides `offset`.
    pub align: u64,
    /// One of the `PARAM_` constants.
    pub kind: u32,
}

/// An integer of `size` bytes (`bool` and `char` too).
pub const PARAM_INTEGER: u32 = 0;
/// An IEEE float of 2, 4 or 8 bytes.
pub const PARAM_FLOAT: u32 = 1;
/// A pointer of 8 bytes.
pub const PARAM_POINTER: u32 = 2;
/// An aggregate; the kernel gets a private copy.
pub const PARAM_BYTES: u32 = 3;

/// A compiled kernel: an ELF object that can be loaded into any process on this processor, see
/// [`code`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuObject {
    /// What [`JitApi::release_cpu`] takes.
    pub handle: *mut c_void,
    /// The object.
    pub object: Bytes,
    /// What the kernel requires of a chunk, and how it was compiled: a sum of `CPU_` constants.
    pub flags: u32,
    /// The stack that the entry function needs in bytes, with all functions of the object that it
    /// calls, but without those of the process that loads it; or [`STACK_UNKNOWN`].
    pub stack: u64,
    /// How long compiling took, in microseconds.
    pub lower_micros: u64,
    /// The passes that failed, so that the code is without them: text for people, a line each.
    pub failures: Bytes,
}

/// The stack need depends on run-time values: there is recursion, calls through pointers, or frames
/// of computed size.
pub const STACK_UNKNOWN: u64 = u64::MAX;

/// The kernel reads [`CpuChunk::group`], so a chunk lies within one work-group.
pub const CPU_GROUPS: u32 = 1;
/// The kernel may call [`CpuGroup::barrier`] or [`CpuGroup::sub_group`], so a chunk is one
/// work-item, on its own stack.
pub const CPU_BARRIER: u32 = 2;
/// LLVM's loop vectoriser did not terminate, so the kernel was compiled without it. This requires
/// nothing of a chunk.
pub const CPU_PLAIN_LOOPS: u32 = 4;
/// The kernel has barriers, and was cut at them: a chunk is a whole work-group, and no work-item
/// waits. It may call [`CpuGroup::memory`] and [`CpuGroup::agree`].
pub const CPU_WHOLE_GROUP: u32 = 8;
/// The kernel unwinds: a panic fills the record and calls [`code::RAISE`], in place of returning
/// [`RUN_PANICKED`]. The entry function is an [`UnwindingEntry`].
pub const CPU_UNWINDS: u32 = 16;

/// Runs one work-item after the other, x fastest, for every id in the chunk. Returns [`RUN_OK`], or
/// [`RUN_PANICKED`] at the first work-item that panics: `panic` is then filled and the rest of the
/// chunk did not run. With [`CPU_WHOLE_GROUP`] all work-items run up to a barrier before the first
/// continues, and there are [`RUN_DIVERGED`] and [`RUN_NO_MEMORY`]. Any number of threads may run chunks of one kernel concurrently. All frames
/// are probed page by page, so a stack overflow hits the guard page.
///
/// # Safety
/// `closure` points to the closure's bytes (of the size and alignment in the request) and is not
/// written during the call; every pointer in it is valid for what the kernel does with it; `chunk`
/// is as [`CpuChunk`] says; `panic` can be written. The kernel's work-items do not race: two of
/// them access the same memory only atomically, or only to read it. Code for [`FLAG_IN_PROCESS`] may
/// unwind, and `panic` is then as it was: it is an [`UnwindingEntry`]. So is that with [`CPU_UNWINDS`], which
/// fills `panic` before.
pub type CpuEntry = unsafe extern "C" fn(
    closure: *const u8,
    chunk: *const CpuChunk,
    panic: *mut PanicRecord,
) -> u32;

/// A [`CpuEntry`] that may unwind. On x86-64, Rust passes three addresses, and returns a number of 32
/// bits, as C does. The type is Rust's because a crate that calls functions which unwind by another
/// interface cannot be linked into programs with `panic = "abort"`.
pub type UnwindingEntry =
    unsafe fn(closure: *const u8, chunk: *const CpuChunk, panic: *mut PanicRecord) -> u32;

/// Every work-item of the chunk ran to its end.
pub const RUN_OK: u32 = 0;
/// A work-item panicked.
pub const RUN_PANICKED: u32 = 1;
/// The work-items of a group did not come to the same barrier ([`CpuGroup::agree`]).
pub const RUN_DIVERGED: u32 = 2;
/// [`CpuGroup::memory`] had none.
pub const RUN_NO_MEMORY: u32 = 3;

/// A box of a launch range. Entries are in the order x, y, z, and x is the fastest-varying
/// dimension. Entries beyond the kernel's dimensions are not read: those ids are 0 of 1. An empty
/// box (`begin[i] == end[i]`) runs nothing.
///
/// Code relies on `begin[i] <= end[i] <= range[i]`, and on the product of the ranges being at most
/// `isize::MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuChunk {
    /// The first id.
    pub begin: [usize; 3],
    /// One past the last id.
    pub end: [usize; 3],
    /// The whole launch's range, as kernels see it.
    pub range: [usize; 3],
    /// The launch's offset, for kernels compiled with [`FLAG_OFFSET`]. The ids above do not include
    /// it.
    pub offset: [usize; 3],
    /// The work-group that contains the box. Read by kernels with [`CPU_GROUPS`] only; null
    /// otherwise.
    pub group: *const CpuGroup,
}

/// A work-group that is running. Entries are in the order x, y, z; beyond the kernel's dimensions,
/// ids are 0 and ranges 1.
///
/// Code relies on `first[i] <= id < first[i] + local_range[i]` for every work-item of the group.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuGroup {
    /// The global id of the group's first work-item.
    pub first: [usize; 3],
    /// Work-items of a group, in each dimension.
    pub local_range: [usize; 3],
    /// The group's id.
    pub id: [usize; 3],
    /// The number of groups, in each dimension.
    pub range: [usize; 3],
    /// The group's local memory, of the size and alignment that the container and the launch
    /// require.
    pub local_memory: *mut u8,
    /// Returns when all work-items of the group have called it, or never: the caller's stack may be
    /// discarded instead. Called with `data`, on the thread on which the entry function was called,
    /// which may run other work-items of the group meanwhile.
    pub barrier: Option<unsafe extern "C" fn(data: *mut c_void)>,
    /// Runs one of the `SUB_GROUP_` operations, with the caller's value and the operation's
    /// argument. Returns when all work-items of the sub-group have called it, or never, like
    /// `barrier`. The sub-groups are [`SUB_GROUP_SIZE`] work-items each, by row-major index in the
    /// group; the last one may have fewer.
    pub sub_group: Option<SubGroupFn>,
    /// Gives memory of that many bytes to keep values in until the entry function returns, aligned
    /// to 64 bytes and not initialised; null if there is none. For [`CPU_WHOLE_GROUP`].
    pub memory: Option<unsafe extern "C" fn(data: *mut c_void, bytes: usize) -> *mut u8>,
    /// Where the work-items of the group go on: `items` numbers, of which 0 means that a work-item
    /// has ended, and any other a barrier. Returns the number, or `u32::MAX` if there are several.
    /// For [`CPU_WHOLE_GROUP`].
    pub agree: Option<AgreeFn>,
    /// The argument of all these.
    pub data: *mut c_void,
}

/// The type of [`CpuGroup::sub_group`].
pub type SubGroupFn =
    unsafe extern "C" fn(data: *mut c_void, operation: u32, value: u32, argument: u32) -> u32;

/// The type of [`CpuGroup::agree`].
pub type AgreeFn =
    unsafe extern "C" fn(data: *mut c_void, numbers: *const u32, items: usize) -> u32;

/// The number of work-items of a sub-group, on every device.
pub const SUB_GROUP_SIZE: usize = 32;

/// The value of the work-item at the lane in the argument, which is less than [`SUB_GROUP_SIZE`].
pub const SUB_GROUP_SHUFFLE: u32 = 0;
/// The same for the caller's lane xor the argument.
pub const SUB_GROUP_SHUFFLE_XOR: u32 = 1;
/// The same for the lane that many before the caller's, or the caller's own value.
pub const SUB_GROUP_SHUFFLE_UP: u32 = 2;
/// The same for the lane that many behind the caller's, or the caller's own value.
pub const SUB_GROUP_SHUFFLE_DOWN: u32 = 3;
/// A bit for each lane, set where the value is not 0.
pub const SUB_GROUP_BALLOT: u32 = 4;
/// Only waits.
pub const SUB_GROUP_BARRIER: u32 = 5;
/// The sum of all values, in 32 bits.
pub const SUB_GROUP_ADD: u32 = 6;
/// The minimum of all values, as signed integers.
pub const SUB_GROUP_MIN: u32 = 7;
/// The maximum of all values, as signed integers.
pub const SUB_GROUP_MAX: u32 = 8;
/// The minimum of all values, as unsigned integers.
pub const SUB_GROUP_UMIN: u32 = 9;
/// The maximum of all values, as unsigned integers.
pub const SUB_GROUP_UMAX: u32 = 10;

/// The record of a panicking work-item.
#[repr(C)]
#[derive(Debug)]
pub struct PanicRecord {
    /// The message, formatted, UTF-8. The loader of the code frees it.
    pub message: Text,
    /// The source file, UTF-8; empty if unknown. It belongs to the code: copy it before unloading
    /// that.
    pub file: Bytes,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The work-item's global id: x, y, z, without the launch's offset.
    pub global_id: [usize; 3],
    /// The work-item's position in its group, if [`PanicRecord::in_group`] is not 0.
    pub local_id: [usize; 3],
    /// Whether the launch has groups.
    pub in_group: u32,
}

impl PanicRecord {
    /// The initial value for a [`CpuEntry`].
    pub const EMPTY: Self = Self {
        message: Text::EMPTY,
        file: Bytes::EMPTY,
        line: 0,
        column: 0,
        global_id: [0; 3],
        local_id: [0; 3],
        in_group: 0,
    };
}
