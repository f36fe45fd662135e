//! Pipelines on the host: where they start, and how they get back to rayon.
//!
//! The compiler keeps [`pipeline`] out of kernels: it is no part of any device image.

use std::panic::panic_any;

use rayon::iter::plumbing::{Consumer, Folder, Producer, bridge_producer_consumer};
use schism::__private::{descriptor, prepare_unchecked, with_host_memory};
use schism::{ImageError, LaunchError, Queue};

use crate::choose::{self, Prepared, Way};
use crate::device;
use crate::grid;
use crate::pieces::{Failed, Launch, Piece, Pieces};
use crate::report::{self, Place};

/// Runs a pipeline where it is to run.
#[inline(never)]
pub fn pipeline<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let descriptor = descriptor::<Pieces<P, C>, 1>().addr();
    let run = report::begin(std::any::type_name::<(P, C)>, descriptor, len);
    let (result, place) = placed(descriptor, len, producer, consumer);
    if let Some(run) = run {
        run.end(match place {
            Place::Chosen if descriptor == 0 => Place::NoKernel,
            Place::Chosen if choose::is_refused(descriptor) => Place::Refused,
            place => place,
        });
    }
    result
}

/// Runs a pipeline, and says where. Its descriptor's address is 0 if it has none.
#[inline(always)]
fn placed<P, C>(descriptor: usize, len: usize, producer: P, consumer: C) -> (C::Result, Place)
where
    P: Producer,
    C: Consumer<P::Item>,
{
    if choose::is_off() {
        return (with_rayon(len, producer, consumer), Place::Never);
    }
    // Who asks for one thread gets one.
    if rayon::current_num_threads() < 2 {
        return (with_rayon(len, producer, consumer), Place::OneThread);
    }
    match choose::way(descriptor, len, prepare::<P, C>) {
        Way::Rayon => (with_rayon(len, producer, consumer), Place::Chosen),
        Way::Measured(run) => {
            let result = with_rayon(len, producer, consumer);
            run.end();
            (result, Place::Chosen)
        }
        Way::Device(run) => {
            let name = std::any::type_name::<P>;
            let refuse = |run: choose::Run, why: &str| {
                report::refused(std::any::type_name::<(P, C)>, descriptor, why);
                run.refuse(name, why);
            };
            // What the program has mapped changes, so another launch may begin.
            let not_begun = |run: choose::Run, error: &LaunchError| {
                let why = why(error);
                if matches!(error, LaunchError::HostMemory { .. }) {
                    report::refused(std::any::type_name::<(P, C)>, descriptor, &why);
                    run.put_off(name, &why);
                } else {
                    refuse(run, &why);
                }
            };
            let Some(queue) = device::queue() else {
                refuse(run, NO_QUEUE);
                return (with_rayon(len, producer, consumer), Place::Refused);
            };
            if is_grid::<P, C>() {
                let mut launch = grid::Launch::new(len, &producer, &consumer);
                let launched = with_host_memory(&queue, || launch.run(&queue));
                return match launched.unwrap_or_else(|error| Err(grid::Failed::NotBegun(error))) {
                    Ok(result) => {
                        run.end_on_device(name, launch.pieces(), &queue);
                        (result, Place::Kernel)
                    }
                    Err(grid::Failed::NotBegun(error)) => {
                        not_begun(run, &error);
                        (with_rayon(len, producer, consumer), Place::Refused)
                    }
                    Err(grid::Failed::Within(error)) => fail(error, &queue),
                };
            }
            let Some(wanted) = Launch::<P, C>::count(len, &producer) else {
                return (with_rayon(len, producer, consumer), Place::Pieces);
            };
            let launch = Launch::new(len, wanted, producer, consumer);
            let pieces = launch.pieces();
            let failed = match launch.run(&queue) {
                Ok(result) => {
                    run.end_on_device(name, pieces, &queue);
                    return (result, Place::Kernel);
                }
                Err(failed) => *failed,
            };
            match failed {
                Failed::NotBegun(launch, error) => {
                    not_begun(run, &error);
                    (launch.join_with(pieces_with_rayon), Place::Refused)
                }
                Failed::Within(error) => fail(error, &queue),
            }
        }
    }
}

/// Whether work-items cut their own pieces out of a pipeline.
fn is_grid<P, C>() -> bool
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let may_copy = const { grid::may_copy::<P, C>() };
    may_copy && device::is_wide() && !descriptor::<grid::Fold<P, C>, 1>().is_null()
}

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

/// Panics as a launch has.
fn fail(error: LaunchError, queue: &Queue) -> ! {
    match error {
        // A text is what programs look for in a payload. The hook prints it, as rayon's worker has
        // it printed.
        LaunchError::Panicked(panic) => panic_any(panic.message),
        error => panic!("a parallel iterator failed on the device `{}`: {error}", queue.device()),
    }
}

/// Has the kernel of a pipeline made in the background. Returns whether its maker will tell.
fn prepare<P, C>(pipeline: Prepared) -> bool
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let name: fn() -> &'static str = std::any::type_name::<P>;
    let Some(queue) = device::queue() else {
        pipeline.refuse(name, NO_QUEUE);
        return true;
    };
    let told = move |outcome: Result<(), LaunchError>| match outcome {
        Ok(()) => pipeline.ready(),
        Err(error) => pipeline.refuse(name, &why(&error)),
    };
    if !is_grid::<P, C>() {
        return prepare_unchecked::<Pieces<P, C>>(&queue, seen(&queue, told));
    }
    let joins = size_of::<C::Result>() != 0 && !descriptor::<grid::Join<P, C>, 1>().is_null();
    if !joins {
        return prepare_unchecked::<grid::Fold<P, C>>(&queue, seen(&queue, told));
    }
    let of_join = queue.clone();
    let folds = move |outcome: Result<(), LaunchError>| {
        if outcome.is_err() {
            return told(outcome);
        }
        // Without it the host joins, so nothing depends on whether it can be had. The background
        // takes it after this one, or has enough to do; then the first launch makes it.
        prepare_unchecked::<grid::Join<P, C>>(&of_join, Box::new(|_| {}));
        told(outcome);
    };
    prepare_unchecked::<grid::Fold<P, C>>(&queue, seen(&queue, folds))
}

/// Has all of the program's memory made visible to a device before somebody is told of a kernel, so
/// that its first launch finds most of that done.
fn seen(
    queue: &Queue,
    told: impl FnOnce(Result<(), LaunchError>) + Send + 'static,
) -> Box<dyn FnOnce(Result<(), LaunchError>) + Send> {
    let queue = queue.clone();
    Box::new(move |outcome| {
        if outcome.is_ok() && device::is_wide() {
            // What cannot be seen now, the launch tells.
            let _ = with_host_memory(&queue, || {});
        }
        told(outcome);
    })
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

/// Runs pieces as rayon does, and gives their results in order.
fn pieces_with_rayon<P, C>(mut pieces: Vec<Piece<P, C>>) -> Vec<C::Result>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    if pieces.len() < 2 {
        let run = |Piece { len, producer, consumer }| with_rayon(len, producer, consumer);
        return pieces.into_iter().map(run).collect();
    }
    let right = pieces.split_off(pieces.len() / 2);
    let (mut left, right) = rayon::join(|| pieces_with_rayon(pieces), || pieces_with_rayon(right));
    left.extend(right);
    left
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
