//! Timing, checksums, and the printed lines.
//!
//! A line describes one measurement, in words `key=value` after the word `result`:
//!
//! | key | value |
//! |---|---|
//! | `kernel`, `type`, `size` | the measurement |
//! | `variant` | `precise`, `relaxed`, `specialised` (precise, and sizes are constants); the baselines say `nofma`, `fma`, `opencl` |
//! | `bytes` | the minimum that a run must read and write; 0 if memory is not the limit |
//! | `clock` | `device`, `host` or `processor` |
//! | `median`, `min`, `p95` | seconds of a run, over `runs` timed ones after [`WARM_UP`] others, or as many as `--warm-up` takes |
//! | `first` | seconds of the very first run on the host's clock, in which the kernel is compiled or loaded |
//! | `bits` | checksum of a sample of the result, bit by bit |
//! | `sum` | the sum of the same sample |

use std::cell::Cell;
use std::time::{Duration, Instant};

use schism::prelude::*;
use schism::{Error, Math, Specialized};
use schism_bench::cpu::processor_time;

use crate::Outcome;
use crate::breadth;
use crate::real::Digest;
use crate::settings::{Clock, Settings, Suite};

/// Untimed runs, including the first.
pub const WARM_UP: usize = 3;

/// Elements of a result in its checksum.
const SAMPLE: usize = 4096;

/// The kernels that passes were measured with, in the order of their runs.
pub const KERNELS: &[&str] = &[
    "launch_wait",
    "launch_submit",
    "copy_in",
    "copy_out",
    "copy",
    "mul",
    "add",
    "triad",
    "dot",
    "reduction",
    "scan",
    "transpose",
    "nbody",
    "sgemm_naive",
    "sgemm_tiled",
    "stencil",
    "histogram",
    "mandelbrot",
    "black_scholes",
    "spmv_scalar",
    "spmv_vector",
];

/// What all kernels need.
#[derive(Debug)]
pub struct Bench {
    queue: Queue,
    settings: Settings,
    /// Results that differed from the host's.
    wrong: Cell<usize>,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// One of [`KERNELS`], or of those of [`breadth`].
    pub kernel: &'static str,
    /// The element type's name.
    pub element: &'static str,
    /// The size of the problem; the unit depends on the kernel.
    pub size: usize,
    /// The minimum that a run must read and write; 0 if memory is not the limit.
    pub bytes: usize,
}

/// How a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Rust's semantics: the default.
    Precise,
    /// With [`Math::Relaxed`].
    Relaxed,
    /// As `Precise`; the kernel captures its sizes as [`schism::Specialized`].
    Specialised,
}

/// A size in the form in which a kernel captures it: read in each launch, or a constant of the
/// code.
pub trait Size: Copy + Send + Sync + Capture + 'static {
    /// The number.
    fn get(self) -> usize;
}

impl Size for usize {
    #[inline(always)]
    fn get(self) -> usize {
        self
    }
}

impl Size for Specialized<usize> {
    #[inline(always)]
    fn get(self) -> usize {
        *self
    }
}

/// A kernel to measure in one variant.
#[derive(Debug)]
pub struct Run<'a> {
    bench: &'a Bench,
    case: Case,
    variant: Variant,
    /// The queue of the launches.
    pub queue: Queue,
}

/// How long the runs of a kernel took, in seconds.
#[derive(Debug)]
pub struct Times {
    first: f64,
    sorted: Vec<f64>,
    clock: Clock,
}

impl Bench {
    /// Measurements on a queue.
    pub const fn new(queue: Queue, settings: Settings) -> Self {
        Self { queue, settings, wrong: Cell::new(0) }
    }

    /// The queue, for untimed work.
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The options.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether any of the kernels is selected.
    pub fn wants(&self, kernels: &[&str]) -> bool {
        kernels.iter().any(|kernel| self.settings.wants(kernel))
    }

