//! A work-item has each of its elements once at a time, and cannot keep them.

use schism::prelude::*;

fn kept(_: Share<'static, i32>) {}

fn main() {
    let queue = Queue::new().unwrap();
    let mut rows = Buffer::filled(&queue, 100, 0).unwrap();
    let range = NdRange::new(100, 10).unwrap();
    queue
        .for_each_in(range, per_group(rows.chunks_mut(10)), |_, mut share| {
            let first = share.iter_mut().next();
            let second = share.iter_mut().next();
            drop((first, second));
        })
        .unwrap();
    queue.for_each_in(range, per_group(rows.chunks_mut(10)), |_, share| kept(share)).unwrap();
}
