//! Pipelines on the host: where they start, and how they get back to rayon.
//!
//! The compiler keeps [`pipeline`] out of kernels: it is no part of any device image.

use std::fmt::Display;
use std::panic::panic_any;

use rayon::iter::plumbing::{Consumer, Folder, Producer, bridge_producer_consumer};
use schism::__private::descriptor;
use schism::LaunchError;

use crate::choose::{self, Way};
use crate::device;
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
        run.end(place);
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
    // One item is nothing to share out, and who asks for one thread gets one.
    let stays = if len < 2 {
        Some(Place::OneItem)
    } else if choose::is_off() {
        Some(Place::Never)
    } else if rayon::current_num_threads() < 2 {
        Some(Place::OneThread)
    } else {
        None
    };
    if let Some(place) = stays {
        return (with_rayon(len, producer, consumer), place);
    }
    match choose::way(descriptor, len) {
        Way::Rayon => {
            let place = if descriptor == 0 { Place::NoKernel } else { Place::Refused };
            (with_rayon(len, producer, consumer), place)
        }
        Way::Measured(run) => {
            let result = with_rayon(len, producer, consumer);
            run.end();
            (result, Place::Chosen)
        }
        Way::Device(run) => {
            let name = std::any::type_name::<P>;
            let refuse = |run: choose::Run, why: &dyn Display| {
                report::refused(std::any::type_name::<(P, C)>, descriptor, why);
                run.refuse(name, why);
            };
            let Some(queue) = device::queue() else {
                refuse(run, &"there is no queue");
                return (with_rayon(len, producer, consumer), Place::Refused);
            };
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
                Failed::NotBegun(launch, why) => {
                    refuse(run, &why);
                    (launch.join_with(pieces_with_rayon), Place::Refused)
                }
                // A text is what programs look for in a payload. The hook prints it, as rayon's
                // worker has it printed.
                Failed::Within(LaunchError::Panicked(panic)) => panic_any(panic.message),
                Failed::Within(error) => {
                    panic!("a parallel iterator failed on the device `{}`: {error}", queue.device())
                }
            }
        }
    }
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
