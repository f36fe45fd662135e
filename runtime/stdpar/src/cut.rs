//! Launches of pipelines whose work-items cut their own pieces out ([`grid`]). Types are
//! not known here: a program has this code once.

use schism::__private::{ErasedKernel, concurrency, run_in_groups, run_unchecked};
use schism::{LaunchError, Queue};

use crate::captures::{self, Captures};
use crate::collected::Collected;
use crate::grid::{self, Form, Parts};
use crate::group::LANES;
use crate::memory::Memory;
use crate::results::Results;
use crate::steps::{Limits, Steps};

/// From so many items on, pieces have more than one: 2 to this power.
const FEW: u32 = 18;

/// The most items of a piece, unless the pipeline asks for more. Adjacent work-items should find
/// their items in the same lines of the cache.
const MOST: usize = 8;

/// For so many bytes of a result a piece has one more item: large results take long to join.
const BYTES_PER_ITEM: usize = 32;

/// Large results or not, there are so many pieces if there are as many items: 2 to this power.
const PIECES: u32 = 13;

/// There are more groups than run at a time only if each lane has so many pieces. They even out
/// what takes some longer than others.
const ENOUGH: usize = 16;

/// So many times the groups that run at a time, at most.
const WAVES: usize = 4;

/// A device is taken to run so many work-items at least.
const LEAST: usize = 4096;

/// The most lanes that share out an item.
const WIDEST: usize = 256;

/// What has become of a launch.
pub(crate) enum Outcome {
    /// The result of the whole is in its place, and the pipeline is used up. There were so many pieces.
    Done(usize),
    /// The results are none that are known: the pipeline is as it was.
    Unknown,
    /// Nothing has run: the pipeline is as it was.
    NotBegun(LaunchError),
    /// Some pieces have run.
    Within(LaunchError),
}

/// How a pipeline is divided, and among how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Items of a piece.
    piece: usize,
    /// Pieces of a sub-group.
    part: usize,
    /// Groups, or work-items if there are no results.
    count: usize,
}

impl Shape {
    /// One work-item for each piece.
    fn without_groups(len: usize, piece: usize) -> Self {
        Self { piece, part: 1, count: len.div_ceil(piece) }
    }

    /// The lanes of the group that an item gets, on a device that runs so many work-items at a time: a power of
    /// two. `None` if there are too many items for a sub-group each.
    fn lanes(len: usize, concurrency: usize) -> Option<usize> {
        let lanes = concurrency.max(LEAST) / len.max(1);
        (lanes >= LANES).then(|| 1 << lanes.min(WIDEST).ilog2())
    }

    /// Groups of `sub_groups` sub-groups each, on a device that runs so many work-items at a time.
    fn in_groups(len: usize, piece: usize, sub_groups: usize, concurrency: usize) -> Self {
        let pieces = len.div_ceil(piece);
        let concurrency = concurrency.max(LEAST);
        let waves = (pieces / concurrency / ENOUGH).clamp(1, WAVES);
        let most = concurrency * waves / LANES;
        let rows = pieces.div_ceil(LANES);
        let part = rows.div_ceil(most).max(1) * LANES;
        Self { piece, part, count: pieces.div_ceil(part).div_ceil(sub_groups) }
    }
}

/// What a pipeline leaves.
enum Output {
    /// Without results.
    Each,
    /// The same, by groups of so many lanes.
    Rows(usize),
    /// Without results, but there is one of the whole.
    Collect(Collected),
    /// In groups, with room for the result of each.
    InGroups(Results),
}

