//! Kernels whose loops have hints of how often they are unrolled. Each iteration has one
//! multiplication by `FACTOR`.

use schism::prelude::*;

const FACTOR: u32 = 16_777_619;

fn step(hash: u32, k: u32) -> u32 {
    (hash ^ k).wrapping_mul(FACTOR)
}

type Outcome = Result<(), LaunchError>;

fn by_four(queue: &Queue, hashes: &mut Buffer<u32>, count: u32) -> Outcome {
    queue.for_each(hashes, move |hash| {
        for k in 0..count {
            schism::unroll::<4>();
            *hash = step(*hash, k);
        }
    })
}

fn by_one(queue: &Queue, hashes: &mut Buffer<u32>, count: u32) -> Outcome {
    queue.for_each(hashes, move |hash| {
        for k in 0..count {
            *hash = step(*hash, k);
            schism::unroll::<1>();
        }
    })
}

fn not_at_all(queue: &Queue, hashes: &mut Buffer<u32>) -> Outcome {
    queue.for_each(hashes, |hash| {
        let mut k = 0;
        while k < 24 {
            schism::no_unroll();
            *hash = step(*hash, k);
            k += 1;
        }
    })
}

fn completely(queue: &Queue, hashes: &mut Buffer<u32>) -> Outcome {
    queue.for_each(hashes, |hash| {
        let mut k = 0;
        loop {
            schism::unroll_full();
            *hash = step(*hash, k);
            k += 1;
            if k == 100 {
                break;
            }
        }
    })
}

/// The hint is in a closure, which the loop of the standard library calls.
fn in_a_closure(queue: &Queue, hashes: &mut Buffer<u32>, count: u32) -> Outcome {
    queue.for_each(hashes, move |hash| {
        *hash = (0..count).fold(*hash, |hash, k| {
            schism::unroll::<3>();
            step(hash, k)
        });
    })
}

/// Only the inner loop has a hint, and indices that are checked before it.
fn of_rows(queue: &Queue, hashes: &mut Buffer<u32>, table: &Buffer<u32>, width: usize) -> Outcome {
    let table = table.view();
    queue.for_each((0.., hashes), move |(row, hash)| {
        for k in 0..width {
            schism::unroll::<4>();
            *hash = step(*hash, table[row * width + k]);
        }
    })
}

/// A hint outside of all loops does nothing.
fn in_no_loop(queue: &Queue, hashes: &mut Buffer<u32>) -> Outcome {
    queue.for_each(hashes, |hash| {
        schism::unroll::<4>();
        *hash = step(*hash, 0);
    })
}

const LEN: usize = 67;

fn begin(queue: &Queue) -> Result<Buffer<u32>, schism::Error> {
    let values: Vec<u32> = (0..LEN as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    Ok(Buffer::from_slice(queue, &values)?)
}

fn main() -> Result<(), schism::Error> {
    for device in Device::all() {
        let queue = Queue::on(&device)?;
        let check = |what: &str, found: &Buffer<u32>, expected: &dyn Fn(usize, u32) -> u32| {
            let start = begin(&queue).expect("memory").to_vec();
            let expected: Vec<u32> =
                start.iter().enumerate().map(|(i, &hash)| expected(i, hash)).collect();
            assert_eq!(found.to_vec(), expected, "{what} on {device}");
        };
        for count in (0..20).chain([63, 64, 65, 1001]) {
            for kernel in [by_four, by_one, in_a_closure] {
                let mut hashes = begin(&queue)?;
                kernel(&queue, &mut hashes, count)?;
                check("a range", &hashes, &|_, hash| (0..count).fold(hash, step));
            }
            let width = count as usize;
            let table: Vec<u32> = (0..(LEN * width) as u32).map(|k| k.rotate_left(9)).collect();
            let on_device = Buffer::from_slice(&queue, &table)?;
            let mut hashes = begin(&queue)?;
            of_rows(&queue, &mut hashes, &on_device, width)?;
            check("rows", &hashes, &|row, hash| {
                table[row * width..][..width].iter().fold(hash, |hash, &x| step(hash, x))
            });
        }
        let mut hashes = begin(&queue)?;
        not_at_all(&queue, &mut hashes)?;
        check("24", &hashes, &|_, hash| (0..24).fold(hash, step));
        let mut hashes = begin(&queue)?;
        completely(&queue, &mut hashes)?;
        check("100", &hashes, &|_, hash| (0..100).fold(hash, step));
        let mut hashes = begin(&queue)?;
        in_no_loop(&queue, &mut hashes)?;
        check("no loop", &hashes, &|_, hash| step(hash, 0));
        println!("on {device}");
    }
    Ok(())
}
