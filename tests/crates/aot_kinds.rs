//! Two kernels that every target can have, on the default device, which may be one that runs nothing.

use schism::prelude::*;

fn run() -> Result<Device, schism::Error> {
    let queue = Queue::new()?;
    let mut numbers = Buffer::filled(&queue, 1000, 1.5_f32)?;
    queue.for_each((0.., &mut numbers), |(i, number)| *number += i as f32)?;
    let range = NdRange::new(1024, 64)?;
    queue.for_each_in(range, local::<u32>(64), |item, tile| {
        tile.set(item.local_x(), item.x() as u32);
        item.barrier();
        assert!(tile.get(63 - item.local_x()) != 4711, "no work-item has this number");
    })?;
    Ok(queue.device().clone())
}

fn main() {
    match run() {
        Ok(device) => println!("{device} ok\n{}", device.description()),
        Err(error) => println!("{error}"),
    }
}
