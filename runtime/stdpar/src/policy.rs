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
//! On a device with separate memory, [`joint`](crate::joint) decides, once the kernel is there.

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

/// Calls of a probe, for short ones and for long ones.
pub(crate) const PROBE: u32 = 4;
const PROBE_OF_LONG: u32 = 2;

/// A probe may cost this share of what was spent since the last one, in percent.
const SHARE: u64 = 1;

/// Calls between two probes: at least at first, and at least after many probes that changed nothing.
const SOON: u32 = 16;
const SELDOM: u32 = 1024;

/// Time between two probes.
const REST: Nanos = 10 * MILLISECOND;

/// A strategy is taken in place of the other if it takes less than this, in percent.
const BETTER: u64 = 97;

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
pub(crate) struct Times {
    last: [Nanos; 5],
    count: usize,
}

impl Times {
    pub(crate) fn add(&mut self, time: Nanos) {
        self.last[self.count % self.last.len()] = time;
        self.count += 1;
    }

    /// The median, and the lower one of two.
    pub(crate) fn median(&self) -> Option<Nanos> {
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

/// What a probe has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The strategy that calls take from now on.
    pub(crate) strategy: Strategy,
    /// What a call takes with rayon and as a kernel, if that is known.
    pub(crate) times: [Option<Nanos>; 2],
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
    /// Whether what was measured with rayon was so before the kernel was there.
    is_cold: bool,
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
            is_cold: false,
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
        match self.phase {
            Phase::Before => match kernel {
                Kernel::WorthMaking => return Step::Make,
                // The kernel's maker takes processor time, so this says nothing.
                Kernel::Making => {
                    self.is_cold = true;
                    return Step::Take(Strategy::Rayon, false);
                }
                Kernel::Ready => {
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
        let cost = cost.saturating_mul(u64::from(calls_of_probe(current)));
        changed || (self.spent >= REST && self.spent / 100 * SHARE >= cost)
    }

    fn probe(&mut self) {
        let calls = self.current().map_or(PROBE, calls_of_probe);
        let other = self.strategy.other();
        *self.times(other) = Times::default();
        self.phase = Phase::Probing(calls);
    }

    fn decide(&mut self) {
        self.phase = Phase::Settled;
        (self.calls, self.spent) = (0, 0);
        let other = self.strategy.other();
        let (seen, current) = (self.times(other).median(), self.current());
        let mut times = [None; 2];
        (times[other as usize], times[self.strategy as usize]) = (seen, current);
        let better = seen.zip(current).is_some_and(|(seen, current)| {
            u128::from(seen) * 100 < u128::from(current) * u128::from(BETTER)
        });
        if better {
            self.other = current;
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
        let counts = counts && before >= u32::from(time < LONG);
        if counts {
            self.times(strategy).add(time);
        }
        let plan = Plan { strategy: self.strategy, calls: self.between_questions(time) };
        if strategy == self.strategy {
            let calls = plan.calls + 1;
            self.calls = self.calls.saturating_add(calls);
            self.spent = self.spent.saturating_add(time.saturating_mul(calls.into()));
        } else if counts
            && matches!(self.phase, Phase::Probing(_))
            && self.current().is_some_and(|current| time > clearly_longer(current))
        {
            // It need not be probed any longer.
            self.phase = Phase::Probing(0);
        }
        plan
    }

    /// Calls that need not ask, after one that took `time`.
    fn between_questions(&self, time: Nanos) -> u32 {
        if matches!(self.phase, Phase::Probing(_)) { 0 } else { calls_without_question(time) }
    }

    /// Whether calls are so short, and rayon's, that even to count them is to be saved.
    pub(crate) fn is_tiny(&self) -> bool {
        self.phase == Phase::Settled
            && self.strategy == Strategy::Rayon
            && self.current().is_some_and(is_tiny)
    }
}

/// Calls of a probe of one that takes so long.
pub(crate) const fn calls_of_probe(time: Nanos) -> u32 {
    if time < LONG { PROBE } else { PROBE_OF_LONG }
}

/// A probe ends with a call that takes longer than this. Short calls vary much, and long ones
/// are what a program notices.
pub(crate) const fn clearly_longer(usual: Nanos) -> Nanos {
    if usual < WORTH_A_KERNEL { usual.saturating_mul(8) } else { usual / 8 * 9 }
}

/// Whether a call takes so little that even to count such calls is to be saved.
pub(crate) const fn is_tiny(time: Nanos) -> bool {
    time < TINY
}

/// Calls that need not ask, after one that took `time`, while nothing is probed.
pub(crate) const fn calls_without_question(time: Nanos) -> u32 {
    if time < TINY {
        OF_TINY - 1
    } else if time < SHORT {
        OF_SHORT - 1
    } else {
        0
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
