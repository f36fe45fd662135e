//! The worker threads that all host devices share.

use std::num::NonZero;
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::error::DeviceError;
use crate::hal::host::stack;
use crate::util::fork::PerProcess;
use crate::util::retry::Kept;
use crate::util::variables::CPU_THREADS;

/// A larger number is treated as a typing error.
const MOST_THREADS: usize = 4096;

/// The thread pool, which the first call in a process starts.
pub(crate) fn pool() -> Result<&'static ThreadPool, DeviceError> {
    static POOL: PerProcess<Kept<ThreadPool, DeviceError>> = PerProcess::new();
    // Starting threads may fail now and succeed later.
    POOL.get(Kept::new).get(start, |_| true)
}

/// How many threads it has. To count cores takes as long as many launches, so the pool is asked.
pub(crate) fn size() -> usize {
    pool().map_or(1, ThreadPool::current_num_threads)
}

fn start() -> Result<ThreadPool, DeviceError> {
    ThreadPoolBuilder::new()
        .num_threads(threads()?)
        .thread_name(|index| format!("schism-{index}"))
        .stack_size(stack::settings::default_size() + stack::OF_THREADS)
        .build()
        .map_err(|error| DeviceError::Threads { reason: error.to_string() })
}

fn threads() -> Result<usize, DeviceError> {
    let Some(asked) = CPU_THREADS.get() else {
        return Ok(thread::available_parallelism().map_or(1, NonZero::get));
    };
    asked
        .to_str()
        .and_then(|asked| asked.trim().parse().ok())
        .filter(|threads| (1..=MOST_THREADS).contains(threads))
        .ok_or_else(|| DeviceError::Threads {
            reason: format!("{CPU_THREADS} is {asked:?}, not a number from 1 to {MOST_THREADS}"),
        })
}
