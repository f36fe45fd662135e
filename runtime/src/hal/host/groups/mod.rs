//! Launches with work-groups: ranges, work-items, local memory and barriers.
//!
//! A group runs on one thread, so barriers need no thread to wait; groups run on all threads at
//! once, and are what is distributed over them. How a group runs depends on the kernel:
//!
//! | kernel | how |
//! |---|---|
//! | device `cpu`, no barrier | one call for the group: a box of the range |
//! | device `cpu`, barriers at which it was cut | one call for the group, with memory for what work-items keep across barriers (`kept`) |
//! | device `cpu`, other barriers | `fibers`: one call for each work-item, on stacks that are switched at barriers |
//! | device `native` | the same, with the host half's body; barriers find the group through a thread-local variable (`builtins`). Waiting work-items have threads of their own, unless they are known to use no thread-local variables (`threads`) |

pub(crate) mod builtins;
mod carriers;
mod coroutine;
mod fibers;
mod kept;
mod lanes;
pub(crate) mod limits;
mod memory;
mod stacks;
mod threads;

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use schism_jit_abi::{CPU_BARRIER, CpuChunk, CpuGroup};

use crate::hal::host::body::{Body, run_cpu};
use crate::hal::host::groups::builtins::{Arrays, HostGroup};
use crate::hal::host::groups::carriers::Carriers;
use crate::hal::host::groups::coroutine::wait;
use crate::hal::host::groups::fibers::{Fibers, GiveUp, position};
use crate::hal::host::groups::kept::Kept;
use crate::hal::host::groups::limits::LOCAL_MEMORY;
use crate::hal::host::groups::memory::GroupMemory;
use crate::hal::host::kernel::CpuKernel;
use crate::hal::host::stack;
use crate::hal::host::stack::need::Need;
use crate::hal::host::stack::overflow::Runs;
use crate::kernel::group::nd_range::NdExtent;
use crate::launch::desc::GroupDesc;
use crate::launch::erased::NativeBody;
use crate::launch::failure::{self, Failure, Hook, Inside, Panic};
use crate::launch::options::{self, Options};
use crate::launch::range::Extent;

/// The groups of a launch.
#[derive(Clone, Debug)]
pub(crate) struct GroupWork {
    range: NdExtent,
    memory: Layout,
    /// Bytes of it that the launch adds.
    dynamic: usize,
}

/// The code of the groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupLaunch<'a> {
    pub(crate) body: &'a Body<'a>,
    pub(crate) closure: *const (),
    pub(crate) options: Option<&'a Options>,
    pub(crate) runs: &'a Runs,
    /// The stack that one work-item needs.
    pub(crate) need: Need,
}

impl GroupWork {
    /// The groups of a range that run `body`.
    ///
    /// # Errors
    /// The bytes that the groups need, if that is more than available.
    pub(crate) fn new(
        range: &Extent,
        groups: &GroupDesc<'_>,
        body: &Body<'_>,
    ) -> Result<Self, usize> {
        let GroupDesc { local, count, dynamic } = *groups;
        let range = NdExtent { global: *range, local: *local, groups: *count };
        let (size, align) = match body {
            // The offsets of arrays are unknown before they are used.
            Body::Native(_) => (dynamic, LOCAL_MEMORY),
            Body::Cpu(kernel) => {
                let (size, align) = kernel.local_memory();
                (size.saturating_add(dynamic), align)
            }
        };
        if size > LOCAL_MEMORY {
            return Err(size);
        }
        let bytes = match body {
            Body::Native(_) => LOCAL_MEMORY,
            Body::Cpu(_) => size,
        };
        let memory = Layout::from_size_align(bytes, align.max(memory::ALIGN)).map_err(|_| size)?;
        Ok(Self { range, memory, dynamic })
    }

    /// Work-items of a group.
    pub(crate) const fn items(&self) -> usize {
        self.range.local.items
    }

    /// Whether work-items may wait for others: they then run on stacks of their own.
    #[inline]
    pub(crate) fn waits(body: &Body<'_>) -> bool {
        match body {
            Body::Native(_) => true,
            Body::Cpu(kernel) => kernel.flags() & CPU_BARRIER != 0,
        }
    }

