//! A kernel captures a raw pointer.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let data = [1_u64; 8];
    let first = data.as_ptr().addr();
    let pointer = data.as_ptr();
    queue
        .parallel_for(8, move |item| {
            let value = {
                let pointer = pointer;
                pointer.addr() - first
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
