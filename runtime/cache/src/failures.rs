//! When what failed is tried again.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Failures of the same thing, one after the other, each of which may be the last.
///
/// After the first failure it is tried again at once, when next asked for; after each further one only when a pause is over, of 10 ms the
/// first time and twice as long each time, up to a minute. So whoever asks a million times in a second tries nine times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failures {
    count: u32,
    /// Nothing is tried before that.
    not_before: Option<Instant>,
}

impl Failures {
    /// One more, now.
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

    /// Whether it is tried again.
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
