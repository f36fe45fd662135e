//! Pipelines on the host: where they start, and how they get back to rayon.
//!
//! The compiler keeps [`pipeline`] and its like out of kernels: they are no part of any device image.
//! They forget a pipeline's types at once: what follows, a program has once for all of them.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{panic_any, resume_unwind};
use std::time::Duration;

use rayon::iter::plumbing::{Consumer, Producer, UnindexedConsumer, UnindexedProducer};
use schism::__private::{
    ErasedKernel, Placement, device_traits, has_device_buffers, placement, prepare_unchecked,
    with_host_memory, with_placement,
};
use schism::{ImageError, LaunchError, Queue};

use crate::budget;
use crate::choose::{self, Choice, Prepared};
use crate::cut;
use crate::device::{self, OwnQueue};
use crate::each;
use crate::grid;
use crate::launch::{Cut, Launch, Outcome};
use crate::pieces::{self, Indexed};
use crate::report::{self, Place};
use crate::setting;
use crate::share;
use crate::sort::{self, Sorted};
use crate::steps::{Held, Limits, Names, Steps};
use crate::unindexed::{self, Unindexed};

/// Runs a pipeline where it is to run.
#[inline(never)]
pub fn pipeline<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let steps = const { &Steps::indexed::<P, C>() };
    let mut piece = MaybeUninit::new(Indexed { len, producer, consumer });
    let mut result = MaybeUninit::<C::Result>::uninit();
    // SAFETY: the piece is there, and not used again; there is a place for the result, which is written.
    unsafe {
        run(steps, Some(len), piece.as_mut_ptr().cast(), result.as_mut_ptr().cast());
        result.assume_init()
    }
}

/// Runs an unindexed pipeline where it is to run.
#[inline(never)]
pub fn unindexed_pipeline<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    let steps = const { &Steps::unindexed::<P, C>() };
    let mut piece = MaybeUninit::new(Unindexed { producer, consumer });
    let mut result = MaybeUninit::<C::Result>::uninit();
    // SAFETY: as in `pipeline`.
    unsafe {
        run(steps, None, piece.as_mut_ptr().cast(), result.as_mut_ptr().cast());
        result.assume_init()
    }
}

/// Sorts where that is to be done, or by `with_rayon`.
#[inline(never)]
pub fn sort_slice<T, F>(slice: &mut [T], is_less: F, with_rayon: fn(&mut [T], &F))
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    if const { !sort::may_move::<T>() } || slice.len() < 2 {
        return with_rayon(slice, &is_less);
    }
    let steps = const { &sort::Steps::of::<T, F>() };
    let len = slice.len();
    let begin = slice.as_mut_ptr();
    let slice = sort::Slice { begin: begin.cast(), len, is_less: (&raw const is_less).cast() };
    // SAFETY: the elements that the pointers came from, which are borrowed for the call.
    let with_rayon = || with_rayon(unsafe { std::slice::from_raw_parts_mut(begin, len) }, &is_less);
    // SAFETY: the slice is borrowed for the call, and its elements can be moved.
    unsafe { sort_by(steps, slice, &with_rayon) }
}

/// Runs a pipeline of so many items, if they are counted, and writes its result.
///
/// # Safety
/// There is a piece of a pipeline with these steps, which is used up, and a place for its result.
unsafe fn run(steps: &'static Steps, len: Option<usize>, piece: *mut u8, result: *mut u8) {
    if len.is_some_and(|len| len < 2) {
        // One item is nothing to share out, and rayon does the same then.
        // SAFETY: the caller's promises.
        return unsafe { steps.fold(piece, result) };
    }
    // SAFETY: the caller's promises.
    let piece = unsafe { Held::new(steps.piece, piece) };
    let pipeline = Pipeline::of(steps);
    reported(steps.names, pipeline.kernel.address(), len, || {
        // SAFETY: the caller's promises.
        unsafe { pipeline.place(len, piece, result) }
    });
}

/// Runs a pipeline by `run`, which says where, and puts it into the report.
fn reported(names: Names, descriptor: usize, len: Option<usize>, run: impl FnOnce() -> Place) {
    let reported = report::begin(names.1, descriptor, len);
    let place = run();
    if let Some(reported) = reported {
        reported.end(match place {
            Place::Chosen if descriptor == 0 => Place::NoKernel,
            Place::Chosen if choose::is_refused(descriptor) => Place::Refused,
            place => place,
        });
    }
}

