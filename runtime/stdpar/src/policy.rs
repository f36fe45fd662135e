//! Which of two strategies a pipeline takes, for lengths of one size: by what both have taken. Knows no
//! clock.
//!
//! A pipeline begins with rayon. Once that has taken long enough for a kernel to be worth making,
//! some calls in a row *probe* the kernel, and from then on calls take the faster strategy. The other
//! one is probed again: when what that may cost is small beside what was spent meanwhile, or
//! when calls take far longer or shorter than they did. A probe that changes nothing makes the next
//! one come later.
//!
//! What a strategy takes is the median of its last calls, so that a thread that was interrupted counts
//! for nothing. The first call after a change of the strategy does not count either, if it is short: it
//! finds the other threads' data in the caches, and threads that still search for work.
//!
//! Where the device has separate memory, the data move there and back:
//!
//! - the first two calls after a change of the strategy do not count;
//! - what a probe costs is counted in full, with the calls in which the data move back, and no probe
//!   begins before that is a small part of the time spent since;
//! - the first probe ends at once if it costs far more than the pipeline has taken in all;
//! - what the host does right after a call counts by how much it takes longer after one strategy than
//!   after the other: results that are on the device move when the host reads them.

/// Time in nanoseconds.
pub(crate) type Nanos = u64;

const MICROSECOND: Nanos = 1_000;
const MILLISECOND: Nanos = 1_000 * MICROSECOND;

/// A kernel is made of a pipeline that has taken this long in all: to make one takes as much.
pub(crate) const WORTH_A_KERNEL: Nanos = 20 * MILLISECOND;

/// Where the kernel is there, lengths of a new size take this long with rayon, and as many calls,
/// before the kernel is probed.
const WORTH_A_PROBE: Nanos = 2 * MILLISECOND;
const CALLS_BEFORE: u32 = 2;

/// So many calls with rayon are measured before that, unless they are very long: the first ones of
/// a program find new memory, and threads and a processor that have slept.
const WARM: usize = 5;

/// Calls that are longer than this warm up within themselves.
const LONG: Nanos = MILLISECOND;

/// Calls after a change of the strategy in which the data move.
const TRANSFERS: u32 = 2;

/// Calls of a probe, for short ones and for long ones.
const PROBE: u32 = 4;
const PROBE_OF_LONG: u32 = 2;

/// A probe may cost this share of what was spent since the last one, in percent.
const SHARE: u64 = 1;

/// The same where data move: for probes because calls take longer or shorter, and for the one after
/// a first probe that ended at once.
const SHARE_OF_CHANGED: u64 = 5;
const SHARE_OF_SECOND: u64 = 25;

/// The first probe ends when it has cost so many times what the pipeline has taken in all.
const MOST_OF_FIRST: u64 = 2;

/// The time after a call counts if it is at most so many times the call's.
const AFTER: u64 = 8;

/// Calls between two probes: at least at first, and at least after many probes that changed nothing.
const SOON: u32 = 16;
const SELDOM: u32 = 1024;

/// Time between two probes.
const REST: Nanos = 10 * MILLISECOND;

/// A strategy is taken in place of the other if it takes less than this, in percent.
const BETTER: u64 = 97;

/// The same where data move: the host may read other data after other calls, and what is worth
/// little is not worth that.
const BETTER_TO_TRANSFER: u64 = 90;

/// Calls shorter than these are measured now and then: how often is beside it.
const SHORT: Nanos = 20 * MICROSECOND;
const OF_SHORT: u32 = 16;
const TINY: Nanos = 5 * MICROSECOND;
const OF_TINY: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Rayon,
    Kernel,
}

impl Strategy {
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
    /// It is there, on a device with separate memory.
    ReadyElsewhere,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has the kernel made, and continues with rayon.
    Make,
    /// It takes a strategy, and is measured or not.
    Take(Strategy, bool),
}

/// What calls do until the next that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) strategy: Strategy,
    /// Calls that need not ask.
    pub(crate) calls: u32,
}

/// The last times of a strategy.
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
    /// With rayon, before the first probe.
    Before,
    /// As many calls of the other strategy are still to come.
    Probing(u32),
    /// After a probe.
    Settled,
}

