//! A kernel captures what can change, deep in types that do not look like it.

use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::AtomicI16;

use schism::prelude::*;

struct Shared(UnsafeCell<u32>);

// SAFETY: it is not written.
unsafe impl Sync for Shared {}

struct Statistics {
    scale: f32,
    hits: [Option<AtomicI16>; 4],
}

fn main() {
    let queue = Queue::new().unwrap();
    let shared = Shared(UnsafeCell::new(1));
    queue.parallel_for(8, move |_| assert!(!(&shared).0.get().is_null())).unwrap();
    let statistics = Statistics { scale: 1.0, hits: [const { None }; 4] };
    queue
        .parallel_for(8, move |_| {
            let statistics = &statistics;
            assert!(statistics.scale > 0.0 && statistics.hits.len() == 4);
        })
        .unwrap();
    let once = OnceLock::<u32>::new();
    queue.parallel_for(8, move |_| assert!((&once).get().is_none())).unwrap();
}
