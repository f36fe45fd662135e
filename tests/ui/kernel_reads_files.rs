//! A kernel does input, and asks for its environment.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                let mut line = String::new();
                let home = std::env::var("HOME").is_ok();
                let data = std::fs::read("data").is_ok();
                let input = std::io::stdin().read_line(&mut line).is_ok();
                u64::from(home) + u64::from(data) + u64::from(input)
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
