//! A second module, whose kernel does not change when the first one's does.

use schism::prelude::*;

const ADDEND: i32 = 5;

pub fn run(queue: &Queue) -> i32 {
    let mut out = Buffer::from_slice(queue, &[1_i32, 2, 3, 4]).unwrap();
    let to = out.view_mut();
    let scale = (3_i32, [1_i32, 2]);
    queue
        .parallel_for(4, move |item| {
            // SAFETY: in range, its own element.
            unsafe {
                let x = to.get_unchecked(item.x());
                to.set_unchecked(item.x(), x * scale.0 + scale.1[item.x() % 2] + ADDEND);
            }
        })
        .unwrap();
    out.to_vec().iter().sum()
}
