//! A kernel captures a buffer and not its view.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let data = Buffer::from_slice(&queue, &[1_u64; 8]).unwrap();
    queue
        .parallel_for(8, move |item| {
            let value = data.len();
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
