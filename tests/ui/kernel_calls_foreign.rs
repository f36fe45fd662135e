//! A kernel calls a function of the C library, in its own function.

use schism::prelude::*;

unsafe extern "C" {
    fn getpid() -> i32;
}

fn process(x: usize) -> i32 {
    // SAFETY: always allowed.
    unsafe { getpid() + x as i32 }
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value = process(item.x());
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
