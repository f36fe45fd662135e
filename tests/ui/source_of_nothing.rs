//! What is not a source at all, a loan outside of its scope, and a loan by value.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    let mut numbers = Buffer::filled(&queue, 100, 0).unwrap();
    queue.for_each(vec![0; 100], |_: i32| ()).unwrap();
    queue
        .scope(|scope| {
            let mut numbers = scope.lend(&mut numbers);
            queue.for_each(&mut numbers, |number| *number += 1)?;
            scope.for_each(numbers, |number: &mut i32| *number += 1)?;
            Ok(())
        })
        .unwrap();
}
