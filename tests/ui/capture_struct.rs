//! A kernel captures a struct with a `Box` in it.

use schism::prelude::*;

struct Settings {
    scale: u64,
    names: Box<[u8]>,
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let settings = Settings { scale: 2, names: Box::new([1]) };
    queue
        .parallel_for(8, move |item| {
            let value = {
                let settings = &settings;
                settings.scale + u64::from(settings.names[0])
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();
}
