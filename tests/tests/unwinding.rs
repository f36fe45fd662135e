//! Kernels that panic on the processors of the host unwind: what a program finds in its buffers
//! afterwards is the same on `native`, where the host half runs, and on `cpu`.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::{KernelPanic, LaunchError};
use schism_tests::devices::queue_on;

/// The panic of a launch.
fn panic_of(result: Result<(), LaunchError>) -> KernelPanic {
    match result {
        Err(LaunchError::Panicked(panic)) => *panic,
        other => panic!("{other:?}"),
    }
}

/// What a case finds is the same on both devices, and that.
fn same<R: PartialEq + std::fmt::Debug>(expected: &R, case: impl Fn(&Queue) -> R) {
    for device in ["native", "cpu"] {
        assert_eq!(case(&queue_on(device)), *expected, "on {device}");
    }
}

/// A lock in a buffer: 1 while somebody has it.
struct Locked<'a>(&'a AtomicU32);

impl<'a> Locked<'a> {
    fn take(lock: &'a AtomicU32) -> Self {
        assert_eq!(lock.swap(1, Relaxed), 0, "locked");
        Self(lock)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.store(0, Relaxed);
    }
}

#[test]
fn a_lock_is_free_afterwards() {
    same(
        &(vec![0; 8], vec![5], "index out of bounds: the len is 5 but the index is 5".to_owned()),
        |queue| {
            let mut locks = Buffer::filled(queue, 8, 0_u32).expect("memory");
            let lock = locks.atomic_view();
            let values = Buffer::from_slice(queue, &[1_u32, 2, 3, 4, 5]).expect("memory");
            let values = values.view();
            let result = queue.parallel_for(8, move |item| {
                let guard = Locked::take(&lock[item.x()]);
                guard.0.fetch_add(values[item.x()], Relaxed);
            });
            let panic = panic_of(result);
            assert!(panic.location.as_deref().is_some_and(|place| place.contains("unwinding.rs")));
            // Those before, and perhaps those after it.
            let left = locks.to_vec();
            (left, panic.work_item.expect("a work-item"), panic.message)
        },
    );
}
