//! Prints the device, and a sum that tells which half of the kernel ran.

use schism::prelude::*;

fn main() -> Result<(), schism::Error> {
    let queue = Queue::new()?;
    let mut out = Buffer::from_slice(&queue, &[0_u32; 100])?;
    let to = out.view_mut();
    queue.parallel_for(100, move |item| {
        let value = item.x() as u32 * 2 + u32::from(schism::is_device());
        // SAFETY: in range, its own element.
        unsafe { to.set_unchecked(item.x(), value) }
    })?;
    println!("{} {}", queue.device(), out.to_vec().iter().sum::<u32>());
    Ok(())
}
