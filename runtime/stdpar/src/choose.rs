//! Where a pipeline runs: with rayon, or as a kernel.
//!
//! `SCHISM_STDPAR=always` runs all as kernels that can be, `never` none. `auto`, the default,
//! measures: a pipeline runs with rayon until that has taken some time, then some times as a
//! kernel, and from then on whichever way was faster for as many items. The other way is tried
//! again now and then.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use schism::__private::{note, warn};
use schism::Queue;

use crate::device;

/// The environment variable that chooses.
const VARIABLE: &str = "SCHISM_STDPAR";

/// `auto` leaves a pipeline with rayon until that has taken this long in all: to make a kernel
/// takes as much.
const WORTH_A_KERNEL: Duration = Duration::from_millis(20);

/// Runs as a kernel before they are compared with rayon. The first makes the kernel, and does not
/// count.
const TRIALS: u32 = 3;

/// How often the slower way is tried again, and how often if it is much slower.
const AGAIN: u32 = 64;
const SELDOM: u32 = 1024;

/// What counts as much slower.
const MUCH: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Auto,
    Always,
    Never,
}

fn setting() -> Setting {
    static SETTING: OnceLock<Setting> = OnceLock::new();
    *SETTING.get_or_init(|| {
        let Some(word) = std::env::var_os(VARIABLE) else { return Setting::Auto };
        match word.to_str().map(str::trim) {
            Some("" | "auto") => Setting::Auto,
            Some("always") => Setting::Always,
            Some("never") => Setting::Never,
            _ => {
                let word = word.display();
                warn(format_args!("{VARIABLE} is `{word}`; use auto, always or never"));
                Setting::Auto
            }
        }
    })
}

/// Whether all pipelines stay with rayon.
#[inline]
pub(crate) fn is_off() -> bool {
    setting() == Setting::Never
}

/// A pipeline of the program.
#[derive(Default)]
struct Site(Mutex<Stats>);

struct Stats {
    /// It has no kernel, or that cannot be launched.
    refused: bool,
    /// By the number of bits of the length.
    lengths: [Times; LENGTHS],
}

/// The numbers of bits that a length can have.
const LENGTHS: usize = usize::BITS as usize + 1;

impl Default for Stats {
    fn default() -> Self {
        Self { refused: false, lengths: [Times::default(); LENGTHS] }
    }
}

/// How long a pipeline took, for lengths of the same size.
#[derive(Clone, Copy, Default)]
struct Times {
    calls: u32,
    trials: u32,
    with_rayon_in_all: Duration,
    with_rayon: Mean,
    as_kernel: Mean,
}

/// A mean that forgets.
#[derive(Clone, Copy, Default)]
struct Mean(Option<Duration>);

impl Mean {
    fn add(&mut self, time: Duration) {
        self.0 = Some(self.0.map_or(time, |mean| (mean * 3 + time) / 4));
    }
}

impl Times {
    /// Whether the next call is to be a kernel.
    fn next_is_kernel(&mut self) -> bool {
        self.calls = self.calls.wrapping_add(1);
        if self.with_rayon_in_all < WORTH_A_KERNEL {
            return false;
        }
        let (Some(with_rayon), Some(as_kernel)) = (self.with_rayon.0, self.as_kernel.0) else {
            return true;
        };
        if self.trials < TRIALS {
            return true;
        }
        let (better, worse) =
            if as_kernel < with_rayon { (as_kernel, with_rayon) } else { (with_rayon, as_kernel) };
        let every = if worse / MUCH > better { SELDOM } else { AGAIN };
        (as_kernel < with_rayon) != self.calls.is_multiple_of(every)
    }

    fn end(&mut self, as_kernel: bool, time: Duration) {
        if as_kernel {
            self.trials = self.trials.saturating_add(1);
            if self.trials > 1 {
                self.as_kernel.add(time);
            }
        } else {
            self.with_rayon_in_all = self.with_rayon_in_all.saturating_add(time);
            self.with_rayon.add(time);
        }
    }
}

