//! The values of a reduction: one of each work-item, and what becomes of them.

use std::marker::PhantomData;

use crate::algorithms;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::pending;
use crate::data::view::ViewMut;
use crate::directives::reduction::Reduce;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// What the work-items of a loop make of a variable by the operator `O`.
#[derive(Debug)]
pub struct Parts<O, T: Element> {
    queue: Queue,
    values: Values<T>,
    operator: PhantomData<fn() -> O>,
}

#[derive(Debug)]
enum Values<T: Element> {
    Host(Vec<T>),
    /// In the device's own memory: all of them are more to copy than one.
    Device(Buffer<T>),
}

impl<O, T: Reduce<O>> Parts<O, T> {
    /// Room for the values of so many work-items, of the type of a variable.
    ///
    /// # Errors
    /// The device has no memory for it.
    pub fn new(queue: &Queue, _: &T, items: usize) -> Result<Self, LaunchError> {
        let values = if queue.backend().has_own_memory() && items > 1 {
            // SAFETY: zeros are a value of every type with reductions. The loop's launch uses it next, on
            // this queue, and is waited for, or it waits itself as it is dropped.
            Values::Device(unsafe { Buffer::zeroed_in_order(queue, items)? })
        } else {
            Values::Host(vec![T::IDENTITY; items])
        };
        Ok(Self { queue: queue.deferring(None), values, operator: PhantomData })
    }

    /// What each work-item begins with.
    pub const fn identity(&self) -> T {
        T::IDENTITY
    }

    /// A value for each work-item, which writes it.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        match &mut self.values {
            Values::Host(values) => ViewMut::of_slice(values),
            Values::Device(buffer) => buffer.view_mut(),
        }
    }

    /// The variable's value before the loop, combined with what the work-items have made: in an order
    /// that depends on the device and the number of iterations alone.
    ///
    /// # Errors
    /// That of the loop's launch, or the device cannot combine them.
    pub fn combined(self, before: T) -> Result<T, LaunchError> {
        match &self.values {
            Values::Host(values) => Ok(values.iter().fold(before, |all, own| all.combine(*own))),
            Values::Device(buffer) => {
                // The device keeps the order of both launches.
                let reduced = algorithms::reduce(&self.queue, buffer, before, |a, b| {
                    Reduce::<O>::combine(a, b)
                });
                pending::settle::<()>(None)?;
                reduced
            }
        }
    }
}

impl<O, T: Element> Drop for Parts<O, T> {
    fn drop(&mut self) {
        if let Values::Device(_) = &self.values {
            pending::wait(false);
            self.queue.backend().wait_for_zeros();
        }
    }
}
