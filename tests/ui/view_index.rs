//! Elements of an exclusive view by `[]`, and a barrier where there are no groups.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut bytes = Buffer::filled(&queue, 10, 0_u8).unwrap();
    let view = bytes.view_mut();
    queue.parallel_for(10, move |item| view[item.x()] = 1).unwrap();
    queue.parallel_for(64, |item| item.barrier()).unwrap();
}
