//! Memory whose pages a thread is giving back.
//!
//! `madvise(2)` with `MADV_DONTNEED` reports its event first, and takes the pages away when the
//! event has been read. What is registered in between keeps the old pages, and no second event
//! tells. So a range counts as *leaving* until its pages were seen to be gone: the thread that gave
//! them back holds on to the range until its call returns, so no pages are brought in before.
//!
//! A range that has pages again before anybody looks is leaving until no thread can be in that call
//! any more, see [`in_system_call`](super::in_system_call).

/// A range of addresses whose memory is gone.
pub(super) type Gone = (usize, usize);

/// So many ranges are told apart; others are joined with them.
const MOST: usize = 32;

/// Ranges whose pages may still be about to go. It neither allocates nor frees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    ranges: [Gone; MOST],
    /// The number of the last event of each range.
    events: [u64; MOST],
    len: usize,
    /// The number of the last event of all.
    last: u64,
}

impl Leaving {
    pub(super) const fn new() -> Self {
        Self { ranges: [(0, 0); MOST], events: [0; MOST], len: 0, last: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of the last event.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// Removes the ranges without an event after that one.
    pub(super) fn settle(&mut self, event: u64) {
        self.retain(|range, last| (last > event).then_some(range));
    }

    /// Whether a part of a range is leaving.
    pub(super) fn contains_part(&self, begin: usize, end: usize) -> bool {
        self.ranges[..self.len].iter().any(|(from, to)| *from < end && begin < *to)
    }

    /// Adds a range.
    pub(super) fn add(&mut self, (mut begin, mut end): Gone) {
        self.last += 1;
        // Those that it touches become one with it.
        self.retain(|(from, to), _| {
            let is_apart = to < begin || end < from;
            if !is_apart {
                (begin, end) = (begin.min(from), end.max(to));
            }
            is_apart.then_some((from, to))
        });
        if let Some(place) = self.ranges.get_mut(self.len) {
            *place = (begin, end);
            self.events[self.len] = self.last;
            self.len += 1;
        } else {
            let last = &mut self.ranges[MOST - 1];
            *last = (last.0.min(begin), last.1.max(end));
            self.events[MOST - 1] = self.last;
        }
    }

    /// Looks whether pages have gone. `hull` returns the smallest range that has all pages of a
    /// range, or an empty one, or `None` if that cannot be found out.
    pub(super) fn look(&mut self, mut hull: impl FnMut(Gone) -> Option<Gone>) {
        self.retain(|range, _| match hull(range) {
            Some((begin, end)) => (begin < end).then_some((begin, end)),
            None => Some(range),
        });
    }

    /// Replaces each range by what `keep` returns for it.
    fn retain(&mut self, mut keep: impl FnMut(Gone, u64) -> Option<Gone>) {
        let mut kept = 0;
        for at in 0..self.len {
            let event = self.events[at];
            if let Some(range) = keep(self.ranges[at], event) {
                self.ranges[kept] = range;
                self.events[kept] = event;
                kept += 1;
            }
        }
        self.len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_until_their_pages_were_seen_to_be_gone() {
        let mut leaving = Leaving::new();
        leaving.add((10, 20));
        leaving.add((40, 50));
        assert!(leaving.contains_part(19, 21) && !leaving.contains_part(20, 40));
        // All pages are there, or that is not known.
        leaving.look(Some);
        leaving.look(|_| None);
        assert!(leaving.contains_part(0, 11) && leaving.contains_part(40, 41));
        // Some of them went.
        leaving.look(|(begin, end)| Some((begin + 4, end)));
        assert!(!leaving.contains_part(10, 14) && leaving.contains_part(10, 15));
        leaving.look(|(begin, end)| Some(if begin < 40 { (begin, end) } else { (0, 0) }));
        assert!(leaving.contains_part(14, 20) && !leaving.contains_part(20, usize::MAX));
        leaving.look(|_| Some((0, 0)));
        assert!(leaving.is_empty());
        // What comes after an event is not settled with it.
        leaving.add((10, 20));
        leaving.add((30, 40));
        let before = leaving.last();
        leaving.add((15, 16));
        leaving.settle(before);
        assert!(leaving.contains_part(10, 20) && !leaving.contains_part(30, 40));
        leaving.settle(leaving.last());
        assert!(leaving.is_empty());
    }

    #[test]
    fn nothing_is_lost_where_there_are_too_many() {
        let mut leaving = Leaving::new();
        for range in 0..3 * MOST {
            leaving.add((range * 10, range * 10 + 5));
        }
        assert_eq!(leaving.len, MOST);
        for range in 0..3 * MOST {
            assert!(leaving.contains_part(range * 10 + 4, range * 10 + 5), "{range}");
        }
        // Whatever touches becomes one.
        leaving.add((5, 1000));
        assert_eq!((leaving.len, leaving.ranges[0]), (1, (0, 1000)));
    }
}