/// Runs a pipeline as a kernel, and writes its result.
///
/// # Safety
/// There is a piece of a pipeline with these steps, which drops nothing, and a place for its result. The
/// kernel is the pipeline's.
pub(crate) unsafe fn run(
    queue: &Queue,
    (steps, grid): (&Steps, &grid::Steps),
    (form, kernel): (Form, ErasedKernel),
    piece: *const u8,
    result: *mut u8,
) -> Outcome {
    // SAFETY: the caller's promise.
    let limits = unsafe { steps.limits(piece) };
    let len = limits.len;
    let consumer = piece.wrapping_add(grid.consumer.in_piece);
    let (local, memory) = grid.group;
    let in_groups = |piece: usize| Shape::in_groups(len, piece, local / LANES, concurrency(queue));
    let size = steps.result.layout.size();
    // Room for all results is made first: the device sees only what is there when the launch begins.
    let (mut output, shape) = match form {
        Form::Collect => {
            // SAFETY: the caller's promise. The compiler makes such kernels of consumers that collect.
            let collected = unsafe { Collected::find(grid, steps.result.layout, consumer, len) };
            let Some(collected) = collected else { return Outcome::Unknown };
            (Output::Collect(collected), Shape::without_groups(len, piece_of(len, 0, limits)))
        }
        _ if !form.is_in_groups(size) => {
            let shape = Shape::without_groups(len, piece_of(len, 0, limits));
            match Shape::lanes(shape.count, concurrency(queue)).filter(|_| grid.rows().is_some()) {
                Some(lanes) => (Output::Rows(lanes), shape),
                None => (Output::Each, shape),
            }
        }
        _ => {
            let shape = in_groups(if form == Form::Sums { 1 } else { piece_of(len, size, limits) });
            (Output::InGroups(Results::new(steps.result.layout, shape.count)), shape)
        }
    };
    let parts = Parts { len, piece: shape.piece, part: shape.part };
    let data = Memory::zeroed(kernel.layout());
    // SAFETY: the caller waits for the launch, and the pipeline drops nothing: its bytes may be copied
    // to where the kernel has them, by its layout.
    let changes = unsafe {
        for bytes in [grid.producer, grid.consumer] {
            let to = data.begin().add(bytes.in_kernel);
            to.copy_from_nonoverlapping(piece.add(bytes.in_piece), bytes.size);
        }
        data.begin().add(grid.parts).cast::<Parts>().write(parts);
        let results = match &mut output {
            Output::InGroups(results) => results.begin(),
            // Nothing of them is written.
            _ => std::ptr::dangling_mut(),
        };
        data.begin().add(grid.results).cast::<*mut u8>().write(results);
        let roots = [grid.producer, grid.consumer].map(|bytes| data.begin().add(bytes.in_kernel));
        let captures =
            Captures::gather(queue, (grid.references)(), roots.map(<*mut u8>::cast_const));
        data.begin().cast::<Captures>().write(captures);
        captures::changed((grid.changes)(), roots.map(<*mut u8>::cast_const))
    };
    let data = data.begin().cast_const();
    // SAFETY: kernel and results live until the launch is over; the rest is borrowed by the pipeline.
    // Work-items have separate pieces, which may move to other threads.
    let launched = unsafe {
        match output {
            Output::Each | Output::Collect(_) => {
                run_unchecked(queue, kernel, data.cast(), shape.count, &changes)
            }
            Output::Rows(lanes) => {
                let kernel = grid.rows().unwrap_or(kernel);
                run_in_groups(queue, kernel, data.cast(), (shape.count, lanes), 0, &changes)
            }
            Output::InGroups(_) => {
                let shape = (shape.count, local);
                run_in_groups(queue, kernel, data.cast(), shape, memory, &changes)
            }
        }
    };
    if let Err(error) = launched {
        return if has_not_begun(&error) {
            Outcome::NotBegun(error)
        } else {
            Outcome::Within(error)
        };
    }
    match output {
        // It has no bytes, and stands for those of all work-items.
        Output::Each | Output::Rows(_) => {}
        Output::Collect(collected) => {
            // SAFETY: it was found for this consumer, and all work-items have written theirs.
            unsafe { collected.write(grid, consumer, result) }
        }
        Output::InGroups(results) => {
            let (of_group, pieces) = (shape.part * (local / LANES), parts.pieces());
            let begin = |group: usize| (group * of_group).min(pieces);
            // SAFETY: each group has written its own, and there is one at least.
            unsafe {
                result.copy_from_nonoverlapping(results.at(0), size);
                for number in 1..shape.count {
                    let at = [0, begin(number), begin(number + 1)];
                    grid.join(data, at, result, results.at(number));
                }
            }
        }
    }
    Outcome::Done(len.div_ceil(shape.piece))
}

/// Items of a piece whose result has so many bytes.
fn piece_of(len: usize, result: usize, limits: Limits) -> usize {
    let Limits { least, most, .. } = limits;
    let wanted = match result {
        0 => 1,
        _ => (len >> FEW).clamp(1, MOST).max((result / BYTES_PER_ITEM).min(len >> PIECES)),
    };
    wanted.min(most).max(least).clamp(1, len.max(1))
}

/// Whether nothing of a launch has run.
fn has_not_begun(error: &LaunchError) -> bool {
    !matches!(
        error,
        LaunchError::Panicked(_) | LaunchError::DeviceLost { .. } | LaunchError::Driver { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_with_large_results_are_larger() {
        let within =
            |len, result, (least, most)| piece_of(len, result, Limits { len, least, most });
        let of = |len, result| within(len, result, (1, usize::MAX));
        assert_eq!([of(1 << 26, 0), of(1 << 17, 8), of(1 << 20, 8), of(1 << 26, 8)], [1, 1, 4, 8]);
        assert_eq!([of(400_000, 512), of(1 << 26, 1024), of(9_000, 1024)], [16, 32, 1]);
        assert_eq!(
            [within(100, 8, (7, 50)), within(5, 8, (7, 50)), within(100, 8, (1, 0))],
            [7, 5, 1]
        );
    }

    #[test]
    fn few_items_have_a_group_each() {
        let lanes = |len| Shape::lanes(len, 1 << 18);
        assert_eq!([lanes(2), lanes(1024), lanes(1025)], [Some(256), Some(256), Some(128)]);
        assert_eq!([lanes(8192), lanes(8193)], [Some(32), None]);
    }

    #[test]
    fn groups_have_all_pieces_once() {
        for len in [1, 2, 31, 32, 33, 255, 256, 257, 100_003, 1 << 20, (1 << 26) + 5] {
            for (piece, sub_groups, concurrency) in [(1, 8, 2), (8, 8, 1 << 18), (3, 1, 1000)] {
                let shape = Shape::in_groups(len, piece, sub_groups, concurrency);
                let pieces = len.div_ceil(piece);
                let of_group = shape.part * sub_groups;
                assert!(shape.count * of_group >= pieces, "{len} {shape:?}");
                assert!((shape.count - 1) * of_group < pieces, "{len} {shape:?}");
                assert_eq!(shape.part % LANES, 0);
                assert!(shape.count <= concurrency.max(LEAST) * WAVES / LANES + 1);
            }
        }
    }
}
