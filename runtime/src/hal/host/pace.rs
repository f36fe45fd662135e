//! How fast work-items run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long some work-items took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) items: usize,
    pub(super) time: Duration,
}

impl Pace {
    pub(super) fn items_in(self, time: Duration) -> usize {
        let items = self.items as f64 * time.as_secs_f64() / self.time.as_secs_f64().max(1e-9);
        items as usize
    }

    pub(super) fn time_of(self, items: usize) -> Duration {
        let seconds = self.time.as_secs_f64() * items as f64 / self.items as f64;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// The pace of the work-items of a kernel that ended last, in nanoseconds for [`ITEMS`]; 0 if none
/// is known.
#[derive(Debug, Default)]
pub(crate) struct LatestPace(AtomicU64);

/// As many work-items take a whole number of nanoseconds that says something.
const ITEMS: usize = 1000;

impl LatestPace {
    pub(super) fn set(&self, pace: Pace) {
        let nanos = u64::try_from(pace.time_of(ITEMS).as_nanos()).unwrap_or(u64::MAX);
        self.0.store(nanos, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<Pace> {
        let nanos = self.0.load(Ordering::Relaxed);
        (nanos != 0).then(|| Pace { items: ITEMS, time: Duration::from_nanos(nanos) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_pace_is_what_was_set_last() {
        let latest = LatestPace::default();
        assert!(latest.get().is_none());
        latest.set(Pace { items: 10, time: Duration::from_micros(1) });
        assert_eq!(latest.get().map(|pace| pace.time_of(10)), Some(Duration::from_micros(1)));
        latest.set(Pace { items: 1, time: Duration::from_secs(3) });
        assert_eq!(latest.get().map(|pace| pace.time_of(7)), Some(Duration::from_secs(21)));
    }

    #[test]
    fn a_pace_too_long_to_tell_is_the_longest_and_none_is_no_pace() {
        let latest = LatestPace::default();
        latest.set(Pace { items: 1, time: Duration::MAX });
        assert!(latest.get().is_some_and(|pace| pace.time_of(1) > Duration::from_secs(1 << 20)));
        latest.set(Pace { items: 1 << 40, time: Duration::ZERO });
        assert!(latest.get().is_none());
    }
}