    /// Runs the groups with the linear ids `begin..end`.
    ///
    /// # Safety
    /// As for [`Work::run`](crate::hal::host::run::Work::run), with groups in place of work-items.
    pub(crate) unsafe fn run(
        &self,
        launch: GroupLaunch<'_>,
        begin: usize,
        end: usize,
    ) -> Result<(), Failure> {
        let memory = GroupMemory::take(self.memory);
        let apart = matches!(launch.body, Body::Native(native) if !native.shares_threads);
        let kept = Kept::default();
        if let Body::Cpu(kernel) = launch.body
            && kernel.flags() & CPU_BARRIER == 0
        {
            // SAFETY: the caller's promises.
            return unsafe { self.run_whole(kernel, launch, memory.address(), &kept, begin, end) };
        }
        let mut carriers = Carriers::new(launch.need, launch.runs, apart);
        for group in begin..end {
            let [nx, ny, _] = self.range.groups.xyz;
            let id = position(group, [nx, ny]);
            let group = Group {
                first: std::array::from_fn(|axis| id[axis] * self.range.local.xyz[axis]),
                id,
                work: self,
                launch,
                memory: memory.address(),
            };
            // SAFETY: the caller's promises; groups have work-items of their own each.
            unsafe {
                match launch.body {
                    Body::Native(native) => group.run_native(*native, &mut carriers)?,
                    Body::Cpu(kernel) => group.run_cpu(kernel, &mut carriers)?,
                }
            }
        }
        Ok(())
    }

    /// Runs groups in which nothing waits: one call for each.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the kernel's chunks may be whole groups.
    unsafe fn run_whole(
        &self,
        kernel: &CpuKernel,
        launch: GroupLaunch<'_>,
        memory: *mut u8,
        kept: &Kept,
        begin: usize,
        end: usize,
    ) -> Result<(), Failure> {
        let NdExtent { global, local, groups } = self.range;
        let [nx, ny, _] = groups.xyz;
        let mut id = position(begin, [nx, ny]);
        let mut group = CpuGroup {
            first: [0; 3],
            local_range: local.xyz,
            id,
            range: groups.xyz,
            local_memory: memory,
            barrier: None,
            sub_group: None,
            memory: Some(kept::memory),
            agree: Some(kept::agree),
            data: std::ptr::from_ref(kept).cast_mut().cast(),
        };
        for _ in begin..end {
            group.id = id;
            group.first = std::array::from_fn(|axis| id[axis] * local.xyz[axis]);
            let chunk = CpuChunk {
                begin: group.first,
                end: std::array::from_fn(|axis| group.first[axis] + local.xyz[axis]),
                range: global.xyz,
                offset: global.offset,
                group: &raw const group,
            };
            // SAFETY: the caller's promises; the group lies in the range.
            if let Err(failure) = unsafe { run_cpu(kernel, launch.closure, &chunk) } {
                let group = Group { first: group.first, id, work: self, launch, memory };
                return Err(group.place(kept.failure().unwrap_or(failure)));
            }
            id[0] += 1;
            if id[0] == nx {
                id = [0, id[1] + 1, id[2]];
                if id[1] == ny {
                    id = [0, 0, id[2] + 1];
                }
            }
        }
        Ok(())
    }
}

/// One group that is about to run.
struct Group<'a> {
    /// The place of its first work-item in the range: its id, without the launch's offset.
    first: [usize; 3],
    id: [usize; 3],
    work: &'a GroupWork,
    launch: GroupLaunch<'a>,
    memory: *mut u8,
}

