//! A device that runs nothing and records what is requested: the minimum of a backend.
//!
//! It is a folder here and a line in `dispatch`; tests choose it by name.

use std::alloc::Layout;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::compiler::About;
use crate::code::recent::KnownVersions;
use crate::error::{BufferError, DeviceError, LaunchError};
use crate::hal::host::body::Body;
use crate::hal::host::kernel::{CpuKernel, CpuLoader};
use crate::hal::host::memory::HostMemory;
use crate::hal::host::queue::NoPending;
use crate::hal::{Backend, DeviceOps, DeviceTraits, Held, QueueOps, Submitted, TaskQueue};
use crate::launch::desc::LaunchDesc;
use crate::launch::erased::NativeBody;

/// The requests to the device, of all queues.
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(what: String) {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

/// The device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recording;

impl Backend for Recording {
    type Device = Self;

    fn devices() -> Vec<Self> {
        Vec::new()
    }

    fn by_name(name: &str) -> Option<Result<Self, DeviceError>> {
        (name == "recording").then_some(Ok(Self))
    }
}

impl DeviceOps for Recording {
    type Queue = Queue;

    fn name(&self) -> &str {
        "recording"
    }

    fn description(&self, _: Option<&About>) -> String {
        "nothing".to_owned()
    }

    fn max_group_size(&self) -> usize {
        8
    }

    fn local_memory_size(&self) -> usize {
        0
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn traits(&self) -> DeviceTraits {
        DeviceTraits {
            runs_on_host: true,
            is_gpu: false,
            runs_device_code: false,
            slow_barriers: false,
        }
    }

    fn queue(&self) -> Result<Queue, DeviceError> {
        note("queue".to_owned());
        Ok(Queue)
    }

    fn allocate(&self, layout: Layout) -> Result<HostMemory, BufferError> {
        note(format!("allocate {}", layout.size()));
        HostMemory::new(layout, "recording")
    }
}

/// A queue of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue;

impl QueueOps for Queue {
    type Loader = CpuLoader;
    type Code<'a> = Body<'a>;
    type Memory = HostMemory;
    type Pending = NoPending;
    type Plan = ();
    type Order = ();
    type Guard<'a> = Box<Held<CpuKernel, ()>>;

    fn device_name(&self) -> &str {
        Recording.name()
    }

    fn max_group_size(&self) -> usize {
        Recording.max_group_size()
    }

    fn loader(&self) -> Option<&CpuLoader> {
        None
    }

    fn compiled(kernel: &Arc<CpuKernel>) -> Body<'_> {
        Body::Cpu(Cow::Borrowed(kernel))
    }

    fn native<'a>(body: NativeBody) -> Option<Self::Code<'a>> {
        Some(Body::Native(body))
    }

    fn lock(&self) -> Result<Box<Held<CpuKernel, ()>>, LaunchError> {
        Ok(Box::default())
    }

    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError> {
        Ok(None)
    }

    fn plan(&self, _: &LaunchDesc<'_>) -> Result<(), LaunchError> {
        Ok(())
    }

    unsafe fn submit(
        &self,
        (): &mut (),
        launch: &LaunchDesc<'_>,
        _: Body<'_>,
        (): (),
        _: Option<KnownVersions>,
    ) -> Result<Submitted<NoPending>, LaunchError> {
        let groups = launch.groups.map(|groups| groups.local.slowest_first());
        note(format!("launch {:?} {groups:?}", launch.range.slowest_first()));
        Ok(Submitted::Ended)
    }

    fn allocate(&self, layout: Layout) -> Result<HostMemory, BufferError> {
        Recording.allocate(layout)
    }
}

/// A program that uses the device goes through the whole path of a launch, except for code.
#[test]
fn a_device_is_a_folder_and_a_line() {
    use crate::prelude::*;

    let device = Device::by_name("recording").expect("the line in `dispatch`");
    let other = Buffer::filled(&device, 3, 1_u8).expect("memory without a queue");
    let queue = crate::Queue::on(&device).expect("a queue");
    let mut numbers = Buffer::filled(&queue, 6, 1_u8).expect("memory");
    queue.for_each(&mut numbers, |number| *number += 1).expect("a launch");
    let range = NdRange::new([2, 4], [2, 2]).expect("groups that fill the range");
    queue
        .scope(|scope| {
            scope.parallel_for(range, |_| ())?;
            Ok(())
        })
        .expect("another launch");
    let too_large = NdRange::new(16, 16).expect("a group");
    let error = queue.parallel_for(too_large, |_| ()).expect_err("16 work-items");
    assert!(matches!(error, LaunchError::GroupTooLarge { limit: 8, .. }), "{error}");
    queue.parallel_for(0, |_| ()).expect("nothing to run");
    assert_eq!((numbers.to_vec(), other.to_vec()), (vec![1; 6], vec![1; 3]), "nothing ran");
    let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let launches = ["launch [6] None", "launch [2, 4] Some([2, 2])"];
    assert_eq!(*asked, [&["allocate 3", "queue", "allocate 6"][..], &launches].concat());
}
