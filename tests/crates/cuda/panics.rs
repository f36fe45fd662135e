//! Panics of kernels: the message is what a launch leaves in its record, and what the host copies
//! for it from the device.

use std::ffi::{c_char, c_uint, c_void};

use schism::prelude::*;
use schism::Error;

use crate::fake::{Parameters, code, on_launch, variable};
use crate::{gpu, queue};

/// Leaves the message of a work-item that was outside of a buffer, in the place of the kernel of
/// `panic_on_the_device`: the shape and the location are those of its code.
extern "C" fn leave_a_panic(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    // The record is the last one.
    let count = code().0.matches("\t.param .").count();
    let record = Parameters(parameters).get::<*mut u64>(count - 1);
    // What the interface to stage 2 says of records, in words: the state; a message's size and
    // flags, the first id, the shape, the location, and the words.
    let (shape, location) = (variable("schism_$_shape"), variable("__unnamed_2"));
    unsafe {
        *record |= 2;
        for (index, word) in
            [(4, 96 | 9 << 32), (5, 4), (11, shape), (13, location), (14, 3), (15, 4)]
        {
            record.add(index).write(word);
        }
    }
}

fn panic_on_the_device(asynchronous: bool) -> (schism::KernelPanic, u32) {
    on_launch(leave_a_panic);
    let queue = queue(&*gpu(0));
    let numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3]).expect("memory");
    let mut out = Buffer::filled(&queue, 5, 0_u32).expect("memory");
    let numbers = numbers.view();
    let line = line!() + 1;
    let kernel = move |(out, i): (&mut u32, usize)| *out = numbers[i];
    let error = if asynchronous {
        let result = queue.scope(|scope| {
            let first = scope.for_each((&mut out, 0..), kernel)?;
            while !first.is_complete() {}
            first.wait()?;
            Ok(())
        });
        let Err(Error::Launch(error)) = result else { panic!("{result:?}") };
        error
    } else {
        queue.for_each((&mut out, 0..), kernel).expect_err("it panics")
    };
    let LaunchError::Panicked(panic) = error else { panic!("{error}") };
    // The queue and its context go on.
    assert_eq!(out.to_vec(), [0; 5]);
    (*panic, line)
}

/// What a panic left, and the constants of the kernel that it refers to, make its message.
pub fn panics() {
    for asynchronous in [false, true, false] {
        let (panic, line) = panic_on_the_device(asynchronous);
        assert_eq!(panic.message, "index out of bounds: the len is 3 but the index is 4");
        let location = panic.location.expect("it is known");
        assert!(location.contains(&format!("cuda/panics.rs:{line}:")), "{location}");
        assert_eq!((panic.work_item, panic.local_id), (Some(vec![4]), None));
    }
}

/// The device refuses to be read.
pub fn panics_unread() {
    let (panic, _) = panic_on_the_device(true);
    assert_eq!((&*panic.message, panic.location), ("…", None));
    assert_eq!(panic.work_item, Some(vec![4]));
}
