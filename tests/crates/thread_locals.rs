//! Kernels whose work-items wait while a thread-local variable is set, as the crate `scoped-tls`
//! does it: as long as a function runs, the variable refers to something that lives until the
//! function returns. A device has no such variables; the host half has.
//!
//! Prints for each kernel how many threads its work-items ran on, and whether each work-item found
//! what it had set.

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

fn range() -> NdRange<1> {
    NdRange::new(GROUPS * SIZE, SIZE).expect("even groups")
}

/// Prints for a kernel, which says whether a work-item found what it had set, how it went.
fn launch<F>(queue: &Queue, name: &str, finds: F)
where
    F: for<'g> Fn(&NdItem<'g, 1>) -> bool + Send + Sync + Capture,
{
    let mut threads = Buffer::filled(queue, GROUPS * SIZE, 0_u64).expect("memory");
    let mut right = Buffer::filled(queue, GROUPS * SIZE, false).expect("memory");
    let sources = (&mut threads, &mut right);
    let kernel = move |item: NdItem<'_, 1>, (to, right): (&mut u64, &mut bool)| {
        if !schism::is_device() {
            *right = finds(&item);
            *to = thread();
        }
    };
    queue.for_each_in(range(), sources, kernel).expect("it runs");
    let mut groups: Vec<usize> = threads
        .to_vec()
        .chunks(SIZE)
        .map(|group| group.iter().collect::<std::collections::BTreeSet<_>>().len())
        .collect();
    groups.dedup();
    let right = right.to_vec().iter().all(|right| *right);
    println!("{name}: {groups:?} threads a group, {right}");
}

fn main() {
    let queue = Queue::new().expect("a queue");
    launch(&queue, "scoped", |item| {
        let value = item.x() as u32 * 7 + 1;
        scoped::set(&value, || {
            item.barrier();
            let first = scoped::get();
            let sum = item.sub_group().reduce_add(value);
            let second = scoped::get();
            item.barrier();
            [first, second, scoped::get()] == [value; 3] && sum != 0
        })
    });
    // Nothing waits.
    launch(&queue, "no barrier", |item| {
        let value = item.x() as u32;
        scoped::set(&value, || scoped::get() == value)
    });

    // A work-item that panics: the others give up, each on its thread, and what they have set goes
    // back.
    let result = queue.parallel_for(range(), move |item| {
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
