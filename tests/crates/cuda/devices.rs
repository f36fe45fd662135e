//! Which devices there are, and which of them a buffer and a queue belong to.

use std::env;

use schism::prelude::*;
use schism::{DeviceError, Error};

use crate::fake::{calls, note, on_launch};
use crate::memory::add_one;
use crate::{gpu, gpus, is_hip, named, queue};

pub fn devices() {
    let all: Vec<_> = Device::all().iter().map(ToString::to_string).collect();
    assert_eq!(all, ["cpu", "native", &*gpu(0), &*gpu(1)]);
    let device = Device::by_name(&*gpu(1)).expect("there are two");
    let (kind, processor, local) = match is_hip() {
        true => (schism::DeviceKind::Hip, "gfx90a", 64 << 10),
        false => (schism::DeviceKind::Cuda, "sm_90", 227 << 10),
    };
    assert_eq!((device.name(), device.kind()), (&*gpu(1), kind));
    assert!(device.description().contains(&format!("A GPU that is none, {processor}, 1 GiB")));
    assert_eq!((device.max_group_size(), device.local_memory_size()), (1024, local));
    assert_eq!(Device::by_name(gpus()).expect("the first"), Device::by_name(&*gpu(0)).unwrap());
    assert_ne!(device, Device::by_name(&*gpu(0)).unwrap());
    let error = Device::by_name(&*gpu(2)).expect_err("there are two").to_string();
    assert!(error.contains(&*gpu(2)) && error.contains(&format!("{}, {}", gpu(0), gpu(1))), "{error}");
    for name in [":", ":x", "1", "gpu"].map(|rest| format!("{}{rest}", gpus())) {
        let error = Device::by_name(&name).expect_err("no name");
        assert!(matches!(error, DeviceError::Unknown { .. }), "{error}");
        assert!(error.to_string().contains(&*gpu(1)), "{error}");
    }
    for number in 0..2 {
        let queue = queue(&gpu(number));
        assert_eq!(Buffer::from_slice(&queue, &[number]).expect("memory").to_vec(), [number]);
    }
}

/// There is no driver, or it has no device.
pub fn no_device() {
    let reason = env::args().nth(2).expect("what is said");
    let error = Device::by_name(&*gpu(0)).expect_err("no device");
    assert!(matches!(error, DeviceError::NoGpu { .. }), "{error}");
    assert!(error.to_string().contains(&reason), "{error}");
    assert!(Device::all().iter().all(|device| !device.name().starts_with(gpus())));
    // Without a demand, programs run elsewhere.
    Queue::new().expect("the host").parallel_for(1, |_| ()).expect("it runs");
}

/// Without its compiler, there is no such device.
pub fn stage2() {
    let error = Device::by_name(&*gpu(0)).expect_err("no compiler");
    assert!(matches!(&error, DeviceError::Stage2 { device, .. } if device == &*gpu(0)), "{error}");
    assert_eq!(Device::all().len(), 1);
}

/// The driver does not know its first device.
pub fn first_fails() {
    let all: Vec<_> = Device::all().iter().map(ToString::to_string).collect();
    assert_eq!(all, ["cpu", "native", &*gpu(1)]);
    assert_eq!(Device::by_name(gpus()).expect("the first that there is").name(), &*gpu(1));
    let error = Device::by_name(&*gpu(0)).expect_err("it fails").to_string();
    assert!(error.contains(&format!("finds only {}", gpu(1))), "{error}");
    assert_eq!(Buffer::from_slice(&queue(gpus()), &[7]).expect("memory").to_vec(), [7]);
}