impl Group<'_> {
    /// The box of one work-item.
    fn item(&self, index: usize, group: *const CpuGroup) -> CpuChunk {
        let NdExtent { global, local, .. } = self.work.range;
        let [nx, ny, _] = local.xyz;
        let local = position(index, [nx, ny]);
        let begin = std::array::from_fn(|axis| self.first[axis] + local[axis]);
        let end = begin.map(|id| id + 1);
        CpuChunk { begin, end, range: global.xyz, offset: global.offset, group }
    }

    /// Adds the group, and the position in the group, to a failure.
    fn place(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Panic(panic @ Panic { work_item: Some(place), .. }) => {
                let local = std::array::from_fn(|axis| place[axis] - self.first[axis]);
                Failure::Panic(Panic { local_id: Some(local), ..panic })
            }
            Failure::DivergentBarrier { waiting, ended, .. } => {
                Failure::DivergentBarrier { group: self.id, waiting, ended }
            }
            Failure::DivergentSubGroup { sub_group, waiting, elsewhere, .. } => {
                Failure::DivergentSubGroup { group: self.id, sub_group, waiting, elsewhere }
            }
            other => other,
        }
    }

    /// # Safety
    /// As for [`GroupWork::run`].
    unsafe fn run_cpu(
        &self,
        kernel: &CpuKernel,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        let NdExtent { local, groups, .. } = self.work.range;
        let fibers = Fibers::new(local.items);
        let group = CpuGroup {
            first: self.first,
            local_range: local.xyz,
            id: self.id,
            range: groups.xyz,
            local_memory: self.memory,
            barrier: Some(cpu_barrier),
            sub_group: Some(cpu_sub_group),
            memory: None,
            agree: None,
            data: std::ptr::from_ref(&fibers).cast_mut().cast(),
        };
        let item = |index| {
            let chunk = self.item(index, &raw const group);
            // SAFETY: the caller's promises; work-items of a group lie in the range.
            unsafe { run_cpu(kernel, self.launch.closure, &chunk) }
        };
        let result = fibers.run(&item, carriers, GiveUp::Forget);
        result.map_err(|failure| self.place(failure))
    }

    /// # Safety
    /// As for [`GroupWork::run`].
    unsafe fn run_native(
        &self,
        native: NativeBody,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        let NdExtent { local, groups, .. } = self.work.range;
        let fibers = Fibers::new(local.items);
        let group = HostGroup {
            first: self.first,
            local_range: local.xyz,
            id: self.id,
            range: groups.xyz,
            fibers: &fibers,
            memory: self.memory,
            limit: LOCAL_MEMORY,
            arrays: RefCell::new(Arrays::after(self.work.dynamic)),
            failure: Cell::new(None),
        };
        let item = |index| {
            let chunk = self.item(index, std::ptr::null());
            let run = || {
                // SAFETY: the caller's promises; the work-item lies in the range.
                failure::catch(|| unsafe { (native.chunk)(self.launch.closure, &chunk) })
            };
            let result = if fibers.is_on_thread() {
                // The thread has not run the launch yet.
                let (_inside, _entered) =
                    (Inside::enter(Hook::Launch), options::enter(self.launch.options));
                let GroupLaunch { need, runs, .. } = self.launch;
                stack::with_room(need, runs, || builtins::with(&group, run))
            } else {
                run()
            };
            result.map_err(|failure| match (group.failure.take(), failure) {
                (Some(failure), _) => failure,
                (None, Failure::Panic(panic)) => {
                    Failure::Panic(Panic { work_item: Some(chunk.begin), ..panic })
                }
                (None, failure) => failure,
            })
        };
        let result = builtins::with(&group, || fibers.run(&item, carriers, GiveUp::Unwind));
        result.map_err(|failure| self.place(failure))
    }
}

/// Generated code calls this at a barrier.
///
/// # Safety
/// `data` is the [`Fibers`] that run the calling work-item.
unsafe extern "C" fn cpu_barrier(data: *mut c_void) {
    // A destructor that runs because of a panic must not suspend: its work-item ends here anyway.
    if failure::is_raised() {
        return;
    }
    // SAFETY: the caller's promise. A group that is given up never comes back here: its stacks are
    // forgotten.
    unsafe { wait(data.cast_const().cast::<Fibers<'_>>()) };
}

/// Generated code calls this for sub-group operations.
///
/// # Safety
/// `data` is the [`Fibers`] that run the calling work-item.
unsafe extern "C" fn cpu_sub_group(
    data: *mut c_void,
    operation: u32,
    value: u32,
    argument: u32,
) -> u32 {
    // As for a barrier.
    if failure::is_raised() {
        return value;
    }
    // SAFETY: as above.
    unsafe { (*data.cast::<Fibers<'_>>()).group_operation(operation, value, argument) }
        .unwrap_or(value)
}
