//! What is for work-groups is a source of all launches that have some.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut rows = Buffer::filled(&queue, 100, 0).unwrap();
    let range = NdRange::new(100, 10).unwrap();
    queue.for_each_in(range, per_group(rows.chunks_mut(10)), |_, _| ()).unwrap();
    queue.for_each_in(range, (0.., per_sub_group(rows.chunks_mut(10))), |_, _| ()).unwrap();
    let square = NdRange::new([10, 10], [5, 5]).unwrap();
    queue.for_each_in(square, (&mut rows, local::<u32>(8)), |_, _| ()).unwrap();
    queue
        .scope(|scope| {
            let mut rows = scope.lend(&mut rows);
            scope.for_each_in(range, per_group(rows.chunks_mut(10)), |_, _| ())?;
            Ok(())
        })
        .unwrap();
}
