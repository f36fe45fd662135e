//! A kernel captures a `String`.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let name = String::from("kernel");
    queue
        .parallel_for(8, move |item| {
            let value = name.len();
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
