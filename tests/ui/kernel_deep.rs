//! The cause is deep in functions of this crate, behind an iterator and a macro.

use schism::prelude::*;

macro_rules! third {
    ($value:expr) => {
        fourth(&[$value, 1])
    };
}

fn first(value: u64) -> u64 {
    [1, 2].iter().map(|more| second(value + more)).sum()
}

fn second(value: u64) -> u64 {
    third!(value)
}

fn fourth(values: &[u64]) -> u64 {
    values.to_vec().len() as u64
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                first(item.x() as u64)
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
