//! The element types of buffers.

use crate::kernel::capture::Capture;

/// Values that a buffer may hold: `Copy` data without borrows, such as numbers, arrays, tuples and
/// structs of them.
///
/// Implemented for every type that qualifies; users implement nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a device buffer",
    label = "not plain data",
    note = "elements are `Copy + Send + Sync + 'static` and hold no references: numbers, arrays, tuples, `#[derive(Clone, Copy)]` structs"
)]
pub trait Element: Copy + Send + Sync + Capture + 'static {}

// Otherwise rustc reports the first of these bounds, as if the buffer were a kernel.
#[diagnostic::do_not_recommend]
impl<T: Copy + Send + Sync + Capture + 'static> Element for T {}
