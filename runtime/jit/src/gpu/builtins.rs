//! What a GPU's kernel asks of its device while it is compiled, by neutral names.
//!
//! LLVM's passes know these functions as intrinsics: which of them differ between work-items, which
//! all of a group reach together. They know those of one code generator only, that for PTX, so its
//! intrinsics stand for the builtins of every GPU until code for the target is made. `ptx` leaves
//! them to the code generator, `amdgcn` and `spirv` replace them. Their names are here alone.

/// What the names of all of them begin with.
pub const DEVICE_PREFIX: &str = "llvm.nvvm.";

/// What the names of the special registers begin with. Each is a function of no parameters that
/// returns an `i32`.
pub const REGISTER: &str = "llvm.nvvm.read.ptx.sreg.";

/// A work-item's place in its group; the axis follows after a point, as in the next three.
pub const DEVICE_LOCAL_ID: &str = "llvm.nvvm.read.ptx.sreg.tid";
/// The group's place in the grid.
pub const DEVICE_GROUP_ID: &str = "llvm.nvvm.read.ptx.sreg.ctaid";
/// The work-items of a group.
pub const DEVICE_GROUP_SIZE: &str = "llvm.nvvm.read.ptx.sreg.ntid";
/// The groups of the grid.
pub const DEVICE_GROUP_COUNT: &str = "llvm.nvvm.read.ptx.sreg.nctaid";

/// The work-item's place in its sub-group.
pub const DEVICE_LANE: &str = "llvm.nvvm.read.ptx.sreg.laneid";

/// The barrier of a whole group, by the number 0: `void (i32)`.
pub use schism_passes::spec::target::GROUP_BARRIER as DEVICE_BARRIER;

/// Ends the work-item: `void ()`.
pub const DEVICE_EXIT: &str = "llvm.nvvm.exit";

/// The value of another lane: `i32 (i32 mask, i32 value, i32 argument, i32 last)`. The argument is
/// the lane.
pub const DEVICE_SHUFFLE: &str = "llvm.nvvm.shfl.sync.idx.i32";
/// The argument is what the lane's number is combined with by exclusive or.
pub const DEVICE_SHUFFLE_XOR: &str = "llvm.nvvm.shfl.sync.bfly.i32";
/// The argument is how many lanes before.
pub const DEVICE_SHUFFLE_UP: &str = "llvm.nvvm.shfl.sync.up.i32";
/// The argument is how many lanes after.
pub const DEVICE_SHUFFLE_DOWN: &str = "llvm.nvvm.shfl.sync.down.i32";

/// A bit for each lane: `i32 (i32 mask, i1 flag)`.
pub const DEVICE_BALLOT: &str = "llvm.nvvm.vote.ballot.sync";

/// The barrier of a sub-group: `void (i32 mask)`.
pub const DEVICE_SUB_GROUP_BARRIER: &str = "llvm.nvvm.bar.warp.sync";

/// Reduces the numbers of all lanes, on some of NVIDIA's processors: `i32 (i32 value, i32 mask)`; the
/// operation follows after a point.
pub const DEVICE_REDUCE: &str = "llvm.nvvm.redux.sync";

/// A kernel's attribute: how many work-items a group has at most, of each axis.
pub const MAX_GROUP_SIZE: &str = "nvvm.maxntid";
/// A kernel's attribute: how many groups a processor is to have room for.
pub const MIN_GROUPS: &str = "nvvm.minctasm";
