//! Copies that go through memory that the device reaches, in pieces.

use std::ffi::{c_char, c_uint, c_void};

use schism::BufferError;
use schism::prelude::*;

use crate::fake::{Parameters, calls, on_launch};
use crate::{gpu, named, queue};

/// What staging does, in bytes: pieces, and the least that it takes.
const PIECE: usize = 2 << 20;
const LEAST: usize = 2 * PIECE;

/// Numbers that follow no pattern that a piece could have.
fn numbers(bytes: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let next = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state
    };
    (0..bytes / 8).map(next).collect()
}

/// There and back, by all ways.
fn there_and_back(queue: &Queue, bytes: usize, seed: u64) {
    let numbers = numbers(bytes, seed);
    let mut buffer = Buffer::from_slice(queue, &numbers).expect("memory");
    assert!(buffer.to_vec() == numbers, "{bytes} bytes");
    assert!(*buffer.view() == *numbers, "{bytes} bytes, by a view");
    let others: Vec<u64> = numbers.iter().map(|number| !number).collect();
    buffer.write(&others).expect("as many");
    let mut back = vec![0; others.len()];
    buffer.read(&mut back).expect("as many");
    assert!(back == others, "{bytes} bytes, written");
}

pub fn large_copies() {
    let queue = queue(&*gpu(0));
    let count = || [calls("cuMemcpyHtoDAsync_v2"), calls("cuMemcpyDtoHAsync_v2"), calls("cuMemHostAlloc")];
    there_and_back(&queue, LEAST - 8, 1);
    assert_eq!(count(), [2, 3, 0], "small copies go as they are");
    there_and_back(&queue, LEAST, 2);
    assert_eq!(count(), [2 + 4, 3 + 6, 1], "pieces of one lane");
    for (bytes, seed) in [LEAST + 8, 3 * PIECE - 8, 3 * PIECE, 4 * PIECE + 8, 15 * PIECE + 24].into_iter().zip(3..) {
        there_and_back(&queue, bytes, seed);
    }
    // More lanes, by several threads at once: no more of them than there may be.
    std::thread::scope(|threads| {
        for seed in 0..3 {
            let queue = &queue;
            threads.spawn(move || {
                let mut random = seed;
                for bytes in [64 << 20, 35 << 20, LEAST] {
                    random = (random * 7 + 3) % 1000;
                    there_and_back(queue, bytes + 8 * random, random as u64);
                }
            });
        }
    });
    assert!((1..=4).contains(&count()[2]), "{:?}", count());
    // What a kernel changes comes back.
    on_launch(double_all);
    let mut buffer = Buffer::from_slice(&queue, &vec![3_u64; (9 * PIECE + 8) / 8]).expect("memory");
    queue.for_each(&mut buffer, |x| *x *= 2).expect("it runs");
    assert!(buffer.to_vec().iter().all(|x| *x == 6));
}

extern "C" fn double_all(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    for x in Parameters(parameters).elements::<u64>(0, (9 * PIECE + 8) / 8) {
        *x *= 2;
    }
}

/// There is no memory for staging.
pub fn large_copies_plain() {
    let queue = queue(&*gpu(0));
    there_and_back(&queue, 5 * PIECE + 8, 7);
    assert_eq!((calls("cuMemcpyHtoDAsync_v2"), calls("cuMemcpyDtoHAsync_v2")), (2, 3));
}

/// A piece is refused, and a wait.
pub fn large_copies_fail() {
    let queue = queue(&*gpu(0));
    let numbers = numbers(40 * PIECE, 1);
    let error = Buffer::from_slice(&queue, &numbers).expect_err("a piece is refused");
    assert!(matches!(error, BufferError::Driver { .. }), "{error}");
    assert!(error.to_string().contains(named("cuMemcpyHtoDAsync_v2")), "{error}");
    let buffer = Buffer::from_slice(&queue, &numbers).expect("the next is not");
    let mut back = vec![0; numbers.len()];
    let error = buffer.read(&mut back).expect_err("a piece is refused");
    assert!(matches!(error, BufferError::Driver { .. }), "{error}");
    assert!(error.to_string().contains(named("cuMemcpyDtoHAsync_v2")), "{error}");
    buffer.read(&mut back).expect("it works again");
    assert!(back == numbers);
    there_and_back(&queue, 40 * PIECE, 2);
}

/// The context goes while pieces are on their way.
pub fn large_copies_lost() {
    let first = queue(&*gpu(0));
    let numbers = numbers(40 * PIECE, 1);
    let error = Buffer::from_slice(&first, &numbers).expect_err("the context is lost");
    assert!(matches!(error, BufferError::DeviceLost { .. }), "{error}");
    let error = Buffer::from_slice(&first, &numbers).expect_err("it stays lost");
    assert!(matches!(error, BufferError::DeviceLost { .. }), "{error}");
    there_and_back(&queue(&*gpu(0)), 40 * PIECE, 2);
}