/// What is decided of a pipeline.
enum Decision {
    /// It stays with rayon, and why. Who measures is told of the end.
    Rayon(Place, Option<choose::Run>),
    /// It is to be a kernel.
    Device(choose::Run, OwnQueue),
}

/// What a pipeline is made of.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Pipeline(&'static Steps),
    Sort(&'static sort::Steps),
}

impl Kind {
    const fn names(self) -> Names {
        match self {
            Self::Pipeline(steps) => steps.names,
            Self::Sort(steps) => steps.names,
        }
    }
}

/// Decides where a pipeline is to run.
fn decide(descriptor: usize, len: Option<usize>, kind: Kind) -> Decision {
    if setting::is_off() {
        return Decision::Rayon(Place::Never, None);
    }
    if rayon::current_num_threads() < 2 {
        // Who asks for one thread gets one.
        return Decision::Rayon(Place::OneThread, None);
    }
    if choose::is_excluded(descriptor, kind.names().1) {
        return Decision::Rayon(Place::Excluded, None);
    }
    if has_device_buffers() {
        report::refused(kind.names().1, descriptor, DEVICE_BUFFERS);
        return Decision::Rayon(Place::Refused, None);
    }
    let choice = match placement() {
        Placement::Host => return Decision::Rayon(Place::Host, None),
        Placement::Device(device) if !device_traits(device).runs_device_code => {
            report::refused(kind.names().1, descriptor, NO_KERNELS);
            return Decision::Rayon(Place::Refused, None);
        }
        Placement::Device(_) => choose::asked_for(descriptor, len),
        Placement::Default => choose::choice(descriptor, len, &|prepared| prepare(kind, prepared)),
    };
    match choice {
        Choice::Rayon => Decision::Rayon(Place::Chosen, None),
        Choice::Measured(run) => Decision::Rayon(Place::Chosen, Some(run)),
        Choice::Device(run) => match device::queue() {
            Some(queue) => Decision::Device(run, queue),
            None => {
                refuse(run, kind.names(), descriptor, NO_QUEUE);
                Decision::Rayon(Place::Refused, None)
            }
        },
    }
}

/// A pipeline without its types.
struct Pipeline {
    steps: &'static Steps,
    /// The kernel that runs pieces, and its form. Its descriptor stands for the pipeline, and is null if
    /// it has no kernel.
    kernel: ErasedKernel,
    form: Option<each::Form>,
}

impl Pipeline {
    fn of(steps: &'static Steps) -> Self {
        let (kernel, form) = steps.kernel();
        Self { steps, kernel, form }
    }

