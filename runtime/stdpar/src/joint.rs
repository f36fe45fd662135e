//! Which strategy each pipeline of a program takes on a device with its own memory: of all pipelines
//! together, since data that one leaves on the device are there for the next. Knows no clock.
//!
//! There are three *assignments* of strategies to the classes of calls (a pipeline, with lengths of
//! one size): all with rayon, all as kernels, and a mixed one. A program begins with rayon. Then a
//! *trial* has all classes run by another assignment, until those that take most of the time
//! were measured, and the program continues with the assignment that takes less: the sum, over the classes, of
//! how often each is called times what it takes.
//!
//! - What a class takes is the median of its last calls under an assignment. The first two calls
//!   after a change do not count: data move in them.
//! - What the host does after a call counts by how much longer it takes than under the other
//!   assignment: where the host reads results, they move.
//! - The mixed assignment has each class run by the strategy that was better for it. It is tried where that
//!   may pay.
//! - What a trial costs is counted in full, with the calls in which the data move back. None begins before
//!   that is a small part of what was spent since the last one, and one ends that costs far more.

use crate::policy::{
    Nanos, PROBE, Strategy, Times, WORTH_A_KERNEL, calls_of_probe, clearly_longer,
};

/// A number of a class.
pub(crate) type Id = usize;

/// Calls after a change in which the data move.
const TRANSFERS: u32 = 2;

/// Calls with rayon that are measured before the first trial.
const WARM: usize = 5;

/// Time between two trials at least, and what is spent with rayon, once there are kernels, before the
/// first one, whichever kernels are still to come.
const REST: Nanos = 10_000_000;
const ENOUGH: Nanos = 500_000_000;

/// A trial may cost this share of what was spent since the last one, in percent: in general, if calls
/// take longer or shorter than they did, and after a first one that has ended early.
const SHARE: Nanos = 1;
const SHARE_OF_CHANGED: Nanos = 5;
const SHARE_OF_SECOND: Nanos = 10;

/// The first trial ends when it has cost so many times what the pipelines have taken in all; the others when
/// they have cost so many times what they were to cost.
const MOST_OF_FIRST: Nanos = 1;
const MOST: Nanos = 2;

/// The time after a call counts if it is at most so many times the call's, or a fourth longer after one strategy
/// than after the other.
const AFTER: Nanos = 8;

/// An assignment takes the place of the current one if it takes less than this, in percent: data do not
/// move to the device for little.
const BETTER: u128 = 90;
const BETTER_WITH_RAYON: u128 = 97;

/// Part of the time, in percent, that classes take which a trial has to measure.
const COVERED: u128 = 80;

/// Kernels that come later are a reason for another trial if their pipelines take this part of the time, in percent.
const NEW: Nanos = 1;

/// Classes that have come in a trial are waited for if they are called as often as this part of those that are
/// called most often.
const OFTEN: u128 = 8;

/// Decisions that keep the assignment double the rest between trials, up to this many times.
const LONGEST: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assignment {
    Rayon,
    Kernels,
    /// Each class by [`Class::is_kernel`].
    Mixed,
}

/// The calls of a pipeline for lengths of one size.
#[derive(Debug, Default)]
struct Class {
    /// By assignment.
    times: [Times; 3],
    after: [Times; 3],
    /// Whether it has a kernel, and is one in the mixed assignment.
    is_ready: bool,
    is_kernel: bool,
    /// Whether it may have one later.
    is_waiting: bool,
    /// Calls that counted since it has one: the first calls of a program find new memory, and threads that
    /// have slept.
    warm: usize,
    /// The change that it has last seen, and its calls since then.
    change: u32,
    row: u32,
    /// Whether the last call counted, so that what follows it does.
    is_after: bool,
    /// Whether it has turned out in this trial to take far longer.
    is_hopeless: bool,
    /// What it took when the last decision was made.
    reference: Option<Nanos>,
    /// Calls since the last decision, and those before, of which the older ones count less.
    calls: u64,
    before: u64,
    /// Calls in all.
    in_all: u64,
    is_refused: bool,
}

impl Class {
    const fn weight(&self) -> u128 {
        (self.calls + self.before) as u128
    }

    fn time(&self, assignment: Assignment) -> Option<Nanos> {
        self.times[assignment as usize].median()
    }

