//! Where a pipeline runs: with rayon, or as a kernel.
//!
//! `SCHISM_STDPAR=always` runs all as kernels that can be, `never` none. `auto`, the default,
//! measures, and [`policy`](crate::policy) decides, or [`joint`](crate::joint) on devices with their own memory.
//! Most calls read one word that says where to run, and neither lock anything nor read a clock.

use std::cell::Cell;
use std::fmt::{self, Display};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use schism::__private::note;
use schism::Queue;

use crate::at_exit;
use crate::budget;
use crate::device;
use crate::history;
use crate::joint::{self, Assignment, Joint};
use crate::policy::{self, Decision, Kernel, Plan, Policy, Step, Strategy};
use crate::setting::{self, Setting, setting};

/// A pipeline of the program.
struct Site {
    /// The address of its descriptor.
    descriptor: usize,
    /// The next one whose address has the same hash.
    next: Option<&'static Self>,
    /// One of the states below.
    kernel: AtomicU8,
    /// Whether the user keeps it with rayon; unknown until it is asked for.
    is_excluded: OnceLock<bool>,
    /// Whether the next run as a kernel has nothing to make, and counts.
    is_made: AtomicBool,
    /// What it has taken with rayon, in nanoseconds.
    spent: AtomicU64,
    /// Calls that go to rayon until a launch is tried again, and how often one was put off.
    wait: AtomicU32,
    put_off: AtomicU32,
    /// By whether the calling thread is one of rayon's, where a launch has other threads beside it,
    /// and by the number of bits of the length; 0 if that is unknown.
    classes: [[Class; LENGTHS]; 2],
}

/// The kernel was not asked for.
const UNASKED: u8 = 0;
/// It is being made, in the background.
const MAKING: u8 = 1;
/// It may be launched.
const READY: u8 = 2;
/// There is none, or it cannot be launched.
const REFUSED: u8 = 3;

/// The numbers of bits that a length can have.
const LENGTHS: usize = usize::BITS as usize + 1;

/// The calls of a pipeline for lengths of the same size.
#[derive(Default)]
struct Class {
    /// What the next calls do; see [`KERNEL`], [`BY_TICKS`] and [`ONE`].
    plan: AtomicU32,
    /// What the latest call took of which that is known, in nanoseconds; 0 if there was none.
    latest: AtomicU64,
    policy: OnceLock<Box<Mutex<Policy>>>,
    /// Its number among those that are judged together.
    joint: OnceLock<joint::Id>,
}

/// The classes that are judged together, by their numbers.
struct Together {
    joint: Joint,
    classes: Vec<(history::Key, &'static Class)>,
}

static TOGETHER: Mutex<Together> =
    Mutex::new(Together { joint: Joint::new(), classes: Vec::new() });

impl Together {
    /// A class that was not called before.
    fn add(&mut self, key: history::Key, class: &'static Class) -> joint::Id {
        let known = history::of_program();
        if self.classes.is_empty() {
            let known = known.filter(|_| !history::says_no());
            if let Some(assignment) = known.and_then(|known| known.assignment) {
                self.joint.resume(assignment);
            }
            at_exit::run(keep_at_exit);
        }
        self.classes.push((key, class));
        self.joint.add(known.and_then(|known| known.classes.get(&key)).copied())
    }