    /// Runs it, writes its result, and says where it ran.
    ///
    /// # Safety
    /// The piece is the pipeline's, and there is a place for its result.
    unsafe fn place(&self, len: Option<usize>, piece: Held<'_>, result: *mut u8) -> Place {
        let &Self { steps, kernel, .. } = self;
        let names = steps.names;
        let descriptor = kernel.address();
        let (place, measured) = 'rayon: {
            let (run, queue) = match decide(descriptor, len, Kind::Pipeline(steps)) {
                Decision::Rayon(place, measured) => break 'rayon (place, measured),
                Decision::Device(run, queue) => (run, queue),
            };
            if let Some((grid, kernel)) = grid_of(steps) {
                // SAFETY: the caller's promises; such pipelines drop nothing.
                let outcome =
                    unsafe { cut::run(&queue, (steps, grid), kernel, piece.place(), result) };
                match outcome {
                    cut::Outcome::Done(pieces) => {
                        run.end_on_device(names.0, pieces, &queue);
                        return Place::Kernel;
                    }
                    cut::Outcome::Unknown => {
                        refuse(run, names, descriptor, UNKNOWN_RESULT);
                        break 'rayon (Place::Refused, None);
                    }
                    cut::Outcome::NotBegun(error) => {
                        not_begun(run, names, descriptor, &error);
                        break 'rayon (Place::Refused, None);
                    }
                    cut::Outcome::Within(error) => fail(error, &queue),
                }
            }
            let Some((wanted, cut)) = self.division(len, &piece, &run) else {
                break 'rayon (Place::Pieces, None);
            };
            // SAFETY: the piece is the pipeline's, and has so many items.
            let launch = unsafe { Launch::new(steps, piece, wanted, cut) };
            // SAFETY: there is a place for the result.
            return unsafe { self.on_device(len, launch, run, &queue, result) };
        };
        // SAFETY: the caller's promises.
        unsafe { share::run(steps, piece, result) };
        if let Some(run) = measured {
            run.end();
        }
        place
    }

    /// Into how many pieces it is to be cut, and how; `None` if these are too many.
    fn division(
        &self,
        len: Option<usize>,
        piece: &Held<'_>,
        run: &choose::Run,
    ) -> Option<(usize, Cut)> {
        let Some(len) = len else {
            return Some((unindexed::count(device::is_wide()), Cut::UNINDEXED));
        };
        // SAFETY: the piece is there.
        let Limits { least, most, .. } = unsafe { self.steps.limits(piece.place()) };
        let is_each = self.form == Some(each::Form::Each);
        // A result that is joined, such as a sum, is not to depend on how long something took.
        let is_joined = self.steps.result.layout.size() != 0 && !is_each;
        let expected = if is_joined { Duration::ZERO } else { run.expected() };
        let wanted = pieces::count(len, most, expected)?;
        let is_cut_anywhere = !is_each || most < len;
        let unit =
            if is_cut_anywhere { 1 } else { pieces::unit(len, rayon::current_num_threads()) };
        Some((wanted.min(len.div_ceil(unit)), Cut { len, least, unit }))
    }

    /// Runs pieces as a kernel; if that cannot begin, with rayon.
    ///
    /// # Safety
    /// The launch is one of this pipeline, and there is a place for its result.
    unsafe fn on_device(
        &self,
        len: Option<usize>,
        launch: Launch,
        run: choose::Run,
        queue: &Queue,
        result: *mut u8,
    ) -> Place {
        let (steps, pieces) = (self.steps, launch.pieces());
        if len.is_none() && pieces < 2 {
            // It cannot be split, and rayon does the same then.
            let one = |numbers: Range<usize>, run: &(dyn Fn(usize) + Sync)| numbers.for_each(run);
            // SAFETY: pieces of these steps, and the caller's promise.
            unsafe { launch.run_by(one, &|piece, result| steps.fold(piece, result), result) };
            return Place::Whole;
        }
        // SAFETY: the kernel is the pipeline's; the caller's promise.
        match unsafe { launch.run(queue, self.kernel, result) } {
            Outcome::Done => {
                run.end_on_device(steps.names.0, pieces, queue);
                Place::Kernel
            }
            Outcome::NotBegun(launch, error) => {
                not_begun(run, steps.names, self.kernel.address(), &error);
                let placement = placement();
                let with_rayon = |piece, result| {
                    // SAFETY: each is one of these steps, and is used up.
                    let share =
                        || unsafe { share::run(steps, Held::new(steps.piece, piece), result) };
                    with_placement(placement, share);
                };
                // SAFETY: the caller's promise.
                unsafe { launch.run_by(each_with_rayon, &with_rayon, result) };
                Place::Refused
            }
            Outcome::Within(error) => fail(error, queue),
        }
    }
}

/// The kernel of a pipeline whose work-items cut their own pieces out, on devices where they do.
fn grid_of(steps: &Steps) -> Option<(&grid::Steps, (grid::Form, ErasedKernel))> {
    let grid = steps.grid.as_ref().filter(|_| device::is_wide())?;
    Some((grid, grid.kernel()?))
}

/// Why a pipeline that collects stays with rayon.
const UNKNOWN_RESULT: &str = "this version of rayon collects in a way that is not known";

/// Why a pipeline stays with rayon where the program asks for the device `native`.
const NO_KERNELS: &str = "the device `native` has nothing but the host's own code";

/// Why pipelines stay with rayon from the moment on when the program has data in a device's own memory:
/// views of these that a pipeline refers to have addresses which kernels of pipelines cannot read.
const DEVICE_BUFFERS: &str =
    "the program has buffers in a device's own memory, and the pipeline may read views of them";

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

/// Sorts where that is to be done.
///
/// # Safety
/// The slice is borrowed for the call, and has elements of these steps.
unsafe fn sort_by(steps: &'static sort::Steps, slice: sort::Slice, with_rayon: &dyn Fn()) {
    let descriptor = steps.blocks.kernel().address();
    reported(steps.names, descriptor, Some(slice.len), || {
        // SAFETY: the caller's promises.
        unsafe { sort_placed(steps, descriptor, slice, with_rayon) }
    });
}

