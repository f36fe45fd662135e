//! What a kernel cannot reach in the end is not refused, with or without optimisation.

use schism::prelude::*;

const WIDE: bool = size_of::<usize>() > 8;

fn on_host(value: u64) -> u64 {
    println!("{value}");
    std::fs::read("data").map_or(0, |data| data.len() as u64)
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    queue
        .parallel_for(8, move |item| {
            let value = item.x() as u64;
            let one = if WIDE { on_host(value) } else { 1 };
            let two = if schism::is_device() { 2 } else { on_host(value) };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), one + two) }
        })
        .unwrap();
}
