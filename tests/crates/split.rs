//! Kernels of two modules, with different needs, that share a function and a table.

use schism::prelude::*;

fn shared(value: u32) -> u32 {
    static TABLE: [fn(u32) -> u32; 2] = [|x| x + 1, |x| x * 3];
    TABLE[(value % 2) as usize](value)
}

mod doubles {
    use schism::prelude::*;

    pub fn launch(queue: &Queue, values: &[f64]) -> Result<Vec<f64>, schism::Error> {
        let mut buffer = Buffer::from_slice(queue, values)?;
        queue.for_each(&mut buffer, |value| *value = *value * 2.0 + f64::from(super::shared(3)))?;
        Ok(buffer.to_vec())
    }
}

fn main() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    let mut numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4])?;
    queue.for_each(&mut numbers, |value| *value = shared(*value))?;
    let flags = Buffer::from_slice(&queue, &[0_u32; 4])?;
    let mut halves = Buffer::from_slice(&queue, &[0_u32; 4])?;
    queue.for_each((&mut halves, &flags), |(half, flag)| {
        *half = *flag + u32::from(schism::is_device());
    })?;
    println!(
        "{:?} {:?} {:?}",
        numbers.to_vec(),
        doubles::launch(&queue, &[0.5, 1.5])?,
        halves.to_vec()
    );
    Ok(())
}
