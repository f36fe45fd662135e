//! Pipelines on the host: where they start, and how they get back to rayon.
//!
//! The compiler keeps [`pipeline`] out of kernels: it is no part of any device image.

use std::ops::Range;
use std::panic::{panic_any, resume_unwind};
use std::time::Duration;

use rayon::iter::plumbing::{
    Consumer, Folder, Producer, Reducer, UnindexedConsumer, UnindexedProducer,
    bridge_producer_consumer, bridge_unindexed,
};
use schism::__private::{ErasedKernel, Kernel, descriptor, prepare_unchecked, with_host_memory};
use schism::{ImageError, LaunchError, Queue};

use crate::budget;
use crate::choose::{self, Choice, Prepared};
use crate::device::{self, OwnQueue};
use crate::each;
use crate::grid;
use crate::pieces::{self, Failed, Indexed, Launch, LaunchOf, Piece, Pieces};
use crate::report::{self, Place};
use crate::setting;
use crate::sort::{self, Sorted};
use crate::unindexed::{self, Unindexed};

/// Runs a pipeline where it is to run.
#[inline(never)]
pub fn pipeline<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let descriptor = descriptor_of::<P, C>();
    reported(std::any::type_name::<(P, C)>, descriptor, Some(len), || {
        placed(descriptor, len, producer, consumer)
    })
}

/// The address of the descriptor that stands for an indexed pipeline; 0 if it has no kernel.
#[inline(always)]
fn descriptor_of<P, C>() -> usize
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let general = || descriptor::<Pieces<Indexed<P, C>>, 1>().addr();
    each::find::<P, C>().map_or_else(general, |found| found.descriptor)
}

/// Runs an unindexed pipeline where it is to run.
#[inline(never)]
pub fn unindexed_pipeline<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    let descriptor = descriptor::<Pieces<Unindexed<P, C>>, 1>().addr();
    reported(std::any::type_name::<(P, C)>, descriptor, None, || {
        unindexed_placed(descriptor, producer, consumer)
    })
}

/// Sorts where that is to be done.
#[inline(never)]
pub fn sort_slice<T, F>(slice: &mut [T], is_less: F, is_stable: bool)
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    if const { !sort::may_move::<T>() } || slice.len() < 2 {
        return sort::with_rayon(slice, &is_less, is_stable);
    }
    let descriptor = descriptor::<sort::Blocks<T, F>, 1>().addr();
    reported(std::any::type_name::<(T, F)>, descriptor, Some(slice.len()), || {
        ((), sort_placed(descriptor, slice, &is_less, is_stable))
    });
}

/// Runs a pipeline by `run`, which says where, and puts it into the report.
#[inline(always)]
fn reported<R>(
    name: fn() -> &'static str,
    descriptor: usize,
    len: Option<usize>,
    run: impl FnOnce() -> (R, Place),
) -> R {
    let reported = report::begin(name, descriptor, len);
    let (result, place) = run();
    if let Some(reported) = reported {
        reported.end(match place {
            Place::Chosen if descriptor == 0 => Place::NoKernel,
            Place::Chosen if choose::is_refused(descriptor) => Place::Refused,
            place => place,
        });
    }
    result
}

/// What is decided of a pipeline before its types matter.
enum Decision {
    /// It stays with rayon, and why. Who measures is told of the end.
    Rayon(Place, Option<choose::Run>),
    /// It is to be a kernel.
    Device(choose::Run, OwnQueue),
}

/// Decides where a pipeline is to run. A program has one instance of it for all pipelines.
fn decide(
    descriptor: usize,
    len: Option<usize>,
    names: Names,
    prepare: fn(Prepared) -> bool,
) -> Decision {
    if setting::is_off() {
        return Decision::Rayon(Place::Never, None);
    }
    if rayon::current_num_threads() < 2 {
        // Who asks for one thread gets one.
        return Decision::Rayon(Place::OneThread, None);
    }
    match choose::choice(descriptor, len, prepare) {
        Choice::Rayon => Decision::Rayon(Place::Chosen, None),
        Choice::Measured(run) => Decision::Rayon(Place::Chosen, Some(run)),
        Choice::Device(run) => match device::queue() {
            Some(queue) => Decision::Device(run, queue),
            None => {
                refuse(run, names, descriptor, NO_QUEUE);
                Decision::Rayon(Place::Refused, None)
            }
        },
    }
}

