//! A kernel captures an `Arc` and an `Rc`.

use schism::prelude::*;
use std::rc::Rc;
use std::sync::Arc;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let one = Arc::new(1_u64);
    let two = Rc::new(2_u64);
    queue
        .parallel_for(8, move |item| {
            let value = *one + *two;
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
