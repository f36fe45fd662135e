//! Clocks that kernels can read.

unsafe extern "C" {
    safe fn __schism_clock() -> u64;
    safe fn __schism_time() -> u64;
}

/// A tick counter of the processor that the work-item runs on; its origin is unspecified.
///
/// On the host devices it is the time-stamp counter (`rdtsc`), which has a constant rate. On an
/// NVIDIA GPU it counts clock cycles of the multiprocessor (`%clock64`), on an AMD GPU those of the
/// compute unit, or ticks of a slower clock where these are not counted. The difference of two
/// readings in one work-item is the time between them. Readings of work-items on other processors
/// have another origin. OpenCL has no clock: its devices refuse kernels that read one.
///
/// Compilers may move computations past a reading, as they may on the host.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut ticks = Buffer::filled(&queue, 1, 0_u64)?;
/// queue.for_each(&mut ticks, |ticks| {
///     let start = schism::device_clock();
///     let root = std::hint::black_box(2.0_f64).sqrt();
///     std::hint::black_box(root);
///     *ticks = schism::device_clock().wrapping_sub(start);
/// })?;
/// println!("a root takes {} ticks or less", ticks.to_vec()[0]);
/// # Ok(())
/// # }
/// ```
#[inline(always)]
#[must_use]
pub fn device_clock() -> u64 {
    __schism_clock()
}

/// A clock in nanoseconds. Its unspecified origin is the same for all work-items of a device and
/// all launches on it.
///
/// The resolution depends on the device: the host devices use the system's monotonic clock; the
/// timer of an NVIDIA GPU (`%globaltimer`) advances once a microsecond or less often, that of an AMD
/// GPU every few tens of nanoseconds. For short times see [`device_clock`]. OpenCL has no clock.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut times = Buffer::filled(&queue, 2, 0_u64)?;
/// queue.for_each(&mut times, |time| *time = schism::device_time())?;
/// let first = times.to_vec();
/// queue.for_each(&mut times, |time| *time = schism::device_time())?;
/// assert!(times.to_vec()[0] >= first[1]);
/// # Ok(())
/// # }
/// ```
#[inline(always)]
#[must_use]
pub fn device_time() -> u64 {
    __schism_time()
}

/// The functions that the host half links.
mod host {
    #[unsafe(no_mangle)]
    extern "C" fn __schism_clock() -> u64 {
        // SAFETY: every x86-64 processor has the counter.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    #[unsafe(no_mangle)]
    extern "C" fn __schism_time() -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the place can be written; the clock is always there.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
    }
}