/// Sorts, and says where.
///
/// # Safety
/// As for [`sort_by`].
unsafe fn sort_placed(
    steps: &'static sort::Steps,
    descriptor: usize,
    slice: sort::Slice,
    with_rayon: &dyn Fn(),
) -> Place {
    let with_rayon = |place| {
        with_rayon();
        place
    };
    let names = steps.names;
    let (run, queue) = match decide(descriptor, Some(slice.len), Kind::Sort(steps)) {
        Decision::Rayon(place, measured) => {
            let place = with_rayon(place);
            if let Some(run) = measured {
                run.end();
            }
            return place;
        }
        Decision::Device(run, queue) => (run, queue),
    };
    let sizes = if device::is_wide() { sort::FOR_WIDE } else { sort::FOR_THREADS };
    // SAFETY: the caller's promises.
    match unsafe { sort::sort(&queue, steps, slice, sizes) } {
        Sorted::Done => {
            run.end_on_device(names.0, sizes.blocks(slice.len), &queue);
            Place::Kernel
        }
        Sorted::Unsorted => with_rayon(Place::Chosen),
        Sorted::Refused(error) => {
            not_begun(run, names, descriptor, &error);
            with_rayon(Place::Refused)
        }
        Sorted::Panicked(error) => fail(error, &queue),
    }
}

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

/// Has the kernels of a pipeline made in the background. Returns whether their maker will tell.
fn prepare(kind: Kind, prepared: Prepared) -> bool {
    // Those that are made first stand last.
    let kernels = match kind {
        Kind::Pipeline(steps) => match grid_of(steps) {
            None => vec![(steps.kernel().0, false)],
            Some((grid, (form, kernel))) => {
                let rows = grid.rows().map(|rows| (rows, true));
                let kernel = (kernel, form.is_in_groups(steps.result.layout.size()));
                rows.into_iter().chain([kernel]).collect()
            }
        },
        Kind::Sort(steps) => {
            let kernels = [&steps.merge, &steps.begins, &steps.blocks];
            kernels.map(|kernel| (kernel.kernel(), false)).to_vec()
        }
    };
    prepare_all(prepared, kind.names().0, kernels)
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

/// Has kernels made, the last one first, for groups or without. What is left is made by the first launch, if
/// the background has enough to do. Returns whether their maker will tell.
fn prepare_all(
    pipeline: Prepared,
    name: fn() -> &'static str,
    mut kernels: Vec<(ErasedKernel, bool)>,
) -> bool {
    let Some((kernel, in_groups)) = kernels.pop() else { return false };
    let Some(queue) = device::queue() else {
        pipeline.refuse(name, NO_QUEUE);
        return true;
    };
    let told = move |outcome: Result<(), LaunchError>| match outcome {
        Ok(()) if prepare_all(pipeline, name, kernels) => {}
        Ok(()) => pipeline.ready(),
        Err(error) => pipeline.refuse(name, &why(&error)),
    };
    prepare_unchecked(&queue, kernel, in_groups, seen(&queue, told))
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

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::atomic::AtomicPtr;

    use rayon::ThreadPoolBuilder;
    use schism::__private::{DESCRIPTOR_ABI, Descriptor};

    use super::*;

    struct Nothing;

    impl pieces::Piece for Nothing {
        type Result = ();
        type Reducer = ();

        const IS_ENDLESS: bool = false;

        fn run(self) {}

        unsafe fn split(_: *mut Self, _: usize, _: *mut Self, _: *mut ()) -> bool {
            false
        }

        fn reduce((): (), (): (), (): ()) {}
    }

    #[test]
    fn scopes_decide_for_the_pipelines_that_begin_in_them() {
        let steps = const { &Steps::of::<Nothing>((|| "nothing", || "nothing at all")) };
        static DESCRIPTOR: Descriptor = Descriptor {
            abi: DESCRIPTOR_ABI,
            dimensions: 1,
            name: ptr::dangling(),
            name_len: 0,
            container_begin: ptr::null(),
            container_end: ptr::null(),
            slot: AtomicPtr::new(ptr::null_mut()),
        };
        let descriptor = (&raw const DESCRIPTOR).expose_provenance();
        let decide = || match decide(descriptor, Some(1000), Kind::Pipeline(steps)) {
            Decision::Rayon(place, _) => place,
            Decision::Device(..) => Place::Kernel,
        };
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
        pool.install(|| {
            assert_eq!(decide(), Place::Chosen);
            schism::host(|| assert_eq!(decide(), Place::Host));
            let native = schism::device("native", || assert_eq!(decide(), Place::Refused));
            native.expect("every machine has it");
            // The device `cpu` needs a compiler, which is not everywhere.
            match schism::device("cpu", decide) {
                Ok(place) => assert_eq!(place, Place::Kernel),
                Err(error) => println!("skipped on cpu: {error}"),
            }
            assert_eq!(decide(), Place::Chosen);
        });
        let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        pool.install(|| schism::host(|| assert_eq!(decide(), Place::OneThread)));
    }
}