    /// Keeps what was measured for later runs.
    fn keep(&self) {
        let mut history = history::of_program().cloned().unwrap_or_default();
        if !history::says_no() {
            history.assignment = self.joint.assignment();
            let is_vain = matches!(history.assignment, None | Some(Assignment::Rayon));
            history.vain = if is_vain { history.vain.saturating_add(1) } else { 0 };
        }
        for known in history.classes.values_mut() {
            known.calls = 0;
        }
        for (id, &(key, _)) in self.classes.iter().enumerate() {
            history.classes.insert(key, self.joint.known(id));
        }
        history::keep(&history);
    }
}

extern "C" fn keep_at_exit() {
    // Another thread that has it still runs a pipeline, and what it has learnt is not missed.
    if let Ok(together) = TOGETHER.try_lock() {
        together.keep();
    }
}

thread_local! {
    /// The class of this thread's last call that was judged together with others, and when it ended.
    static LAST: Cell<Option<(joint::Id, Instant)>> = const { Cell::new(None) };
}

/// A bit of a plan: the calls are kernels.
const KERNEL: u32 = 1;
/// A bit of a plan: calls are so short that not even their number is kept. Each thread asks at
/// every [`TICKS`]th call.
const BY_TICKS: u32 = 2;
/// The rest of a plan: this, for each call that need not ask.
const ONE: u32 = 4;

/// A launch that is put off again and again is tried every so many calls at least: 2 to this power.
const LONGEST_WAIT: u32 = 12;

/// A prime, so that pipelines that take turns all get theirs.
const TICKS: u32 = 61;

impl Class {
    fn policy(&self) -> &Mutex<Policy> {
        self.policy.get_or_init(Box::default)
    }

    fn set(&self, plan: Plan, is_tiny: bool) {
        let kernel = if plan.strategy == Strategy::Kernel { KERNEL } else { 0 };
        let word = if is_tiny { BY_TICKS } else { plan.calls * ONE };
        self.plan.store(word | kernel, Ordering::Relaxed);
    }
}

/// Where a pipeline runs now.
pub(crate) enum Choice {
    /// With rayon.
    Rayon,
    /// With rayon, and it counts how long that takes.
    Measured(Run),
    /// As a kernel.
    Device(Run),
}

impl Choice {
    const fn of(strategy: Strategy, run: Run) -> Self {
        match strategy {
            Strategy::Rayon => Self::Measured(run),
            Strategy::Kernel => Self::Device(run),
        }
    }
}

/// A run that has begun.
pub(crate) struct Run {
    site: &'static Site,
    /// The pipeline's items, if that is known.
    len: Option<usize>,
    class: &'static Class,
    /// Who learns of it.
    learns: Learns,
    /// Whether the program asks for the device here: what it refuses says nothing of other runs.
    is_asked_for: bool,
    begin: Option<Instant>,
}

/// Who learns how long a run has taken.
#[derive(Clone, Copy)]
enum Learns {
    Not,
    Policy,
    /// All classes together.
    Together(joint::Id, joint::Step),
}

/// Whether the user keeps a pipeline of this name with rayon.
pub(crate) fn is_excluded(descriptor: usize, name: fn() -> &'static str) -> bool {
    let is_new = || setting::excludes(name());
    setting::excludes_some() && descriptor != 0 && *site(descriptor).is_excluded.get_or_init(is_new)
}

/// Chooses for a pipeline where the program asks for a device.
pub(crate) fn asked_for(descriptor: usize, len: Option<usize>) -> Choice {
    if descriptor == 0 {
        return Choice::Rayon;
    }
    let site = site(descriptor);
    let run = Run { is_asked_for: true, ..site.run(site.class(len), len, Learns::Not) };
    Choice::Device(Run { begin: Some(Instant::now()), ..run })
}

/// Chooses for a pipeline, which the address of its descriptor stands for; one without a descriptor
/// has no kernel. `prepare` has its kernel made, if that can be had in the background.
#[inline]
pub(crate) fn choice(
    descriptor: usize,
    len: Option<usize>,
    prepare: &dyn Fn(Prepared) -> bool,
) -> Choice {
    if descriptor == 0 {
        return Choice::Rayon;
    }
    let site = site(descriptor);
    // Where all pipelines are judged together, what these take counts.
    let is_refused = site.kernel.load(Ordering::Relaxed) == REFUSED;
    if is_refused && (setting() != Setting::Auto || !device::may_be_wide()) {
        return Choice::Rayon;
    }
    let wait = site.wait.load(Ordering::Relaxed);
    if wait != 0 {
        // Other threads may do the same meanwhile, and a call more waits then.
        site.wait.store(wait - 1, Ordering::Relaxed);
        return Choice::Rayon;
    }
    let class = site.class(len);
    if setting() == Setting::Always {
        return site.always(class, len);
    }
    let plan = class.plan.load(Ordering::Relaxed);
    if plan >= ONE {
        // Other threads may do the same meanwhile, and a call more is left out then.
        class.plan.store(plan - ONE, Ordering::Relaxed);
        return site.as_planned(class, plan, len);
    }
    if plan & BY_TICKS != 0 && !tick() {
        return Choice::Rayon;
    }
    site.ask(class, len, prepare)
}

/// Whether a pipeline has no kernel that can be launched now.
pub(crate) fn is_refused(descriptor: usize) -> bool {
    if descriptor == 0 {
        return true;
    }
    let site = site(descriptor);
    site.kernel.load(Ordering::Relaxed) == REFUSED || site.put_off.load(Ordering::Relaxed) != 0
}

/// What tells classes apart: whether the calling thread is one of rayon's, and the bits of the length.
#[inline]
fn kind_of_call(len: Option<usize>) -> (bool, u8) {
    let bits = usize::BITS - len.unwrap_or(0).leading_zeros();
    (rayon::current_thread_index().is_some(), bits as u8)
}

/// Counts the calling thread's calls; whether this is one that asks.
#[inline]
fn tick() -> bool {
    thread_local! {
        static CALLS: Cell<u32> = const { Cell::new(0) };
    }
    CALLS.with(|calls| {
        let next = (calls.get() + 1) % TICKS;
        calls.set(next);
        next == 0
    })
}

/// The pipeline of a descriptor.
#[inline]
fn site(descriptor: usize) -> &'static Site {
    let bucket = &SITES[descriptor.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> SHIFT];
    find(descriptor, first(bucket)).unwrap_or_else(|| add(descriptor, bucket))
}

