//! A kernel allocates in several ways: one error each, and none for what is dropped.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let to = out.view_mut();

    queue
        .parallel_for(8, move |item| {
            let value: u64 = {
                let boxed = Box::new(item.x());
                let list: Vec<usize> = (0..item.x()).collect();
                let shared = std::rc::Rc::new(list.len());
                let again = vec![*boxed; 3];
                (again.len() + *shared) as u64
            };
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), value) }
        })
        .unwrap();
}
