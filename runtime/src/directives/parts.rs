//! The values of a reduction: one of each work-item, and what becomes of them.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::pending;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::source::whole::whole;
use crate::directives::outcome::LaunchOutcome;
use crate::directives::reduction::Reduce;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// How many values the host combines of those that are on a GPU.
const FEW: usize = 2048;

/// Lanes in which it does.
const LANES: usize = 16;

/// What the work-items of a loop make of a variable by the operator `O`.
#[derive(Debug)]
pub struct Parts<O, T: Element> {
    values: Values<T>,
    operator: PhantomData<fn() -> O>,
}

#[derive(Debug)]
enum Values<T: Element> {
    Host(Vec<T>),
    /// On a GPU, which has many: its launches are in order. Its work-items write all of them.
    Device(Box<(Buffer<MaybeUninit<T>>, Queue)>),
}

impl<O, T: Reduce<O>> Parts<O, T> {
    /// Room for the values of so many work-items, of the type of a variable.
    #[must_use]
    pub fn new(queue: &Queue, _: &T, items: usize) -> Self {
        let mut values = None;
        if !queue.device().backend().traits().runs_on_host && items > FEW {
            // Without memory there is none for the launch either, which says so.
            values = Buffer::uninit(queue, items)
                .ok()
                .map(|parts| Values::Device(Box::new((parts, queue.waiting()))));
        }
        let values = values.unwrap_or_else(|| Values::Host(vec![T::IDENTITY; items]));
        Self { values, operator: PhantomData }
    }

    /// A value for each work-item.
    pub fn source(&mut self) -> PartsMut<'_, O, T> {
        let (values, len) = match &mut self.values {
            Values::Host(values) => (NonNull::from(&mut **values).cast(), values.len()),
            Values::Device(device) => (device.0.view_mut().elements().cast(), device.0.len()),
        };
        PartsMut { values, len, parts: PhantomData }
    }

    /// The variable's value before the loop, combined with what the work-items have made: in an order
    /// that depends on the device and the number of iterations alone. If a GPU fails to, the outcome of
    /// the loop says so.
    #[must_use]
    pub fn combined(self, before: T, outcome: &mut LaunchOutcome) -> T {
        let combine = |all: T, own: &T| all.combine(*own);
        match &self.values {
            Values::Host(values) => values.iter().fold(before, combine),
            Values::Device(device) => {
                let (buffer, queue) = &**device;
                // Of `bool` not all bits are a value, so it is only read where all are written.
                let is_any = TypeId::of::<T>() != TypeId::of::<bool>();
                if !is_any && !outcome.settle(LaunchOutcome::new(Ok(()))) {
                    return before;
                }
                // The device keeps the order of both launches.
                let mut values = Vec::new();
                let few = LaunchOutcome::new(Self::few(buffer, queue, &mut values));
                match outcome.settle(few) {
                    true => in_lanes(&values, before, T::IDENTITY, combine),
                    false => before,
                }
            }
        }
    }

    /// Has the device combine most of the values.
    fn few(
        parts: &Buffer<MaybeUninit<T>>,
        queue: &Queue,
        values: &mut Vec<T>,
    ) -> Result<(), LaunchError> {
        let mut few = Buffer::<T>::for_results(queue, FEW)?;
        queue.for_each((0.., &mut few, whole(parts)), |(first, to, parts)| {
            let mut next: usize = first;
            let mut all = T::IDENTITY;
            while next < parts.len() {
                // SAFETY: the loop's work-items have written all. If one has not, because it has panicked,
                // the values are not used, and any bits are one; the caller has seen to `bool`.
                all = all.combine(unsafe { parts[next].assume_init() });
                next += FEW;
            }
            to.write(all);
        })?;
        // SAFETY: each work-item has written its value.
        *values = unsafe { few.assume_init() }.try_to_vec()?;
        Ok(())
    }
}

impl<O, T: Element> Drop for Parts<O, T> {
    fn drop(&mut self) {
        if matches!(self.values, Values::Device(_)) {
            pending::wait(false);
        }
    }
}

/// Combines many values: each of a few lanes those that are its own, so that no value waits for the one
/// before it; then the lanes.
fn in_lanes<T: Copy>(values: &[T], before: T, identity: T, combine: impl Fn(T, &T) -> T) -> T {
    let mut lanes = [identity; LANES];
    for values in values.chunks(LANES) {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane = combine(*lane, value);
        }
    }
    lanes.iter().fold(before, combine)
}

/// A source that takes a value from each work-item, and copies none to a device.
#[derive(Debug)]
pub struct PartsMut<'a, O, T: Element> {
    values: NonNull<T>,
    len: usize,
    parts: PhantomData<&'a mut Parts<O, T>>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<O, T: Reduce<O>> Send for PartsMut<'_, O, T> {}
// SAFETY: work-items share it, but each takes another value.
unsafe impl<O, T: Reduce<O>> Sync for PartsMut<'_, O, T> {}

// SAFETY: points that differ have other indices.
unsafe impl<O, T: Reduce<O>> Source for PartsMut<'_, O, T> {
    type Item<'item> = Part<'item, O, T>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Part<'item, O, T> {
        // SAFETY: the index is below the length, and no other work-item has it.
        Part { value: unsafe { self.values.add(at.index).cast().as_mut() }, operator: PhantomData }
    }
}

impl<O, T: Reduce<O>, M> Prepare<M> for PartsMut<'_, O, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        // SAFETY: they are borrowed exclusively; those of the host have values.
        unsafe { lengths.writes(self.values, self.len) };
        lengths.add(self.len)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { values: placement.exclusive(self.values), ..self }
    }
}

/// The value of a work-item.
#[derive(Debug)]
pub struct Part<'item, O, T> {
    value: &'item mut MaybeUninit<T>,
    operator: PhantomData<fn() -> O>,
}

impl<O, T: Reduce<O>> Part<'_, O, T> {
    /// What changes nothing that it is combined with.
    #[inline(always)]
    #[must_use]
    pub fn identity(&self) -> T {
        T::IDENTITY
    }

    /// Takes what the work-item has made.
    #[inline(always)]
    pub fn set(self, value: T) {
        self.value.write(value);
    }
}
