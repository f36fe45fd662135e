//! A kernel uses a `static mut`, and a static with a cell in it.

use schism::prelude::*;

static mut COUNT: u64 = 0;

struct Shared(std::cell::Cell<u64>);

// SAFETY: not so; nothing runs here.
unsafe impl Sync for Shared {}

static CELL: Shared = Shared(std::cell::Cell::new(1));

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                // SAFETY: a data race, which is not what this program is about.
                unsafe { COUNT += 1 };
                CELL.0.get()
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
