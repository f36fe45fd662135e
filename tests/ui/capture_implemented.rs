//! Only `unsafe` code can say that a type may go to a device.

use schism::prelude::*;

#[derive(Clone, Copy)]
struct Function(fn() -> u64);

impl schism::Capture for Function {}

fn main() {
    let queue = Queue::new().unwrap();
    let _ = Buffer::from_slice(&queue, &[Function(|| 1); 8]);
}
