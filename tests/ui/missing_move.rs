//! A kernel without `move` borrows what it uses.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let scale = 3;
    queue
        .parallel_for(8, |item| {
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), item.x() as u64 * scale) }
        })
        .unwrap();
}
