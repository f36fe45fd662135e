//! A kernel calls functions over a table and over a trait object.

use schism::prelude::*;

static TABLE: [fn() -> u64; 2] = [one, time];

fn one() -> u64 {
    1
}

fn time() -> u64 {
    std::time::SystemTime::now().elapsed().unwrap().as_secs()
}

trait Shape {
    fn area(&self) -> u64;
}

struct Square;

impl Shape for Square {
    fn area(&self) -> u64 {
        std::process::id() as u64
    }
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                let shape: &dyn Shape = &Square;
                TABLE[item.x() % 2]() + shape.area()
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
