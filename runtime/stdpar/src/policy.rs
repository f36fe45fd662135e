//! Which of two ways a pipeline takes, for lengths of one size: by what both have taken. Knows no
//! clock.
//!
//! A pipeline begins with rayon. Once that has taken long enough for a kernel to be worth making,
//! some calls in a row *look* at the kernel, and from then on calls take the faster way. The other
//! one is looked at again: when what that may cost is small beside what was spent meanwhile, or
//! when calls take far longer or shorter than they did. A look that changes nothing makes the next
//! one come later.
//!
//! What a way takes is the median of its last calls, so that a thread that was interrupted counts
//! for nothing. The first call after a change of the way does not count either, if it is short: it
//! finds the other threads' data in the caches, and threads that still look for work.
//!
//! Where the device has memory of its own, the data move there and back:
//!
//! - the first two calls after a change of the way do not count;
//! - what a look costs is counted in full, with the calls in which the data move back, and no look
//!   begins before that is a small part of the time spent since;
//! - the first look ends at once if it costs far more than the pipeline has taken in all;
//! - what the host does right after a call counts as far as it takes longer after one way than
//!   after the other: results that are on the device move when the host reads them.

/// Time in nanoseconds.
pub(crate) type Nanos = u64;

const MICROSECOND: Nanos = 1_000;
const MILLISECOND: Nanos = 1_000 * MICROSECOND;

/// A kernel is made of a pipeline that has taken this long in all: to make one takes as much.
pub(crate) const WORTH_A_KERNEL: Nanos = 20 * MILLISECOND;

/// Where the kernel is there, lengths of a new size take this long with rayon, and as many calls,
/// before the kernel is looked at.
const WORTH_A_LOOK: Nanos = 2 * MILLISECOND;
const CALLS_BEFORE: u32 = 2;

/// So many calls with rayon are measured before that, unless they are very long: the first ones of
/// a program find new memory, and threads and a processor that have slept.
const WARM: usize = 5;

/// Calls that are longer than this warm up within themselves.
const LONG: Nanos = MILLISECOND;

/// Calls after a change of the way in which the data move.
const MOVING: u32 = 2;

/// Calls of a look, for short ones and for long ones.
const LOOK: u32 = 4;
const LOOK_OF_LONG: u32 = 2;

/// A look may cost this share of what was spent since the last one, in percent.
const SHARE: u64 = 1;

/// The same where data move: for looks because calls take longer or shorter, and for the one after
/// a first look that ended at once.
const SHARE_OF_CHANGED: u64 = 5;
const SHARE_OF_SECOND: u64 = 25;

/// The first look ends when it has cost so many times what the pipeline has taken in all.
const MOST_OF_FIRST: u64 = 2;

/// The time after a call counts if it is at most so many times the call's.
const AFTER: u64 = 8;

/// Calls between two looks: at least at first, and at least after many looks that changed nothing.
const SOON: u32 = 16;
const SELDOM: u32 = 1024;

/// Time between two looks.
const REST: Nanos = 10 * MILLISECOND;

/// A way is taken in place of the other if it takes less than this, in percent.
const BETTER: u64 = 97;

/// The same where data move: the host may read other data after other calls, and what is worth
/// little is not worth that.
const BETTER_TO_MOVE: u64 = 90;

/// Calls shorter than these are measured now and then: how often is beside it.
const SHORT: Nanos = 20 * MICROSECOND;
const OF_SHORT: u32 = 16;
const TINY: Nanos = 5 * MICROSECOND;
const OF_TINY: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Rayon,
    Kernel,
}

impl Way {
    const fn other(self) -> Self {
        match self {
            Self::Rayon => Self::Kernel,
            Self::Kernel => Self::Rayon,
        }
    }
}

/// What is known of a pipeline's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// It was not asked for.
    Unasked,
    /// The same, and it is time to: the pipeline has taken [`WORTH_A_KERNEL`] in all.
    WorthMaking,
    /// It is being made.
    Making,
    Ready,
    /// It is there, on a device with memory of its own.
    ReadyElsewhere,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has the kernel made, and goes on with rayon.
    Make,
    /// It takes a way, and is measured or not.
    Take(Way, bool),
}

/// How calls go on until the next that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) way: Way,
    /// Calls that need not ask.
    pub(crate) calls: u32,
}

