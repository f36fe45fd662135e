//! Text that a panic's message is made of, when the panic could have made it.

use schism::prelude::*;

fn main() {
    let queue = Queue::new().unwrap();
    queue
        .parallel_for(8, |item| {
            if item.x() == 5 {
                panic!("{}", format!("item {}", item.x()));
            }
        })
        .unwrap();
}
