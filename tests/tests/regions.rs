//! Random programs of launches over slices, in regions that keep them on the device, in scopes, and
//! beside algorithms: what they compute, against plain loops, and how many bytes they copy, against
//! the least that there can be. On every device, and on one that copies as a GPU does.

#![forbid(unsafe_code)]

use std::mem;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;
use schism::prelude::*;
use schism::{Error, LaunchError, Reversal, algorithms};
use schism_tests::devices::{copies, with_copies};

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// What is done with elements of `y` and as many of `x`.
#[derive(Clone, Copy, Debug)]
enum Work {
    Multiply,
    Overwrite,
    Fill,
    Gather,
    Captured,
    Rows,
    Reversed,
    Groups,
    Transform,
    Rotate,
    Reverse,
    Difference,
    Scan,
    Sort,
    Reduce,
}

const WORKS: [Work; 15] = [
    Work::Multiply,
    Work::Overwrite,
    Work::Fill,
    Work::Gather,
    Work::Captured,
    Work::Rows,
    Work::Reversed,
    Work::Groups,
    Work::Transform,
    Work::Rotate,
    Work::Reverse,
    Work::Difference,
    Work::Scan,
    Work::Sort,
    Work::Reduce,
];

/// How a region ends before its last step.
#[derive(Clone, Copy, Debug)]
enum End {
    Error,
    Panic,
    Break,
}

/// A step over the elements of `y` that the steps around it have left, and all of `x`.
#[derive(Clone, Debug)]
enum Step {
    Launch {
        work: Work,
        factor: u32,
        to: Range<usize>,
        from: Range<usize>,
        /// Other elements of `x`, which it reads, too.
        also: Range<usize>,
    },
    /// Keeps these elements of `x`, and of `y`, which need not be kept by a region around.
    Region {
        from: Range<usize>,
        to: Option<Range<usize>>,
        /// Whether those of `y` are written before they are read.
        is_out: bool,
        steps: Vec<Step>,
        end: Option<(End, usize)>,
    },
    /// Launches over a loan of all elements of `y`, and parts of `x` that are as long.
    Scope(Vec<(u32, usize)>),
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Ran,
    Reduced(u32),
    /// Part of the slice is kept on the device.
    Partly,
    /// An error that ended a region.
    Error,
    Panic,
}

fn part(random: &mut Rng, len: usize) -> Range<usize> {
    let begin = random.usize(..=len);
    begin..random.usize(begin..=len)
}

/// Steps over so many elements of `y`, and of `x`.
fn steps(random: &mut Rng, to_len: usize, from_len: usize, depth: usize) -> Vec<Step> {
    let count = random.usize(1..=4);
    (0..count).map(|_| step(random, to_len, from_len, depth)).collect()
}

fn step(random: &mut Rng, to_len: usize, from_len: usize, depth: usize) -> Step {
    match random.usize(..8) {
        0..3 if depth > 0 => {
            let (from, to) = (part(random, from_len), part(random, to_len));
            let to = random.bool().then_some(to);
            let inner_len = to.as_ref().map_or(to_len, Range::len);
            let mut inner = steps(random, inner_len, from_len, depth - 1);
            let is_out = to.is_some() && random.usize(..3) == 0;
            if is_out {
                let (factor, all) = (random.u32(..), 0..inner_len);
                let work = Work::Fill;
                inner.insert(0, Step::Launch { work, factor, to: all, from: 0..0, also: 0..0 });
            }
            let end = (random.usize(..3) == 0).then(|| {
                let end = [End::Error, End::Panic, End::Break][random.usize(..3)];
                (end, random.usize(usize::from(is_out)..=inner.len() - 1))
            });
            // An end before the first step would leave what is out without values.
            let end = end.filter(|(_, at)| !is_out || *at > 0);
            Step::Region { from, to, is_out, steps: inner, end }
        }
        3 if to_len <= from_len => {
            let count = random.usize(1..=3);
            let begin = |random: &mut Rng| random.usize(..=from_len - to_len);
            Step::Scope((0..count).map(|_| (random.u32(..), begin(random))).collect())
        }
        _ => {
            let work = WORKS[random.usize(..WORKS.len())];
            let mut to = part(random, to_len);
            to.end = to.end.min(to.start + from_len);
            if matches!(work, Work::Groups) {
                to.end -= to.len() % 4;
            }
            let begin = random.usize(..=from_len - to.len());
            let from = begin..begin + to.len();
            let (factor, also) = (random.u32(..), part(random, from_len));
            Step::Launch { work, factor, to, from, also }
        }
    }
}

