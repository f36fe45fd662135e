//! A kernel captures a function pointer.

use schism::prelude::*;

fn double(x: u64) -> u64 {
    x * 2
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let function: fn(u64) -> u64 = double;
    queue
        .parallel_for(8, move |item| {
            let value = function(item.x() as u64);
            // SAFETY: in range, its own element.
            unsafe { to.set(item.x(), value as u64) }
        })
        .unwrap();
}
