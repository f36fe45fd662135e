//! What is for work-groups is no source of a launch that has none.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut rows = Buffer::filled(&queue, 100, 0).unwrap();
    queue.for_each(per_group(&mut rows), |_| ()).unwrap();
    queue.for_each_in(100, (0.., per_sub_group(rows.chunks_mut(10))), |_, _| ()).unwrap();
    queue.for_each_in([10, 10], (&mut rows, local::<u32>(8)), |_, _| ()).unwrap();
    queue
        .scope(|scope| {
            let mut rows = scope.lend(&mut rows);
            scope.for_each(per_group(rows.chunks_mut(10)), |_| ())?;
            Ok(())
        })
        .unwrap();
}
