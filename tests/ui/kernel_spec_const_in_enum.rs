//! A specialization constant in an enum: whether it is there depends on the value of the static.

use schism::prelude::*;

static LIMIT: Option<SpecConst<u32>> = Some(SpecConst::new(3));

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u32; 8]).unwrap();
    queue.for_each(&mut out, |out| *out = LIMIT.as_ref().map_or(0, |limit| limit.get())).unwrap();
}
