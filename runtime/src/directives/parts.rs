//! The values of a reduction: one of each work-item, and what becomes of them.

use std::marker::PhantomData;

use crate::algorithms;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::ViewMut;
use crate::directives::reduction::Reduce;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// What the work-items of a loop make of a variable by the operator `O`.
#[derive(Debug)]
pub struct Parts<O, T: Element> {
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
    /// What each of so many work-items begins with, for a variable of the same type.
    ///
    /// # Errors
    /// The device has no memory for it.
    pub fn new(queue: &Queue, _: &T, items: usize) -> Result<Self, LaunchError> {
        let values = if queue.backend().has_own_memory() && items > 1 {
            Values::Device(Buffer::filled(queue, items, T::IDENTITY)?)
        } else {
            Values::Host(vec![T::IDENTITY; items])
        };
        Ok(Self { values, operator: PhantomData })
    }

    /// A value for each work-item.
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
    /// The device cannot combine them.
    pub fn combined(self, queue: &Queue, before: T) -> Result<T, LaunchError> {
        match self.values {
            Values::Host(values) => Ok(values.iter().fold(before, |all, own| all.combine(*own))),
            Values::Device(buffer) => {
                algorithms::reduce(queue, &buffer, before, |a, b| Reduce::<O>::combine(a, b))
            }
        }
    }
}
