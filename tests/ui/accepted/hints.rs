//! Hints and fences are no business of one CPU.

use std::sync::atomic::{Ordering, fence};

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    queue
        .parallel_for(8, move |item| {
            fence(Ordering::SeqCst);
            std::hint::spin_loop();
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), std::hint::black_box(1)) }
        })
        .unwrap();
}
