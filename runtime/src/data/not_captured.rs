//! Kernels cannot capture buffers, only their views.
// Its own file, because plain rustc warns of the syntax even where it is configured away.

use crate::data::buffer::Buffer;
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;

impl<T: Element> !Capture for Buffer<T> {}
