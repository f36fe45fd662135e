//! The builtins of groups in the host half, for the device `native`.
//!
//! A thread-local variable refers to the group that the thread is running.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::ptr::null;

use crate::hal::host::groups::fibers::Fibers;
use crate::launch::failure::Failure;

/// A group that is running on this thread.
pub(super) struct HostGroup<'a> {
    /// The place of its first work-item in the range.
    pub(super) first: [usize; 3],
    pub(super) local_range: [usize; 3],
    pub(super) id: [usize; 3],
    pub(super) range: [usize; 3],
    pub(super) fibers: &'a Fibers<'a>,
    /// Its local memory: first what the launch adds, then arrays in the order in which they are
    /// first used.
    pub(super) memory: *mut u8,
    pub(super) limit: usize,
    pub(super) arrays: RefCell<Arrays>,
    /// Why a work-item could not continue.
    pub(super) failure: Cell<Option<Failure>>,
}

/// The arrays of a group.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    /// Bytes in use.
    used: usize,
    /// Tag, size, alignment and offset.
    known: Vec<(usize, usize, usize, usize)>,
}

impl Arrays {
    /// No arrays yet, after `bytes` of the launch's.
    pub(super) fn after(bytes: usize) -> Self {
        Self { used: bytes, known: Vec::new() }
    }
}

/// The panic payload of a work-item whose group is abandoned.
pub(super) struct GivenUp;

thread_local! {
    static GROUP: Cell<*const HostGroup<'static>> = const { Cell::new(null()) };
}