/// The first pipeline of a bucket.
#[inline]
fn first(bucket: &AtomicPtr<Site>) -> Option<&'static Site> {
    // SAFETY: null, or a site that `add` has leaked.
    unsafe { bucket.load(Ordering::Acquire).as_ref() }
}

#[inline]
fn find(descriptor: usize, mut known: Option<&'static Site>) -> Option<&'static Site> {
    while let Some(site) = known {
        if site.descriptor == descriptor {
            return known;
        }
        known = site.next;
    }
    None
}

/// All pipelines that have run, by a hash of their addresses.
static SITES: [AtomicPtr<Site>; 1 << BUCKET_BITS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; 1 << BUCKET_BITS];
const BUCKET_BITS: u32 = 8;
const SHIFT: u32 = usize::BITS - BUCKET_BITS;

#[cold]
fn add(descriptor: usize, bucket: &AtomicPtr<Site>) -> &'static Site {
    // One at a time, so that each is there once.
    static ADDING: Mutex<()> = Mutex::new(());
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    let first = first(bucket);
    if let Some(site) = find(descriptor, first) {
        return site;
    }
    // As many as the program has pipelines, which is not many.
    let site: &'static Site = Box::leak(Box::new(Site {
        descriptor,
        next: first,
        kernel: AtomicU8::new(UNASKED),
        is_excluded: OnceLock::new(),
        is_made: AtomicBool::new(false),
        spent: AtomicU64::new(0),
        wait: AtomicU32::new(0),
        put_off: AtomicU32::new(0),
        classes: std::array::from_fn(|_| std::array::from_fn(|_| Class::default())),
    }));
    bucket.store(ptr::from_ref(site).cast_mut(), Ordering::Release);
    site
}