    /// What a call takes under each of two assignments, with what follows it.
    fn costs(&self, of: [Assignment; 2]) -> Option<[Nanos; 2]> {
        let [first, second] = [self.time(of[0])?, self.time(of[1])?];
        let after = of.map(|assignment| self.after[assignment as usize].median());
        let [Some(a), Some(b)] = after else { return Some([first, second]) };
        let (least, most) = (a.min(b), a.max(b));
        if most > first.max(second).saturating_mul(AFTER) && most / 5 * 4 < least {
            return Some([first, second]);
        }
        Some([first + (a - least), second + (b - least)])
    }

    /// Whether an assignment has it run as a kernel, once it has one.
    const fn is_kernel_in(&self, assignment: Assignment) -> bool {
        match assignment {
            Assignment::Rayon => false,
            Assignment::Kernels => true,
            Assignment::Mixed => self.is_kernel,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    assignment: Assignment,
    /// What it has cost more than the current assignment would have, and what it may cost.
    cost: i64,
    most: Nanos,
    /// Calls in it.
    calls: u64,
}

/// What became of the first trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Pending,
    /// It cost too much to be finished.
    Ended,
    Over,
}

/// What runs of the program have shown of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// What a call takes, by assignment, and the host after it; 0 if that is unknown.
    pub(crate) times: [Nanos; 3],
    pub(crate) after: [Nanos; 3],
    pub(crate) is_kernel: bool,
    /// Whether it can have no kernel.
    pub(crate) is_refused: bool,
    /// Calls in the last run.
    pub(crate) calls: u64,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) strategy: Strategy,
    /// The change that it belongs to, which [`Joint::end`] is told.
    pub(crate) change: u32,
    /// Whether no kernel is being made beside it, which takes processor time.
    pub(crate) counts: bool,
}

/// What a trial has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What was tried, and what the program continues with.
    pub(crate) tried: Assignment,
    pub(crate) taken: Assignment,
    /// What all took with the one that was current, and with the one that was tried, by the same
    /// calls; `None` if the trial has ended before that was known.
    pub(crate) times: Option<[u128; 2]>,
}

/// What is known of a class's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// There is none yet.
    Waiting,
    Ready,
    /// There will be none.
    Refused,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Joint {
    classes: Vec<Class>,
    current: Assignment,
    trial: Option<Trial>,
    /// Changes of what is in force.
    change: u32,
    /// What was spent since the last decision, when it was last asked whether a trial is due, and in all.
    spent: Nanos,
    asked: Nanos,
    in_all: Nanos,
    /// What the last trial of each assignment has cost, and which was the last.
    cost: [Nanos; 3],
    tried: Assignment,
    first: First,
    /// Whether kernels have come since the last decision.
    is_new: bool,
    /// Decisions in a row that kept the assignment.
    kept: u32,
    /// The mixed assignment that was no better.
    refused: Option<Vec<bool>>,
    decision: Option<Decision>,
}

impl Joint {
    pub(crate) const fn new() -> Self {
        Self {
            classes: Vec::new(),
            current: Assignment::Rayon,
            trial: None,
            change: 0,
            spent: 0,
            asked: 0,
            in_all: 0,
            cost: [0; 3],
            tried: Assignment::Kernels,
            first: First::Pending,
            is_new: false,
            kept: 0,
            refused: None,
            decision: None,
        }
    }

    /// A class that has not been called before, and what earlier runs have shown of it.
    pub(crate) fn add(&mut self, known: Option<Known>) -> Id {
        let mut class = Class { is_kernel: true, ..Class::default() };
        if let Some(known) = known {
            class.is_kernel = known.is_kernel;
            let times = class.times.iter_mut().chain(&mut class.after);
            for (times, time) in times.zip(known.times.into_iter().chain(known.after)) {
                if time != 0 {
                    times.add(time);
                }
            }
        }
        class.reference = class.time(self.current);
        self.classes.push(class);
        self.classes.len() - 1
    }

    /// Begins with the assignment that was best in earlier runs.
    pub(crate) fn resume(&mut self, assignment: Assignment) {
        (self.current, self.first) = (assignment, First::Over);
    }

    /// The assignment that is best by now; `None` if no other than rayon's was tried.
    pub(crate) fn assignment(&self) -> Option<Assignment> {
        (self.first == First::Over).then_some(self.current)
    }

