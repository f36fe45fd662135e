//! A lock that spins, whose guard is dropped when its holder panics.

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

struct Lock {
    locked: AtomicBool,
    sum: UnsafeCell<u64>,
}

// SAFETY: the sum is used by the holder of the only guard.
unsafe impl Sync for Lock {}

struct Guard<'a>(&'a Lock);

impl Lock {
    fn lock(&self) -> Guard<'_> {
        while self.locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        Guard(self)
    }
}

impl Guard<'_> {
    fn add(&mut self, number: u64) {
        // SAFETY: the lock is held.
        unsafe { *self.0.sum.get() += number }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.locked.store(false, Ordering::Release);
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for bad in [0, 1, 77_777, 99_999] {
        let lock = Lock { locked: AtomicBool::new(false), sum: UnsafeCell::new(0) };
        let result = catch_unwind(AssertUnwindSafe(|| {
            (0..100_000_u64).into_par_iter().for_each(|i| {
                let mut guard = lock.lock();
                guard.add(i);
                assert!(i != bad, "inside");
            });
        }));
        let begin = Instant::now();
        while lock.locked.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(5) {}
        let locked = lock.locked.load(Ordering::Relaxed);
        println!("{bad}: panicked {}, locked for ever {locked}", result.is_err());
    }
}
