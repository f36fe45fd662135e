//! Kernels that panic on the processors of the host unwind: what a program finds in its buffers
//! afterwards is the same on `native`, where the host half runs, and on `cpu`.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
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

/// What a case finds on `cpu` is what it finds on `native`; returns that.
fn same<R: PartialEq + std::fmt::Debug>(case: impl Fn(&Queue) -> R) -> R {
    let expected = case(&queue_on("native"));
    // The second time with code that is there.
    for _ in 0..2 {
        assert_eq!(case(&queue_on("cpu")), expected);
    }
    expected
}

/// A lock in a buffer: 1 while it is held.
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

/// Counts that it is dropped.
struct Counts<'a>(&'a AtomicU32);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_lock_is_free_afterwards() {
    let found = same(|queue| {
        let mut locks = Buffer::filled(queue, 8, 0_u32).expect("memory");
        let lock = locks.atomic_view();
        let values = Buffer::from_slice(queue, &[1_u32, 2, 3, 4, 5, 6, 7]).expect("memory");
        let values = values.view();
        let result = queue.parallel_for(8, move |item| {
            let guard = Locked::take(&lock[item.x()]);
            guard.0.fetch_add(values[item.x()], Relaxed);
        });
        let panic = panic_of(result);
        assert!(panic.location.as_deref().is_some_and(|place| place.contains("unwinding.rs")));
        // The queue continues.
        let again = locks.atomic_view();
        queue.parallel_for(7, move |item| drop(Locked::take(&again[item.x()]))).expect("no panic");
        (locks.to_vec(), panic.work_item, panic.local_id, panic.message)
    });
    let message = "index out of bounds: the len is 7 but the index is 7".to_owned();
    assert_eq!(found, (vec![0; 8], Some(vec![7]), None, message));
}

#[test]
fn guards_end_in_their_order() {
    /// Writes the number of those that ended before it.
    struct Place<'a> {
        clock: &'a AtomicU32,
        at: &'a AtomicU32,
    }
    impl Drop for Place<'_> {
        fn drop(&mut self) {
            self.at.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        }
    }
    let found = same(|queue| {
        let mut places = Buffer::filled(queue, 5, 0_u32).expect("memory");
        let all = places.atomic_view();
        let result = queue.parallel_for(1, move |item| {
            let of = |number: usize| Place { clock: &all[0], at: &all[number] };
            let _first = of(1);
            let _pair = (of(2), of(3));
            {
                let _inner = of(4);
                assert!(item.x() > 0, "inside");
            }
        });
        assert_eq!(panic_of(result).message, "inside");
        places.to_vec()
    });
    assert_eq!(found, [4, 3, 1, 2, 0]);
}

/// A sort that panics leaves each element in the slice once.
#[test]
fn sorts_lose_nothing() {
    const LONG: usize = 40;
    let numbers: Vec<u32> =
        (0..4 * LONG as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 8).collect();
    for limit in [3_u32, 50, 100] {
        let found = same(|queue| {
            let mut values = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut compared = Buffer::filled(queue, 4, 0_u32).expect("memory");
            let count = compared.atomic_view();
            let result = queue.for_each((0.., values.chunks_mut(LONG)), move |(i, part)| {
                if i == 3 {
                    part.sort_unstable_by(|a, b| {
                        assert!(count[i].fetch_add(1, Relaxed) < limit, "too many comparisons");
                        a.cmp(b)
                    });
                }
            });
            assert_eq!(panic_of(result).message, "too many comparisons");
            values.to_vec()
        });
        let (mut found, mut expected) = (found, numbers.clone());
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "after {limit} comparisons");
    }
}