/// Runs a pipeline, and says where. Its descriptor's address is 0 if it has none.
#[inline(always)]
fn placed<P, C>(descriptor: usize, len: usize, producer: P, consumer: C) -> (C::Result, Place)
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let names: Names = (std::any::type_name::<P>, std::any::type_name::<(P, C)>);
    let (place, measured) = 'rayon: {
        let (run, queue) = match decide(descriptor, Some(len), names, prepare_indexed::<P, C>) {
            Decision::Rayon(place, measured) => break 'rayon (place, measured),
            Decision::Device(run, queue) => (run, queue),
        };
        if let Some(form) = grid_of::<P, C>() {
            let launch = grid::Launch::new(&queue, form, len, &producer, &consumer);
            let Some(mut launch) = launch else {
                refuse(run, names, descriptor, UNKNOWN_RESULT);
                break 'rayon (Place::Refused, None);
            };
            match launch.run(&queue) {
                Ok(result) => {
                    run.end_on_device(names.0, launch.pieces(), &queue);
                    return (result, Place::Kernel);
                }
                Err(grid::Failed::NotBegun(error)) => {
                    not_begun(run, names, descriptor, &error);
                    break 'rayon (Place::Refused, None);
                }
                Err(grid::Failed::Within(error)) => fail(error, &queue),
            }
        }
        let each = each::find::<P, C>();
        let is_each = each.as_ref().is_some_and(|each| matches!(each.form, each::Form::Each));
        // A result that is joined, such as a sum, is not to depend on how long something took.
        let is_joined = size_of::<C::Result>() != 0 && !is_each;
        let expected = if is_joined { Duration::ZERO } else { run.expected() };
        let wanted = Launch::<Indexed<P, C>, C::Reducer>::count(len, &producer, expected);
        let Some(wanted) = wanted else { break 'rayon (Place::Pieces, None) };
        let unit = if is_each { pieces::unit(len, rayon::current_num_threads()) } else { 1 };
        let launch = Launch::new(len, wanted, unit, producer, consumer);
        let with_rayon = |Indexed { len, producer, consumer }: Indexed<P, C>| {
            with_rayon(len, producer, consumer)
        };
        let kernel = each.map_or(pieces::launch as LaunchOf<_>, |each| each.launch);
        return on_device(launch, kernel, run, names, descriptor, &queue, with_rayon);
    };
    let result = with_rayon(len, producer, consumer);
    if let Some(run) = measured {
        run.end();
    }
    (result, place)
}

/// The form of a pipeline whose work-items cut their own pieces out.
fn grid_of<P, C>() -> Option<grid::Form>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let may_copy = const { grid::may_copy::<P, C>() };
    if may_copy && device::is_wide() { grid::Form::find::<P, C>() } else { None }
}

/// Why a pipeline that collects stays with rayon.
const UNKNOWN_RESULT: &str = "this version of rayon collects in a way that is not known";

/// Why a launch cannot begin where a thread has no queue.
const NO_QUEUE: &str = "there is no queue";

/// Why a launch cannot begin.
fn why(error: &LaunchError) -> String {
    match error {
        LaunchError::Image { cause, .. } if matches!(**cause, ImageError::NoKernel) => {
            "the compiler made no kernel of it (`--stdpar=explain` tells why)".to_owned()
        }
        // The kernel's name is each pipeline's own.
        LaunchError::Image { cause, .. } => format!("of its kernel, {cause}"),
        error => error.to_string(),
    }
}

/// Runs an unindexed pipeline, and says where.
#[inline(always)]
fn unindexed_placed<P, C>(descriptor: usize, producer: P, consumer: C) -> (C::Result, Place)
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    let names: Names = (std::any::type_name::<P>, std::any::type_name::<(P, C)>);
    match decide(descriptor, None, names, prepare::<Pieces<Unindexed<P, C>>>) {
        Decision::Rayon(place, measured) => {
            let result = unindexed_with_rayon(producer, consumer);
            if let Some(run) = measured {
                run.end();
            }
            (result, place)
        }
        Decision::Device(run, queue) => {
            let wanted = unindexed::count(device::is_wide());
            let launch = Launch::split_off(wanted, producer, consumer);
            if launch.pieces() < 2 {
                // It cannot be split, and rayon does the same then.
                let one =
                    |numbers: Range<usize>, run: &(dyn Fn(usize) + Sync)| numbers.for_each(run);
                return (launch.run_by(one, Piece::run), Place::Whole);
            }
            let with_rayon = |Unindexed { producer, consumer }: Unindexed<P, C>| {
                unindexed_with_rayon(producer, consumer)
            };
            let kernel = pieces::launch::<Unindexed<P, C>>;
            on_device(launch, kernel, run, names, descriptor, &queue, with_rayon)
        }
    }
}