impl Site {
    /// The calls that are like one of so many items.
    #[inline]
    fn class(&'static self, len: Option<usize>) -> &'static Class {
        let (is_within, bits) = kind_of_call(len);
        &self.classes[usize::from(is_within)][usize::from(bits)]
    }

    /// What stands for a class in later runs.
    fn key(&self, len: Option<usize>) -> history::Key {
        let (is_within, bits) = kind_of_call(len);
        history::Key { pipeline: history::pipeline_of(self.descriptor), is_within, bits }
    }

    fn run(&'static self, class: &'static Class, len: Option<usize>, learns: Learns) -> Run {
        let begin = (!matches!(learns, Learns::Not)).then(Instant::now);
        Run { site: self, len, class, learns, is_asked_for: false, begin }
    }

    #[inline]
    fn as_planned(&'static self, class: &'static Class, plan: u32, len: Option<usize>) -> Choice {
        if plan & KERNEL == 0 {
            Choice::Rayon
        } else {
            Choice::Device(self.run(class, len, Learns::Not))
        }
    }

    #[cold]
    fn always(&'static self, class: &'static Class, len: Option<usize>) -> Choice {
        if device::device().is_none() {
            self.kernel.store(REFUSED, Ordering::Relaxed);
            return Choice::Rayon;
        }
        let run = self.run(class, len, Learns::Not);
        Choice::Device(Run { begin: Some(Instant::now()), ..run })
    }

    /// A call that is not planned.
    #[inline(never)]
    fn ask(
        &'static self,
        class: &'static Class,
        len: Option<usize>,
        prepare: &dyn Fn(Prepared) -> bool,
    ) -> Choice {
        let state = self.kernel.load(Ordering::Acquire);
        if device::may_be_wide() && (state != READY || device::is_wide()) {
            return self.ask_together(class, len, state, prepare);
        }
        let kernel = match state {
            UNASKED if self.is_worth_a_kernel(|_| false) => Kernel::WorthMaking,
            UNASKED => Kernel::Unasked,
            MAKING => Kernel::Making,
            READY => Kernel::Ready,
            _ => return Choice::Rayon,
        };
        // Who would have to wait goes where the last one went.
        let as_before = || self.as_planned(class, class.plan.load(Ordering::Relaxed), len);
        let Ok(mut policy) = class.policy().try_lock() else { return as_before() };
        let step = policy.next(kernel);
        let decision = policy.decision();
        drop(policy);
        if let Some(decision) = decision {
            self.tell(decision, len);
        }
        match step {
            Step::Make => {
                self.make(prepare);
                Choice::Rayon
            }
            Step::Take(Strategy::Rayon, false) => Choice::Rayon,
            Step::Take(strategy, measured) => {
                let learns = if measured { Learns::Policy } else { Learns::Not };
                Choice::of(strategy, self.run(class, len, learns))
            }
        }
    }

    /// The same on a device with its own memory.
    fn ask_together(
        &'static self,
        class: &'static Class,
        len: Option<usize>,
        state: u8,
        prepare: &dyn Fn(Prepared) -> bool,
    ) -> Choice {
        let Ok(mut guard) = TOGETHER.try_lock() else {
            return self.as_planned(class, class.plan.load(Ordering::Relaxed), len);
        };
        let together = &mut *guard;
        if let Some((id, ended)) = LAST.take() {
            together.joint.after(id, nanos(ended.elapsed()));
        }
        let id = *class.joint.get_or_init(|| together.add(self.key(len), class));
        let Together { joint, classes } = together;
        let is_new = state == UNASKED && !history::says_no();
        let state = if is_new && joint.is_wanted(id) { self.open() } else { state };
        let is_worth = |spent| joint.is_worth_a_kernel(spent);
        let makes = is_new && state == UNASKED && self.is_worth_a_kernel(is_worth);
        let kernel = match state {
            UNASKED | MAKING => joint::Kernel::Waiting,
            READY => joint::Kernel::Ready,
            _ => joint::Kernel::Refused,
        };
        let change = joint.change();
        let step = joint.next(id, kernel, budget::is_making());
        let decision = joint.decision();
        if step.change != change {
            for (id, (_, class)) in classes.iter().enumerate() {
                class.set(Plan { strategy: joint.strategy(id), calls: 0 }, false);
            }
        }
        drop(guard);
        if makes {
            self.make(prepare);
        }
        if let Some(decision) = decision {
            note(format_args!("{decision}"));
        }
        Choice::of(step.strategy, self.run(class, len, Learns::Together(id, step)))
    }

    /// Whether the kernel is worth making, by what it has taken, or since that is worth it to `others`.
    fn is_worth_a_kernel(&self, others: impl FnOnce(policy::Nanos) -> bool) -> bool {
        let spent = self.spent.load(Ordering::Relaxed);
        (spent >= policy::WORTH_A_KERNEL || others(spent)) && budget::allows()
    }

    /// So many calls took so long with rayon, each.
    fn spend(&self, time: policy::Nanos, calls: u32) {
        self.spent.fetch_add(time.saturating_mul(calls.into()), Ordering::Relaxed);
    }

    /// Says what a probe has led to.
    #[cold]
    fn tell(&self, decision: Decision, len: Option<usize>) {
        let way = match decision.strategy {
            Strategy::Rayon => "rayon",
            Strategy::Kernel => "a kernel",
        };
        let [rayon, kernel] = decision.times.map(Taken);
        note(format_args!(
            "{} go on as {way}: with rayon {rayon}, as a kernel {kernel} (pipeline {:#x})",
            Items(len),
            self.descriptor
        ));
    }

    /// Has the first launch make the kernel, which is in the cache: an earlier run had it.
    #[cold]
    fn open(&self) -> u8 {
        let state = if device::is_wide() { READY } else { REFUSED };
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match self.kernel.compare_exchange(UNASKED, state, order.0, order.1) {
            Ok(_) => state,
            Err(other) => other,
        }
    }

    /// Has the kernel made, by the first thread that asks.
    #[cold]
    fn make(&'static self, prepare: &dyn Fn(Prepared) -> bool) {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if self.kernel.compare_exchange(UNASKED, MAKING, order.0, order.1).is_err() {
            return;
        }
        if device::device().is_none() {
            self.kernel.store(REFUSED, Ordering::Relaxed);
            return;
        }
        budget::begin();
        if !prepare(Prepared(self)) {
            budget::end();
            // Another call asks again.
            self.kernel.store(UNASKED, Ordering::Relaxed);
        }
    }
}