    /// The variants in which a kernel is measured: none, if it is not selected.
    pub fn runs(&self, case: Case) -> impl Iterator<Item = Run<'_>> {
        self.variants(case, &[Variant::Precise, Variant::Relaxed])
    }

    /// The same for a kernel whose sizes may be constants of the code.
    pub fn sized_runs(&self, case: Case) -> impl Iterator<Item = Run<'_>> {
        self.variants(case, &[Variant::Precise, Variant::Relaxed, Variant::Specialised])
    }

    fn variants<'a>(
        &'a self,
        case: Case,
        variants: &'static [Variant],
    ) -> impl Iterator<Item = Run<'a>> {
        let wanted = self.settings.wants(case.kernel);
        // A timed queue times each launch.
        let queue = match self.settings.clock {
            Clock::Device => self.queue.with_timing(),
            Clock::Host | Clock::Processor => self.queue.clone(),
        };
        let one = self.settings.precise;
        let wanted = move |variant: &&Variant| wanted && (!one || **variant == Variant::Precise);
        variants.iter().filter(wanted).map(move |&variant| {
            let math = match variant {
                Variant::Relaxed => Math::Relaxed,
                Variant::Precise | Variant::Specialised => Math::Precise,
            };
            Run { bench: self, case, variant, queue: queue.with_math(math) }
        })
    }

    /// The program's verdict.
    pub fn end(&self) -> Outcome {
        let suites = [(Suite::Tuned, KERNELS), (Suite::Breadth, breadth::KERNELS)];
        let chosen = suites.into_iter().filter(|(suite, _)| self.settings.has(*suite));
        let kernels: Vec<_> = chosen.flat_map(|(_, kernels)| kernels).copied().collect();
        if let Some(unknown) = self.settings.unknown(&kernels) {
            return Err(format!("there is no kernel `{unknown}`; there are {kernels:?}").into());
        }
        match self.wrong.get() {
            0 => Ok(()),
            wrong => Err(format!("{wrong} results are not the host's").into()),
        }
    }
}

/// Submits one launch and waits for it.
pub fn submit<'env, F>(queue: &Queue, launch: F) -> Result<Vec<Event>, Error>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<Event, LaunchError>,
{
    queue.scope(|scope| Ok(vec![launch(scope)?]))
}

