//! Processes that are forked: a GPU is its parent's, or the child's own if it was not used
//! before.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use schism::prelude::*;
use schism::{BufferError, DeviceError, Error};

use crate::fake::{calls, on_launch};
use crate::memory::add_one;
use crate::{gpu, gpus, queue};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(child: c_int, signal: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// Runs something in a child, which must end by itself and well.
pub fn in_child(work: impl FnOnce()) {
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
        unsafe { _exit(if well { 7 } else { 1 }) };
    }
    let begin = Instant::now();
    let mut status = 0;
    while unsafe { waitpid(child, &raw mut status, 1) } == 0 {
        if begin.elapsed() > Duration::from_secs(20) {
            unsafe { kill(child, 9) };
            panic!("a forked child hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(status, 7 << 8, "a child failed");
}

fn driver_calls() -> u64 {
    ["cuCtxCreate_v2", "cuCtxSetCurrent", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuMemAlloc_v2", "cuCtxDestroy_v2"]
        .into_iter()
        .map(calls)
        .sum()
}

fn increase(queue: &Queue, numbers: &mut Buffer<u32>) -> Result<(), LaunchError> {
    queue.for_each(numbers, |number| *number += 1)
}

pub fn forked() {
    on_launch(add_one);
    let queue = queue(&*gpu(0));
    let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3, 4]).expect("memory");
    increase(&queue, &mut numbers).expect("it runs");
    let other = Buffer::filled(&queue, 100_000, 1_u32).expect("memory");
    let scoped = queue.scope(|scope| {
        let event = scope.for_each(&mut numbers, |number| *number += 1)?;
        in_child(|| {
            let asked = driver_calls();
            let error = event.wait().expect_err("it is the parent's");
            assert!(event.is_complete() && error.to_string().contains("forked"), "{error}");
            assert_eq!(driver_calls(), asked);
        });
        Ok(())
    });
    scoped.expect("the parent continues");
    in_child(|| {
        let asked = driver_calls();
        let is_forked = |result: Result<(), LaunchError>| {
            let error = result.expect_err("the GPU is the parent's");
            assert!(matches!(error, LaunchError::Forked { .. }), "{error}");
            assert!(error.to_string().contains(&format!("`{}` is its parent's", gpu(0))), "{error}");
        };
        is_forked(queue.parallel_for(1, |_| ()));
        is_forked(increase(&queue, &mut numbers));
        let scoped = queue.scope(|scope| {
            scope.parallel_for(1, |_| ())?;
            Ok(())
        });
        match scoped.expect_err("as above") {
            Error::Launch(error) => is_forked(Err(error)),
            error => panic!("{error}"),
        }
        let is_lost = |error: BufferError| {
            assert!(matches!(error, BufferError::Forked { .. }), "{error}");
        };
        is_lost(other.try_to_vec().expect_err("as above"));
        is_lost(numbers.write(&[0; 4]).expect_err("as above"));
        is_lost(Buffer::filled(&queue, 10, 1_u32).expect_err("as above"));
        for name in [&*gpu(0), gpus()] {
            let device = Device::by_name(name);
            let error = device.and_then(|device| Queue::on(&device).map(|_| ())).expect_err("as above");
            assert!(matches!(error, DeviceError::Forked { .. }), "{error}");
        }
        assert!(Device::all().iter().all(|device| !device.name().starts_with(gpus())));
        // The other devices are well.
        for device in Device::all() {
            let queue = Queue::on(&device).expect("a queue");
            let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3]).expect("memory");
            queue.scope(|scope| Ok(drop(scope.for_each(&mut numbers, |n| *n += 1)?))).expect("it runs");
            assert_eq!(numbers.to_vec(), [2, 3, 4]);
        }
        drop((numbers, other, queue));
        assert_eq!(driver_calls(), asked, "the driver is left alone");
    });
}

/// GPUs are not used before the fork.
pub fn forked_before() {
    in_child(|| {
        on_launch(add_one);
        let queue = queue(&*gpu(0));
        let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3, 4]).expect("memory");
        increase(&queue, &mut numbers).expect("it runs");
        assert_eq!(numbers.to_vec(), [2, 3, 4, 5]);
    });
}
