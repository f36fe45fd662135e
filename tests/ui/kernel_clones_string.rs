//! A kernel calls functions of the standard library that allocate, and of which it has no body.

use schism::prelude::*;

static NAME: String = String::new();

fn length() -> u64 {
    let copy = NAME.clone();
    copy.len() as u64
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let upper = "text".to_uppercase().len() as u64;
            let value = length() + upper;
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