impl Run<'_> {
    /// Whether results must equal the host's bit by bit.
    pub fn is_precise(&self) -> bool {
        self.variant != Variant::Relaxed
    }

    /// Whether sizes are constants of the code.
    pub fn is_specialised(&self) -> bool {
        self.variant == Variant::Specialised
    }

    /// Times a kernel. `run` launches it, waits, and returns the launches.
    pub fn time(&self, mut run: impl FnMut() -> Result<Vec<Event>, Error>) -> Outcome<Times> {
        let clock = self.bench.settings.clock;
        // The first on the host's clock, whatever the others use.
        let mut once = |clock| -> Outcome<f64> {
            let (start, used) = (Instant::now(), processor_time());
            let launches = run()?;
            let (host, used) = (start.elapsed(), processor_time() - used);
            Ok(match clock {
                Clock::Host => host.as_secs_f64(),
                Clock::Processor => used,
                Clock::Device => launches
                    .iter()
                    .map(Event::duration)
                    .sum::<Option<Duration>>()
                    .ok_or("the device does not tell how long a launch took")?
                    .as_secs_f64(),
            })
        };
        let first = once(Clock::Host)?;
        let start = Instant::now();
        for _ in 1..WARM_UP {
            once(clock)?;
        }
        while start.elapsed() < self.bench.settings.warm_up {
            once(clock)?;
        }
        let times = (0..self.bench.settings.runs).map(|_| once(clock)).collect::<Outcome<_>>()?;
        Ok(Times::new(first, times, clock))
    }

    /// Prints the line of a kernel whose result is in a buffer.
    pub fn report<T: Digest>(&self, times: &Times, result: &Buffer<T>) -> Outcome {
        let (bits, sum) = digest(&self.bench.queue, result)?;
        self.print(times, bits, sum);
        Ok(())
    }

    /// Prints the line of a kernel whose result is on the host, or that has none.
    pub fn report_values<T: Digest>(&self, times: &Times, result: &[T]) {
        let (bits, sum) = sum_up(result);
        self.print(times, bits, sum);
    }

    fn print(&self, times: &Times, bits: u64, sum: f64) {
        let Case { kernel, element, size, bytes } = self.case;
        let variant = match self.variant {
            Variant::Precise => "precise",
            Variant::Relaxed => "relaxed",
            Variant::Specialised => "specialised",
        };
        let clock = times.clock.name();
        let (median, min, p95) = (times.at(0.5), times.at(0.0), times.at(0.95));
        let (first, runs) = (times.first, times.sorted.len());
        println!(
            "result kernel={kernel} variant={variant} type={element} size={size} bytes={bytes} clock={clock} \
             median={median:.9} min={min:.9} p95={p95:.9} first={first:.9} runs={runs} bits={bits:016x} sum={sum:.9e}"
        );
    }

    /// Compares the result with the host's, if requested: all bits, when mathematics is precise,
    /// otherwise within a relative difference of `tolerance`.
    pub fn check<T: Digest>(
        &self,
        result: &Buffer<T>,
        tolerance: f64,
        host: impl FnOnce() -> Vec<T>,
    ) {
        if self.bench.settings.check {
            let precise = self.is_precise();
            self.compare(&result.to_vec(), &host(), if precise { 0.0 } else { tolerance });
        }
    }

    /// The same for results that have only a tolerance on any device, such as sums in another
    /// order.
    pub fn check_near<T: Digest>(
        &self,
        result: &[T],
        tolerance: f64,
        host: impl FnOnce() -> Vec<T>,
    ) {
        if self.bench.settings.check {
            self.compare(result, &host(), tolerance);
        }
    }

    fn compare<T: Digest>(&self, result: &[T], host: &[T], tolerance: f64) {
        let near = |result: &T, host: &T| {
            let (result, host) = (result.value(), host.value());
            (result - host).abs() <= tolerance * host.abs().max(1.0)
        };
        let same = |(result, host): (&T, &T)| match tolerance {
            0.0 => result.bits() == host.bits(),
            _ => near(result, host),
        };
        let (kernel, element) = (self.case.kernel, self.case.element);
        let name = format!("{kernel} {element} {:?}", self.variant);
        let wrong = if result.len() == host.len() {
            let at = result.iter().zip(host).position(|pair| !same(pair));
            at.map(|at| format!("element {at} is {:?}, the host's {:?}", result[at], host[at]))
        } else {
            Some(format!("{} elements, the host has {}", result.len(), host.len()))
        };
        match wrong {
            None => println!("check {name}: {} elements are the host's", host.len()),
            Some(difference) => {
                println!("check {name}: WRONG: {difference}");
                self.bench.wrong.set(self.bench.wrong.get() + 1);
            }
        }
    }
}

impl Times {
    /// The times of runs, in any order.
    pub fn new(first: f64, mut times: Vec<f64>, clock: Clock) -> Self {
        times.sort_by(f64::total_cmp);
        Self { first, sorted: times, clock }
    }

    /// A quantile of the times: the median for a half.
    fn at(&self, share: f64) -> f64 {
        let last = self.sorted.len() - 1;
        self.sorted[(last as f64 * share).round() as usize]
    }
}

/// The checksum of a buffer. The device selects the elements, so that only those are copied.
fn digest<T: Digest>(queue: &Queue, result: &Buffer<T>) -> Result<(u64, f64), Error> {
    let step = (result.len() / SAMPLE).max(1);
    let mut sample = Buffer::with_len(queue, result.len().min(SAMPLE))?;
    queue.for_each((0.., &mut sample, whole(result)), move |(place, sample, result)| {
        *sample = result[place * step];
    })?;
    Ok(sum_up(&sample.to_vec()))
}

fn sum_up<T: Digest>(sample: &[T]) -> (u64, f64) {
    let bits = sample.iter().fold(0_u64, |bits, x| bits.wrapping_mul(31).wrapping_add(x.bits()));
    (bits, sample.iter().fold(0.0, |sum, x| sum + x.value()))
}
