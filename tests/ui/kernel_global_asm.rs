//! A kernel calls a function that is written in assembly, and one with variable arguments.

use schism::prelude::*;

std::arch::global_asm!(
    ".globl in_assembly",
    "in_assembly:",
    "mov eax, 1",
    "ret"
);

unsafe extern "C" {
    fn in_assembly() -> u64;
    fn printf(format: *const std::ffi::c_char, ...) -> i32;
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                // SAFETY: the first returns a number, the second prints nothing.
                unsafe { in_assembly() + printf(c"".as_ptr()) as u64 }
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
