//! A kernel uses threads of the host.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                let (sender, receiver) = std::sync::mpsc::channel();
                let thread = std::thread::spawn(move || sender.send(1_u64));
                std::thread::sleep(std::time::Duration::from_millis(1));
                receiver.recv().unwrap() + u64::from(thread.join().is_ok())
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
