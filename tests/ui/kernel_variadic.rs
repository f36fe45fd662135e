// RUSTC_BOOTSTRAP=1
//! A kernel calls a function of this program that takes a variable number of arguments, and one of the C library that does.
#![feature(c_variadic)]

use schism::prelude::*;

unsafe extern "C" {
    fn printf(format: *const std::ffi::c_char, ...) -> i32;
}

unsafe extern "C" fn sum(count: u64, mut numbers: ...) -> u64 {
    // SAFETY: the caller passes as many numbers.
    (0..count).map(|_| unsafe { numbers.arg::<u64>() }).sum()
}

fn both(x: u64) -> u64 {
    // SAFETY: two numbers, as it says.
    unsafe { sum(2, x, 3_u64) }
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value = both(item.x() as u64);
            // SAFETY: the text has no placeholder.
            unsafe { printf(c"here\n".as_ptr()) };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