/// A hole in a slice that is filled when it ends.
#[test]
fn a_hole_is_filled() {
    struct Hole<'a> {
        slice: &'a mut [u32],
        at: usize,
        value: u32,
    }
    impl Drop for Hole<'_> {
        fn drop(&mut self) {
            self.slice[self.at] = self.value;
        }
    }
    let found = same(|queue| {
        let mut values = Buffer::from_slice(queue, &[5_u32, 1, 2, 3, 4, 90, 6, 7]).expect("memory");
        let result = queue.for_each(values.chunks_mut(8), |slice| {
            let mut hole = Hole { value: slice[0], slice, at: 0 };
            while hole.at < 7 {
                let next = hole.slice[hole.at + 1];
                assert!(next < 50, "ninety");
                hole.slice[hole.at] = next;
                hole.at += 1;
            }
        });
        assert_eq!(panic_of(result).message, "ninety");
        values.to_vec()
    });
    assert_eq!(found, [1, 2, 3, 4, 5, 90, 6, 7]);
}

/// What was moved into a closure, and what a function that is not inlined has, is dropped there.
#[test]
fn captured_values_and_frames_are_dropped() {
    #[inline(never)]
    fn below(depth: u32, drops: &AtomicU32) -> u32 {
        let _counts = Counts(drops);
        assert!(depth > 0, "at the bottom");
        1 + below(depth - 1, drops)
    }
    #[inline(never)]
    fn pass(drops: &AtomicU32, value: u32) -> u32 {
        let _counts = Counts(drops);
        assert!(value != 3, "three");
        value + 1
    }
    let found = same(|queue| {
        let mut drops = Buffer::filled(queue, 3, 0_u32).expect("memory");
        let count = drops.atomic_view();
        let mut out = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let result = queue.for_each((0.., &mut out), move |(i, out)| {
            let captured = Counts(&count[0]);
            let takes = move |value: u32| {
                captured.0.fetch_add(10, Relaxed);
                assert!(value > 0, "no value");
                value
            };
            *out = 7;
            *out = takes(i as u32);
        });
        assert_eq!(panic_of(result).message, "no value");
        let count = drops.atomic_view();
        let result = queue.parallel_for(1, move |item| {
            below(item.x() as u32 + 20, &count[1]);
        });
        assert_eq!(panic_of(result).message, "at the bottom");
        let count = drops.atomic_view();
        let result = queue.parallel_for(1, move |item| {
            let mut sum = item.x() as u32;
            for _ in 0..9 {
                sum = pass(&count[2], sum);
            }
        });
        assert_eq!(panic_of(result).message, "three");
        (drops.to_vec(), out.to_vec())
    });
    assert_eq!(found, (vec![11, 21, 4], vec![7]));
}

/// Called through pointers, the work-item is known by its context, which is taken back.
#[test]
fn through_pointers() {
    let found = same(|queue| {
        let mut drops = Buffer::filled(queue, 2, 0_u32).expect("memory");
        let count = drops.atomic_view();
        let result = queue.parallel_for(6, move |item| {
            let _counts = Counts(&count[0]);
            let functions: [fn(usize) -> u32; 2] = [|i| i as u32, |i| panic!("by pointer {i}")];
            let at = functions[usize::from(item.x() == 5)](item.x());
            count[1].fetch_add(at, Relaxed);
        });
        let panic = panic_of(result);
        (drops.to_vec(), panic.message, panic.work_item)
    });
    assert_eq!(found, (vec![6, 10], "by pointer 5".to_owned(), Some(vec![5])));
}

/// In the lanes of vectors: the work-items before the one that panics have ended, and its guard is
/// dropped.
#[test]
fn in_lanes() {
    const ITEMS: usize = 100;
    /// Marks an element unless it is forgotten.
    struct Marks<'a>(&'a mut f32);
    impl Drop for Marks<'_> {
        fn drop(&mut self) {
            *self.0 = -1.0;
        }
    }
    let numbers: Vec<f32> = (0..ITEMS).map(|i| i as f32).collect();
    for fails in [0, 1, 7, 8, 37, 63, 99] {
        let found = same(|queue| {
            let values = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut out = Buffer::filled(queue, ITEMS, 0_f32).expect("memory");
            let limit = fails as f32;
            let result = queue.for_each((&values, &mut out), move |(value, out)| {
                let guard = Marks(out);
                assert!(*value < limit, "too large");
                *guard.0 = value.sqrt() * 3.0 + 1.0;
                std::mem::forget(guard);
            });
            let panic = panic_of(result);
            assert_eq!(panic.message, "too large");
            let (item, out) = (panic.work_item.expect("a work-item")[0], out.to_vec());
            let before = numbers.iter().map(|value| value.sqrt() * 3.0 + 1.0);
            assert_eq!(out[..item], before.take(item).collect::<Vec<_>>());
            assert_eq!(out[item], -1.0);
            item
        });
        assert_eq!(found, fails);
    }
}

