//! What code of cut kernels expects of the process that runs it.

/// The attribute of the loop function that says at which byte of the group the id of its first
/// work-item begins: three 64-bit numbers.
pub const GROUP_FIRST: &str = "schism-group-first";

/// The attribute that says at which byte of the group the address of its local memory is.
pub const GROUP_LOCAL_MEMORY: &str = "schism-group-local-memory";

/// The attribute with the work-items of a group in each dimension, such as `16,16,1`. Without it
/// groups have any size.
pub const GROUP_SIZE: &str = "schism-group-size";

/// The function of the process that gives memory for a group's values: `ptr (ptr group, i64
/// bytes)`. The memory is aligned to 64 bytes and not initialised. If there is none it returns
/// null.
pub const GROUP_MEMORY: &str = "__schism_cpu_group_memory";

/// The function of the process that compares where the work-items of a group go on: `i32 (ptr
/// group, ptr numbers, i64 items)`. Returns the number, or `u32::MAX` if there are several; 0 is
/// the number of work-items that have ended.
pub const AGREE: &str = "__schism_cpu_agree";

/// The function of the module that gives a group's local memory.
pub const LOCAL_MEMORY: &str = "schism.local_memory";

/// The loop function's status where work-items did not come to the same barrier.
pub const RUN_DIVERGED: u32 = 2;

/// The same where there is no memory.
pub const RUN_NO_MEMORY: u32 = 3;
