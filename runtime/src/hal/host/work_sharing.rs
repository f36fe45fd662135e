//! Distribution of a launch over the cores (work sharing).
//!
//! The calling thread starts alone. Most small launches end there, without waking another thread.
//! When it has run for [`ALONE`], or knows that much is left, the rest becomes a job. A launch is a
//! job from its first work-item on if the kernel's last launch says that it is worth it, or if
//! the launch asks for it. From a job all threads take intervals of linear ids: large ones first, smaller ones towards the end, so that
//! uneven work ends at the same time everywhere (guided self-scheduling).
//!
//! The job never waits for a helper that has not begun: the caller takes intervals too, and at the
//! end waits only for those in progress. A helper that comes late finds nothing left and never
//! accesses the kernel's data, which may be gone by then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rayon_core::ThreadPool;

use crate::hal::host::pace::{LatestPace, Pace};
use crate::hal::host::run::Work;
use crate::launch::desc::{HostThreads, ProgramPool};
use crate::launch::failure::{Failure, Hook, Inside};
use crate::util::fork;

/// How long the caller works alone. Waking a thread costs about as much.
const ALONE: Duration = Duration::from_micros(10);

/// A shorter measurement says nothing about the rest.
const MEANINGFUL: Duration = Duration::from_micros(1);

/// When at least this much is known to be left, helpers are woken at once.
const WORTH_HELP: Duration = Duration::from_micros(100);

/// The minimum work of an interval.
const GRAIN: Duration = Duration::from_micros(2);

/// An interval is at most the rest, divided by this and by the number of threads.
const SHARES: usize = 16;

/// Intervals have at least so many work-items and end at multiples of it, unless the whole range is
/// small: their elements then share no cache line, and vector loops need no remainder.
const ALIGN: usize = 64;

/// How often a caller without work polls the others before it sleeps.
const SPINS: usize = 2000;

/// Statistics for the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    /// Intervals that the range was divided into.
    pub(crate) intervals: usize,
    /// Threads that were woken.
    pub(crate) helpers: usize,
}

/// Runs all work-items on these threads, the caller's among them, and returns when none is running
/// any more. After a panic, work-items that have not begun are skipped.
///
/// # Safety
/// `work.closure` is alive until this returns, and of the type that the body expects. There is at
/// least one work-item.
pub(crate) unsafe fn run(
    work: &Work<'_>,
    pool: &'static ThreadPool,
    host_threads: HostThreads,
) -> Result<Dispatch, Failure> {
    let items = work.extent.items;
    let own = if host_threads.pool.is_some() { usize::MAX } else { pool.current_num_threads() };
    let threads = own.min(host_threads.most);
    let generation = fork::generation();
    let inside = Inside::enter(host_threads.hook);
    if threads == 1 || items == 1 {
        // Reading the clock takes a good part of a small launch, and decides nothing here.
        // SAFETY: the caller's promises.
        unsafe { work.run(0, items)? };
        return Ok(Dispatch { intervals: 1, helpers: 0 });
    }
    let (begun, intervals, pace) = match together(work, host_threads.at_once) {
        Some(pace) => (0, 0, pace),
        // SAFETY: the caller's promises; `alone` runs each work-item at most once.
        None => unsafe { alone(work)? },
    };
    if begun == items {
        return Ok(Dispatch { intervals, helpers: 0 });
    }
    let job = Arc::new(Job {
        grain: AtomicUsize::new(pace.items_in(GRAIN).max(1)),
        work: work.shared(),
        next: AtomicUsize::new(begun),
        left: AtomicUsize::new(items - begun),
        intervals: AtomicUsize::new(intervals),
        helpers: AtomicUsize::new(0),
        threads,
        hook: host_threads.hook,
        of_program: host_threads.pool,
        failure: Mutex::new(None),
        caller: thread::current(),
        pool,
        generation,
    });
    Job::call_helpers(&job);
    job.participate();
    drop(inside);
    job.wait()?;
    let failure = job.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let dispatch = Dispatch {
        intervals: job.intervals.load(Ordering::Relaxed),
        helpers: job.helpers.load(Ordering::Relaxed),
    };
    failure.map_or(Ok(dispatch), Err)
}

/// The pace to begin with, if all threads are to begin at once.
fn together(work: &Work<'_>, at_once: bool) -> Option<Pace> {
    let latest = work.body.latest_pace().and_then(LatestPace::get);
    let known = latest.filter(|pace| pace.time_of(work.extent.items) >= WORTH_HELP);
    // Intervals of one work-item, as long as nothing is known of them.
    known.or_else(|| at_once.then_some(Pace { items: 1, time: GRAIN }))
}

/// Runs the caller's start. Returns how many work-items have run, in how many intervals, and the
/// pace.
///
/// # Safety
/// As for [`run`].
unsafe fn alone(work: &Work<'_>) -> Result<(usize, usize, Pace), Failure> {
    let items = work.extent.items;
    let done = |intervals| (items, intervals, Pace { items, time: ALONE });
    let start = Instant::now();
    let (mut begun, mut intervals, mut size) = (0_usize, 0, 1);
    let mut elapsed = Duration::ZERO;
    loop {
        let end = items.min(begun.saturating_add(size));
        // SAFETY: the caller's promises; begun < end.
        unsafe { work.run(begun, end)? };
        intervals += 1;
        if end == items {
            return Ok(done(intervals));
        }
        let now = start.elapsed();
        let pace = Pace { items: end - begun, time: now - elapsed };
        (begun, elapsed) = (end, now);
        // The very first work-item says little: the caches are cold.
        let known = intervals > 1 && pace.time >= MEANINGFUL;
        let enough = elapsed >= ALONE || (known && pace.time_of(items - begun) >= WORTH_HELP);
        if enough {
            return Ok((begun, intervals, pace));
        }
        // At most four times as long as the last one, and about as long as is left. The work-items
        // of an empty kernel take no time, however many there are.
        size = pace.items_in(ALONE - elapsed).clamp(1, pace.items.saturating_mul(4));
    }
}

