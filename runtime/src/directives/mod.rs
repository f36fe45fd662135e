//! OpenACC's directives, and those of Intel's offload, as attributes: one line before an ordinary
//! `for` loop makes it a kernel.
//!
//! ```
//! use schism::directives::acc;
//!
//! #[acc]
//! fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
//!     #[acc(parallel, loop)]
//!     for i in 0..y.len() {
//!         y[i] += a * x[i];
//!     }
//! }
//!
//! let mut y = vec![1.0; 1000];
//! saxpy(2.0, &[3.0; 1000], &mut y);
//! assert_eq!(y, [7.0; 1000]);
//! ```
//! `#[acc]` before a function gives a meaning to the directives inside of it. Without these
//! attributes it is the same sequential program, with the same results. What a directive stands for,
//! and which there are, is in `docs/guide/directives.md`.
//!
//! Launches are made through the [default device](crate::Device::default_device), or the queue of
//! [`with_queue`]. A launch that fails panics with the text of its error, as the loop itself does
//! that panics.

pub mod acc;
pub(crate) mod atomic;
pub(crate) mod elements;
pub(crate) mod entered;
pub(crate) mod independent;
pub(crate) mod nests;
pub(crate) mod offload;
pub(crate) mod outcome;
pub(crate) mod owned;
pub(crate) mod parts;
pub(crate) mod queue;
pub(crate) mod races;
pub(crate) mod reduction;
pub(crate) mod region;
mod room;
pub(crate) mod sizes;
pub(crate) mod steps;
pub(crate) mod turns;
pub(crate) mod update;

pub use schism_directives::{acc, offload};

pub use self::offload::error::{OffloadError, OffloadResult};
pub use self::offload::status::OffloadStatus;
pub use self::offload::stream::Stream;
pub use self::queue::with_queue;
