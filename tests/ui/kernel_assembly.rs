//! A kernel contains inline assembly.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value = {
                let mut x = item.x() as u64;
                // SAFETY: changes its operand only.
                unsafe { std::arch::asm!("add {0}, 1", inout(reg) x) };
                x
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
