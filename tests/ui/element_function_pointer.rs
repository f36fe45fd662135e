//! A buffer of functions, whose addresses are the host's.

use schism::prelude::*;

fn one() -> u64 {
    1
}

fn main() {
    let queue = Queue::new().unwrap();
    let _ = Buffer::from_slice(&queue, &[one as fn() -> u64; 8]);
}