    /// What is known of a class.
    pub(crate) fn known(&self, id: Id) -> Known {
        let class = &self.classes[id];
        let times = |times: [Times; 3]| times.map(|times| times.median().unwrap_or(0));
        Known {
            times: times(class.times),
            after: times(class.after),
            is_kernel: class.is_kernel,
            is_refused: class.is_refused,
            calls: class.in_all,
        }
    }

    /// Whether earlier runs have found that a class is best as a kernel.
    pub(crate) fn is_wanted(&self, id: Id) -> bool {
        self.classes[id].is_kernel_in(self.current)
    }

    /// Whether a pipeline that has taken so long with rayon is worth a kernel, because it takes a part of the time:
    /// the others' data would move for it.
    pub(crate) const fn is_worth_a_kernel(&self, spent: Nanos) -> bool {
        self.in_all >= ENOUGH / 5 && spent >= self.in_all / 100
    }

    /// What a trial has led to, once.
    pub(crate) fn decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }

    /// What calls take now.
    fn in_force(&self) -> Assignment {
        self.trial.map_or(self.current, |trial| trial.assignment)
    }

    /// The strategy of a class's calls that do not ask.
    pub(crate) fn strategy(&self, id: Id) -> Strategy {
        let class = &self.classes[id];
        let is_kernel = class.is_ready && class.is_kernel_in(self.in_force());
        if is_kernel { Strategy::Kernel } else { Strategy::Rayon }
    }

    /// The number of changes of what is in force.
    pub(crate) const fn change(&self) -> u32 {
        self.change
    }

    /// A call asks what to do, which has a kernel or not. `is_making`: kernels are being made.
    pub(crate) fn next(&mut self, id: Id, kernel: Kernel, is_making: bool) -> Step {
        let class = &mut self.classes[id];
        (class.is_waiting, class.is_refused) =
            (kernel == Kernel::Waiting, kernel == Kernel::Refused);
        class.is_ready &= !class.is_refused;
        if let Some(trial) = &mut self.trial {
            trial.calls += 1;
        }
        // What is tried stays the same until it was.
        if kernel == Kernel::Ready && !class.is_ready && self.trial.is_none() {
            class.is_ready = true;
            let taken = class.time(self.current).unwrap_or(0).saturating_mul(class.calls);
            self.is_new |= taken >= self.spent / 100 * NEW;
            if self.current != Assignment::Rayon {
                class.times[self.current as usize] = Times::default();
                class.after[self.current as usize] = Times::default();
                self.change += 1;
            }
        }
        match self.trial {
            Some(trial) if self.is_over(&trial) => self.decide(trial),
            Some(_) => {}
            None => {
                if let Some(assignment) = self.due(is_making) {
                    self.begin(assignment);
                }
            }
        }
        Step { strategy: self.strategy(id), change: self.change, counts: !is_making }
    }

    /// The time from the end of a class's last call to the beginning of the next pipeline.
    pub(crate) fn after(&mut self, id: Id, time: Nanos) {
        let assignment = self.in_force();
        let class = &mut self.classes[id];
        if class.change != self.change {
            return;
        }
        let usual = class.after[self.current as usize].median();
        let more = usual.map_or(0, |usual| signed(time) - signed(usual));
        if std::mem::take(&mut class.is_after) {
            class.after[assignment as usize].add(time);
        }
        if let Some(trial) = &mut self.trial {
            trial.cost = trial.cost.saturating_add(more);
        }
    }

    /// A call has ended, and stands for so many. `counts`: its time is that of the calls to come, too. Returns
    /// whether the next ones need not ask.
    pub(crate) fn end(
        &mut self,
        id: Id,
        step: Step,
        time: Nanos,
        calls: u32,
        counts: bool,
    ) -> bool {
        if step.change != self.change {
            // It ran beside others that did something else.
            return false;
        }
        let calls = if self.trial.is_some() { 1 } else { calls };
        let (assignment, current) = (self.in_force(), self.current);
        let class = &mut self.classes[id];
        if class.change != self.change {
            (class.change, class.row, class.is_hopeless) = (self.change, 0, false);
        }
        // The first assignment of all is that of before.
        let counts = counts && step.counts && (class.row >= TRANSFERS || self.change == 0);
        class.row = class.row.saturating_add(1);
        class.is_after = counts;
        class.calls += u64::from(calls);
        class.in_all += u64::from(calls);
        let usual = class.time(current);
        if counts {
            class.times[assignment as usize].add(time);
            class.warm += usize::from(class.is_ready);
        }
        let all = time.saturating_mul(calls.into());
        let more = usual.map_or(0, |usual| signed(time) - signed(usual));
        match &mut self.trial {
            Some(trial) => {
                trial.cost = trial.cost.saturating_add(more);
                class.is_hopeless |=
                    counts && usual.is_some_and(|usual| time > clearly_longer(usual));
            }
            None => {
                if !counts {
                    let cost = &mut self.cost[self.tried as usize];
                    *cost = cost.saturating_add(more.max(0).unsigned_abs());
                }
                self.spent = self.spent.saturating_add(all);
            }
        }
        self.in_all = self.in_all.saturating_add(all);
        self.trial.is_none()
    }

    /// Whether a trial has cost too much, or measured enough.
    fn is_over(&self, trial: &Trial) -> bool {
        if trial.cost > signed(trial.most) {
            return true;
        }
        // Classes that do not come any more are not waited for.
        if trial.calls > 8 * self.classes.len() as u64 * u64::from(TRANSFERS + PROBE) {
            return true;
        }
        let most = self.classes.iter().map(Class::weight).max().unwrap_or(0);
        let (mut covered, mut all) = (0, 0);
        for class in &self.classes {
            let Some(usual) = class.time(self.current) else { continue };
            let share = class.weight() * u128::from(usual);
            all += share;
            let seen = if class.change == self.change { class.row } else { 0 };
            if class.is_hopeless || seen >= TRANSFERS + calls_of_probe(usual) {
                covered += share;
            } else if seen != 0 && class.weight() * OFTEN >= most {
                return false;
            }
        }
        covered * 100 >= all * COVERED
    }

    /// The assignment to try, if it is time to.
    fn due(&mut self, is_making: bool) -> Option<Assignment> {
        if self.spent < self.asked.saturating_add(REST) {
            return None;
        }
        self.asked = self.spent;
        if self.first == First::Pending {
            return self.is_first_due(is_making).then_some(Assignment::Kernels);
        }
        if is_making || !self.is_known() {
            return None;
        }
        let is_changed = self.is_changed();
        if is_changed {
            self.refused = None;
        }
        let assignment = match self.current {
            Assignment::Rayon => Assignment::Kernels,
            Assignment::Kernels if self.mix().is_some() => Assignment::Mixed,
            Assignment::Mixed if self.is_new || self.kept % 2 == 1 => Assignment::Kernels,
            Assignment::Kernels | Assignment::Mixed => Assignment::Rayon,
        };
        let share = if self.first == First::Ended || self.is_new {
            SHARE_OF_SECOND
        } else if is_changed || assignment == Assignment::Mixed {
            SHARE_OF_CHANGED
        } else {
            SHARE
        };
        (self.allowed(share) >= self.expected(assignment)).then_some(assignment)
    }

    /// Whether it is known what the current assignment takes, of all classes that have come since the last
    /// change.
    fn is_known(&self) -> bool {
        let is_known = |class: &Class| class.time(self.current).is_some();
        let has_come = |class: &&Class| class.change == self.change && class.row != 0;
        self.classes.iter().any(is_known) && self.classes.iter().filter(has_come).all(is_known)
    }

    /// What a trial may cost.
    fn allowed(&self, share: Nanos) -> Nanos {
        (self.spent / 100).saturating_mul(share) >> self.kept.min(LONGEST).saturating_sub(1)
    }

    /// What a trial will cost, by what is known.
    fn expected(&self, assignment: Assignment) -> Nanos {
        if self.is_new && assignment == Assignment::Kernels {
            // They were others, and what they took says little.
            return self.cost[assignment as usize] / 4;
        }
        let of_class = |class: &Class| {
            let [current, time] = class.costs([self.current, assignment])?;
            let calls = TRANSFERS + calls_of_probe(current);
            Some(time.saturating_sub(current).saturating_mul(calls.into()))
        };
        let known: Nanos = self.classes.iter().filter_map(of_class).fold(0, Nanos::saturating_add);
        known.max(self.cost[assignment as usize])
    }

    /// Whether enough is known of rayon for the first trial.
    fn is_first_due(&self, is_making: bool) -> bool {
        let (mut known, mut ready, mut waiting) = (0, 0, 0);
        for class in &self.classes {
            let Some(time) = class.time(Assignment::Rayon) else { continue };
            let share = class.weight() * u128::from(time);
            if class.is_waiting {
                waiting += share;
            } else if class.is_ready {
                ready += share;
                if class.warm >= WARM || time >= WORTH_A_KERNEL {
                    known += share;
                }
            }
        }
        let waits = is_making || waiting > ready / 100;
        known != 0 && known * 100 >= ready * COVERED && (!waits || self.spent >= ENOUGH)
    }

    /// Whether calls take longer or shorter than they did when the assignment was chosen.
    fn is_changed(&self) -> bool {
        let (mut now, mut then) = (0, 0);
        for class in &self.classes {
            let (Some(time), Some(reference)) = (class.time(self.current), class.reference) else {
                continue;
            };
            now += class.weight() * u128::from(time);
            then += class.weight() * u128::from(reference);
        }
        now * 2 > then * 3 || now * 3 < then * 2
    }

    /// The mixed assignment, if it may pay and has not turned out not to.
    fn mix(&self) -> Option<Vec<bool>> {
        let (mut best, mut current) = (0, 0);
        let mut is_kernel = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            let costs = class.costs([Assignment::Rayon, Assignment::Kernels]);
            let Some([rayon, kernel]) = costs.filter(|_| class.is_ready) else {
                is_kernel.push(class.is_kernel);
                continue;
            };
            is_kernel.push(kernel < rayon);
            best += class.weight() * u128::from(kernel.min(rayon));
            let now = if self.current == Assignment::Rayon { rayon } else { kernel };
            current += class.weight() * u128::from(now);
        }
        let has = |wanted| {
            let mut all = self.classes.iter().zip(&is_kernel);
            all.any(|(class, &is_kernel)| class.is_ready && is_kernel == wanted)
        };
        let are_both = has(true) && has(false);
        let pays = are_both && best * 100 < current * BETTER;
        (pays && self.refused.as_ref() != Some(&is_kernel)).then_some(is_kernel)
    }

    fn begin(&mut self, assignment: Assignment) {
        if assignment == Assignment::Mixed {
            let Some(is_kernel) = self.mix() else { return };
            for (class, is_kernel) in self.classes.iter_mut().zip(is_kernel) {
                class.is_kernel = is_kernel;
            }
        }
        let most = match self.first {
            First::Pending => self.in_all.saturating_mul(MOST_OF_FIRST),
            _ => self.expected(assignment).max(REST).saturating_mul(MOST),
        };
        self.trial = Some(Trial { assignment, cost: 0, most, calls: 0 });
        self.change += 1;
        for class in &mut self.classes {
            class.times[assignment as usize] = Times::default();
            class.after[assignment as usize] = Times::default();
        }
    }

    /// A trial is over.
    fn decide(&mut self, trial: Trial) {
        let tried = trial.assignment;
        let mut sums = [0; 2];
        for class in &self.classes {
            let Some(costs) = class.costs([self.current, tried]) else { continue };
            for (sum, cost) in sums.iter_mut().zip(costs) {
                *sum += class.weight() * u128::from(cost);
            }
        }
        let better = if tried == Assignment::Rayon { BETTER_WITH_RAYON } else { BETTER };
        let is_known = sums[1] != 0 && trial.cost <= signed(trial.most);
        let is_better = is_known && sums[1] * 100 < sums[0] * better;
        self.trial = None;
        self.tried = tried;
        self.cost[tried as usize] = trial.cost.max(0).unsigned_abs();
        self.first =
            if is_known || self.first != First::Pending { First::Over } else { First::Ended };
        if is_better {
            self.current = tried;
            self.kept = 0;
        } else {
            self.change += 1;
            self.kept += 1;
            if tried == Assignment::Mixed {
                self.refused = Some(self.classes.iter().map(|class| class.is_kernel).collect());
            }
        }
        (self.spent, self.asked, self.is_new) = (0, 0, false);
        for class in &mut self.classes {
            class.before = class.before / 2 + std::mem::take(&mut class.calls);
            class.reference = class.time(self.current);
        }
        let times = is_known.then_some(sums);
        self.decision = Some(Decision { tried, taken: self.current, times });
        let may_mix = tried == Assignment::Kernels && self.current != Assignment::Mixed;
        if may_mix && is_known && self.mix().is_some() {
            self.begin(Assignment::Mixed);
        }
    }
}

const fn signed(time: Nanos) -> i64 {
    if time > i64::MAX as Nanos { i64::MAX } else { time.cast_signed() }
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;
