//! A kernel calls a naked function: its body is assembly.

use schism::prelude::*;

/// One.
#[unsafe(naked)]
extern "C" fn one() -> u64 {
    std::arch::naked_asm!("mov eax, 1", "ret")
}

fn through() -> u64 {
    one()
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value = through();
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