/// The elements of a row.
const WIDTH: usize = 7;

/// Runs a launch or an algorithm. `kept` is what a region has of `x`.
fn launch(
    queue: &Queue,
    (work, factor): (Work, u32),
    mut y: ViewMut<'_, u32>,
    (x, also): (&[u32], &[u32]),
    kept: Option<View<'_, u32>>,
) -> Result<Event, LaunchError> {
    match (work, kept) {
        (Work::Multiply, _) => {
            queue.for_each((y, x), move |(y, x)| *y = y.wrapping_mul(factor) ^ x)?;
        }
        (Work::Overwrite, _) => {
            queue.for_each((out(y), x), move |(y, x)| y.set(x.wrapping_add(factor)))?;
        }
        (Work::Gather, _) => queue.for_each((0.., y, x, whole(also)), |(i, y, x, also)| {
            let other = if also.is_empty() { 1 } else { also[i * 5 % also.len()] };
            *y = y.wrapping_add(x ^ other);
        })?,
        (Work::Captured, Some(view)) if !view.is_empty() => {
            queue.for_each((0.., y), move |(i, y)| *y = y.rotate_left(3) ^ view[i % view.len()])?;
        }
        (Work::Fill | Work::Captured, _) => {
            queue.for_each((0.., out(y)), move |(i, y)| y.set(factor ^ i as u32))?;
        }
        (Work::Rows, _) => {
            let rows = (y.chunks_mut(WIDTH), View::from(x).chunks(WIDTH));
            queue.for_each(rows, |(y, x)| {
                let last = x[x.len() - 1];
                for (y, x) in y.iter_mut().zip(x) {
                    *y = y.wrapping_sub(x ^ last);
                }
            })?;
        }
        (Work::Reversed, _) => {
            queue.for_each((y.permuted_mut(Reversal), x), |(y, x)| *y ^= x)?;
        }
        (Work::Groups, _) => {
            let range = NdRange::new(y.len(), 4)?;
            let sources = (y, per_group(View::from(x).chunks(4)));
            queue.for_each_in(range, sources, |item, (y, x)| *y ^= x[3 - item.local_x()])?;
        }
        (Work::Transform, _) => {
            algorithms::transform(queue, x, &mut y, move |x| x.wrapping_mul(factor))?;
        }
        (Work::Rotate, _) => {
            let middle = factor as usize % (x.len() + 1);
            algorithms::rotate_copy(queue, x, middle, &mut y)?;
        }
        (Work::Reverse, _) => algorithms::reverse_copy(queue, x, &mut y)?,
        (Work::Difference, _) => {
            algorithms::adjacent_difference(queue, x, &mut y, u32::wrapping_sub)?;
        }
        (Work::Scan, _) => algorithms::inclusive_scan(queue, x, &mut y, u32::wrapping_add)?,
        (Work::Sort, _) => algorithms::sort(queue, &mut y, Ord::cmp)?,
        (Work::Reduce, _) => {
            return algorithms::reduce(queue, x, factor, u32::wrapping_add).map(Event::Reduced);
        }
    }
    Ok(Event::Ran)
}

/// A program, and what became of its steps.
struct Program<'a> {
    queue: &'a Queue,
    x: &'a [u32],
    events: Vec<Event>,
}