/// The second device has no context for anyone.
pub fn second_fails() {
    on_launch(add_one);
    let first = queue(&*gpu(0));
    let mut buffer = Buffer::from_slice(&first, &[1_u32, 2, 3, 4]).expect("memory");
    for tries in 1..3 {
        let error = Queue::on(&Device::by_name(&*gpu(1)).expect("it is listed")).expect_err("it fails");
        assert!(matches!(&error, DeviceError::Driver { device, .. } if device == &*gpu(1)), "{error}");
        assert!(error.to_string().contains(named("CUDA_ERROR_INVALID_DEVICE")), "{error}");
        assert_eq!(calls("cuCtxCreate_v2"), 1 + tries, "it is asked again");
        // The other one continues, with what was there before, and with what is new.
        first.for_each(&mut buffer, |number| *number += 1).expect("it runs");
    }
    assert_eq!(buffer.to_vec(), [3, 4, 5, 6]);
    assert_eq!(Buffer::from_slice(&queue(&*gpu(0)), &[9]).expect("memory").to_vec(), [9]);
}

/// Buffers of one device and queues of another.
pub fn foreign() {
    on_launch(add_one);
    let [cpu, native, first, second] = ["cpu", "native", &*gpu(0), &*gpu(1)].map(queue);
    let is_foreign = |result: Result<(), LaunchError>, memory: &str| {
        let error = result.expect_err("it is elsewhere");
        assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
        assert!(error.to_string().contains(memory), "{error}");
    };
    let mut on_host = Buffer::from_slice(&cpu, &[1_u32; 4]).expect("memory");
    let mut on_first = Buffer::from_slice(&first, &[1_u32; 4]).expect("memory");
    let mut on_second = Buffer::from_slice(&second, &[1_u32; 4]).expect("memory");
    for queue in [&first, &second] {
        is_foreign(queue.for_each(&mut on_host, |x| *x += 1), "the host");
        is_foreign(queue.for_each(on_host.atomic_view(), |_| ()), "the host");
        let view = on_host.view();
        is_foreign(queue.parallel_for(4, move |item| assert!(view[item.x()] == 1)), "the host");
    }
    is_foreign(first.for_each(&mut on_second, |x| *x += 1), "another device");
    is_foreign(second.for_each(&mut on_first, |x| *x += 1), "another device");
    for queue in [&cpu, &native] {
        is_foreign(queue.for_each(&mut on_first, |x| *x += 1), "a GPU");
        is_foreign(queue.for_each((0..4, &on_first), |_| ()), "a GPU");
        is_foreign(queue.for_each(on_first.chunks_mut(2), |_| ()), "a GPU");
        let whole = schism::whole(&on_first);
        is_foreign(queue.for_each_in(4, whole, |_, _| ()), "a GPU");
        let result = queue.scope(|scope| {
            let mut lent = scope.lend(&mut on_first);
            scope.for_each(&mut lent, |x| *x += 1)?;
            Ok(())
        });
        assert!(matches!(result, Err(Error::Launch(LaunchError::ForeignBuffer { .. }))));
    }
    let view = on_first.view();
    is_foreign(cpu.parallel_for(4, move |item| assert!(view[item.x()] == 1)), "a GPU");
    // The native device runs host code, which reads a copy.
    let mut copy = Buffer::filled(&native, 4, 0_u32).expect("memory");
    native.for_each((0..4, &mut copy), move |(i, to)| *to = view[i]).expect("it runs");
    assert_eq!(copy.to_vec(), [1; 4]);
    let view = on_first.view_mut();
    // SAFETY: each work-item has its element.
    let result = native.parallel_for(4, move |item| unsafe { view.set_unchecked(item.x(), 2) });
    assert!(matches!(result, Err(LaunchError::Panicked(_))), "{result:?}");
    // And all that is where it belongs.
    first.for_each(&mut on_first, |x| *x += 1).expect("it runs");
    second.for_each(&mut on_second, |x| *x += 1).expect("it runs");
    assert_eq!((on_first.to_vec(), on_second.to_vec()), (vec![2; 4], vec![2; 4]));
    // Empty buffers are nowhere.
    let mut empty = Buffer::<u32>::from_slice(&cpu, &[]).expect("nothing");
    first.for_each(&mut empty, |x| *x += 1).expect("nothing to do");
    let empty = empty.view();
    let add = move |item: Item<1>| assert!(empty.len() + item.x() < 100);
    on_launch(note);
    first.parallel_for(1, add).expect("it runs");
}
