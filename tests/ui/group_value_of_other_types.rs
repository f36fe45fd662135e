//! Local memory and cells hold values of which every combination of pieces is one.

use schism::prelude::*;

#[derive(Clone, Copy)]
struct Small(u8);

#[derive(Clone, Copy)]
struct Wrong {
    a: u32,
    b: f32,
}
schism::group_value!(Wrong { a: u32, b: u32 });

fn main() {
    let queue = Queue::new().unwrap();
    let mut rows = Buffer::filled(&queue, 100, Small(0)).unwrap();
    let range = NdRange::new(100, 10).unwrap();
    queue.for_each_in(range, local::<Small>(10), |_, tile| tile.set(0, Small(1))).unwrap();
    queue.for_each_in(range, per_group(rows.cells(10)), |_, _| ()).unwrap();
}
