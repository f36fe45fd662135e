//! Retries of failed operations.
//!
//! A failure is *permanent* if the same input fails again: a damaged image, code that a driver
//! rejects. It is remembered. Others are *transient*: a driver without memory, a file that cannot
//! be opened because too many are open. They are retried by one rule:
//!
//! - after the first failure immediately, at the next request;
//! - after each further one when a pause has passed: 10 ms the first time, doubled each time, at
//!   most a minute. Requests before that get the last failure.
//!
//! So in a loop with a million launches in a second, a failing operation is tried nine times.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

pub(crate) use schism_cache::Failures;

/// A value that is created once, unless that fails.
#[derive(Debug)]
pub(crate) struct Kept<T, E> {
    value: OnceLock<T>,
    /// Locked while the value is created.
    failed: Mutex<Option<Failed<E>>>,
}

#[derive(Debug)]
struct Failed<E> {
    error: E,
    transient: bool,
    failures: Failures,
}

impl<T, E: Clone> Kept<T, E> {
    pub(crate) const fn new() -> Self {
        Self { value: OnceLock::new(), failed: Mutex::new(None) }
    }

    /// The value, if it was created.
    pub(crate) fn known(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value; `make` creates it if there is none and a retry is due.
    pub(crate) fn get(
        &self,
        make: impl FnOnce() -> Result<T, E>,
        is_transient: impl FnOnce(&E) -> bool,
    ) -> Result<&T, E> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        if let Some(failed) = &*failed
            && !(failed.transient && failed.failures.may_try(Instant::now()))
        {
            return Err(failed.error.clone());
        }
        match make() {
            Ok(value) => Ok(self.value.get_or_init(|| value)),
            Err(error) => {
                let before = failed.as_ref().map_or(Failures::default(), |failed| failed.failures);
                *failed = Some(Failed {
                    error: error.clone(),
                    transient: is_transient(&error),
                    failures: before.and_another(Instant::now()),
                });
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transient_failure_is_tried_again_and_a_permanent_one_is_not() {
        let transient = |error: &&str| *error == "transient";
        let kept = Kept::<i32, &str>::new();
        assert_eq!(kept.get(|| Err("transient"), transient), Err("transient"));
        assert_eq!(kept.get(|| Ok(1), transient), Ok(&1));
        assert_eq!(kept.get(|| panic!("it is there"), transient), Ok(&1));
        let kept = Kept::<i32, &str>::new();
        assert_eq!(kept.get(|| Err("permanent"), transient), Err("permanent"));
        assert_eq!(kept.get(|| panic!("never again"), transient), Err("permanent"));
    }

    #[test]
    fn a_hot_loop_tries_a_few_times_only() {
        let kept = Kept::<(), i32>::new();
        let (mut tries, begin) = (0, Instant::now());
        for _ in 0..1_000_000 {
            let made = kept.get(
                || {
                    tries += 1;
                    Err(tries)
                },
                |_| true,
            );
            assert!(made.is_err());
        }
        let most = 3 + (begin.elapsed().as_millis() / 10 + 1).ilog2();
        assert!(tries >= 2 && tries as u32 <= most, "{tries} in {:?}", begin.elapsed());
    }
}
