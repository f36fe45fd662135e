//! Buffers: what is copied, what the host reads through views, and what is taken of the device's
//! memory.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::atomic::Ordering::Relaxed;

use schism::BufferError;
use schism::prelude::*;

use crate::fake::{Parameters, calls, device_memory, on_launch};
use crate::{gpu, panic_of, queue};

pub fn memory() {
    let queue = queue(&*gpu(0));
    let numbers: Vec<u32> = (0..100_000).collect();
    let mut buffer = Buffer::from_slice(&queue, &numbers).expect("memory");
    assert_eq!(buffer.to_vec(), numbers);
    let reversed: Vec<u32> = numbers.iter().rev().copied().collect();
    buffer.write(&reversed).expect("as long");
    let mut back = vec![0; numbers.len()];
    buffer.read(&mut back).expect("as long");
    assert_eq!(back, reversed);
    assert!(matches!(buffer.read(&mut back[1..]), Err(BufferError::Length { .. })));

    for value in [0, 0x0101_0101, 0xdead_beef_u32] {
        for len in [0, 1, 2, 3, 1000, 70_000] {
            let filled = Buffer::filled(&queue, len, value).expect("memory");
            assert_eq!(filled.to_vec(), vec![value; len]);
        }
    }
    let odd = [(7_u8, 0x1234_u16, 3_u8); 5000];
    assert_eq!(Buffer::filled(&queue, 5000, odd[0]).expect("memory").to_vec(), odd);
    let large = Buffer::filled(&queue, 10, [3_u64; 2000]).expect("memory");
    assert_eq!(large.to_vec(), [[3; 2000]; 10]);
    assert_eq!(Buffer::from_slice(&queue, &[(); 5]).expect("nothing").to_vec(), [(); 5]);
    assert_eq!(Buffer::<u8>::from_slice(&queue, &[]).expect("nothing").to_vec(), []);
    assert_eq!(format!("{:?}", Buffer::from_slice(&queue, &[1, 2]).expect("memory")), "[1, 2]");
}

pub extern "C" fn add_one(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    for number in Parameters(parameters).elements::<u32>(0, 4) {
        *number += 1;
    }
}

/// What the host reads through views.
pub fn host_copies() {
    on_launch(add_one);
    let queue = queue(&*gpu(0));
    let mut buffer = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4]).expect("memory");
    {
        let view = buffer.view();
        let copies = calls("cuMemcpyDtoHAsync_v2");
        assert_eq!(view.len(), 4);
        assert_eq!(&*view, [1, 2, 3, 4]);
        let (slice, part) = (view.as_slice(), view.slice(1..3).expect("a part"));
        assert_eq!((part[0], &part[..], slice[3]), (2, &[2, 3][..], 4));
        assert_eq!(view.slice(4..).expect("nothing").as_slice(), []);
        assert_eq!(calls("cuMemcpyDtoHAsync_v2"), copies + 1);
        assert_eq!(slice.as_ptr(), view.as_slice().as_ptr());
    }
    let increase = |source: ViewMut<'_, u32>| {
        queue.for_each(source, |number| *number += 1).expect("it runs");
    };
    increase(buffer.view_mut());
    assert_eq!(&*buffer.view(), [2, 3, 4, 5]);
    {
        // Launches in between, while the buffer stays borrowed.
        let mut view = buffer.view_mut();
        increase(view.reborrow());
        assert_eq!(&*view.reborrow().into_view(), [3, 4, 5, 6]);
        queue.for_each(&mut view, |number| *number += 1).expect("it runs");
        assert_eq!(&*view.reborrow().into_view(), [4, 5, 6, 7]);
        increase(view);
    }
    assert_eq!(&*buffer.view(), [5, 6, 7, 8]);
    {
        let (first, mut second) = buffer.view_mut().split_at(2).expect("a half");
        let first = first.into_view();
        let seen = first.as_slice();
        assert_eq!(seen, [5, 6]);
        // The stand-in changes four numbers, so it would go beyond the half.
        second = second.slice(..).expect("all");
        drop(second);
        assert_eq!(seen, [5, 6]);
    }
    buffer.write(&[9, 8, 7, 6]).expect("as long");
    assert_eq!(&*buffer.view(), [9, 8, 7, 6]);

    // Atomics are where the device is, and out of reach for the host.
    let message = panic_of(|| {
        buffer.atomic_view()[0].fetch_add(1, Relaxed);
    });
    assert!(message.contains("atomics") && message.contains(&*gpu(0)), "{message}");
    assert_eq!(&*buffer.view(), [9, 8, 7, 6]);
    let message = panic_of(|| {
        let view = buffer.view_mut();
        // SAFETY: the element is there, and is not used elsewhere.
        unsafe { view.set_unchecked(0, 1) }
    });
    assert!(message.contains("out of the host's reach"), "{message}");
    assert_eq!(buffer.to_vec(), [9, 8, 7, 6]);
}

pub fn out_of_memory() {
    let queue = queue(&*gpu(0));
    let half = 40 << 20;
    let first = Buffer::filled(&queue, half, 1_u8).expect("there are 64 MiB");
    let error = Buffer::filled(&queue, half, 1_u8).expect_err("there are 64 MiB");
    let expected = BufferError::OutOfMemory {
        bytes: half,
        device: gpu(0),
        available: Some(24 << 20),
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("41943040 bytes (25165824 bytes are free)"), "{error}");
    // What is left can be had, though no whole block is.
    let rest = Buffer::filled(&queue, 20 << 20, 2_u8).expect("24 MiB are left");
    drop(first);
    let again = Buffer::filled(&queue, half, 3_u8).expect("the first one is gone");
    drop(rest);
    drop(again);
    // All of it is free, and goes back for a buffer that needs it all.
    let all = Buffer::filled(&queue, 64 << 20, 4_u8).expect("everything");
    assert_eq!((all.len(), device_memory()), (64 << 20, 64 << 20));
    let error = Buffer::<u8>::with_len(&queue, isize::MAX as usize / 2).expect_err("too much");
    assert!(matches!(error, BufferError::OutOfMemory { .. } | BufferError::AddressSpace { .. }));
}

pub fn pool() {
    let queue = queue(&*gpu(0));
    let mut kept = Vec::new();
    for round in 0..50 {
        let buffers: Vec<_> = (0..40)
            .map(|number| {
                Buffer::filled(&queue, 1 + number * 100, round * 40 + number).expect("memory")
            })
            .collect();
        for (number, buffer) in buffers.iter().enumerate() {
            assert!(buffer.to_vec().iter().all(|found| *found == round * 40 + number));
        }
        kept.extend(buffers.into_iter().nth(round % 40));
    }
    for (round, buffer) in kept.iter().enumerate() {
        assert!(buffer.to_vec().iter().all(|found| *found == round * 40 + round % 40));
    }
    assert_eq!(calls("cuMemAlloc_v2"), 1);
}
