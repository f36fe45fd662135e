//! A kernel uses locks and values that are made once.

use schism::prelude::*;

static SUM: std::sync::Mutex<u64> = std::sync::Mutex::new(0);
static ONCE: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
static LAZY: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| 2);

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                let sum = SUM.lock().unwrap();
                *sum + *ONCE.get_or_init(|| 1) + *LAZY
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
