//! Kernels that print, from many work-items at once, from functions, and before a panic.

use schism::{dprint, dprintln, prelude::*};

#[derive(Clone, Copy, Debug)]
#[allow(dead_code)]
struct Point {
    x: f32,
    name: Option<&'static str>,
}

fn helper(i: usize) {
    if i % 100 == 0 {
        dprintln!("helper {i:>5} {:#x}", i * 3);
    }
}

fn main() {
    let queue = Queue::new().unwrap();
    dprintln!("on the host: {}", 1 + 1);
    queue
        .parallel_for(1000, |item| {
            let i = item.x();
            dprintln!("line {i} of {:?}, {:.2}", (item.id(), 'c', "é"), i as f64 / 3.0);
            helper(i);
        })
        .unwrap();
    queue
        .parallel_for(3, |item| {
            let i = item.x();
            if i == 1 {
                dprint!("a\nb {}\n", i);
                dprintln!();
                dprintln!("{:?}", Point { x: 0.5, name: Some("point") });
            }
        })
        .unwrap();
    let result = queue.parallel_for(1, |item| {
        dprintln!("before");
        assert!(item.x() == 1, "after {}", item.x());
    });
    println!("{}", result.unwrap_err().to_string().lines().nth(1).unwrap());
}