/// Sorts, and says where.
#[inline(always)]
fn sort_placed<T, F>(descriptor: usize, slice: &mut [T], is_less: &F, is_stable: bool) -> Place
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    let with_rayon = |slice: &mut [T], place| {
        sort::with_rayon(slice, is_less, is_stable);
        place
    };
    let names: Names = (std::any::type_name::<T>, std::any::type_name::<(T, F)>);
    let (run, queue) = match decide(descriptor, Some(slice.len()), names, prepare_sort::<T, F>) {
        Decision::Rayon(place, measured) => {
            let place = with_rayon(slice, place);
            if let Some(run) = measured {
                run.end();
            }
            return place;
        }
        Decision::Device(run, queue) => (run, queue),
    };
    let sizes = if device::is_wide() { sort::FOR_WIDE } else { sort::FOR_THREADS };
    match sort::sort(&queue, slice, is_less, sizes) {
        Sorted::Done => {
            run.end_on_device(names.0, sizes.blocks(slice.len()), &queue);
            Place::Kernel
        }
        Sorted::Unsorted => with_rayon(slice, Place::Chosen),
        Sorted::Refused(error) => {
            not_begun(run, names, descriptor, &error);
            with_rayon(slice, Place::Refused)
        }
        Sorted::Panicked(error) => fail(error, &queue),
    }
}

/// The names of a pipeline's producer, and of all of its types.
type Names = (fn() -> &'static str, fn() -> &'static str);

/// Notes that a pipeline has no kernel that can be launched.
fn refuse(run: choose::Run, names: Names, descriptor: usize, why: &str) {
    report::refused(names.1, descriptor, why);
    run.refuse(names.0, why);
}

/// Notes that a launch has not begun.
fn not_begun(run: choose::Run, names: Names, descriptor: usize, error: &LaunchError) {
    let why = why(error);
    if matches!(error, LaunchError::HostMemory { .. } | LaunchError::InsideKernel) {
        // What the program has mapped changes, and it may be called elsewhere: another launch may
        // begin.
        report::refused(names.1, descriptor, &why);
        run.put_off(names.0, &why);
    } else {
        refuse(run, names, descriptor, &why);
    }
}

/// Runs pieces as a kernel; if that cannot begin, with rayon, each by `with_rayon`.
fn on_device<W, R>(
    launch: Launch<W, R>,
    kernel: LaunchOf<W>,
    run: choose::Run,
    names: Names,
    descriptor: usize,
    queue: &Queue,
    with_rayon: impl Fn(W) -> W::Result + Sync,
) -> (W::Result, Place)
where
    W: Piece<Result: Send> + Send,
    R: Reducer<W::Result>,
{
    let pieces = launch.pieces();
    let failed = match launch.run(queue, kernel) {
        Ok(result) => {
            run.end_on_device(names.0, pieces, queue);
            return (result, Place::Kernel);
        }
        Err(failed) => *failed,
    };
    match failed {
        Failed::NotBegun(launch, error) => {
            not_begun(run, names, descriptor, &error);
            (launch.run_by(each_with_rayon, with_rayon), Place::Refused)
        }
        Failed::Within(error) => fail(error, queue),
    }
}

/// Panics as a launch has.
fn fail(error: LaunchError, queue: &Queue) -> ! {
    match error {
        LaunchError::Panicked(panic) => match panic.take_payload() {
            // The program's hook was called where it panicked, as in rayon.
            Some(payload) => resume_unwind(payload),
            // A device has nothing but a message. A text is what programs look for in a payload.
            None => panic_any(panic.message),
        },
        error => panic!("a parallel iterator failed on the device `{}`: {error}", queue.device()),
    }
}

/// Has a kernel made in the background. Returns whether its maker will tell.
fn prepare<K: Kernel<1>>(pipeline: Prepared) -> bool {
    let kernel = ErasedKernel::of::<K>();
    prepare_kernel(pipeline, kernel, false, kernel.type_name())
}

/// Has a kernel made in the background, for groups or without. Returns whether its maker will tell.
fn prepare_kernel(
    pipeline: Prepared,
    kernel: ErasedKernel,
    in_groups: bool,
    name: fn() -> &'static str,
) -> bool {
    let Some(queue) = device::queue() else {
        pipeline.refuse(name, NO_QUEUE);
        return true;
    };
    let told = seen(&queue, move |outcome| match outcome {
        Ok(()) => pipeline.ready(),
        Err(error) => pipeline.refuse(name, &why(&error)),
    });
    prepare_unchecked(&queue, kernel, in_groups, told)
}