impl Program<'_> {
    fn note(&mut self, outcome: Result<Event, Error>) {
        let is_partly = |error: &Error| error.to_string().contains("where a region keeps");
        self.events.push(match outcome {
            Ok(event) => event,
            Err(error) if is_partly(&error) => Event::Partly,
            Err(Error::Buffer(_)) => Event::Error,
            Err(error) => panic!("{error}"),
        });
    }

    fn steps(
        &mut self,
        steps: &[Step],
        end: Option<(End, usize)>,
        mut y: ViewMut<'_, u32>,
        kept: Option<View<'_, u32>>,
    ) -> Result<Event, Error> {
        for (number, step) in steps.iter().enumerate() {
            match end {
                Some((End::Error, at)) if at == number => {
                    let len = y.len();
                    y.reborrow().slice(..len + 1)?;
                }
                Some((End::Panic, at)) if at == number => resume_unwind(Box::new("an early end")),
                Some((End::Break, at)) if at == number => break,
                _ => {}
            }
            self.step(step, y.reborrow(), kept);
        }
        Ok(Event::Ran)
    }

    fn step(&mut self, step: &Step, mut y: ViewMut<'_, u32>, kept: Option<View<'_, u32>>) {
        let (queue, x) = (self.queue, self.x);
        let outcome = match step {
            Step::Launch { work, factor, to, from, also } => {
                let y = y.slice(to.clone()).expect("a part");
                let x = (&x[from.clone()], &x[also.clone()]);
                launch(queue, (*work, *factor), y, x, kept).map_err(Error::from)
            }
            Step::Region { from, to, is_out, steps, end } => {
                let region = || match to {
                    None => queue.resident(&x[from.clone()], |view| {
                        self.steps(steps, *end, y.reborrow(), Some(view))
                    }),
                    Some(to) => {
                        let mut part = y.slice(to.clone()).expect("a part");
                        let x = &x[from.clone()];
                        if *is_out {
                            queue.resident((x, out(part)), |(view, y)| {
                                self.steps(steps, *end, y, Some(view))
                            })
                        } else {
                            queue.resident((x, &mut part), |(view, y)| {
                                self.steps(steps, *end, y, Some(view))
                            })
                        }
                    }
                };
                catch_unwind(AssertUnwindSafe(region)).unwrap_or(Ok(Event::Panic))
            }
            Step::Scope(launches) => {
                let len = y.len();
                let mut events = Vec::new();
                let outcome = queue.scope(|scope| {
                    let mut y = scope.lend(y);
                    for (factor, begin) in launches {
                        let (factor, x) = (*factor, &x[*begin..begin + len]);
                        let submitted =
                            scope.for_each((&mut y, x), move |(y, x)| *y ^= x.wrapping_mul(factor));
                        events.push(submitted.map(|_| Event::Ran).map_err(Error::from));
                    }
                    Ok(Event::Ran)
                });
                events.into_iter().for_each(|event| self.note(event));
                outcome
            }
        };
        self.note(outcome);
    }
}

/// The same by plain loops, and how many bytes have to be copied.
struct Model<'a> {
    copies: bool,
    x: &'a [u32],
    /// What regions keep of `x`, and what launches of the scope have left.
    regions: Vec<Range<usize>>,
    left: Vec<Range<usize>>,
    bytes_to: usize,
    bytes_from: usize,
    events: Vec<Event>,
}

const BYTES: usize = size_of::<u32>();

