//! Reciprocals, quotients and square roots are rounded as IEEE 754 says, on every device: the
//! host's results, bit for bit.
//!
//! `SCHISM_TEST_FULL=1` takes all 2³² numbers; otherwise some of each magnitude.

use std::thread;

use schism::prelude::*;

/// Numbers of one launch.
const CHUNK: usize = 1 << 22;

/// What is computed of each number.
const RESULTS: usize = 4;

/// The results for a number, as bits: one pattern for all that are not a number.
fn results(x: f32) -> [u32; RESULTS] {
    let root = x.sqrt();
    let values = [1.0 / x, root, 1.0 / root, 3.0 / (x * 1.5)];
    values.map(|value| if value.is_nan() { u32::MAX } else { value.to_bits() })
}

/// The first number whose results are not the host's.
fn wrong(found: &[[u32; RESULTS]], number: impl Fn(usize) -> f32 + Sync) -> Option<usize> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = found.len().div_ceil(threads);
    let number = &number;
    thread::scope(|scope| {
        let parts = found.chunks(part).enumerate().map(|(index, found)| {
            scope.spawn(move || {
                let first = index * part;
                let is_wrong = |at: &usize| found[*at] != results(number(first + at));
                (0..found.len()).find(is_wrong).map(|at| first + at)
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().find_map(|part| part.join().expect("no panic"))
    })
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn reciprocals_and_roots() {
    let full = schism_tests::lab::full();
    // A step between numbers that comes by all last bits, and 2^32 divided by it.
    let (step, launches) = if full { (1_u32, 1 << 10) } else { (65_521 * 3, 1) };
    let count = if full { CHUNK } else { (u32::MAX / step) as usize };
    for device in schism_tests::devices::listed() {
        println!("on {device}");
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut out = Buffer::filled(&queue, count, [0; RESULTS]).expect("memory");
        for launch in 0..launches {
            let first = launch * CHUNK as u32;
            let number = move |at: usize| f32::from_bits(first.wrapping_add(at as u32 * step));
            queue
                .for_each_in(count, &mut out, move |item, out| *out = results(number(item.id()[0])))
                .expect("a launch");
            let found = out.to_vec();
            if let Some(at) = wrong(&found, number) {
                let x = number(at);
                let (found, expected) = (found[at], results(x));
                panic!(
                    "{device}: {x:e} ({:#010x}): {found:08x?}, not {expected:08x?}",
                    x.to_bits()
                );
            }
        }
    }
}