#[test]
fn in_two_dimensions() {
    let found = same(|queue| {
        let mut locks = Buffer::filled(queue, 64, 0_u32).expect("memory");
        let lock = locks.atomic_view();
        let result = queue.parallel_for([8, 8], move |item| {
            let _guard = Locked::take(&lock[item.y() * 8 + item.x()]);
            assert!((item.y(), item.x()) != (5, 6), "five, six");
        });
        let panic = panic_of(result);
        (locks.to_vec(), panic.work_item, panic.message)
    });
    assert_eq!(found, (vec![0; 64], Some(vec![5, 6]), "five, six".to_owned()));
}

/// The destructors of the work-item that panics run, before barriers and behind them.
#[test]
fn in_groups() {
    for barriers in [0, 1, 3] {
        let found = same(|queue| {
            let mut drops = Buffer::filled(queue, 32, 0_u32).expect("memory");
            let count = drops.atomic_view();
            let range = NdRange::new(32, 16).expect("even groups");
            let result = queue.for_each_in(range, local::<u32>(16), move |item, tile| {
                tile.set(item.local_x(), item.x() as u32);
                for _ in 0..barriers {
                    item.barrier();
                }
                let other = tile.get(15 - item.local_x());
                let _counts = Counts(&count[item.x()]);
                assert!(other != 31 - 4 + 16, "never");
                assert!(item.x() != 20, "twenty");
                item.barrier();
            });
            let panic = panic_of(result);
            (drops.to_vec()[20], panic.work_item, panic.local_id, panic.message)
        });
        assert_eq!(found, (1, Some(vec![20]), Some(vec![4]), "twenty".to_owned()));
    }
}

/// A destructor that runs because of a panic does not wait.
#[test]
fn barriers_of_destructors() {
    struct Waits<'a, 'b>(&'a NdItem<'b, 1>, &'a AtomicU32);
    impl Drop for Waits<'_, '_> {
        fn drop(&mut self) {
            self.0.barrier();
            self.1.fetch_add(1, Relaxed);
        }
    }
    let found = same(|queue| {
        let mut drops = Buffer::filled(queue, 8, 0_u32).expect("memory");
        let count = drops.atomic_view();
        let range = NdRange::new(8, 8).expect("even groups");
        let result = queue.parallel_for(range, move |item| {
            let _waits = Waits(&item, &count[item.x()]);
            item.barrier();
            assert!(item.x() != 3, "three");
        });
        (drops.to_vec()[3], panic_of(result).message)
    });
    assert_eq!(found, (1, "three".to_owned()));
}

/// What only cleanup would reach, and no device has, refuses no kernel.
#[test]
fn what_only_cleanup_reaches() {
    struct Yields;
    impl Drop for Yields {
        fn drop(&mut self) {
            std::thread::yield_now();
        }
    }
    for device in schism_tests::devices::listed() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut drops = Buffer::filled(&queue, 1, 0_u32).expect("memory");
        let count = drops.atomic_view();
        let result = queue.parallel_for(8, move |item| {
            let _counts = Counts(&count[0]);
            let yields = Yields;
            assert!(item.x() != 7, "seven");
            std::mem::forget(yields);
        });
        assert_eq!(panic_of(result).message, "seven");
        assert_eq!(drops.to_vec(), [if device.name() == "native" { 8 } else { 7 }]);
    }
}

