//! Where parallel iterators of `--stdpar` run that a program calls within a function.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use crate::api::device::Device;
use crate::error::DeviceError;
use crate::util::fork::NoForkGuard;

/// Where the parallel iterators run that a thread calls.
#[derive(Clone, Copy, Debug)]
pub enum Placement {
    /// Where the environment and measurement say.
    Default,
    /// With rayon.
    Host,
    /// On a device.
    Device(&'static Device),
}

thread_local! {
    static PLACEMENT: Cell<Placement> = const { Cell::new(Placement::Default) };
}

/// That of the calling thread. Where its variables are gone, it is the default.
#[inline]
pub fn placement() -> Placement {
    PLACEMENT.try_with(Cell::get).unwrap_or(Placement::Default)
}

/// Runs something with another placement, which also holds for what a panic drops of it.
pub fn with_placement<R>(placement: Placement, run: impl FnOnce() -> R) -> R {
    /// Restores a placement.
    struct Before(Placement);

    impl Drop for Before {
        fn drop(&mut self) {
            let _ = PLACEMENT.try_with(|place| place.set(self.0));
        }
    }

    let before = PLACEMENT.try_with(|place| place.replace(placement));
    let _before = Before(before.unwrap_or(Placement::Default));
    run()
}

/// Runs `run`; parallel iterators that the calling thread begins meanwhile stay with rayon.
///
/// It is for programs that are built with `cargo schism build --stdpar`, where parallel iterators of
/// rayon become kernels. Elsewhere they are rayon's anyway, and this only calls `run`.
///
/// The setting is the thread's. Parallel iterators inside the closures of one that stays with rayon
/// have it too, whichever thread of rayon's runs them. What `rayon::join`, `scope`, `spawn` and
/// `ThreadPool::install` have other threads run does not; such a closure can call this itself. While a
/// thread of rayon's waits, rayon may have it run other work of the program, which has the setting then.
/// Results do not depend on any of this.
///
/// `SCHISM_STDPAR_EXCLUDE` does this to a program from outside. Queues and their launches are not
/// affected: see [`Queue::when`](crate::Queue::when).
///
/// ```
/// let squares: Vec<u64> = schism::host(|| (0..10).map(|i| i * i).collect());
/// assert_eq!(squares[9], 81);
/// ```
pub fn host<R>(run: impl FnOnce() -> R) -> R {
    with_placement(Placement::Host, run)
}

/// Runs `run`; parallel iterators that the calling thread begins meanwhile are kernels on the device
/// with this name, if they can be: nothing is measured. Those that the device cannot run stay with rayon,
/// and `SCHISM_STDPAR_REPORT` says why.
///
/// Which iterators that are is said at [`host`]; those inside the closures of a kernel run as without
/// this. `SCHISM_STDPAR=never` and `SCHISM_STDPAR_EXCLUDE` still hold, and a pool of one thread has no
/// kernels. A GPU needs access to the program's memory: where the system does not give it access to all
/// of it, `SCHISM_DEVICE` has to name a GPU when the program starts.
///
/// Several threads may use several devices:
///
/// ```no_run
/// # fn main() -> Result<(), schism::DeviceError> {
/// # fn rows(_: &mut [f32]) {}
/// let mut image = vec![0.0; 1 << 20];
/// let (upper, lower) = image.split_at_mut(1 << 19);
/// std::thread::scope(|scope| {
///     let first = scope.spawn(|| schism::device("cuda:0", || rows(upper)));
///     schism::device("cuda:1", || rows(lower))?;
///     first.join().expect("no panic")
/// })
/// # }
/// ```
///
/// # Errors
/// As for [`Device::by_name`]; `run` is not called then.
pub fn device<R>(name: &str, run: impl FnOnce() -> R) -> Result<R, DeviceError> {
    Ok(with_placement(Placement::Device(kept(Device::by_name(name)?)), run))
}

/// A device that lives as long as the program: there is one for each name.
fn kept(device: Device) -> &'static Device {
    static KEPT: Mutex<Vec<&'static Device>> = Mutex::new(Vec::new());
    let _no_fork = NoForkGuard::enter();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.iter().find(|known| ***known == device) {
        return known;
    }
    let device: &'static Device = Box::leak(Box::new(device));
    kept.push(device);
    device
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    fn name() -> &'static str {
        match placement() {
            Placement::Default => "default",
            Placement::Host => "host",
            Placement::Device(device) => device.name(),
        }
    }

    #[test]
    fn the_innermost_scope_of_a_thread_counts() {
        assert_eq!(name(), "default");
        host(|| {
            assert_eq!(name(), "host");
            device("native", || {
                assert_eq!(name(), "native");
                host(|| assert_eq!(name(), "host"));
                assert_eq!(name(), "native");
                thread::scope(|scope| scope.spawn(|| assert_eq!(name(), "default")).join())
                    .expect("no panic");
            })
            .expect("every machine has it");
            assert_eq!(name(), "host");
        });
        let unwound = catch_unwind(AssertUnwindSafe(|| host(|| panic!("inside"))));
        assert!(unwound.is_err());
        assert_eq!(name(), "default");
        let error = device("tpu:0", || panic!("it is not called")).expect_err("no such device");
        assert!(matches!(error, DeviceError::Unknown { .. }), "{error}");
        let twice = || kept(Device::by_name("native").expect("every machine has it"));
        assert!(std::ptr::eq(twice(), twice()));
    }
}
