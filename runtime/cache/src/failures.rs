//! The retry rule for failures.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Consecutive failures of one operation.
///
/// After the first failure the operation is retried at the next request; after each further one
/// only when a pause has passed: 10 ms the first time, doubled each time, at most a minute. So with
/// a million requests in a second, it is tried nine times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failures {
    count: u32,
    /// No retry before that.
    not_before: Option<Instant>,
}

impl Failures {
    /// Records a failure, now.
    #[must_use]
    pub fn and_another(self, now: Instant) -> Self {
        let pause = self.count.checked_sub(1).map(|doublings| {
            FIRST_PAUSE.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
        });
        Self {
            count: (self.count + 1).min(u32::BITS),
            not_before: pause.and_then(|pause| now.checked_add(pause.min(LONGEST_PAUSE))),
        }
    }

    /// Whether a retry is due.
    pub fn may_try(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|not_before| now >= not_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let now = Instant::now();
        let mut failures = Failures::default().and_another(now);
        assert!(failures.may_try(now), "at once after the first");
        let mut pauses = Vec::new();
        for _ in 0..40 {
            failures = failures.and_another(now);
            let pause = failures.not_before.expect("a pause") - now;
            assert!(!failures.may_try(now) && failures.may_try(now + pause));
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses[..4], [10, 20, 40, 80]);
        assert_eq!(pauses[13..], [60_000; 27]);
    }
}
