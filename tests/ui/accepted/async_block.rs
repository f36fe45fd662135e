//! An async block is a state machine like any other, as long as nothing in it waits for the host.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();
    queue
        .parallel_for(8, move |item| {
            let future = pin!(async { async { item.x() as u64 }.await + 1 });
            let value = match Future::poll(future, &mut Context::from_waker(Waker::noop())) {
                Poll::Ready(value) => value,
                Poll::Pending => 0,
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