/// What became of the first probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Pending,
    /// It cost too much to be finished.
    Ended,
    Over,
}

/// What a probe has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The strategy that calls take from now on.
    pub(crate) strategy: Strategy,
    /// What a call takes with rayon and as a kernel, and what the host takes longer after it than
    /// after one of the other strategy; `None` where the probe has ended before it was known.
    pub(crate) times: [Option<(Nanos, Nanos)>; 2],
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    phase: Phase,
    /// The strategy of calls that do not probe the other one.
    strategy: Strategy,
    times: [Times; 2],
    /// What the strategy that is not taken took when it was probed.
    other: Option<Nanos>,
    /// What the strategy that is taken took then.
    reference: Option<Nanos>,
    /// The strategy of the last call that ended, and how many such calls there were in a row.
    last: (Strategy, u32),
    /// The times from the last calls' ends to the next ones' beginnings.
    after: [Times; 2],
    /// Whether the time after the last call counts.
    is_after: bool,
    /// Whether data move when the strategy changes.
    transfers: bool,
    /// Whether what was measured with rayon was so before the kernel was there.
    is_cold: bool,
    /// What the last probe took longer than the strategy that was taken would have.
    cost: Nanos,
    /// Whether the first probe is over, or has ended at once.
    first: First,
    /// Calls, and time, since the last probe.
    calls: u32,
    spent: Nanos,
    /// Calls between two probes at least.
    between: u32,
    /// What the last probe has led to, if it was not asked for since.
    decision: Option<Decision>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            phase: Phase::Before,
            strategy: Strategy::Rayon,
            times: [Times::default(); 2],
            other: None,
            reference: None,
            last: (Strategy::Rayon, 0),
            after: [Times::default(); 2],
            is_after: false,
            transfers: false,
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
    /// What a probe has led to, once.
    pub(crate) fn decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }

    fn times(&mut self, strategy: Strategy) -> &mut Times {
        &mut self.times[strategy as usize]
    }

    /// What the strategy that is taken takes.
    fn current(&self) -> Option<Nanos> {
        self.times[self.strategy as usize].median()
    }

    /// Whether a call with rayon takes so long that there is no need to repeat it.
    fn is_very_long(&self) -> bool {
        self.times[Strategy::Rayon as usize].median().is_some_and(|time| time >= WORTH_A_KERNEL)
    }

    /// A call asks what to do.
    pub(crate) fn next(&mut self, kernel: Kernel) -> Step {
        self.transfers |= kernel == Kernel::ReadyElsewhere;
        match self.phase {
            Phase::Before => match kernel {
                Kernel::WorthMaking => return Step::Make,
                // The kernel's maker takes processor time, so this says nothing.
                Kernel::Making => {
                    self.is_cold = true;
                    return Step::Take(Strategy::Rayon, false);
                }
                Kernel::Ready | Kernel::ReadyElsewhere => {
                    if std::mem::take(&mut self.is_cold) && !self.is_very_long() {
                        *self.times(Strategy::Rayon) = Times::default();
                    }
                    if self.spent >= WORTH_A_PROBE
                        && self.calls >= CALLS_BEFORE
                        && (self.times[Strategy::Rayon as usize].count >= WARM
                            || self.is_very_long())
                    {
                        self.probe();
                    }
                }
                Kernel::Unasked => {}
            },
            Phase::Probing(0) => self.decide(),
            Phase::Probing(_) => {}
            Phase::Settled if self.is_due() => self.probe(),
            Phase::Settled => {}
        }
        if let Phase::Probing(left) = &mut self.phase {
            *left -= 1;
            return Step::Take(self.strategy.other(), true);
        }
        Step::Take(self.strategy, true)
    }

    /// Whether the other strategy is to be probed.
    fn is_due(&self) -> bool {
        let Some(current) = self.current() else { return false };
        if self.calls < self.between {
            return false;
        }
        let changed = self.reference.is_some_and(|reference| {
            current > reference.saturating_mul(3) / 2 || current < reference / 3 * 2
        });
        let cost = self.other.map_or(0, |other| other.saturating_sub(current));
        let cost = cost.saturating_mul(u64::from(self.calls_of_probe(current)));
        if !self.transfers {
            return changed || (self.spent >= REST && self.spent / 100 * SHARE >= cost);
        }
        let share = match self.first {
            First::Ended => SHARE_OF_SECOND,
            _ if changed => SHARE_OF_CHANGED,
            _ => SHARE,
        };
        self.spent >= REST && self.spent / 100 * share >= cost.max(self.cost)
    }

    const fn calls_of_probe(&self, current: Nanos) -> u32 {
        let calls = if current < LONG { PROBE } else { PROBE_OF_LONG };
        if self.transfers { calls + TRANSFERS } else { calls }
    }

    fn probe(&mut self) {
        let calls = self.current().map_or(PROBE, |current| self.calls_of_probe(current));
        let other = self.strategy.other();
        *self.times(other) = Times::default();
        self.after[other as usize] = Times::default();
        self.cost = 0;
        self.phase = Phase::Probing(calls);
    }

    /// The time from the end of the last call to the beginning of the next one.
    pub(crate) fn after(&mut self, time: Nanos) {
        if std::mem::take(&mut self.is_after) {
            self.after[self.last.0 as usize].add(time);
        }
    }

    /// What the host does after calls of the other strategy and of the one that is taken: by how much
    /// longer that takes than after the other one.
    fn longer_after(&self, seen: Nanos, current: Nanos) -> [Nanos; 2] {
        let [other, own] = [self.strategy.other(), self.strategy]
            .map(|strategy| self.after[strategy as usize].median());
        match (other, own) {
            (Some(other), Some(own))
                if self.transfers && other.max(own) <= seen.max(current).saturating_mul(AFTER) =>
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
        let other = self.strategy.other();
        let seen = self.times(other).median();
        let current = self.current();
        let [after_seen, after_current] =
            seen.zip(current).map_or([0, 0], |(seen, current)| self.longer_after(seen, current));
        let mut times = [None; 2];
        times[other as usize] = seen.map(|seen| (seen, after_seen));
        times[self.strategy as usize] = current.map(|current| (current, after_current));
        let better = match (seen, current) {
            (Some(seen), Some(current)) => {
                let (seen, current) = (seen + after_seen, current + after_current);
                let better = if self.transfers { BETTER_TO_TRANSFER } else { BETTER };
                u128::from(seen) * 100 < u128::from(current) * u128::from(better)
            }
            _ => false,
        };
        if self.first == First::Ended || seen.is_some() {
            self.first = First::Over;
        }
        if better {
            self.other = self.current();
            self.strategy = other;
            self.between = (self.between / 2).max(2 * SOON);
        } else {
            self.other = seen.or(self.other);
            self.between = (self.between * 2).min(SELDOM);
        }
        self.reference = self.current();
        self.decision = Some(Decision { strategy: self.strategy, times });
    }

    /// A call that was measured has ended. `counts`: its time is that of the calls to come, too.
    pub(crate) fn end(&mut self, strategy: Strategy, time: Nanos, counts: bool) -> Plan {
        let before = if self.last.0 == strategy { self.last.1 } else { 0 };
        self.last = (strategy, before.saturating_add(1));
        let warm_up = if self.transfers { TRANSFERS } else { u32::from(time < LONG) };
        let counts = counts && before >= warm_up;
        if counts {
            self.times(strategy).add(time);
        }
        self.is_after = counts;
        let is_probe = matches!(self.phase, Phase::Probing(_)) && strategy != self.strategy;
        if self.transfers && (is_probe || (self.phase == Phase::Settled && !counts)) {
            let usual = self.current().unwrap_or(time);
            self.cost = self.cost.saturating_add(time.saturating_sub(usual));
        }
        if self.transfers
            && is_probe
            && !counts
            && self.first == First::Pending
            && self.cost > self.spent.saturating_mul(MOST_OF_FIRST)
        {
            (self.phase, self.first) = (Phase::Settled, First::Ended);
            (self.calls, self.spent) = (0, 0);
            return self.plan(time);
        }
        let plan = self.plan(time);
        if strategy == self.strategy {
            let calls = plan.calls + 1;
            self.calls = self.calls.saturating_add(calls);
            self.spent = self.spent.saturating_add(time.saturating_mul(calls.into()));
        } else if counts
            && matches!(self.phase, Phase::Probing(_))
            && self.current().is_some_and(|current| time > Self::clearly_longer(current))
        {
            // It need not be probed any longer.
            self.phase = Phase::Probing(0);
        }
        plan
    }

    /// A probe ends with a call that takes longer than this. Short calls vary much, and long ones
    /// are what a program notices.
    const fn clearly_longer(current: Nanos) -> Nanos {
        if current < WORTH_A_KERNEL { current.saturating_mul(8) } else { current / 8 * 9 }
    }

    /// What the next calls do, after one that took `time`.
    fn plan(&self, time: Nanos) -> Plan {
        let calls = match self.phase {
            Phase::Probing(_) => 0,
            _ if time < TINY => OF_TINY - 1,
            _ if time < SHORT => OF_SHORT - 1,
            _ => 0,
        };
        Plan { strategy: self.strategy, calls }
    }

    /// Whether calls are so short, and rayon's, that even to count them is to be saved.
    pub(crate) fn is_tiny(&self) -> bool {
        self.phase == Phase::Settled
            && self.strategy == Strategy::Rayon
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
        /// Calls by their strategy.
        taken: [usize; 2],
        measured: usize,
    }

    impl Program {
        fn new() -> Self {
            Self {
                policy: Policy::default(),
                plan: Plan { strategy: Strategy::Rayon, calls: 0 },
                in_all: 0,
                making: None,
                taken: [0; 2],
                measured: 0,
            }
        }

        fn call(&mut self, times: [Nanos; 2]) -> Strategy {
            let (strategy, measured) = if let Some(calls) = self.plan.calls.checked_sub(1) {
                self.plan.calls = calls;
                (self.plan.strategy, false)
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
                        (Strategy::Rayon, false)
                    }
                    Step::Take(strategy, measured) => (strategy, measured),
                }
            };
            self.taken[strategy as usize] += 1;
            self.in_all += times[strategy as usize];
            if measured {
                self.measured += 1;
                self.plan = self.policy.end(strategy, times[strategy as usize], true);
            }
            strategy
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
    fn the_faster_strategy_is_kept_and_the_other_probed_again() {
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
    fn probes_cost_little() {
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
    fn very_long_calls_are_probed_once_if_the_kernel_is_slower() {
        let kernels = |times: [Nanos; 2]| {
            let mut program = Program::new();
            program.calls(12, |_| times)
        };
        assert_eq!(kernels([ms(100), ms(150)]), 1);
        assert_eq!(kernels([ms(100), ms(104)]), 2);
        assert!(kernels([ms(100), ms(80)]) > 3);
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
        // The kernel's becomes the slower strategy.
        let kernels = program.calls(600, |_| [ms(15), ms(60)]);
        assert!(kernels < 200, "{kernels}");
        // And both strategies as they were.
        let kernels = program.calls(3000, |_| [ms(30), ms(10)]);
        assert!(kernels > 2000, "{kernels}");
    }

    #[test]
    fn calls_go_on_with_rayon_while_the_kernel_is_made() {
        let mut program = Program::new();
        program.making = None;
        assert_eq!(program.calls(2, |_| [ms(10), ms(1)]), 0);
        assert_eq!(program.call([ms(10), ms(1)]), Strategy::Rayon);
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
        let time = |_, strategy| if strategy == Strategy::Kernel { ms(94) } else { ms(100) };
        assert!(elsewhere(400, ms(20), time, |_| 0).0 < 20);
        let time = |_, strategy| if strategy == Strategy::Kernel { ms(80) } else { ms(100) };
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
        let (mut last, mut row, mut kernels) = (Strategy::Rayon, 0, 0);
        for _ in 0..400 {
            let Step::Take(strategy, _) = policy.next(Kernel::ReadyElsewhere) else {
                unreachable!()
            };
            row = if strategy == last { row + 1 } else { 0 };
            last = strategy;
            kernels += usize::from(strategy == Strategy::Kernel);
            let moving = if row < 2 { ms(100) } else { 0 };
            let time = if strategy == Strategy::Kernel { ms(2) } else { ms(10) };
            policy.end(strategy, time + moving, true);
        }
        assert!(kernels > 380, "{kernels}");
        // And probes of what is slower stay rare.
        let (mut policy, mut kernels) = (Policy::default(), 0);
        for _ in 0..4000 {
            let Step::Take(strategy, _) = policy.next(Kernel::ReadyElsewhere) else {
                unreachable!()
            };
            kernels += usize::from(strategy == Strategy::Kernel);
            let moving = if strategy == Strategy::Kernel { ms(100) } else { 0 };
            policy.end(strategy, ms(10) + moving, true);
        }
        assert!(kernels < 30, "{kernels}");
    }

    /// Calls on a device with separate memory: the first after a change takes `moving` longer.
    /// Returns the calls that were kernels, and the time of all.
    fn elsewhere(
        calls: usize,
        moving: Nanos,
        time: impl Fn(usize, Strategy) -> Nanos,
        after: impl Fn(Strategy) -> Nanos,
    ) -> (usize, Nanos) {
        let mut policy = Policy::default();
        let (mut last, mut row, mut kernels, mut in_all) = (Strategy::Rayon, 9, 0, 0);
        for call in 0..calls {
            if call != 0 {
                policy.after(after(last));
                in_all += after(last);
            }
            let Step::Take(strategy, _) = policy.next(Kernel::ReadyElsewhere) else {
                unreachable!()
            };
            row = if strategy == last { row + 1 } else { 0 };
            last = strategy;
            kernels += usize::from(strategy == Strategy::Kernel);
            let time = time(call, strategy) + if row == 0 { moving } else { 0 };
            in_all += time;
            policy.end(strategy, time, true);
        }
        (kernels, in_all)
    }

    #[test]
    fn what_the_host_does_after_calls_counts() {
        let time = |_, strategy| if strategy == Strategy::Kernel { ms(1) } else { ms(2) };
        let none = elsewhere(400, ms(20), time, |_| 0);
        assert!(none.0 > 300, "{none:?}");
        // Results are read by the host, and move.
        let moved = elsewhere(400, ms(20), time, |strategy| {
            ms(if strategy == Strategy::Kernel { 3 } else { 1 })
        });
        assert!(moved.0 < 40, "{moved:?}");
        // What takes as long after both says nothing, nor what takes very long.
        let same = elsewhere(400, ms(20), time, |_| ms(3));
        assert!(same.0 > 300, "{same:?}");
        let long = elsewhere(400, ms(20), time, |strategy| {
            ms(if strategy == Strategy::Kernel { 90 } else { 80 })
        });
        assert!(long.0 > 300, "{long:?}");
    }

    #[test]
    fn probes_that_transfer_data_cost_a_small_part() {
        // Calls take twice as long now and then, which is no reason to probe.
        let time = |call: usize, strategy| match strategy {
            Strategy::Kernel => ms(10),
            Strategy::Rayon => ms(1) * if (call / 20).is_multiple_of(2) { 1 } else { 2 },
        };
        let (kernels, in_all) = elsewhere(20_000, ms(50), time, |_| 0);
        let best: Nanos = (0..20_000).map(|call| time(call, Strategy::Rayon)).sum();
        assert!(in_all * 100 < best * 110, "{kernels}: {in_all} for {best}");
        // The first probe ends at once, and the second one is a whole one.
        let (kernels, in_all) = elsewhere(60, ms(500), |_, _| ms(1), |_| 0);
        assert_eq!(kernels, 1, "{in_all}");
        let faster = |_, strategy| if strategy == Strategy::Kernel { ms(1) } else { ms(20) };
        let (kernels, _) = elsewhere(2000, ms(500), faster, |_| 0);
        assert!(kernels > 1300, "{kernels}");
    }

    #[test]
    fn probes_that_give_no_times_do_no_harm() {
        // As when closures panic.
        let mut policy = Policy::default();
        for _ in 0..2 {
            let step = policy.next(Kernel::Ready);
            assert_eq!(step, Step::Take(Strategy::Rayon, true));
            policy.end(Strategy::Rayon, ms(10), true);
        }
        let probed = (0..20).filter(|_| {
            let step = policy.next(Kernel::Ready);
            if step == Step::Take(Strategy::Rayon, true) {
                policy.end(Strategy::Rayon, ms(10), true);
            }
            step == Step::Take(Strategy::Kernel, true)
        });
        assert_eq!(probed.count(), PROBE_OF_LONG as usize);
    }
}
