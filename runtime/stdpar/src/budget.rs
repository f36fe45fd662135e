//! How much of the processors' time goes into making kernels.
//!
//! How long a program will run is not known. If what its kernels take to make stays a small part of what
//! the program has taken by then, it loses no more than that, whenever it ends; and a short program
//! makes none.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schism::__private::processor_time;

/// The part, in percent.
const SHARE: u32 = 5;

/// What the first kernel takes, with opening the compiler; the others take as long as those before, on
/// average.
const FIRST: Duration = Duration::from_millis(100);

/// What kernels have taken to make.
#[derive(Debug, Default)]
struct Budget {
    spent: Duration,
    made: u32,
    /// Those that are being made.
    pending: u32,
}

impl Budget {
    /// Whether another one may be made, when the program has taken so much processor time.
    fn allows(&self, processor: Duration) -> bool {
        let expected = self.spent.checked_div(self.made).unwrap_or(FIRST);
        let all = self.spent.saturating_add(expected.saturating_mul(self.pending + 1));
        all <= processor / 100 * SHARE
    }
}

static BUDGET: Mutex<Budget> = Mutex::new(Budget { spent: Duration::ZERO, made: 0, pending: 0 });

fn budget() -> MutexGuard<'static, Budget> {
    BUDGET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether another kernel may be made.
pub(crate) fn allows() -> bool {
    processor_time().is_none_or(|time| budget().allows(time))
}

/// A pipeline's kernel is going to be made.
pub(crate) fn begin() {
    budget().pending += 1;
}

/// A kernel has been made, or not, which took so long. A sort has several.
pub(crate) fn add(took: Duration) {
    let mut budget = budget();
    budget.spent += took;
    budget.made += 1;
}

/// Whether kernels are being made.
pub(crate) fn is_making() -> bool {
    budget().pending != 0
}

/// Nothing more is made for a pipeline.
pub(crate) fn end() {
    let mut budget = budget();
    budget.pending = budget.pending.saturating_sub(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn making_takes_a_small_part() {
        let budget = |spent, made, pending| Budget { spent: ms(spent), made, pending };
        assert!(!budget(0, 0, 0).allows(ms(1_999)) && budget(0, 0, 0).allows(ms(2_000)));
        // One that is being made counts as the first one does.
        assert!(!budget(0, 0, 1).allows(ms(3_999)) && budget(0, 0, 1).allows(ms(4_000)));
        // The second and the third of cached ones come soon.
        assert!(budget(3, 1, 0).allows(ms(2_000)) && budget(6, 2, 10).allows(ms(2_000)));
        assert!(!budget(300, 1, 0).allows(ms(11_999)) && budget(300, 1, 0).allows(ms(12_000)));
    }
}
