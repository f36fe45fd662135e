//! A kernel calls functions of the host, by ways on which the rules for captures do not stop them.

use schism::prelude::*;

#[derive(Clone, Copy)]
struct Function(fn() -> u64);

impl Function {
    fn call(self) -> u64 {
        self.0()
    }
}

// SAFETY: there is none: a function is at another place on each device.
unsafe impl schism::Capture for Function {}

#[derive(Clone, Copy)]
struct Shape(&'static (dyn Fn(u64) -> u64 + Sync));

impl Shape {
    fn call(self, x: u64) -> u64 {
        self.0(x)
    }
}

// SAFETY: there is none either.
unsafe impl schism::Capture for Shape {}

fn one() -> u64 {
    1
}

fn main() {
    let queue = Queue::new().unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let functions = Buffer::from_slice(&queue, &[Function(one); 8]).unwrap();

    let wrapped = Function(one);
    queue.for_each(&mut out, move |out| *out = wrapped.call()).unwrap();

    queue.for_each((&mut out, &functions), move |(out, function)| *out = function.call()).unwrap();

    let shape = Shape(&|x| x + 1);
    queue.for_each(&mut out, move |out| *out = shape.call(*out)).unwrap();

    let address = one as fn() -> u64 as usize;
    queue
        .for_each(&mut out, move |out| {
            // SAFETY: on the host, it is the address of such a function.
            let function: fn() -> u64 = unsafe { std::mem::transmute(address) };
            *out = function();
        })
        .unwrap();
}