impl Model<'_> {
    /// Reads elements of `x`: those that are not there are copied. Returns whether they were; `Err`
    /// if only a part is there.
    fn read(&mut self, range: &Range<usize>) -> Result<bool, Event> {
        if !self.copies || range.is_empty() {
            return Ok(false);
        }
        let has_all = |kept: &Range<usize>| kept.start <= range.start && range.end <= kept.end;
        if self.regions.iter().chain(&self.left).any(has_all) {
            return Ok(false);
        }
        let in_part = |kept: &Range<usize>| kept.start < range.end && range.start < kept.end;
        if self.regions.iter().any(in_part) {
            return Err(Event::Partly);
        }
        self.bytes_to += BYTES * range.len();
        Ok(true)
    }

    /// A launch that reads the ranges of `x`, and reads and writes elements of `y`.
    fn launch(
        &mut self,
        ranges: &[Range<usize>],
        (reads, writes): (usize, usize),
        is_kept: bool,
    ) -> Result<(), Event> {
        let bytes_to = self.bytes_to;
        for range in ranges {
            if let Err(event) = self.read(range) {
                self.bytes_to = bytes_to;
                return Err(event);
            }
        }
        if self.copies && !is_kept {
            self.bytes_to += BYTES * reads;
            self.bytes_from += BYTES * writes;
        }
        Ok(())
    }

    /// The steps up to the end; whether they are all.
    fn steps(
        &mut self,
        steps: &[Step],
        end: Option<(End, usize)>,
        y: &mut [u32],
        kept: Option<&Range<usize>>,
        is_kept: bool,
    ) -> Event {
        let count = end.map_or(steps.len(), |(_, at)| at);
        for step in &steps[..count] {
            let event = self.step(step, y, kept, is_kept).unwrap_or_else(|event| event);
            self.events.push(event);
        }
        match end {
            Some((End::Error, _)) => Event::Error,
            Some((End::Panic, _)) => Event::Panic,
            Some((End::Break, _)) | None => Event::Ran,
        }
    }

    fn step(
        &mut self,
        step: &Step,
        y: &mut [u32],
        kept: Option<&Range<usize>>,
        is_kept: bool,
    ) -> Result<Event, Event> {
        match step {
            Step::Launch { work, factor, to, from, also } => {
                let y = &mut y[to.clone()];
                self.work((*work, *factor), y, (from, also), kept, is_kept)
            }
            Step::Region { from, to, is_out, steps, end } => {
                let is_new = self.read(from)?;
                let y = if let Some(to) = to { &mut y[to.clone()] } else { y };
                if to.is_some() && !is_kept && self.copies {
                    self.bytes_to += if *is_out { 0 } else { BYTES * y.len() };
                    self.bytes_from += BYTES * y.len();
                }
                if is_new {
                    self.regions.push(from.clone());
                }
                let event = self.steps(steps, *end, y, Some(from), is_kept || to.is_some());
                if is_new {
                    self.regions.pop();
                }
                Ok(event)
            }
            Step::Scope(launches) => {
                for (factor, begin) in launches {
                    let from = *begin..begin + y.len();
                    let launched =
                        self.launch(std::slice::from_ref(&from), (y.len(), y.len()), is_kept);
                    let event = match launched {
                        Ok(()) => {
                            self.left.push(from.clone());
                            for (y, x) in y.iter_mut().zip(&self.x[from]) {
                                *y ^= x.wrapping_mul(*factor);
                            }
                            Event::Ran
                        }
                        Err(event) => event,
                    };
                    self.events.push(event);
                }
                self.left.clear();
                Ok(Event::Ran)
            }
        }
    }

    fn work(
        &mut self,
        (work, factor): (Work, u32),
        y: &mut [u32],
        (from, also): (&Range<usize>, &Range<usize>),
        kept: Option<&Range<usize>>,
        is_kept: bool,
    ) -> Result<Event, Event> {
        let (all, len) = (self.x, y.len());
        let x = &all[from.clone()];
        let both = (len, len);
        let own = std::slice::from_ref(from);
        match work {
            Work::Multiply => {
                self.launch(own, both, is_kept)?;
                y.iter_mut().zip(x).for_each(|(y, x)| *y = y.wrapping_mul(factor) ^ x);
            }
            Work::Overwrite => {
                self.launch(own, (0, len), is_kept)?;
                y.iter_mut().zip(x).for_each(|(y, x)| *y = x.wrapping_add(factor));
            }
            Work::Gather if len == 0 => {}
            Work::Gather => {
                let mut ranges = vec![from.clone(), also.clone()];
                if from.start < also.end && also.start < from.end {
                    // What two sources read is copied once.
                    ranges.truncate(1);
                    ranges[0] = from.start.min(also.start)..from.end.max(also.end);
                }
                self.launch(&ranges, both, is_kept)?;
                let also = &all[also.clone()];
                for (i, (y, x)) in y.iter_mut().zip(x).enumerate() {
                    let other = if also.is_empty() { 1 } else { also[i * 5 % also.len()] };
                    *y = y.wrapping_add(x ^ other);
                }
            }
            Work::Captured if kept.is_some_and(|kept| !kept.is_empty()) => {
                self.launch(&[], both, is_kept)?;
                let kept = &all[kept.cloned().unwrap_or_default()];
                for (i, y) in y.iter_mut().enumerate() {
                    *y = y.rotate_left(3) ^ kept[i % kept.len()];
                }
            }
            Work::Fill | Work::Captured => {
                self.launch(&[], (0, len), is_kept)?;
                y.iter_mut().enumerate().for_each(|(i, y)| *y = factor ^ i as u32);
            }
            Work::Rows => {
                self.launch(own, both, is_kept)?;
                for (y, x) in y.chunks_mut(WIDTH).zip(x.chunks(WIDTH)) {
                    let last = x[x.len() - 1];
                    y.iter_mut().zip(x).for_each(|(y, x)| *y = y.wrapping_sub(x ^ last));
                }
            }
            Work::Reversed => {
                self.launch(own, both, is_kept)?;
                y.iter_mut().rev().zip(x).for_each(|(y, x)| *y ^= x);
            }
            Work::Groups => {
                self.launch(own, both, is_kept)?;
                y.iter_mut().enumerate().for_each(|(i, y)| *y ^= x[i / 4 * 4 + 3 - i % 4]);
            }
            Work::Transform => {
                self.launch(own, (0, len), is_kept)?;
                y.iter_mut().zip(x).for_each(|(y, x)| *y = x.wrapping_mul(factor));
            }
            Work::Rotate => {
                self.launch(own, (0, len), is_kept)?;
                y.copy_from_slice(x);
                y.rotate_left(factor as usize % (len + 1));
            }
            Work::Reverse => {
                self.launch(own, (0, len), is_kept)?;
                y.copy_from_slice(x);
                y.reverse();
            }
            Work::Difference => {
                self.launch(own, (0, len), is_kept)?;
                for (i, y) in y.iter_mut().enumerate() {
                    *y = if i == 0 { x[0] } else { x[i].wrapping_sub(x[i - 1]) };
                }
            }
            Work::Scan => {
                self.launch(own, (0, len), is_kept)?;
                let mut sum = 0_u32;
                for (y, x) in y.iter_mut().zip(x) {
                    sum = sum.wrapping_add(*x);
                    *y = sum;
                }
            }
            Work::Sort => {
                self.launch(&[], both, is_kept)?;
                y.sort_unstable();
            }
            Work::Reduce => {
                self.launch(own, (0, 0), is_kept)?;
                let sum = x.iter().fold(factor, |sum, x| sum.wrapping_add(*x));
                return Ok(Event::Reduced(sum));
            }
        }
        Ok(Event::Ran)
    }
}

