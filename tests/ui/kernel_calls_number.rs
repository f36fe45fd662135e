//! A kernel makes a function pointer of a number.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                // SAFETY: never run.
                let function: fn() -> u64 = unsafe { std::mem::transmute(item.x() + 4096) };
                function()
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
