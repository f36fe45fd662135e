//! A shared library with kernels, to be opened and closed by a program that knows nothing of them.

use schism::prelude::*;

/// Runs kernels of this library and of one that it links; 0 if all went well.
#[unsafe(no_mangle)]
pub extern "C" fn run(n: usize) -> i32 {
    let all = || {
        let queue = Queue::new().unwrap();
        library::concrete(&queue, n);
        library::generic::<i32>(&queue, n, 11);
        library::compare::<i32>(
            &queue,
            n,
            |_, x| x * 3,
            |from, to, halves| {
                queue
                    .parallel_for(n, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, from[i] * 3);
                            halves.set_unchecked(i, library::half());
                        }
                    })
                    .unwrap();
            },
        );
        i32::from(queue.device().name() != std::env::var("SCHISM_DEVICE").unwrap())
    };
    std::panic::catch_unwind(all).unwrap_or(-1)
}