/// Tells a pipeline of its kernel.
#[derive(Clone, Copy)]
pub(crate) struct Prepared(&'static Site);

impl Prepared {
    /// It is there.
    pub(crate) fn ready(self) {
        budget::end();
        self.0.is_made.store(true, Ordering::Relaxed);
        self.0.kernel.store(READY, Ordering::Release);
    }

    /// There is none.
    pub(crate) fn refuse(self, name: fn() -> &'static str, why: &str) {
        budget::end();
        refuse(self.0, name, why);
    }
}

fn refuse(site: &Site, name: fn() -> &'static str, why: &str) {
    site.kernel.store(REFUSED, Ordering::Relaxed);
    note(format_args!("a parallel iterator stays with rayon, because {why}: {}", name()));
}

fn nanos(time: Duration) -> policy::Nanos {
    policy::Nanos::try_from(time.as_nanos()).unwrap_or(policy::Nanos::MAX)
}

/// How many items there are.
struct Items(Option<usize>);

impl Display for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(len) => write!(f, "{len} items"),
            None => f.write_str("an unknown number of items"),
        }
    }
}

/// What a call takes.
struct Taken(Option<policy::Nanos>);

impl Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(call) => write!(f, "{:?}", Duration::from_nanos(call)),
            None => f.write_str("unknown"),
        }
    }
}

