//! A kernel captures a trait object.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let function: Box<dyn Fn(u64) -> u64 + Send + Sync> = Box::new(|x| x + 1);
    queue
        .parallel_for(8, move |item| {
            let value = function(item.x() as u64);
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
