//! The messages of panics and of `dprintln!` are no formatting in the kernel.

use std::fmt;

use schism::prelude::*;

#[derive(Debug)]
struct Pair(usize, u32);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {}", self.0, self.1)
    }
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    queue
        .parallel_for(8, move |item| {
            let value = item.x();
            if value > 100 {
                panic!("{} and {:?}", Pair(value, 1), Pair(value, 2));
            }
            assert_eq!(value % 9, value, "{}", Pair(value, 3));
            schism::dprintln!("{value} of {:?}", Pair(value, 4));
            let checked: u32 = value.try_into().expect("it fits");
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), u64::from(checked)) }
        })
        .unwrap();
}
