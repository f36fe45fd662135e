//! Formatting works in a kernel, and costs; a panic's message is formatted elsewhere.

use std::fmt::{self, Write};

use schism::prelude::*;

struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for byte in part.bytes() {
            *self.bytes.get_mut(self.length).ok_or(fmt::Error)? = byte;
            self.length += 1;
        }
        Ok(())
    }
}

fn digits(value: u32) -> usize {
    let mut text = Text { bytes: [0; 32], length: 0 };
    let _ = write!(text, "<{value}>");
    text.length
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    queue
        .parallel_for(8, move |item| {
            let value = item.x() as u32;
            assert!(value < 8, "{value} is too large");
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), digits(value) as u64) }
        })
        .unwrap();
}
