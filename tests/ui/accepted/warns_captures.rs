//! A large array that a kernel captures by value: each work-item has a copy.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let table = [7_u64; 4000];
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    queue.for_each((0.., &mut out), move |(i, out)| *out = table[i * 3]).unwrap();
}