/// The last times of a way.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    last: [Nanos; 5],
    count: usize,
}

impl Times {
    fn add(&mut self, time: Nanos) {
        self.last[self.count % self.last.len()] = time;
        self.count += 1;
    }

    /// The median, and the lower one of two.
    fn median(&self) -> Option<Nanos> {
        let mut known = self.last;
        let known = &mut known[..self.count.min(self.last.len())];
        known.sort_unstable();
        known.get(known.len().checked_sub(1)? / 2).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// With rayon, before the first look.
    Before,
    /// As many calls of the other way are still to come.
    Looking(u32),
    /// After a look.
    Settled,
}

/// What became of the first look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Pending,
    /// It cost too much to be finished.
    Ended,
    Over,
}

/// What a look has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The way that calls take from now on.
    pub(crate) way: Way,
    /// What a call takes with rayon and as a kernel, and what the host takes longer after it than
    /// after one of the other way; `None` where the look has ended before it was known.
    pub(crate) times: [Option<(Nanos, Nanos)>; 2],
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    phase: Phase,
    /// The way of calls that do not look at the other one.
    way: Way,
    times: [Times; 2],
    /// What the way that is not taken took when it was looked at.
    other: Option<Nanos>,
    /// What the way that is taken took then.
    reference: Option<Nanos>,
    /// The way of the last call that ended, and how many such calls there were in a row.
    last: (Way, u32),
    /// The times from the last calls' ends to the next ones' beginnings.
    after: [Times; 2],
    /// Whether the time after the last call counts.
    is_after: bool,
    /// Whether data move when the way changes.
    moves: bool,
    /// Whether what was measured with rayon was so before the kernel was there.
    is_cold: bool,
    /// What the last look took longer than the way that was taken would have.
    cost: Nanos,
    /// Whether the first look is over, or has ended at once.
    first: First,
    /// Calls, and time, since the last look.
    calls: u32,
    spent: Nanos,
    /// Calls between two looks at least.
    between: u32,
    /// What the last look has led to, if nobody has asked since.
    decision: Option<Decision>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            phase: Phase::Before,
            way: Way::Rayon,
            times: [Times::default(); 2],
            other: None,
            reference: None,
            last: (Way::Rayon, 0),
            after: [Times::default(); 2],
            is_after: false,
            moves: false,
            is_cold: false,
            cost: 0,
            first: First::Pending,
            calls: 0,
            spent: 0,
            between: SOON,
            decision: None,
        }
    }
}

