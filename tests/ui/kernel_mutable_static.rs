//! A kernel counts in a static.

use std::sync::atomic::{AtomicU64, Ordering};

use schism::prelude::*;

static COUNT: AtomicU64 = AtomicU64::new(0);

fn main() {
    let queue = Queue::new().unwrap();
    queue
        .parallel_for(8, |_| {
            COUNT.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
}
