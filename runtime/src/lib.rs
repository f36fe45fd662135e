#![cfg_attr(schism_driver, feature(allocator_api, auto_traits, negative_impls))]
//! Ordinary Rust closures as kernels.

pub mod __private;
mod buffer;
mod capture;
mod element;
mod error;
mod item;
mod launch;
mod queue;
mod range;
mod registry;
mod view;

pub use __private::is_device;
pub use buffer::Buffer;
pub use capture::Capture;
pub use element::Element;
pub use error::{BufferError, DeviceError, Error, KernelPanic, LaunchError};
pub use item::Item;
pub use queue::Queue;
pub use range::{IntoRange, Range};
pub use view::{View, ViewMut};

/// What most programs need.
pub mod prelude {
    pub use crate::{Buffer, Capture, Element, Item, Queue, Range, View, ViewMut};
}
