//! Kernels whose work-items wait while a thread-local variable is set, as the crate `scoped-tls` does it: as long as a function runs,
//! the variable refers to something that lives until the function returns. A device has no such variables; the host half has.
//!
//! Prints for each kernel how many threads its work-items ran on, and whether each work-item found what it had set.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use schism::prelude::*;

/// A variable that is set as long as a function runs.
mod scoped {
    use super::*;

    thread_local! {
        static VALUE: Cell<*const u32> = const { Cell::new(std::ptr::null()) };
    }

    pub fn set<R>(value: &u32, run: impl FnOnce() -> R) -> R {
        struct Reset(*const u32);
        impl Drop for Reset {
            fn drop(&mut self) {
                VALUE.set(self.0);
            }
        }
        let _reset = Reset(VALUE.replace(value));
        run()
    }

    pub fn get() -> u32 {
        let value = VALUE.get();
        assert!(!value.is_null(), "it is set");
        // SAFETY: `set` sets it to what lives until it has set it back, on this thread.
        unsafe { *value }
    }
}

/// A number for each thread.
fn thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Relaxed);
    }
    NUMBER.with(|number| *number)
}

const GROUPS: usize = 3;
const SIZE: usize = 40;

fn show(name: &str, threads: Vec<u64>, right: Vec<u32>) {
    let mut groups: Vec<usize> = threads
        .chunks(SIZE)
        .map(|group| group.iter().collect::<std::collections::BTreeSet<_>>().len())
        .collect();
    groups.dedup();
    println!("{name}: {groups:?} threads a group, {}", right.iter().all(|right| *right == 1));
}

fn main() {
    let queue = Queue::new().expect("a queue");
    let range = || NdRange::new(GROUPS * SIZE, SIZE).expect("even groups");
    let buffers = || {
        let threads = Buffer::filled(&queue, GROUPS * SIZE, 0_u64).expect("memory");
        (threads, Buffer::filled(&queue, GROUPS * SIZE, 0_u32).expect("memory"))
    };

    let (mut threads, mut right) = buffers();
    let (to, is_right) = (threads.view_mut(), right.view_mut());
    queue
        .parallel_for_groups(range(), (), move |item, ()| {
            if schism::is_device() {
                return;
            }
            let value = item.x() as u32 * 7 + 1;
            let found = scoped::set(&value, || {
                item.barrier();
                let first = scoped::get();
                let sum = item.sub_group().reduce_add(value);
                let second = scoped::get();
                item.barrier();
                (first, second, scoped::get(), sum)
            });
            let right = (found.0, found.1, found.2) == (value, value, value) && found.3 != 0;
            // SAFETY: each work-item writes its own elements.
            unsafe {
                to.set(item.x(), thread());
                is_right.set(item.x(), u32::from(right));
            }
        })
        .expect("it runs");
    show("scoped", threads.to_vec(), right.to_vec());

    // Nothing waits.
    let (mut threads, mut right) = buffers();
    let (to, is_right) = (threads.view_mut(), right.view_mut());
    queue
        .parallel_for_groups(range(), (), move |item, ()| {
            if schism::is_device() {
                return;
            }
            let value = item.x() as u32;
            let right = scoped::set(&value, || scoped::get() == value);
            // SAFETY: each work-item writes its own elements.
            unsafe {
                to.set(item.x(), thread());
                is_right.set(item.x(), u32::from(right));
            }
        })
        .expect("it runs");
    show("no barrier", threads.to_vec(), right.to_vec());

    // A work-item that panics: the others give up, each on its thread, and what they have set goes back.
    let result = queue.parallel_for_groups(range(), (), move |item, ()| {
        if schism::is_device() {
            return;
        }
        let value = item.x() as u32;
        scoped::set(&value, || {
            item.barrier();
            assert!(item.local_x() != 17, "the work-item {}", scoped::get());
            item.barrier();
        });
    });
    let message = match result {
        Err(LaunchError::Panicked(panic)) => {
            let all = panic.local_id == Some(vec![17]);
            format!("{} {all}", panic.message.contains("the work-item"))
        }
        other => format!("{other:?}"),
    };
    println!("a panic: {message}");
}