/// Where a pipeline runs now.
pub(crate) enum Way {
    /// With rayon.
    Rayon,
    /// With rayon, and it counts how long that takes.
    Measured(Run),
    /// As a kernel.
    Device(Run),
}

/// A run that has begun.
pub(crate) struct Run {
    site: &'static Site,
    len: usize,
    begin: Instant,
}

/// Chooses for a pipeline, which the address of its descriptor stands for; one without a descriptor
/// has no kernel.
pub(crate) fn way(descriptor: usize, len: usize) -> Way {
    if descriptor == 0 {
        return Way::Rayon;
    }
    let site = site(descriptor);
    let mut stats = site.stats();
    if stats.refused {
        return Way::Rayon;
    }
    let as_kernel = setting() == Setting::Always || stats.times(len).next_is_kernel();
    drop(stats);
    if as_kernel && device::device().is_none() {
        site.stats().refused = true;
        return Way::Rayon;
    }
    let run = Run { site, len, begin: Instant::now() };
    if as_kernel { Way::Device(run) } else { Way::Measured(run) }
}

/// The pipeline of a descriptor.
fn site(descriptor: usize) -> &'static Site {
    static SITES: RwLock<Option<HashMap<usize, &'static Site>>> = RwLock::new(None);
    let known = SITES.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(site) = known.as_ref().and_then(|sites| sites.get(&descriptor)) {
        return site;
    }
    drop(known);
    let mut sites = SITES.write().unwrap_or_else(PoisonError::into_inner);
    // As many as the program has pipelines, which is not many.
    let site = || Box::leak(Box::default());
    sites.get_or_insert_default().entry(descriptor).or_insert_with(|| site())
}

impl Site {
    fn stats(&self) -> std::sync::MutexGuard<'_, Stats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stats {
    fn times(&mut self, len: usize) -> &mut Times {
        &mut self.lengths[(usize::BITS - len.leading_zeros()) as usize]
    }
}

impl Run {
    /// It ran with rayon.
    pub(crate) fn end(self) {
        let time = self.begin.elapsed();
        self.site.stats().times(self.len).end(false, time);
    }

    /// It ran as a kernel.
    pub(crate) fn end_on_device(self, name: fn() -> &'static str, pieces: usize, queue: &Queue) {
        let time = self.begin.elapsed();
        self.site.stats().times(self.len).end(true, time);
        note(format_args!(
            "{} items in {pieces} pieces on `{}` took {time:?}: {}",
            self.len,
            queue.device(),
            name()
        ));
    }

    /// There is no kernel for it.
    pub(crate) fn refuse(self, name: fn() -> &'static str, why: &dyn Display) {
        self.site.stats().refused = true;
        note(format_args!("a parallel iterator stays with rayon, because {why}: {}", name()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_millis(10);
    const SLOW: Duration = Duration::from_millis(30);

    /// How many of 1,000 calls are kernels.
    fn kernels(with_rayon: Duration, as_kernel: Duration) -> usize {
        let mut times = Times::default();
        let mut call = || {
            let is_kernel = times.next_is_kernel();
            times.end(is_kernel, if is_kernel { as_kernel } else { with_rayon });
            is_kernel
        };
        (0..1000).filter(|_| call()).count()
    }

    #[test]
    fn the_faster_way_is_kept_and_the_other_looked_at_again() {
        let slower = kernels(FAST, SLOW);
        assert!((TRIALS as usize + 10..30).contains(&slower), "{slower}");
        let faster = kernels(SLOW, FAST);
        assert!((970..999).contains(&faster), "{faster}");
        let much_slower = kernels(FAST, 10 * SLOW);
        assert!((TRIALS as usize..6).contains(&much_slower), "{much_slower}");
    }

    #[test]
    fn what_takes_no_time_never_becomes_a_kernel() {
        assert_eq!(kernels(Duration::from_micros(10), FAST), 0);
    }
}
