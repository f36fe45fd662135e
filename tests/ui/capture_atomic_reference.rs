//! A kernel captures a reference to an atomic of the host.

use std::sync::atomic::{AtomicU32, Ordering};

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let count = AtomicU32::new(0);
    queue
        .parallel_for(8, |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
}