/// Runs `run` with `group` as the thread's group.
pub(super) fn with<R>(group: &HostGroup<'_>, run: impl FnOnce() -> R) -> R {
    struct Restore(*const HostGroup<'static>);
    impl Drop for Restore {
        fn drop(&mut self) {
            GROUP.set(self.0);
        }
    }
    let _restore = Restore(GROUP.replace(std::ptr::from_ref(group).cast()));
    run()
}

/// The thread's group. It is valid as long as the calling work-item runs, whatever the type says.
#[track_caller]
fn group() -> &'static HostGroup<'static> {
    // SAFETY: `with` keeps the group alive while the variable refers to it, and a work-item uses
    // the result only while it runs.
    unsafe { GROUP.get().as_ref() }
        .expect("this belongs in a kernel that is launched with work-groups")
}

type GroupPosition = ([usize; 3], [usize; 3], [usize; 3], [usize; 3]);

/// Local id, local range, group id and group range of the work-item at `place` of the range.
#[inline]
pub(crate) fn place(place: [usize; 3]) -> GroupPosition {
    let group = group();
    let local = std::array::from_fn(|axis| place[axis] - group.first[axis]);
    (local, group.local_range, group.id, group.range)
}

/// The same for the running work-item.
#[inline]
pub(crate) fn membership() -> GroupPosition {
    let group = group();
    (group.fibers.local_id(group.local_range), group.local_range, group.id, group.range)
}

/// Defines functions with the names of the devices' builtins, so that the host half links. The host
/// half itself calls `place`.
macro_rules! ids {
    ($($name:ident: $field:ident $axis:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> usize {
            // SAFETY: as in `group`.
            unsafe { GROUP.get().as_ref() }.map_or(0, |group| group.$field[$axis])
        }
    )*};
}
ids! {
    __schism_local_range_x: local_range 0;
    __schism_local_range_y: local_range 1;
    __schism_local_range_z: local_range 2;
    __schism_group_id_x: id 0;
    __schism_group_id_y: id 1;
    __schism_group_id_z: id 2;
    __schism_group_range_x: range 0;
    __schism_group_range_y: range 1;
    __schism_group_range_z: range 2;
}

macro_rules! local_ids {
    ($($name:ident: $axis:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> usize {
            // SAFETY: as in `group`.
            let group = unsafe { GROUP.get().as_ref() };
            group.map_or(0, |group| group.fibers.local_id(group.local_range)[$axis])
        }
    )*};
}
local_ids! { __schism_local_id_x: 0; __schism_local_id_y: 1; __schism_local_id_z: 2; }

#[unsafe(no_mangle)]
fn __schism_barrier() {
    // A destructor that runs because of a panic must not suspend: its work-item ends here anyway.
    if std::thread::panicking() {
        return;
    }
    // SAFETY: the fibers of the thread's group are those that run this.
    if unsafe { !group().fibers.wait() } {
        resume_unwind(Box::new(GivenUp));
    }
}

/// Runs an operation of the sub-group.
fn group_operation(operation: u32, value: u32, argument: u32) -> u32 {
    // As for a barrier.
    if std::thread::panicking() {
        return value;
    }
    // SAFETY: the fibers of the thread's group are those that run this.
    match unsafe { group().fibers.group_operation(operation, value, argument) } {
        Some(result) => result,
        None => resume_unwind(Box::new(GivenUp)),
    }
}

#[unsafe(no_mangle)]
fn __schism_shuffle(value: u32, lane: u32) -> u32 {
    group_operation(schism_jit_abi::SUB_GROUP_SHUFFLE, value, lane)
}

#[unsafe(no_mangle)]
fn __schism_shuffle_xor(value: u32, mask: u32) -> u32 {
    group_operation(schism_jit_abi::SUB_GROUP_SHUFFLE_XOR, value, mask)
}

#[unsafe(no_mangle)]
fn __schism_shuffle_up(value: u32, distance: u32) -> u32 {
    group_operation(schism_jit_abi::SUB_GROUP_SHUFFLE_UP, value, distance)
}

#[unsafe(no_mangle)]
fn __schism_shuffle_down(value: u32, distance: u32) -> u32 {
    group_operation(schism_jit_abi::SUB_GROUP_SHUFFLE_DOWN, value, distance)
}

#[unsafe(no_mangle)]
fn __schism_ballot(flag: u32) -> u32 {
    group_operation(schism_jit_abi::SUB_GROUP_BALLOT, flag, 0)
}

macro_rules! reductions {
    ($($name:ident: $operation:ident;)*) => {$(
        #[unsafe(no_mangle)]
        fn $name(value: u32) -> u32 {
            group_operation(schism_jit_abi::$operation, value, 0)
        }
    )*};
}
reductions! {
    __schism_reduce_add: SUB_GROUP_ADD;
    __schism_reduce_min: SUB_GROUP_MIN;
    __schism_reduce_max: SUB_GROUP_MAX;
    __schism_reduce_umin: SUB_GROUP_UMIN;
    __schism_reduce_umax: SUB_GROUP_UMAX;
}

#[unsafe(no_mangle)]
fn __schism_sub_group_barrier() {
    group_operation(schism_jit_abi::SUB_GROUP_BARRIER, 0, 0);
}

#[unsafe(no_mangle)]
fn __schism_local_dynamic() -> *mut u8 {
    group().memory
}

#[unsafe(no_mangle)]
fn __schism_local_static(tag: *const u8, size: usize, align: usize) -> *mut u8 {
    let group = group();
    let mut arrays = group.arrays.borrow_mut();
    let key = (tag.addr(), size, align);
    if let Some(&(.., offset)) =
        arrays.known.iter().find(|known| (known.0, known.1, known.2) == key)
    {
        return group.memory.wrapping_add(offset);
    }
    let place = (group.memory.addr() + arrays.used).next_multiple_of(align) - group.memory.addr();
    let bytes = place.saturating_add(size);
    if bytes > group.limit {
        group.failure.set(Some(Failure::LocalMemory { bytes }));
        drop(arrays);
        resume_unwind(Box::new(GivenUp));
    }
    arrays.used = bytes;
    arrays.known.push((key.0, size, align, place));
    group.memory.wrapping_add(place)
}
