//! Statements of offload on devices of the fake driver, `fake_cuda.rs`, or none. The arguments say what to
//! do; the test sets the environment. In a kernel's place the fake driver has a function that adds 100, so
//! a result tells where it is from.

#[allow(dead_code)]
#[path = "cuda/fake.rs"]
mod fake;

use std::env;
use std::ffi::{c_char, c_uint, c_void};

use fake::{Parameters, calls, on_launch};
use schism::directives::{OffloadError, OffloadResult, OffloadStatus, Stream, acc, offload};
use schism::prelude::*;

const BY_DEVICE: [u32; 4] = [101, 102, 103, 104];
const BY_HOST: [u32; 4] = [2, 3, 4, 5];

extern "C" fn add_hundred(
    _: *const c_char,
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    for number in Parameters(parameters).elements::<u32>(0, 4) {
        *number += 100;
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments[0] != "host" {
        on_launch(add_hundred);
    }
    match arguments[..] {
        ["matrix", wish, status, condition] => matrix(wish, status, condition == "true"),
        ["numbers", count] => numbers(count.parse().expect("a number")),
        ["tags"] => tags(),
        ["failure", wish, status] => failure(wish, status),
        ["host"] => host(),
        ["repeated"] => repeated(),
        _ => panic!("{arguments:?} is not known"),
    }
}

#[acc]
fn add(numbers: &mut [u32]) {
    #[acc(parallel, loop)]
    for number in numbers.iter_mut() {
        *number += 1;
    }
}

#[acc]
fn add_later(numbers: &mut [u32]) {
    #[acc(parallel, loop, async)]
    for number in numbers.iter_mut() {
        *number += 1;
    }
}

fn launch(part: &mut [u32], expected: &mut [u32], is_async: bool) {
    if is_async { add_later(part) } else { add(part) }
    expected.iter_mut().for_each(|own| *own += 100);
}

/// Another region inside of one.
#[acc]
fn inside(numbers: &mut [u32], expected: &mut [u32]) {
    #[acc(data, copy(numbers))]
    {
        launch(numbers, expected, true);
    }
}

/// What a region has.
fn of_region(round: usize, numbers: &mut [u32], expected: &mut [u32]) {
    for (number, at) in [0, 0, 4, 0, 4, 60, 60, 0].into_iter().enumerate() {
        let part = at..at + 4;
        let is_async = (round + number) % 3 != 0;
        launch(&mut numbers[part.clone()], &mut expected[part], is_async);
        match (round + number) % 40 {
            7 => {
                inside(&mut numbers[8..12], &mut expected[8..12]);
                launch(&mut numbers[8..12], &mut expected[8..12], true);
            }
            // The host looks, and changes something.
            13 => {
                acc::wait_all();
                acc::update_self(numbers).expect("it is there");
                assert_eq!(numbers, expected, "round {round}");
                numbers[3] += 5;
                expected[3] += 5;
                acc::update_device(&mut numbers[..8]).expect("it is there");
            }
            // The region stays where it is.
            23 => {
                acc::set_device(round / 40 % 2 + 1).expect("two devices");
                launch(&mut numbers[0..4], &mut expected[0..4], false);
                launch(&mut numbers[0..4], &mut expected[0..4], true);
                acc::set_device(round / 40 % 2).expect("two devices");
            }
            29 => std::thread::scope(|scope| {
                let (first, rest) = numbers.split_at_mut(4);
                let (expected, others) = expected.split_at_mut(4);
                scope.spawn(move || {
                    launch(first, expected, false);
                    launch(first, expected, true);
                    acc::wait_all();
                });
                launch(&mut rest[..4], &mut others[..4], true);
            }),
            _ => {}
        }
    }
}

/// Loops that run again and again reach what they are given: other parts, arrays that have moved, the same
/// array in another region, on another device, in another thread.
#[acc]
fn repeated() {
    let mut numbers = vec![0_u32; 64];
    let mut expected = numbers.clone();
    let mut kept = Vec::new();
    for round in 0..300 {
        acc::set_device(round / 40 % 2).expect("two devices");
        #[acc(data, copy(numbers))]
        {
            of_region(round, &mut numbers, &mut expected);
        }
        assert_eq!(numbers, expected, "round {round}");
        // Without a region each launch copies.
        launch(&mut numbers[0..4], &mut expected[0..4], round % 2 == 0);
        assert_eq!(numbers, expected, "round {round}");
        if round % 16 == 3 {
            // It moves, and later another array is where it was.
            let moved = numbers.clone();
            kept.push(std::mem::replace(&mut numbers, moved));
        } else if round % 32 == 24 {
            kept.clear();
        }
    }
    println!("as it should be");
}

#[offload]
fn optional(numbers: &mut [u32; 4], condition: bool) {
    #[offload(target(gpu: 0), optional, if(condition), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
}

#[offload]
fn optional_with_status(numbers: &mut [u32; 4], condition: bool) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(target(gpu: 0), optional, status(status), if(condition), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
    status
}

#[offload]
fn mandatory(numbers: &mut [u32; 4], condition: bool) {
    #[offload(target(gpu: 0), if(condition), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
}

#[offload]
fn mandatory_with_status(numbers: &mut [u32; 4], condition: bool) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    #[offload(target(gpu: 0), mandatory, status(status), if(condition), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
    status
}

