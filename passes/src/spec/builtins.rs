//! Names of the builtins that a device image may call: declared in the image, defined by the
//! target that stage 2 lowers it to.

use crate::spec::target_library;

/// Index of the work-item in each dimension, `i64 ()`, fastest-varying dimension first.
pub const GLOBAL_ID: [&str; 3] =
    ["__schism_global_id_x", "__schism_global_id_y", "__schism_global_id_z"];

/// Number of work-items in each dimension, `i64 ()`, fastest-varying dimension first.
pub const GLOBAL_RANGE: [&str; 3] =
    ["__schism_global_range_x", "__schism_global_range_y", "__schism_global_range_z"];

/// Index of the work-item in its group, `i64 ()`, fastest-varying dimension first.
pub const LOCAL_ID: [&str; 3] =
    ["__schism_local_id_x", "__schism_local_id_y", "__schism_local_id_z"];

/// Number of work-items in a group in each dimension, `i64 ()`, fastest-varying dimension first.
pub const LOCAL_RANGE: [&str; 3] =
    ["__schism_local_range_x", "__schism_local_range_y", "__schism_local_range_z"];

/// Index of the group in each dimension, `i64 ()`, fastest-varying dimension first.
pub const GROUP_ID: [&str; 3] =
    ["__schism_group_id_x", "__schism_group_id_y", "__schism_group_id_z"];

/// Number of groups in each dimension, `i64 ()`, fastest-varying dimension first.
pub const GROUP_RANGE: [&str; 3] =
    ["__schism_group_range_x", "__schism_group_range_y", "__schism_group_range_z"];

/// `void ()`: waits for all work-items of the group; orders their accesses of local and global
/// memory.
pub const BARRIER: &str = "__schism_barrier";

/// `i64 (i64 group, i64 lanes, i64 lane)`: which item of a pipeline a work-item of a group runs: `group`,
/// if all lanes run it together, as [`crate::vectorize`] may have them do, or else `group * lanes + lane`.
pub const ROW: &str = "__schism_row";

/// `i32 (i32 value, i32 lane)`: what the work-item at `lane` of the sub-group has called this with;
/// `lane` is less than [`SUB_GROUP_SIZE`]. For this and all that sub-groups do: all work-items of a
/// sub-group call it together. What comes of one that has ended, or was never there, is any number.
pub const SHUFFLE: &str = "__schism_shuffle";

/// `i32 (i32 value, i32 mask)`: the same for the lane whose number is the caller's with the bits of
/// `mask` changed. `mask` is less than [`SUB_GROUP_SIZE`].
pub const SHUFFLE_XOR: &str = "__schism_shuffle_xor";

/// `i32 (i32 value, i32 distance)`: the same for the lane that many before the caller's; the
/// caller's own value if there is none. `distance` is less than [`SUB_GROUP_SIZE`].
pub const SHUFFLE_UP: &str = "__schism_shuffle_up";

/// `i32 (i32 value, i32 distance)`: the same for the lane that many behind the caller's; the
/// caller's own value if that is not less than [`SUB_GROUP_SIZE`].
pub const SHUFFLE_DOWN: &str = "__schism_shuffle_down";

/// `i32 (i32 flag)`: a bit for each lane, set where the flag is not 0.
pub const BALLOT: &str = "__schism_ballot";

/// `void ()`: waits for all work-items of the sub-group; orders their accesses of local and global
/// memory.
pub const SUB_GROUP_BARRIER: &str = "__schism_sub_group_barrier";

/// `i32 (i32 value)`: the sum of what all of the sub-group have called it with, in 32 bits.
pub const REDUCE_ADD: &str = "__schism_reduce_add";

/// The same for the least and the greatest number with a sign, and for those without.
pub const REDUCE_LEAST: [&str; 4] =
    ["__schism_reduce_min", "__schism_reduce_max", "__schism_reduce_umin", "__schism_reduce_umax"];

/// `i64 ()`: ticks of the processor that the work-item runs on.
pub const CLOCK: &str = "__schism_clock";

/// `i64 ()`: nanoseconds, for all work-items of a device from the same beginning.
pub const TIME: &str = "__schism_time";

/// `void (i32 nanoseconds)`: asks the processor to let others go first for about so long. It is a
/// hint, and accesses no memory.
pub const PAUSE: &str = "__schism_pause";

/// The work-items of a sub-group: that many, in the order of their row-major index in the group.
/// The last one of a group may have fewer.
pub const SUB_GROUP_SIZE: usize = 32;

/// The builtins that work-items call together: of a group, or of a sub-group.
pub fn convergent() -> impl Iterator<Item = &'static str> {
    [BARRIER].into_iter().chain(of_sub_groups())
}

/// The builtins that a sub-group calls together.
pub fn of_sub_groups() -> impl Iterator<Item = &'static str> {
    [SHUFFLE, SHUFFLE_XOR, SHUFFLE_UP, SHUFFLE_DOWN, BALLOT, SUB_GROUP_BARRIER]
        .into_iter()
        .chain(reductions())
}

/// The builtins that make one number of those of a sub-group, for all of it.
pub fn reductions() -> impl Iterator<Item = &'static str> {
    [REDUCE_ADD].into_iter().chain(REDUCE_LEAST)
}

/// `ptr ()`: the first byte of the group's local memory, as aligned as the container says and at
/// least to 16.
pub const LOCAL_MEMORY: &str = "__schism_local_memory";

