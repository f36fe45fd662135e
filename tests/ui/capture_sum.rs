//! All work-items add to a variable of the host.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let numbers = Buffer::from_slice(&queue, &[1_u64, 2, 3]).unwrap();
    let mut sum = 0_u64;
    queue.for_each(&numbers, |number| sum += *number).unwrap();
    println!("{sum}");
}