/// Stores of a work-item before it panics, and of its guards, are all there.
#[test]
fn stores_and_guards() {
    struct Restores<'a> {
        slice: &'a mut [u32],
        before: u32,
    }
    impl Drop for Restores<'_> {
        fn drop(&mut self) {
            let before = self.before;
            self.slice.iter_mut().for_each(|value| *value = before);
        }
    }
    let found = same(|queue| {
        let mut values = Buffer::filled(queue, 8, 3_u32).expect("memory");
        let mut log = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let result = queue.for_each((values.chunks_mut(8), &mut log), move |(slice, log)| {
            let guard = Restores { before: slice[0] + 1, slice };
            for (value, i) in guard.slice.iter_mut().zip(0..) {
                *value = i;
                *log = i;
                assert!(i < 5, "five");
            }
        });
        assert_eq!(panic_of(result).message, "five");
        (values.to_vec(), log.to_vec())
    });
    assert_eq!(found, (vec![4; 8], vec![5]));
}

/// The variable that tells a child which device to run on.
const CHILD: &str = "SCHISM_TEST_DESTRUCTOR_PANICS";

/// A panic in a destructor while another one unwinds ends the process.
#[test]
fn a_panic_while_unwinding_ends_the_process() {
    struct Fails<'a>(&'a AtomicU32);
    impl Drop for Fails<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.swap(2, Relaxed), 0, "the second");
        }
    }
    if let Ok(device) = std::env::var(CHILD) {
        let queue = queue_on(&device);
        let mut cells = Buffer::filled(&queue, 1, 0_u32).expect("memory");
        let cell = cells.atomic_view();
        let result = queue.parallel_for(1, move |item| {
            let guard = Fails(&cell[item.x()]);
            guard.0.store(1, Relaxed);
            assert!(item.x() > 0, "the first");
        });
        unreachable!("{result:?}");
    }
    for device in ["native", "cpu"] {
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.args(["--exact", "a_panic_while_unwinding_ends_the_process", "--nocapture"]);
        let child = child.env(CHILD, device).output().expect("it starts");
        let errors = String::from_utf8_lossy(&child.stderr).into_owned();
        assert_eq!(child.status.signal(), Some(6), "on {device}: {errors}");
        let parts = [
            &format!("a kernel on the device `{device}` panicked at ")[..],
            ":\nthe first",
            "the second",
            "panic in a destructor during cleanup\n",
            "thread caused non-unwinding panic. aborting.\n",
        ];
        let mut rest = &errors[..];
        for part in parts {
            let at =
                rest.find(part).unwrap_or_else(|| panic!("on {device}, no `{part}`: {errors}"));
            rest = &rest[at + part.len()..];
        }
    }
}

/// Destructors that change nothing once they are inlined, so that the kernel is cut at its barriers.
#[test]
fn groups_that_are_cut_at_barriers_unwind() {
    let found = same(|queue| {
        let values = Buffer::from_slice(queue, &[5_u32; 10]).expect("memory");
        let values = values.view();
        let mut sums = Buffer::filled(queue, 12, 0_u32).expect("memory");
        let sum = sums.view_mut();
        let range = NdRange::new(12, 3).expect("even groups");
        let result = queue.parallel_for(range, move |item| {
            let x = item.global_linear_id();
            let pair = std::cell::RefCell::new((x, 1_u32));
            let own = values[pair.borrow().0] + pair.borrow().1;
            let words = schism::local_array!(item, u32; 3);
            words.set(item.local_x(), own);
            item.barrier();
            let other = words.get((item.local_x() + 1) % 3);
            // SAFETY: each work-item has its own element.
            unsafe { sum.set_unchecked(x, own + other) };
        });
        let panic = panic_of(result);
        // No panic is left on the thread.
        assert!(!std::thread::panicking());
        (panic.work_item, panic.local_id, panic.message)
    });
    let message = "index out of bounds: the len is 10 but the index is 10".to_owned();
    assert_eq!(found, (Some(vec![10]), Some(vec![1]), message));
}