fn matrix(wish: &str, status: &str, condition: bool) {
    let mut numbers = [1, 2, 3, 4];
    let found = match (wish, status) {
        ("optional", "none") => {
            optional(&mut numbers, condition);
            None
        }
        ("optional", _) => Some(optional_with_status(&mut numbers, condition)),
        ("mandatory", "none") => {
            mandatory(&mut numbers, condition);
            None
        }
        _ => Some(mandatory_with_status(&mut numbers, condition)),
    };
    match found {
        None => println!("{numbers:?}"),
        Some(status) => println!(
            "{numbers:?} {:?} on {}, {} sent, {} received{}",
            status.result,
            status.device_number,
            status.data_sent,
            status.data_received,
            status.error().map_or(String::new(), |error| format!(": {error}")),
        ),
    }
}

#[offload]
fn on_number(n: i64) -> OffloadStatus {
    let mut status = OffloadStatus::init();
    let mut numbers = [1, 2, 3, 4];
    #[offload(target(gpu: n), mandatory, status(status), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
    let expected = if status.result == OffloadResult::Success { BY_DEVICE } else { [1, 2, 3, 4] };
    assert_eq!(numbers, expected);
    status
}

/// A target's number is one modulo their number, evaluated once.
fn numbers(count: i64) {
    for n in [0, 1, 2, 3, 4, 6, 7, 1000, i64::MAX] {
        let status = on_number(n);
        if count == 0 {
            assert_eq!((status.result, status.device_number), (OffloadResult::Unavailable, -1));
        } else {
            assert_eq!(status.result, OffloadResult::Success);
            assert_eq!(i64::from(status.device_number), n % count);
            assert_eq!((status.data_sent, status.data_received), (16, 16));
        }
    }
    if count > 0 {
        let status = on_number(-1);
        assert_eq!((status.result, status.device_number), (OffloadResult::Success, 0));
    }
    for n in [-2, -3, i64::MIN] {
        let status = on_number(n);
        assert_eq!(status.result, OffloadResult::Error);
        let number = match status.error() {
            Some(OffloadError::ReservedTargetNumber { number }) => *number,
            other => panic!("{other:?}"),
        };
        assert_eq!(number, i128::from(n));
    }
    println!("as it should be");
}

#[offload]
fn signals(numbers: &mut [u32; 4], to: i32, of: i32) -> [OffloadStatus; 2] {
    let (mut first, mut second) = (OffloadStatus::init(), OffloadStatus::init());
    #[offload(target(gpu: to), inout(numbers), signal(&*numbers), status(first))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
    #[offload_wait(target(gpu: of), wait(&*numbers), status(second))]
    {}
    [first, second]
}

/// Tags belong to their target.
fn tags() {
    let mut numbers = [1, 2, 3, 4];
    let [first, second] = signals(&mut numbers, 1, 0);
    assert_eq!((first.result, second.result), (OffloadResult::Success, OffloadResult::Error));
    let tag = std::ptr::from_ref(&numbers).addr();
    match second.error() {
        Some(OffloadError::UnknownSignal { target, tag: own }) => {
            assert_eq!((&**target, *own), ("cuda:0", tag));
        }
        other => panic!("{other:?}"),
    }
    let [first, second] = signals(&mut numbers, 1, 3);
    assert_eq!((first.result, second.result), (OffloadResult::Success, OffloadResult::Success));
    let stream = Stream::new(&Device::by_name("cuda:1").expect("a device")).expect("a queue");
    let launches = calls("cuLaunchKernel");
    streamed(&stream, &mut numbers);
    assert_eq!(calls("cuLaunchKernel"), launches + 1);
    let of_other = std::panic::AssertUnwindSafe(|| on_other(&stream));
    let of_other = std::panic::catch_unwind(of_other).expect_err("another target");
    let text = of_other.downcast::<String>().expect("a text");
    assert!(text.contains("the stream is of the target `cuda:1`"), "{text}");
    println!("as it should be");
}

#[offload]
fn streamed(stream: &Stream, numbers: &mut [u32; 4]) {
    #[offload(stream(stream), wait(&*numbers), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
}

#[offload]
fn on_other(stream: &Stream) {
    let mut numbers = [1_u32, 2, 3, 4];
    #[offload(target(gpu: 0), stream(stream), inout(numbers))]
    for number in numbers.iter_mut() {
        *number += 1;
    }
}

/// The driver fails, as the environment says: there is no memory, or the device is lost.
fn failure(wish: &str, status: &str) {
    matrix(wish, status, true);
    let _ = BY_HOST;
}

/// Without a driver: the steps of a statement on the device `cpu`.
#[offload]
fn host() {
    let (x, mut y) = ([1.0_f64; 8], [2.0; 8]);
    #[offload(target(cpu: 0), if(x.len() > 1), in(x), inout(y), signal(7))]
    for i in 0..8 {
        y[i] += x[i];
    }
    assert_eq!(y, [3.0; 8]);
    #[offload_wait(target(cpu: 0), wait(7))]
    {}
}