/// Has the kernels of an indexed pipeline made in the background. Returns whether their maker will
/// tell.
fn prepare_indexed<P, C>(pipeline: Prepared) -> bool
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let (kernel, in_groups) = match grid_of::<P, C>() {
        None => {
            let kernel = match each::find::<P, C>().map(|found| found.form) {
                None => ErasedKernel::of::<Pieces<Indexed<P, C>>>(),
                Some(each::Form::Each) => ErasedKernel::of::<each::Each<Indexed<P, C>>>(),
                Some(each::Form::Sums) => ErasedKernel::of::<each::Sums<Indexed<P, C>>>(),
            };
            (kernel, false)
        }
        Some(grid::Form::Sums) => (ErasedKernel::of::<grid::Sums<P, C>>(), true),
        Some(grid::Form::Collect) => (ErasedKernel::of::<grid::Collect<P, C>>(), false),
        Some(grid::Form::Fold) => {
            (ErasedKernel::of::<grid::Fold<P, C>>(), const { grid::has_results::<P, C>() })
        }
    };
    prepare_kernel(pipeline, kernel, in_groups, std::any::type_name::<P>)
}

/// Takes note of what a kernel took to make, and has all of the program's memory made visible to a
/// device before the kernel is announced, so that its first launch finds most of that done.
fn seen(
    queue: &Queue,
    told: impl FnOnce(Result<(), LaunchError>) + Send + 'static,
) -> Box<dyn FnOnce(Result<(), LaunchError>, Duration) + Send> {
    let queue = Queue::clone(queue);
    Box::new(move |outcome, took| {
        budget::add(took);
        if outcome.is_ok() && device::is_wide() {
            // What cannot be seen now, the launch tells.
            let _ = with_host_memory(&queue, &mut || Ok(()));
        }
        told(outcome);
    })
}

/// Has the kernels of a sort made in the background, one after the other.
fn prepare_sort<T, F>(sort: Prepared) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    let blocks = ErasedKernel::of::<sort::Blocks<T, F>>();
    let begins = ErasedKernel::of::<sort::Begins<T, F>>();
    prepare_all(sort, [blocks, begins, ErasedKernel::of::<sort::Merge<T, F>>()], 0)
}

/// Has kernels made, one after the other. What is left is made by the first launch, if the background
/// has enough to do.
fn prepare_all(sort: Prepared, kernels: [ErasedKernel; 3], next: usize) -> bool {
    let kernel = kernels[next];
    let name = kernel.type_name();
    let Some(queue) = device::queue() else {
        sort.refuse(name, NO_QUEUE);
        return true;
    };
    let told = move |outcome: Result<(), LaunchError>| match outcome {
        Ok(()) if next + 1 == kernels.len() || !prepare_all(sort, kernels, next + 1) => {
            sort.ready()
        }
        Ok(()) => {}
        Err(error) => sort.refuse(name, &why(&error)),
    };
    prepare_unchecked(&queue, kernel, false, seen(&queue, told))
}

/// Runs a pipeline as rayon does.
fn with_rayon<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    // The compiler lets this call be, because of the producer's type.
    bridge_producer_consumer(len, HostProducer(producer), consumer)
}

/// Runs an unindexed pipeline as rayon does.
fn unindexed_with_rayon<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    // As above.
    bridge_unindexed(HostProducer(producer), consumer)
}

/// Calls `run` with each of some numbers, as rayon divides such a range. A program has one instance of
/// it for all pipelines.
fn each_with_rayon(numbers: Range<usize>, run: &(dyn Fn(usize) + Sync)) {
    if numbers.len() < 2 {
        return numbers.for_each(run);
    }
    let middle = numbers.start.midpoint(numbers.end);
    rayon::join(
        || each_with_rayon(numbers.start..middle, run),
        || each_with_rayon(middle..numbers.end, run),
    );
}

/// A producer whose pipeline stays with rayon: the same producer, under another type. The compiler
/// knows it by its name.
pub struct HostProducer<P>(P);

impl<P: Producer> Producer for HostProducer<P> {
    type Item = P::Item;
    type IntoIter = P::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }

    fn min_len(&self) -> usize {
        self.0.min_len()
    }

    fn max_len(&self) -> usize {
        self.0.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at(index);
        (Self(left), Self(right))
    }

    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>,
    {
        self.0.fold_with(folder)
    }
}

impl<P: UnindexedProducer> UnindexedProducer for HostProducer<P> {
    type Item = P::Item;

    fn split(self) -> (Self, Option<Self>) {
        let (left, right) = self.0.split();
        (Self(left), right.map(Self))
    }

    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>,
    {
        self.0.fold_with(folder)
    }
}
