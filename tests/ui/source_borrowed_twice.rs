//! One launch cannot write a buffer and read elements of others in it.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut numbers = Buffer::filled(&queue, 100, 0).unwrap();
    queue
        .for_each((0.., &mut numbers, whole(&numbers)), |(i, to, all)| *to = all[99 - i])
        .unwrap();
}
