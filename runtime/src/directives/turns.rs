//! A source for loops with reductions: a work-item runs several iterations, one after the other, so
//! that there are few values to combine.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::algorithms::chunks::Chunks;
use crate::api::queue::Queue;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source};
use crate::directives::nests::{id_of, product};
use crate::error::LaunchError;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// Neighbouring work-items of a row on the host: the lanes of its vectors.
const LANES: usize = 16;

/// The most iterations of a row on the host, which goes through them once for each vector of lanes.
const MOST: usize = 8192;

/// Work-items of a row on GPUs.
const WARP: usize = 32;

/// The least number of iterations of a work-item there: each has a value to combine.
const LEAST: usize = 8;

/// A division of the iterations of `D` loops among work-items in rows.
#[derive(Clone, Copy, Debug)]
pub struct Division<const D: usize> {
    counts: [usize; D],
    rows: Rows,
}

/// The same without the loops.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// The product of the loops' counts.
    iterations: usize,
    /// Rows, and work-items of a row. Neighbours in a row begin with iterations that are neighbours.
    range: [usize; 2],
    /// From the first iteration of a row's first work-item to that of the next row's.
    row_step: usize,
    /// From an iteration of a work-item to its next.
    step: usize,
    /// How far from the first iteration of a row the last one of its work-items is.
    reach: usize,
}

impl Rows {
    /// As few work-items as keep the queue's device busy, for so many iterations of so many loops.
    fn new(queue: &Queue, iterations: usize, loops: usize) -> Self {
        let device = queue.device().backend();
        if !device.traits().runs_on_host {
            let rows = iterations.div_ceil(LEAST).min(device.concurrency()).div_ceil(WARP);
            let (range, step) = ([rows, WARP], rows * WARP);
            return Self { iterations, range, row_step: WARP, step, reach: usize::MAX };
        }
        let chunks = Chunks::new(queue, iterations);
        // Places of several loops are computed one by one.
        let lanes = if loops == 1 && chunks.size >= LANES { LANES } else { 1 };
        let size = if lanes == 1 { chunks.size } else { chunks.size.min(MOST) };
        let range = [iterations.div_ceil(size), lanes];
        Self { iterations, range, row_step: size, step: lanes, reach: size }
    }
}

impl<const D: usize> Division<D> {
    /// As few work-items as keep the queue's device busy, for loops of so many iterations.
    #[must_use]
    pub fn new(queue: &Queue, counts: [usize; D]) -> Self {
        // A product that is no `usize` is more than any launch has, but not more than turns can be.
        Self { counts, rows: Rows::new(queue, product(&counts), D) }
    }

    /// Rows of work-items, and the work-items of a row.
    #[must_use]
    pub const fn range(&self) -> [usize; 2] {
        self.rows.range
    }

    /// How many work-items there are.
    #[must_use]
    pub const fn items(&self) -> usize {
        self.rows.range[0].saturating_mul(self.rows.range[1])
    }

    /// The iterations of a work-item: the first, where to stop, and the step.
    #[inline(always)]
    fn of(&self, [lane, row, _]: [usize; 3]) -> (usize, usize, usize) {
        // A row begins below the number of iterations, and a lane is less than another row.
        let first = row.wrapping_mul(self.rows.row_step);
        let end = first.saturating_add(self.rows.reach).min(self.rows.iterations);
        (first.wrapping_add(lane), end, self.rows.step)
    }
}

/// Sources with an element for each iteration, as a source for work-items that run several.
#[derive(Debug)]
pub struct Turns<S, const D: usize> {
    division: Division<D>,
    sources: S,
}

impl<S, const D: usize> Turns<S, D> {
    /// `sources` have an element for each iteration.
    pub const fn new(division: Division<D>, sources: S) -> Self {
        Self { division, sources }
    }
}

// SAFETY: the launch's range is the division's. Distinct work-items run distinct iterations: on the
// host a row's are its own, and those of its work-items differ by less than a step; on GPUs rows are
// as long as the distance of their first iterations, and all work-items begin below the step. So the
// sources' elements are distinct.
unsafe impl<S: Source, const D: usize> Source for Turns<S, D> {
    type Item<'item> = TurnsOf<'item, S, D>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> TurnsOf<'item, S, D> {
        let (next, end, step) = self.division.of(at.id);
        let columns = self.division.counts.last().map_or(1, |columns| (*columns).max(1));
        let place = (next / columns, next % columns);
        let step_by = (step / columns, step % columns);
        TurnsOf {
            sources: NonNull::from(&self.sources),
            counts: self.division.counts,
            next,
            left: end.saturating_sub(next).div_ceil(step.max(1)),
            step,
            columns,
            place,
            step_by,
            life: PhantomData,
        }
    }
}

impl<M, S: Prepare<M>, const D: usize> Prepare<M> for Turns<S, D> {
    type Source = Turns<S::Source, D>;
    type Ready = (Division<D>, S::Ready);

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        let counts = &self.division.counts;
        let range = id_of(*counts, product(&counts[..D - 1]), 1);
        let iterations = self.division.rows.iterations;
        lengths.of_another_range(range, iterations, |lengths| self.sources.check(lengths))?;
        let [rows, lanes] = self.division.range();
        lengths.add_all_of([lanes, rows, 1], self.division.items(), "work-items")
    }

    fn prepare(self, placement: &mut Placement) -> Self::Ready {
        (self.division, self.sources.prepare(placement))
    }

    unsafe fn start((division, sources): Self::Ready) -> Self::Source {
        // SAFETY: the caller's promises.
        Turns { division, sources: unsafe { S::start(sources) } }
    }
}

/// The iterations of a work-item, each with its place and its elements.
#[derive(Debug)]
pub struct TurnsOf<'item, S, const D: usize> {
    sources: NonNull<S>,
    counts: [usize; D],
    next: usize,
    /// How many are left.
    left: usize,
    step: usize,
    /// Of the innermost loop.
    columns: usize,
    /// The row and column of `next`, and what a step adds.
    place: (usize, usize),
    step_by: (usize, usize),
    life: PhantomData<&'item ()>,
}

impl<'item, S: Source, const D: usize> Iterator for TurnsOf<'item, S, D> {
    type Item = ([usize; D], S::Item<'item>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let (index, (row, column)) = (self.next, self.place);
        // Beyond the end it is not used.
        self.next = index.wrapping_add(self.step);
        self.place = (row.wrapping_add(self.step_by.0), column.wrapping_add(self.step_by.1));
        if self.place.1 >= self.columns {
            self.place = (self.place.0.wrapping_add(1), self.place.1.wrapping_sub(self.columns));
        }
        let mut position = [0; D];
        match D {
            1 => position[0] = index,
            _ => {
                position[D - 1] = column;
                let mut rest = row;
                for dimension in (1..D - 1).rev() {
                    let count = self.counts[dimension].max(1);
                    position[dimension] = rest % count;
                    rest /= count;
                }
                position[0] = rest;
            }
        }
        let id = id_of(position, row, 0);
        let at = GridPoint { index, row, column, columns: self.columns, id };
        // SAFETY: the sources live as long as the launch. No other work-item runs this iteration, and
        // this one runs it once; it is one of those that the sources have agreed to.
        let elements = unsafe { self.sources.as_ref().get(at) };
        Some((position, elements))
    }
}