impl Policy {
    /// What a look has led to, once.
    pub(crate) fn decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }

    fn times(&mut self, way: Way) -> &mut Times {
        &mut self.times[way as usize]
    }

    /// What the way that is taken takes.
    fn current(&self) -> Option<Nanos> {
        self.times[self.way as usize].median()
    }

    /// Whether a call with rayon takes so long that there is no need to repeat it.
    fn is_very_long(&self) -> bool {
        self.times[Way::Rayon as usize].median().is_some_and(|time| time >= WORTH_A_KERNEL)
    }

    /// A call asks what to do.
    pub(crate) fn next(&mut self, kernel: Kernel) -> Step {
        self.moves |= kernel == Kernel::ReadyElsewhere;
        match self.phase {
            Phase::Before => match kernel {
                Kernel::WorthMaking => return Step::Make,
                // The kernel's maker takes processor time, so this says nothing.
                Kernel::Making => {
                    self.is_cold = true;
                    return Step::Take(Way::Rayon, false);
                }
                Kernel::Ready | Kernel::ReadyElsewhere => {
                    if std::mem::take(&mut self.is_cold) && !self.is_very_long() {
                        *self.times(Way::Rayon) = Times::default();
                    }
                    if self.spent >= WORTH_A_LOOK
                        && self.calls >= CALLS_BEFORE
                        && (self.times[Way::Rayon as usize].count >= WARM || self.is_very_long())
                    {
                        self.look();
                    }
                }
                Kernel::Unasked => {}
            },
            Phase::Looking(0) => self.decide(),
            Phase::Looking(_) => {}
            Phase::Settled if self.is_due() => self.look(),
            Phase::Settled => {}
        }
        if let Phase::Looking(left) = &mut self.phase {
            *left -= 1;
            return Step::Take(self.way.other(), true);
        }
        Step::Take(self.way, true)
    }

    /// Whether the other way is to be looked at.
    fn is_due(&self) -> bool {
        let Some(current) = self.current() else { return false };
        if self.calls < self.between {
            return false;
        }
        let changed = self.reference.is_some_and(|reference| {
            current > reference.saturating_mul(3) / 2 || current < reference / 3 * 2
        });
        let cost = self.other.map_or(0, |other| other.saturating_sub(current));
        let cost = cost.saturating_mul(u64::from(self.calls_of_look(current)));
        if !self.moves {
            return changed || (self.spent >= REST && self.spent / 100 * SHARE >= cost);
        }
        let share = match self.first {
            First::Ended => SHARE_OF_SECOND,
            _ if changed => SHARE_OF_CHANGED,
            _ => SHARE,
        };
        self.spent >= REST && self.spent / 100 * share >= cost.max(self.cost)
    }

    const fn calls_of_look(&self, current: Nanos) -> u32 {
        let calls = if current < LONG { LOOK } else { LOOK_OF_LONG };
        if self.moves { calls + MOVING } else { calls }
    }

    fn look(&mut self) {
        let calls = self.current().map_or(LOOK, |current| self.calls_of_look(current));
        let other = self.way.other();
        *self.times(other) = Times::default();
        self.after[other as usize] = Times::default();
        self.cost = 0;
        self.phase = Phase::Looking(calls);
    }

    /// The time from the end of the last call to the beginning of the next one.
    pub(crate) fn after(&mut self, time: Nanos) {
        if std::mem::take(&mut self.is_after) {
            self.after[self.last.0 as usize].add(time);
        }
    }

    /// What the host does after calls of the other way and of the one that is taken, as far as it
    /// takes longer than after the other one.
    fn longer_after(&self, seen: Nanos, current: Nanos) -> [Nanos; 2] {
        let [other, own] =
            [self.way.other(), self.way].map(|way| self.after[way as usize].median());
        match (other, own) {
            (Some(other), Some(own))
                if self.moves && other.max(own) <= seen.max(current).saturating_mul(AFTER) =>
            {
                let least = other.min(own);
                [other - least, own - least]
            }
            _ => [0, 0],
        }
    }

    fn decide(&mut self) {
        self.phase = Phase::Settled;
        (self.calls, self.spent) = (0, 0);
        let other = self.way.other();
        let seen = self.times(other).median();
        let current = self.current();
        let [after_seen, after_current] =
            seen.zip(current).map_or([0, 0], |(seen, current)| self.longer_after(seen, current));
        let mut times = [None; 2];
        times[other as usize] = seen.map(|seen| (seen, after_seen));
        times[self.way as usize] = current.map(|current| (current, after_current));
        let better = match (seen, current) {
            (Some(seen), Some(current)) => {
                let (seen, current) = (seen + after_seen, current + after_current);
                let better = if self.moves { BETTER_TO_MOVE } else { BETTER };
                u128::from(seen) * 100 < u128::from(current) * u128::from(better)
            }
            _ => false,
        };
        if self.first == First::Ended || seen.is_some() {
            self.first = First::Over;
        }
        if better {
            self.other = self.current();
            self.way = other;
            self.between = (self.between / 2).max(2 * SOON);
        } else {
            self.other = seen.or(self.other);
            self.between = (self.between * 2).min(SELDOM);
        }
        self.reference = self.current();
        self.decision = Some(Decision { way: self.way, times });
    }

    /// A call that was measured has ended. `counts`: its time is that of the calls to come, too.
    pub(crate) fn end(&mut self, way: Way, time: Nanos, counts: bool) -> Plan {
        let before = if self.last.0 == way { self.last.1 } else { 0 };
        self.last = (way, before.saturating_add(1));
        let warm_up = if self.moves { MOVING } else { u32::from(time < LONG) };
        let counts = counts && before >= warm_up;
        if counts {
            self.times(way).add(time);
        }
        self.is_after = counts;
        let is_look = matches!(self.phase, Phase::Looking(_)) && way != self.way;
        if self.moves && (is_look || (self.phase == Phase::Settled && !counts)) {
            let usual = self.current().unwrap_or(time);
            self.cost = self.cost.saturating_add(time.saturating_sub(usual));
        }
        if self.moves
            && is_look
            && !counts
            && self.first == First::Pending
            && self.cost > self.spent.saturating_mul(MOST_OF_FIRST)
        {
            (self.phase, self.first) = (Phase::Settled, First::Ended);
            (self.calls, self.spent) = (0, 0);
            return self.plan(time);
        }
        let plan = self.plan(time);
        if way == self.way {
            let calls = plan.calls + 1;
            self.calls = self.calls.saturating_add(calls);
            self.spent = self.spent.saturating_add(time.saturating_mul(calls.into()));
        } else if counts
            && matches!(self.phase, Phase::Looking(_))
            && self.current().is_some_and(|current| time > current.saturating_mul(8))
        {
            // It need not be looked at any longer.
            self.phase = Phase::Looking(0);
        }
        plan
    }

    /// How the next calls go on, after one that took `time`.
    fn plan(&self, time: Nanos) -> Plan {
        let calls = match self.phase {
            Phase::Looking(_) => 0,
            _ if time < TINY => OF_TINY - 1,
            _ if time < SHORT => OF_SHORT - 1,
            _ => 0,
        };
        Plan { way: self.way, calls }
    }

    /// Whether calls are so short, and rayon's, that even to count them is to be saved.
    pub(crate) fn is_tiny(&self) -> bool {
        self.phase == Phase::Settled
            && self.way == Way::Rayon
            && self.current().is_some_and(|time| time < TINY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose times are made up: what a call takes with rayon and as a kernel.
    struct Program {
        policy: Policy,
        plan: Plan,
        in_all: Nanos,
        /// Calls until the kernel is there, once it is being made.
        making: Option<u32>,
        /// Calls by their way.
        taken: [usize; 2],
        measured: usize,
    }

    impl Program {
        fn new() -> Self {
            Self {
                policy: Policy::default(),
                plan: Plan { way: Way::Rayon, calls: 0 },
                in_all: 0,
                making: None,
                taken: [0; 2],
                measured: 0,
            }
        }

        fn call(&mut self, times: [Nanos; 2]) -> Way {
            let (way, measured) = if let Some(calls) = self.plan.calls.checked_sub(1) {
                self.plan.calls = calls;
                (self.plan.way, false)
            } else {
                let kernel = match &mut self.making {
                    None if self.in_all >= WORTH_A_KERNEL => Kernel::WorthMaking,
                    None => Kernel::Unasked,
                    Some(0) => Kernel::Ready,
                    Some(left) => {
                        *left -= 1;
                        Kernel::Making
                    }
                };
                match self.policy.next(kernel) {
                    Step::Make => {
                        self.making = Some(3);
                        (Way::Rayon, false)
                    }
                    Step::Take(way, measured) => (way, measured),
                }
            };
            self.taken[way as usize] += 1;
            self.in_all += times[way as usize];
            if measured {
                self.measured += 1;
                self.plan = self.policy.end(way, times[way as usize], true);
            }
            way
        }

        /// Makes calls, and gives how many were kernels.
        fn calls(&mut self, calls: usize, times: impl Fn(usize) -> [Nanos; 2]) -> usize {
            let before = self.taken[1];
            for call in 0..calls {
                self.call(times(call));
            }
            self.taken[1] - before
        }
    }

    const fn ms(time: Nanos) -> Nanos {
        time * MILLISECOND
    }

    #[test]
    fn what_takes_no_time_never_becomes_a_kernel() {
        let mut program = Program::new();
        assert_eq!(program.calls(1000, |_| [10 * MICROSECOND, 1]), 0);
        assert_eq!(program.making, None);
    }

    #[test]
    fn the_faster_way_is_kept_and_the_other_looked_at_again() {
        let mut program = Program::new();
        let kernels = program.calls(2000, |_| [ms(30), ms(10)]);
        assert!((1950..1996).contains(&kernels), "{kernels}");
        // Two calls of 20 ms more at a time, and one in a hundred of the time is spent on that.
        assert!(program.taken[0] > 10, "{}", program.taken[0]);
        let mut program = Program::new();
        let kernels = program.calls(2000, |_| [ms(10), ms(11)]);
        assert!((6..60).contains(&kernels), "{kernels}");
        let much_slower = Program::new().calls(2000, |_| [ms(10), ms(300)]);
        assert!((1..=2).contains(&much_slower), "{much_slower}");
    }

    #[test]
    fn looks_cost_little() {
        for [rayon, kernel] in
            [[ms(1), ms(3)], [ms(3), ms(1)], [10 * MICROSECOND, ms(1)], [ms(1), 10 * MICROSECOND]]
        {
            let mut program = Program::new();
            program.calls(100, |_| [rayon, kernel]);
            let before = program.in_all;
            program.calls(50_000, |_| [rayon, kernel]);
            let best = 50_000 * rayon.min(kernel);
            let spent = program.in_all - before;
            assert!(spent * 100 < best * 105, "{rayon} {kernel}: {spent} for {best}");
        }
    }

    #[test]
    fn a_kernel_that_is_hardly_better_is_not_taken() {
        let mut program = Program::new();
        let kernels = program.calls(1000, |_| [ms(100), ms(98)]);
        assert!(kernels < 50, "{kernels}");
    }

    #[test]
    fn calls_that_were_interrupted_decide_nothing() {
        // Every third call takes ten times as long.
        let slow = |call: usize| if call.is_multiple_of(3) { 10 } else { 1 };
        let mut program = Program::new();
        program.calls(200, |call| [ms(20) * slow(call), ms(10) * slow(call)]);
        let kernels = program.calls(500, |call| [ms(20) * slow(call), ms(10) * slow(call)]);
        assert!(kernels > 400, "{kernels}");
    }

    #[test]
    fn phases_of_a_program_are_noticed() {
        let mut program = Program::new();
        program.calls(300, |_| [ms(30), ms(10)]);
        // The kernel's becomes the slower way.
        let kernels = program.calls(600, |_| [ms(15), ms(60)]);
        assert!(kernels < 200, "{kernels}");
        // And both ways as they were.
        let kernels = program.calls(3000, |_| [ms(30), ms(10)]);
        assert!(kernels > 2000, "{kernels}");
    }

    #[test]
    fn calls_go_on_with_rayon_while_the_kernel_is_made() {
        let mut program = Program::new();
        program.making = None;
        assert_eq!(program.calls(2, |_| [ms(10), ms(1)]), 0);
        assert_eq!(program.call([ms(10), ms(1)]), Way::Rayon);
        assert_eq!(program.making, Some(3));
        assert_eq!(program.calls(3, |_| [ms(10), ms(1)]), 0);
        // Then some are measured, and the first ones are forgotten.
        assert_eq!(program.calls(WARM, |_| [ms(10), ms(1)]), 0);
        assert_eq!(program.calls(10, |_| [ms(10), ms(1)]), 10);
    }

    #[test]
    fn what_was_measured_before_the_kernel_was_there_says_nothing() {
        let mut program = Program::new();
        // The first calls find new memory.
        let kernels = program.calls(100, |call| [if call < 4 { ms(15) } else { ms(2) }, ms(4)]);
        assert!(kernels <= 4, "{kernels}");
    }

    #[test]
    fn data_do_not_move_for_little() {
        let time = |_, way| if way == Way::Kernel { ms(94) } else { ms(100) };
        assert!(elsewhere(400, ms(20), time, |_| 0).0 < 20);
        let time = |_, way| if way == Way::Kernel { ms(80) } else { ms(100) };
        assert!(elsewhere(400, ms(20), time, |_| 0).0 > 300);
    }

    #[test]
    fn short_calls_are_measured_now_and_then() {
        let mut program = Program::new();
        program.making = Some(0);
        program.calls(100_000, |_| [MICROSECOND, 2 * MICROSECOND]);
        assert!(program.measured < 3000, "{}", program.measured);
        assert!(program.taken[1] < 100, "{:?}", program.taken);
        assert!(program.policy.is_tiny());
        let mut program = Program::new();
        program.making = Some(0);
        program.calls(100_000, |_| [12 * MICROSECOND, MICROSECOND]);
        assert!(program.taken[0] < 2000, "{:?}", program.taken);
        assert!(program.measured < 5000, "{}", program.measured);
    }

    #[test]
    fn calls_in_which_data_move_do_not_count() {
        let mut policy = Policy::default();
        let (mut last, mut row, mut kernels) = (Way::Rayon, 0, 0);
        for _ in 0..400 {
            let Step::Take(way, _) = policy.next(Kernel::ReadyElsewhere) else { unreachable!() };
            row = if way == last { row + 1 } else { 0 };
            last = way;
            kernels += usize::from(way == Way::Kernel);
            let moving = if row < 2 { ms(100) } else { 0 };
            let time = if way == Way::Kernel { ms(2) } else { ms(10) };
            policy.end(way, time + moving, true);
        }
        assert!(kernels > 380, "{kernels}");
        // And looks at what is slower stay rare.
        let (mut policy, mut kernels) = (Policy::default(), 0);
        for _ in 0..4000 {
            let Step::Take(way, _) = policy.next(Kernel::ReadyElsewhere) else { unreachable!() };
            kernels += usize::from(way == Way::Kernel);
            let moving = if way == Way::Kernel { ms(100) } else { 0 };
            policy.end(way, ms(10) + moving, true);
        }
        assert!(kernels < 30, "{kernels}");
    }

    /// Calls on a device with memory of its own: the first after a change takes `moving` longer.
    /// Returns the calls that were kernels, and the time of all.
    fn elsewhere(
        calls: usize,
        moving: Nanos,
        time: impl Fn(usize, Way) -> Nanos,
        after: impl Fn(Way) -> Nanos,
    ) -> (usize, Nanos) {
        let mut policy = Policy::default();
        let (mut last, mut row, mut kernels, mut in_all) = (Way::Rayon, 9, 0, 0);
        for call in 0..calls {
            if call != 0 {
                policy.after(after(last));
                in_all += after(last);
            }
            let Step::Take(way, _) = policy.next(Kernel::ReadyElsewhere) else { unreachable!() };
            row = if way == last { row + 1 } else { 0 };
            last = way;
            kernels += usize::from(way == Way::Kernel);
            let time = time(call, way) + if row == 0 { moving } else { 0 };
            in_all += time;
            policy.end(way, time, true);
        }
        (kernels, in_all)
    }

    #[test]
    fn what_the_host_does_after_calls_counts() {
        let time = |_, way| if way == Way::Kernel { ms(1) } else { ms(2) };
        let none = elsewhere(400, ms(20), time, |_| 0);
        assert!(none.0 > 300, "{none:?}");
        // Results are read by the host, and move.
        let moved = elsewhere(400, ms(20), time, |way| ms(if way == Way::Kernel { 3 } else { 1 }));
        assert!(moved.0 < 40, "{moved:?}");
        // What takes as long after both says nothing, nor what takes very long.
        let same = elsewhere(400, ms(20), time, |_| ms(3));
        assert!(same.0 > 300, "{same:?}");
        let long = elsewhere(400, ms(20), time, |way| ms(if way == Way::Kernel { 90 } else { 80 }));
        assert!(long.0 > 300, "{long:?}");
    }

    #[test]
    fn looks_that_move_data_cost_a_small_part() {
        // Calls take twice as long now and then, which is no reason to look.
        let time = |call: usize, way| match way {
            Way::Kernel => ms(10),
            Way::Rayon => ms(1) * if (call / 20).is_multiple_of(2) { 1 } else { 2 },
        };
        let (kernels, in_all) = elsewhere(20_000, ms(50), time, |_| 0);
        let best: Nanos = (0..20_000).map(|call| time(call, Way::Rayon)).sum();
        assert!(in_all * 100 < best * 110, "{kernels}: {in_all} for {best}");
        // The first look ends at once, and the second one is a whole one.
        let (kernels, in_all) = elsewhere(60, ms(500), |_, _| ms(1), |_| 0);
        assert_eq!(kernels, 1, "{in_all}");
        let faster = |_, way| if way == Way::Kernel { ms(1) } else { ms(20) };
        let (kernels, _) = elsewhere(2000, ms(500), faster, |_| 0);
        assert!(kernels > 1300, "{kernels}");
    }

    #[test]
    fn looks_that_give_no_times_do_no_harm() {
        // As when closures panic.
        let mut policy = Policy::default();
        for _ in 0..2 {
            let step = policy.next(Kernel::Ready);
            assert_eq!(step, Step::Take(Way::Rayon, true));
            policy.end(Way::Rayon, ms(10), true);
        }
        let looked = (0..20).filter(|_| {
            let step = policy.next(Kernel::Ready);
            if step == Step::Take(Way::Rayon, true) {
                policy.end(Way::Rayon, ms(10), true);
            }
            step == Step::Take(Way::Kernel, true)
        });
        assert_eq!(looked.count(), LOOK_OF_LONG as usize);
    }
}
