//! A kernel captures a function pointer.

use schism::prelude::*;

fn double(x: u64) -> u64 {
    x * 2
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    let function: fn(u64) -> u64 = double;
    queue
        .parallel_for(8, move |item| {
            let value = function(item.x() as u64);
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value as u64) }
        })
        .unwrap();

    // Of any lifetime.
    let reader: for<'a> fn(&'a u64) -> u64 = |x| *x;
    queue.for_each(&mut out, move |out| *out = reader(out)).unwrap();

    let many: unsafe extern "C" fn(u8, u16, u32, u64, i8, i16, i32, i64) -> u64 = many;
    // SAFETY: it does nothing.
    queue.for_each(&mut out, move |out| *out = unsafe { many(1, 2, 3, 4, 5, 6, 7, 8) }).unwrap();
}

unsafe extern "C" fn many(_: u8, _: u16, _: u32, _: u64, _: i8, _: i16, _: i32, _: i64) -> u64 {
    1
}