impl Display for joint::Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |assignment| match assignment {
            Assignment::Rayon => "rayon",
            Assignment::Kernels => "kernels",
            Assignment::Mixed => "a mixture",
        };
        write!(
            f,
            "all pipelines were tried with {}, and go on with {}",
            name(self.tried),
            name(self.taken)
        )?;
        match self.times {
            Some([before, tried]) => {
                write!(f, ": {:.2} of the time before", tried as f64 / before.max(1) as f64)
            }
            None => f.write_str(": the trial took too long"),
        }
    }
}

impl Run {
    /// What it will take, by the calls before it; 0 if they do not tell.
    pub(crate) fn expected(&self) -> Duration {
        Duration::from_nanos(self.class.latest.load(Ordering::Relaxed))
    }

    fn end_as(&self, strategy: Strategy) -> Option<Duration> {
        let time = self.begin?.elapsed();
        if self.is_asked_for {
            return Some(time);
        }
        let (class, nanos) = (self.class, nanos(time));
        class.latest.store(nanos, Ordering::Relaxed);
        // The first launch makes the kernel if that was not done.
        let counts =
            || strategy == Strategy::Rayon || self.site.is_made.swap(true, Ordering::Relaxed);
        match self.learns {
            Learns::Not => {}
            Learns::Policy => {
                let mut policy = class.policy().lock().unwrap_or_else(PoisonError::into_inner);
                let plan = policy.end(strategy, nanos, counts());
                class.set(plan, policy.is_tiny());
                drop(policy);
                if strategy == Strategy::Rayon {
                    self.site.spend(nanos, plan.calls + 1);
                }
            }
            Learns::Together(id, step) => {
                let calls = policy::calls_without_question(nanos);
                let mut together = TOGETHER.lock().unwrap_or_else(PoisonError::into_inner);
                if together.joint.end(id, step, nanos, calls + 1, counts()) {
                    let is_tiny = strategy == Strategy::Rayon && policy::is_tiny(nanos);
                    class.set(Plan { strategy, calls }, is_tiny);
                }
                drop(together);
                if strategy == Strategy::Rayon {
                    self.site.spend(nanos, calls + 1);
                }
                if rayon::current_thread_index().is_none() {
                    LAST.set(Some((id, Instant::now())));
                }
            }
        }
        Some(time)
    }

    /// It ran with rayon.
    pub(crate) fn end(self) {
        self.end_as(Strategy::Rayon);
    }

    /// It ran as a kernel.
    #[inline]
    pub(crate) fn end_on_device(self, name: fn() -> &'static str, pieces: usize, queue: &Queue) {
        if !self.is_asked_for && self.site.put_off.load(Ordering::Relaxed) != 0 {
            self.site.put_off.store(0, Ordering::Relaxed);
        }
        let (device, name) = (queue.device(), name());
        let items = Items(self.len);
        match self.end_as(Strategy::Kernel) {
            Some(time) => {
                note(format_args!(
                    "{items} in {pieces} pieces on `{device}` took {time:?}: {name}"
                ));
            }
            None => note(format_args!("{items} in {pieces} pieces on `{device}`: {name}")),
        }
    }

    /// It cannot be launched now. A later call tries again: the second one, and then ever fewer.
    pub(crate) fn put_off(self, name: fn() -> &'static str, why: &str) {
        if self.is_asked_for {
            return self.refuse(name, why);
        }
        let before = self.site.put_off.load(Ordering::Relaxed);
        self.site.put_off.store((before + 1).min(LONGEST_WAIT), Ordering::Relaxed);
        self.site.wait.store(1 << before.min(LONGEST_WAIT), Ordering::Relaxed);
        let name = name();
        note(format_args!("a parallel iterator goes to rayon for now, because {why}: {name}"));
    }

    /// There is no kernel for it.
    pub(crate) fn refuse(self, name: fn() -> &'static str, why: &str) {
        if self.is_asked_for {
            return note(format_args!(
                "a parallel iterator goes to rayon, because {why}: {}",
                name()
            ));
        }
        refuse(self.site, name, why);
    }
}
