//! How a benchmark is measured.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the host does not read results now: then they stay where they are.
static BLIND: AtomicBool = AtomicBool::new(false);

/// Repetitions that are measured at least: of short ones, and of those that take a tenth of a second
/// and more.
const LEAST: usize = 7;
const LEAST_OF_LONG: usize = 3;

/// What to measure, and how long.
pub struct Bench {
    /// Whether the inputs are small: to check results, not times.
    pub small: bool,
    /// How long a benchmark is measured; it runs as long before, so that the caches are warm and
    /// `auto` has decided.
    pub seconds: f64,
    /// Whether only pipelines are measured, and not what the host reads after them.
    pub resident: bool,
    /// Names must have one of these in them, if there are any.
    pub names: Vec<String>,
}

impl Default for Bench {
    fn default() -> Self {
        Self { small: false, seconds: 0.4, resident: false, names: Vec::new() }
    }
}

impl Bench {
    /// `full`, or `small` where inputs are small.
    pub fn size(&self, full: usize, small: usize) -> usize {
        if self.small { small } else { full }
    }

    /// Whether one of these benchmarks is asked for; to make inputs for none is a waste.
    pub fn wants(&self, names: &[&str]) -> bool {
        let asked = |name: &str| self.names.iter().any(|part| name.contains(part.as_str()));
        self.names.is_empty() || names.iter().any(|name| asked(name))
    }

    /// Measures `repetition`, whose value does not depend on how often it has run.
    pub fn measure(&self, name: &str, repetition: impl FnMut() -> u64) {
        self.measure_calls(name, 1, repetition);
    }

    /// Measures a pass over data that the host has just written: `pass` says how long it took. Only
    /// where nothing but pipelines is measured.
    pub fn measure_fresh(&self, name: &str, mut pass: impl FnMut() -> Duration) {
        if !self.resident || !self.wants(&[name]) {
            return;
        }
        pass();
        let mut times: Vec<f64> = (0..LEAST).map(|_| pass().as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        println!("{name} {:.9} {mean:.9} - {:.9}", times[times.len() / 2], times[0]);
    }

    /// Measures a repetition of so many calls, and prints the time of one.
    pub fn measure_calls(&self, name: &str, calls: u32, mut repetition: impl FnMut() -> u64) {
        if !self.wants(&[name]) {
            return;
        }
        let enough = Duration::from_secs_f64(self.seconds);
        let begin = Instant::now();
        let mut count = 0_u32;
        let checksum = black_box(repetition());
        count += 1;
        BLIND.store(self.resident, Ordering::Relaxed);
        let blind = if self.resident { black_box(repetition()) } else { 0 };
        while begin.elapsed() < enough {
            black_box(repetition());
            count += 1;
        }
        let mut times = Vec::new();
        let measured = Instant::now();
        let long = Duration::from_millis(100);
        let least = |times: &[Duration]| {
            if times.iter().all(|time| *time >= long) { LEAST_OF_LONG } else { LEAST }
        };
        while times.len() < least(&times) || measured.elapsed() < enough {
            let start = Instant::now();
            let again = black_box(repetition());
            times.push(start.elapsed());
            let expected = if self.resident { blind } else { checksum };
            assert_eq!(again, expected, "{name}: a repetition gives something else");
            count += 1;
        }
        if self.resident {
            BLIND.store(false, Ordering::Relaxed);
            let last = repetition();
            assert_eq!(last, checksum, "{name}: the last repetition gives something else");
        }
        let mean = begin.elapsed().as_secs_f64() / f64::from(count) / f64::from(calls);
        times.sort();
        let median = times[times.len() / 2].as_secs_f64() / f64::from(calls);
        let least = times[0].as_secs_f64() / f64::from(calls);
        println!("{name} {median:.9} {mean:.9} {checksum:016x} {least:.9}");
    }
}

/// A checksum of values in their order; the host's alone, and cheap.
pub fn checksum(values: impl IntoIterator<Item = u64>) -> u64 {
    if BLIND.load(Ordering::Relaxed) {
        return 0;
    }
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, |sum, value| {
        (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(7)
    })
}

/// A checksum of some of a slice's values, from all of it. Where a device has moved the memory,
/// each of them is a page that moves back, so they are few.
pub fn sample<T: Copy>(values: &[T], bits: impl Fn(T) -> u64) -> u64 {
    let step = (values.len() / 31).max(1);
    checksum(values.iter().step_by(step).map(|value| bits(*value)))
}
