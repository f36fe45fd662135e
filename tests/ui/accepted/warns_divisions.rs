//! A row and a column made from one index, for those who ask for it.
// SCHISM_WARN=perf

use schism::prelude::*;

const WIDTH: usize = 16;

fn main() {
    let queue = Queue::new().unwrap();
    let pixels = Buffer::from_slice(&queue, &[1.0_f32; 256]).unwrap();
    let mut out = Buffer::from_slice(&queue, &[0.0_f32; 256]).unwrap();
    let (from, to) = (pixels.view(), out.view_mut());
    let width = std::env::args().count() * 16;
    queue
        .parallel_for(256, move |item| {
            let (row, column) = (item.x() / width, item.x() % width);
            let (above, left) = (item.x() / WIDTH, item.x() % WIDTH);
            let value = from[column * width + row] + from[above + left];
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