/// 2,000 programs; `SCHISM_TEST_REGIONS` is another number.
#[test]
fn random_programs_are_plain_loops_and_copy_the_least() {
    let count =
        std::env::var("SCHISM_TEST_REGIONS").map_or(2000, |count| count.parse().expect("a number"));
    for device in with_copies() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut events = 0;
        for number in 0..count {
            let mut random = Rng::with_seed(number);
            let (to_len, from_len) = (random.usize(..400), random.usize(..400));
            let steps = steps(&mut random, to_len, from_len, 3);
            let x: Vec<u32> = (0..from_len).map(|_| random.u32(..)).collect();
            let mut y: Vec<u32> = (0..to_len).map(|_| random.u32(..)).collect();
            let mut expected = y.clone();

            let mut model = Model {
                copies: copies(&device),
                x: &x,
                regions: Vec::new(),
                left: Vec::new(),
                bytes_to: 0,
                bytes_from: 0,
                events: Vec::new(),
            };
            model.steps(&steps, None, &mut expected, None, false);

            // Launches that copy nothing are the first and the last, so that all bytes are reported.
            let mut buffer = Buffer::filled(&queue, 1, 0_u32).expect("memory");
            let (ran, reports) = queue.report(|queue| {
                let mut program = Program { queue, x: &x, events: Vec::new() };
                queue.for_each(&mut buffer, |x| *x += 1).expect("a launch");
                program.steps(&steps, None, ViewMut::from(&mut y), None).expect("no early end");
                queue.for_each(&mut buffer, |x| *x += 1).expect("a launch");
                mem::take(&mut program.events)
            });
            let bytes_to: u64 = reports.iter().map(|report| report.bytes_to).sum();
            let bytes_from: u64 = reports.iter().map(|report| report.bytes_from).sum();
            assert_eq!(ran, model.events, "{device}, number {number}: {steps:#?}");
            assert!(y == expected, "{device}, number {number}: {steps:#?}");
            assert_eq!(
                (bytes_to, bytes_from),
                (model.bytes_to as u64, model.bytes_from as u64),
                "{device}, number {number}: {steps:#?}"
            );
            events += ran.len();
        }
        println!("{count} programs of {events} steps on {device}");
    }
}