/// `ptr (ptr tag, i64 size, i64 align)`: the local array that the tag stands for. Gone after
/// [`crate::frontend::allocate_local_memory`].
pub const LOCAL_STATIC: &str = "__schism_local_static";

/// `ptr ()`: where the local memory begins that a launch adds. Gone after
/// [`crate::frontend::allocate_local_memory`].
pub const LOCAL_DYNAMIC: &str = "__schism_local_dynamic";

/// `ptr (ptr own, ptr original)`: the address of a local variable that has a copy of what is at
/// `original`, or of the original. Gone after [`crate::frontend::finish_module`].
pub const COPY_OF: &str = "__schism_copy_of";

/// The alignment of the local memory that a launch adds.
pub const DYNAMIC_ALIGN: u64 = 128;

/// The builtins that give the same value all through a work-item.
pub fn pure() -> impl Iterator<Item = &'static str> {
    let of_groups = of_groups().filter(|name| convergent().all(|other| other != *name));
    GLOBAL_ID.into_iter().chain(GLOBAL_RANGE).chain(of_groups)
}

/// The builtins that only a launch with work-groups can answer.
pub fn of_groups() -> impl Iterator<Item = &'static str> {
    of_groups_in_images().chain([LOCAL_STATIC, LOCAL_DYNAMIC])
}

/// Those of them that an image has after all passes, so that targets define them.
pub fn of_groups_in_images() -> impl Iterator<Item = &'static str> {
    [LOCAL_ID, LOCAL_RANGE, GROUP_ID, GROUP_RANGE]
        .into_iter()
        .flatten()
        .chain([LOCAL_MEMORY])
        .chain(convergent())
}

/// All that an image has after all passes.
pub fn in_images() -> impl Iterator<Item = &'static str> {
    let ids = GLOBAL_ID.into_iter().chain(GLOBAL_RANGE);
    ids.chain(of_groups_in_images())
        .chain([PANIC, PANIC_FORMAT, ABORT, PRINT, CLOCK, TIME, PAUSE, ROW])
        .chain(HOST_HEAP)
}

/// Where the launch begins in each dimension, `i64 ()`, fastest-varying dimension first. These
/// exist only until [`crate::frontend::launch_offset`] has run: no target defines them.
pub const GLOBAL_OFFSET: [&str; 3] =
    ["__schism_global_offset_x", "__schism_global_offset_y", "__schism_global_offset_z"];

/// What the name of a kernel's variant ends in that takes where the launch begins.
pub const OFFSET_SUFFIX: &str = "_with_offset";

/// `void (ptr message, i64 message_len, ptr location)`; does not return.
pub const PANIC: &str = "__schism_panic";

/// `void (ptr template, ptr arguments, ptr location)`: a panic whose message is the two words of a
/// `core::fmt::Arguments`, with descriptors for formatters; does not return.
pub const PANIC_FORMAT: &str = "__schism_panic_format";

/// `void (ptr message, i64 message_len, ptr location)`: a panic where none may unwind, in what is
/// executed while another one does: it ends the process. Does not return. Only where kernels unwind.
pub const ABORT: &str = "__schism_abort";

/// `void (ptr shape, ptr location, i64 word...)`, with the number of words behind the name: a panic
/// whose message is a shape and words. Made by [`crate::gpu::panic_sites`], so no image has it.
pub const PANIC_SHAPED: &str = "__schism_panic_shaped";

/// What stage 2 makes of it, with what only the device knows in front: see
/// [`crate::gpu::merge_panic_exits`].
pub const PANIC_SITE: &str = "__schism_panic_site";

/// `void (ptr template, ptr arguments)`: prints such a message.
pub const PRINT: &str = "__schism_print";

/// The program's allocator, for kernels that work in the program's own memory: `ptr (i64 size, i64
/// align)`, the same with zeroes, `void (ptr, i64 size, i64 align)`, which frees, and `ptr (ptr,
/// i64 size, i64 align, i64 new_size)`. See [`crate::frontend::remove_refused`].
pub const HOST_HEAP: [&str; 4] = [
    "__schism_host_alloc",
    "__schism_host_alloc_zeroed",
    "__schism_host_dealloc",
    "__schism_host_realloc",
];

/// Whether `name` is a builtin that panics.
pub fn is_panic(name: &str) -> bool {
    [PANIC, PANIC_FORMAT].contains(&name)
}

/// Whether `name` is a builtin.
pub fn is_builtin(name: &str) -> bool {
    in_images().chain([LOCAL_STATIC, LOCAL_DYNAMIC, COPY_OF]).any(|builtin| builtin == name)
}

/// C library functions that every target either has or gets from stage 2: memory and mathematics.
///
/// LLVM makes calls of the former by itself; the rest is what the standard library's
/// floating-point methods are lowered to where LLVM has no intrinsic.
pub fn is_library_function(name: &str) -> bool {
    // Names before which there are lines are the compiler's own.
    !name.starts_with("__") && target_library::is_function(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_names_with_an_f_inside_are_known() {
        for name in ["fmodf", "erff", "floorf", "powf", "sqrtf", "sin", "memcpy"] {
            assert!(is_library_function(name), "{name}");
        }
        for name in ["", "f", "memcpyf", "lgamma_rf", "write", "__rust_alloc", "__powidf2"] {
            assert!(!is_library_function(name), "{name}");
        }
    }
}
