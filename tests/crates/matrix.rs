//! One program for all combinations of the compiler's options. Prints one line for each kernel,
//! then `ok`; the values are checked against the host's loop.
//!
//! `SALT`, `HOST` and the module `other` are what the tests edit.

use schism::prelude::*;

const SALT: u32 = 17;
const HOST: u32 = 1;

#[path = "matrix_groups.rs"]
mod groups;
#[path = "matrix_other.rs"]
mod other;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f32,
    y: f32,
    weight: u8,
}

trait Step {
    const BY: u64;
    fn step(&self, x: u64) -> u64;
}

struct Add;
struct Xor;

impl Step for Add {
    const BY: u64 = 1000;
    fn step(&self, x: u64) -> u64 {
        x.wrapping_add(Self::BY)
    }
}

impl Step for Xor {
    const BY: u64 = 0xFF00;
    fn step(&self, x: u64) -> u64 {
        x ^ Self::BY
    }
}

fn stepped<S: Step>(queue: &Queue, step: impl Fn() -> S, n: usize) -> Vec<u64> {
    let _ = step();
    let mut out = Buffer::from_slice(queue, &vec![0_u64; n]).unwrap();
    let to = out.view_mut();
    queue
        .parallel_for(n, move |item| {
            let i = item.x();
            // SAFETY: i < n, its own element.
            unsafe { to.set_unchecked(i, (i as u64).wrapping_mul(S::BY) ^ u64::from(schism::is_device())) }
        })
        .unwrap();
    out.to_vec()
}

fn collatz(mut n: u32) -> u32 {
    let mut steps = 0;
    while n > 1 && steps < 500 {
        n = if n % 2 == 0 { n / 2 } else { n.wrapping_mul(3).wrapping_add(SALT) };
        steps += 1;
    }
    steps
}

fn main() {
    let queue = Queue::new().unwrap();
    let n = 1000;
    println!("device {}", queue.device());

    let mut steps = Buffer::from_slice(&queue, &vec![0_u32; n]).unwrap();
    let to = steps.view_mut();
    queue
        .parallel_for(n, move |item| {
            let i = item.x();
            // SAFETY: i < n, its own element.
            unsafe { to.set_unchecked(i, collatz(i as u32 + 1)) }
        })
        .unwrap();
    let expected: Vec<u32> = (0..n as u32).map(|i| collatz(i + 1)).collect();
    assert_eq!(steps.to_vec(), expected);
    println!("collatz {}", expected.iter().sum::<u32>());

    let points: Vec<Point> =
        (0..n).map(|i| Point { x: i as f32, y: 0.5 * i as f32, weight: i as u8 }).collect();
    let from = Buffer::from_slice(&queue, &points).unwrap();
    let mut norms = Buffer::from_slice(&queue, &vec![0_f32; n]).unwrap();
    let (from_view, to) = (from.view(), norms.view_mut());
    queue
        .parallel_for(n, move |item| {
            let point = from_view[item.x()];
            let norm = (point.x * point.x + point.y * point.y).sqrt() * f32::from(point.weight);
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), norm) }
        })
        .unwrap();
    let expected: Vec<f32> = points
        .iter()
        .map(|point| (point.x * point.x + point.y * point.y).sqrt() * f32::from(point.weight))
        .collect();
    assert_eq!(norms.to_vec(), expected);
    println!("norms {}", expected.iter().sum::<f32>());

    let (height, width) = (13, 77);
    let mut plane = Buffer::from_slice(&queue, &vec![0_usize; height * width]).unwrap();
    let to = plane.view_mut();
    queue
        .parallel_for([height, width], move |item| {
            // SAFETY: the linear id is in range, its own element.
            unsafe { to.set_unchecked(item.linear_id(), item.y() * 1000 + item.x()) }
        })
        .unwrap();
    let expected: Vec<usize> =
        (0..height).flat_map(|y| (0..width).map(move |x| y * 1000 + x)).collect();
    assert_eq!(plane.to_vec(), expected);

    let device = u64::from(queue.device().to_string() != "native");
    let added = stepped(&queue, || Add, n);
    let xored = stepped(&queue, || Xor, n);
    for i in 0..n as u64 {
        assert_eq!(added[i as usize], (i * Add::BY) ^ device);
        assert_eq!(xored[i as usize], (i * Xor::BY) ^ device);
    }
    println!("steps {}", Add.step(Xor.step(1)));
    println!("other {}", other::run(&queue));
    println!("groups {}", groups::run(&queue).unwrap());
    println!("host {HOST}");
    println!("ok");
}
