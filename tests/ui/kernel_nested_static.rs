//! A kernel uses statics that refer to memory which can change, and has no name.

use schism::prelude::*;

static mut NUMBER: &'static mut u64 = &mut 42;

static mut LIST: &'static mut [&'static mut u64] = &mut [&mut 1, &mut 2];

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            // SAFETY: a data race, which is not what this program is about.
            let value = unsafe { *NUMBER };
            // SAFETY: as above.
            let first = unsafe { *LIST[0] };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value + first) }
        })
        .unwrap();
}