/// The rest of a launch after the caller's start.
#[derive(Debug)]
struct Job {
    work: Work<'static>,
    /// The first work-item that is not taken.
    next: AtomicUsize,
    /// Work-items that have not ended.
    left: AtomicUsize,
    intervals: AtomicUsize,
    helpers: AtomicUsize,
    threads: usize,
    hook: Hook,
    of_program: Option<ProgramPool>,
    /// The minimum number of work-items to take: what takes [`GRAIN`] at the latest pace.
    grain: AtomicUsize,
    failure: Mutex<Option<Failure>>,
    caller: Thread,
    pool: &'static ThreadPool,
    /// The process of the helpers.
    generation: u32,
}

/// The fewest work-items of an interval, and what intervals end at multiples of: [`ALIGN`], or as
/// many as one share of a small range has. The time of a work-item says little about the others
/// where they are computed in lanes, and a few of them take as long as a whole vector.
fn fewest(items: usize, shares: usize) -> usize {
    match (items / shares).min(ALIGN) {
        0 => 1,
        few => 1 << few.ilog2(),
    }
}

impl Job {
    /// Wakes up to two more threads. Each of them wakes two more, so that on many cores no single
    /// thread has to wake all the others.
    fn call_helpers(job: &Arc<Self>) {
        for _ in 0..2 {
            let more = job.next.load(Ordering::Relaxed) < job.work.extent.items;
            let one_more = |helpers| (more && helpers + 1 < job.threads).then_some(helpers + 1);
            if job.helpers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
                return;
            }
            let (of_program, pool, job) = (job.of_program, job.pool, Arc::clone(job));
            let help = move || {
                Self::call_helpers(&job);
                let _inside = Inside::enter(job.hook);
                job.participate();
            };
            match of_program {
                Some(of_program) => (of_program.spawn)(Box::new(help)),
                None => pool.spawn(help),
            }
        }
    }

    /// Takes intervals until there are none.
    fn participate(&self) {
        while let Some((begin, end)) = self.take() {
            let start = Instant::now();
            // SAFETY: `run` keeps the closure alive while `left` counts these work-items, and
            // `take` gives them out once.
            if let Err(failure) = unsafe { self.work.run(begin, end) } {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                self.abandon();
            }
            let pace = Pace { items: end - begin, time: start.elapsed() };
            self.grain.store(pace.items_in(GRAIN).max(1), Ordering::Relaxed);
            if let Some(latest) = self.work.body.latest_pace() {
                latest.set(pace);
            }
            self.finish(end - begin);
        }
    }

    fn take(&self) -> Option<(usize, usize)> {
        let items = self.work.extent.items;
        let mut begin = self.next.load(Ordering::Relaxed);
        while begin < items {
            let end = self.end_from(begin);
            match self.next.compare_exchange_weak(begin, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => {
                    self.intervals.fetch_add(1, Ordering::Relaxed);
                    return Some((begin, end));
                }
                Err(now) => begin = now,
            }
        }
        None
    }

    /// Where an interval from `begin` ends: at whole planes or rows, if it is at least that large.
    fn end_from(&self, begin: usize) -> usize {
        let items = self.work.extent.items;
        let [row, rows, _] = self.work.extent.xyz;
        let rest = items - begin;
        let shares = self.threads * SHARES;
        // A group's lanes are its own work-items.
        let fewest = if self.work.groups.is_some() { 1 } else { fewest(items, shares) };
        let grain = self.grain.load(Ordering::Relaxed).max(fewest);
        let size = (rest / shares).max(grain).min(rest);
        let unit =
            [row * rows, row, ALIGN, fewest].into_iter().find(|unit| *unit <= size).unwrap_or(1);
        // A unit, and the end of an interval, are at most isize::MAX, so their sum does not
        // overflow.
        (begin + size).next_multiple_of(unit).min(items)
    }

    /// Drops the work-items that are not taken.
    fn abandon(&self) {
        let items = self.work.extent.items;
        let begin = self.next.swap(items, Ordering::Relaxed);
        self.finish(items - begin);
    }

    /// Counts work-items that have ended; the last thread wakes the caller.
    fn finish(&self, items: usize) {
        if items != 0 && self.left.fetch_sub(items, Ordering::AcqRel) == items {
            self.caller.unpark();
        }
    }

    /// Waits for intervals that others have taken.
    fn wait(&self) -> Result<(), Failure> {
        for _ in 0..SPINS {
            if self.left.load(Ordering::Acquire) == 0 {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        while self.left.load(Ordering::Acquire) != 0 {
            if self.generation != fork::generation() {
                return Err(Failure::Forked);
            }
            thread::park();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::fewest;

    #[test]
    fn intervals_are_of_whole_vectors_unless_there_are_few_work_items() {
        assert_eq!(fewest(1 << 20, 32), 64);
        assert_eq!(fewest(4096, 32), 64);
        assert_eq!(fewest(1500, 32), 32);
        assert_eq!(fewest(100, 32), 2);
        assert_eq!(fewest(31, 32), 1);
    }
}
