//! `y = a * x + y`: each work-item owns one element of `y` and sees one of `x`.
//!
//! ```text
//! cargo schism run --release --example saxpy -- [LENGTH] [--check]
//! ```

use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 1, "saxpy [LENGTH] [--check]")?;
    let length = arguments.number(0, (1 << 24) + 7)?;
    let a = 2.5_f32;
    let x: Vec<f32> = (0..length).map(|i| (i % 1000) as f32 * 0.25).collect();
    let y: Vec<f32> = (0..length).map(|i| (i % 77) as f32).collect();

    let queue = Queue::new()?;
    let device_x = Buffer::from_slice(&queue, &x)?;
    let mut device_y = Buffer::from_slice(&queue, &y)?;
    for launch in ["first, with its kernel compiled", "again"] {
        let start = Instant::now();
        queue.for_each((&mut device_y, &device_x), move |(y, x)| *y += a * *x)?;
        println!("{length} elements on {}, {launch}: {:.2?}", queue.device(), start.elapsed());
    }

    if arguments.check() {
        let twice: Vec<f32> = y.iter().zip(&x).map(|(y, x)| (y + a * x) + a * x).collect();
        compare("saxpy", &device_y.to_vec(), &twice)?;
    }
    Ok(())
}
