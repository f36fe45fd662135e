//! What groups have in common belongs into launches with groups.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut rows = Buffer::filled(&queue, 100, 0).unwrap();
    queue.for_each(per_group(rows.chunks_mut(10)), |_| ()).unwrap();
    queue.for_each_in(10, local::<u32>(10), |_, _| ()).unwrap();
}
