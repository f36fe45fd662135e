//! A loop over two slices as a kernel: on a GPU if there is one, on all cores otherwise.

use schism::prelude::*;

/// y = a·x + y.
fn saxpy(queue: &Queue, a: f32, x: &[f32], y: &mut [f32]) -> Result<(), schism::Error> {
    // Each work-item owns one element of `y` and sees one of `x`.
    queue.for_each((y, x), move |(y, x)| *y += a * x)?;
    Ok(())
}

fn main() -> Result<(), Report> {
    let queue = Queue::new()?;
    let x: Vec<f32> = (0..1_000_000).map(|i| i as f32).collect();
    let mut y = vec![1.0; x.len()];
    saxpy(&queue, 2.0, &x, &mut y)?;
    println!("{:?} on {}", &y[..4], queue.device());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_computes_what_a_loop_does() -> Result<(), Report> {
        let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let expected: Vec<f32> = x.iter().map(|x| 0.5 * x + 1.0).collect();
        for device in Device::all() {
            let mut y = vec![1.0; x.len()];
            saxpy(&Queue::on(&device)?, 0.5, &x, &mut y)?;
            assert_eq!(y, expected, "on {device}");
        }
        Ok(())
    }
}
