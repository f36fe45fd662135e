//! Several kernels come to one cause: one error, which lists them.

use schism::prelude::*;

fn shared(value: usize) -> u64 {
    std::process::id() as u64 + value as u64
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    // SAFETY: in range, its own element.
    let to = out.view_mut();
    queue.parallel_for(8, move |item| unsafe { to.set_unchecked(item.x(), shared(1)) }).unwrap();
    let to = out.view_mut();
    queue.parallel_for(8, move |item| unsafe { to.set_unchecked(item.x(), shared(2)) }).unwrap();
    let to = out.view_mut();
    queue.parallel_for(8, move |item| unsafe { to.set_unchecked(item.x(), 3) }).unwrap();
}
