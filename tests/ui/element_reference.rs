//! Elements of buffers are plain data.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let _names = Buffer::from_slice(&queue, &["a", "b"]).unwrap();
    let _lists = Buffer::from_slice(&queue, &[vec![1], vec![2]]).unwrap();
}
