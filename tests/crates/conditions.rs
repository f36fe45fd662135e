//! Launches under conditions on devices of the fake driver, `fake_cuda.rs`, or none. The arguments say
//! what to do; the test sets the environment. In a kernel's place the fake driver has a function that
//! adds 100, so a result tells where it is from.

#[allow(dead_code)]
#[path = "cuda/fake.rs"]
mod fake;

use std::env;
use std::ffi::{c_char, c_uint, c_void};
use std::thread;

use fake::{Parameters, calls, on_launch};
use schism::algorithms;
use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism::{DeviceError, Error, LaunchReport, Math};

const FALSE: &str = "the condition of `when` is false";
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

fn main() -> Result<(), Report> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["default"] => println!("{}", Device::default_device()?),
        ["matrix", wish, status, condition] => {
            on_launch(add_hundred);
            let launched = launch(wish, condition == "true");
            match (launched, status) {
                (Ok((numbers, _)), "none") => println!("{numbers:?}"),
                (Ok((numbers, report)), _) => {
                    println!("{numbers:?} on {}: {}", report.device, report.why);
                }
                (Err(error), "none") => return Err(error.into()),
                (Err(error), _) => println!("skipped: {error}"),
            }
        }
        ["when"] => when(),
        ["refused"] => refused(),
        ["regions"] => regions(),
        ["numbers", count] => numbers(count.parse()?),
        ["threads"] => threads(),
        _ => panic!("{arguments:?} is not known"),
    }
    Ok(())
}

/// One launch over a slice, which is optional or mandatory, and has a condition.
fn launch(wish: &str, condition: bool) -> Result<([u32; 4], LaunchReport), Error> {
    let queue = match wish {
        "optional" => Queue::on(&Device::optional("cuda:0")?)?.optional(),
        _ => Queue::on(&Device::by_name("cuda:0")?)?.mandatory(),
    };
    let mut numbers = [1, 2, 3, 4];
    let queue = queue.when(condition)?;
    let (outcome, reports) = queue.report(|queue| add_one(queue, &mut numbers));
    outcome?;
    Ok((numbers, one(reports)))
}

fn add_one(queue: &Queue, numbers: &mut [u32; 4]) -> Result<(), LaunchError> {
    queue.for_each(numbers, |number| *number += 1)
}

fn one(reports: Vec<LaunchReport>) -> LaunchReport {
    let [report] = <[_; 1]>::try_from(reports).expect("one launch");
    report
}

/// Slices are the host's own, and buffers of the device are copied.
fn when() {
    on_launch(add_hundred);
    let queue = Queue::on(&Device::by_name("cuda:0").expect("a device")).expect("a queue");
    let host = queue.when(false).expect("the host");
    assert_eq!((queue.device().name(), host.device().name()), ("cuda:0", "cpu"));
    let still = host.when(true).expect("the host");
    assert_eq!(still.device().name(), "cpu", "both conditions have to be true");

    let mut on_device = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4]).expect("memory");
    let reported = |queue: &Queue, buffer: &mut Buffer<u32>| {
        let (outcome, reports) = queue.report(|queue| queue.for_each(buffer, |x| *x += 1));
        outcome.expect("it runs");
        one(reports)
    };
    let report = reported(&queue.when(true).expect("no more"), &mut on_device);
    assert_eq!((&*report.device, report.bytes_from, report.bytes_to), ("cuda:0", 0, 0));
    assert_eq!(on_device.to_vec(), BY_DEVICE);
    for host in [&host, &host.optional(), &host.mandatory(), &host.with_math(Math::Relaxed)] {
        let report = reported(host, &mut on_device);
        assert_eq!((&*report.device, &*report.why), ("cpu", FALSE));
        assert_eq!((report.bytes_from, report.bytes_to), (16, 16));
    }
    assert_eq!(on_device.to_vec(), [105, 106, 107, 108]);
    // The device sees what the host has written.
    queue.for_each(&mut on_device, |x| *x += 1).expect("it runs");
    assert_eq!(on_device.to_vec(), [205, 206, 207, 208]);

    // Slices, buffers of the host's, and views of the device's, all in one.
    let (mut slice, factors) = (vec![1_u32; 4], [1_u32, 10, 100, 1000]);
    let mut on_host = Buffer::from_slice(&host, &[1_u32; 4]).expect("memory of the host's");
    let view = on_device.view();
    let launches = calls("cuLaunchKernel");
    let (outcome, reports) = host.report(|host| {
        host.for_each((0.., &mut slice, &mut on_host, &factors), move |(i, a, b, factor)| {
            *a += view[i];
            *b *= *factor;
        })
    });
    outcome.expect("it runs");
    let report = one(reports);
    assert_eq!((&*report.why, report.bytes_from), (FALSE, 16));
    assert_eq!((slice, on_host.to_vec()), (vec![206, 207, 208, 209], factors.to_vec()));

    // Algorithms, over both.
    let sum = algorithms::reduce(&host, &on_device, 0, |a, b| a + b).expect("it runs");
    assert_eq!(sum, 205 + 206 + 207 + 208);
    algorithms::sort(&host, &mut on_device, |a, b| b.cmp(a)).expect("it runs");
    assert_eq!(on_device.to_vec(), [208, 207, 206, 205]);
    let mut numbers: Vec<u32> = (0..10_000).map(|i| i * 7919 % 10_007).collect();
    algorithms::sort(&host, &mut numbers, Ord::cmp).expect("it runs");
    assert!(numbers.is_sorted());

    // Scopes, between launches of the device's.
    let mut slice = [1_u32; 1000];
    host.scope(|scope| {
        let mut lent = scope.lend(&mut on_device);
        for _ in 0..3 {
            scope.for_each(&mut lent, |x| *x *= 2)?;
        }
        scope.for_each(&mut lent, |x| *x += 1)?.wait()?;
        scope.for_each(&mut slice, |x| *x += 1)?;
        Ok(())
    })
    .expect("it runs");
    assert_eq!((on_device.to_vec(), slice), (vec![1665, 1657, 1649, 1641], [2; 1000]));
    host.resident((&mut slice, &mut on_device), |(mut slice, mut kept)| {
        host.for_each(&mut slice, |x| *x += 1)?;
        host.for_each(&mut kept, |x| *x -= 1641)?;
        Ok(())
    })
    .expect("it runs");
    assert_eq!((on_device.to_vec(), slice), (vec![24, 16, 8, 0], [3; 1000]));
    assert_eq!(calls("cuLaunchKernel"), launches, "none of these is the device's");

    // Two threads at a time, over halves of a buffer of the device's, while that runs launches.
    let mut other = Buffer::from_slice(&queue, &[0_u32; 4]).expect("memory");
    let (first, second) = on_device.view_mut().split_at(2).expect("halves");
    thread::scope(|threads| {
        for mut half in [first, second] {
            let host = &host;
            threads.spawn(move || {
                for _ in 0..50 {
                    host.for_each(&mut half, |x| *x += 1).expect("it runs");
                }
            });
        }
        for _ in 0..50 {
            queue.for_each(&mut other, |x| *x += 1).expect("it runs");
        }
    });
    assert_eq!((on_device.to_vec(), other.to_vec()), (vec![74, 66, 58, 50], vec![5000; 4]));

    // A panic is an error, and what no device can run is one.
    let error = host.for_each(&mut on_device, |x| assert!(*x != 58, "58")).expect_err("it panics");
    assert!(matches!(&error, LaunchError::Panicked(panic) if panic.message == "58"), "{error}");
    let elsewhere = Device::by_name("cuda:1").and_then(|device| Queue::on(&device));
    let mut foreign = Buffer::from_slice(&elsewhere.expect("a queue"), &[1]).expect("memory");
    let error = host.for_each(&mut foreign, |x| *x += 1).expect_err("it is another device's");
    assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
    println!("as it should be");
}

/// The driver takes no code: what is optional runs on the host, what is mandatory is an error.
fn refused() {
    on_launch(add_hundred);
    let is_image = |result: Result<(), LaunchError>| {
        assert!(matches!(result.expect_err("refused"), LaunchError::Image { .. }));
    };
    let named = Queue::on(&Device::by_name("cuda:0").expect("a device")).expect("a queue");
    let of_default = Queue::new().expect("a queue");
    let of_wish = Queue::on(&Device::optional("cuda").expect("a device")).expect("a queue");
    for queue in [&named, &of_default, &of_wish] {
        assert_eq!(queue.device().name(), "cuda:0");
        let mut numbers = Buffer::from_slice(queue, &[1_u32, 2, 3, 4]).expect("memory");
        let optional = queue.mandatory().optional();
        let (outcome, reports) =
            optional.report(|queue| queue.for_each(&mut numbers, |x| *x += 1));
        outcome.expect("it runs on the host");
        let report = one(reports);
        assert_eq!((&*report.device, report.bytes_from, report.bytes_to), ("cpu", 16, 16));
        assert!(report.why.contains("on `cuda:0`"), "{}", report.why);
        let mandatory = queue.optional().mandatory();
        let (outcome, reports) =
            mandatory.report(|queue| queue.for_each(&mut numbers, |x| *x += 1));
        is_image(outcome);
        assert!(reports.is_empty());
        assert_eq!(numbers.to_vec(), BY_HOST);
        // No memory: the same.
        let large = Buffer::filled(&optional, 20 << 20, 7_u32).expect("memory of the host's");
        assert_eq!(large.get(3), Some(7));
        Buffer::filled(&mandatory, 20 << 20, 7_u32).expect_err("there is no room");
        // What was copied for it comes back.
        let mut slice = [1, 2, 3, 4];
        add_one(&optional, &mut slice).expect("it runs on the host");
        assert_eq!(slice, BY_HOST);
        is_image(add_one(&mandatory, &mut slice));
        assert_eq!(slice, BY_HOST);
        // What a region keeps on the device.
        let (outcome, reports) = optional.report(|queue| twice_in_region(queue, &mut slice));
        outcome.expect("it runs on the host");
        assert_eq!(slice, [4, 5, 6, 7]);
        assert!(reports.iter().all(|report| report.device == "cpu"));
        is_image(twice_in_region(&mandatory, &mut slice));
        assert_eq!(slice, [4, 5, 6, 7]);
        let mut slice = BY_HOST;
        // There is no room for it on the device.
        let mut large = vec![1; 17 << 20];
        large_region(&optional, &mut large);
        assert_eq!((large[0], large[large.len() - 1]), (3, 3));
        // A launch that has begun is not the host's.
        let error = optional.for_each(&mut slice, |x| assert!(*x == 9, "no")).expect_err("a panic");
        assert!(matches!(error, LaunchError::Panicked(_)), "{error}");
    }
    is_image(named.for_each(&mut [1_u32], |x| *x += 1));
    let error = Device::optional("tpu").expect_err("no device can have the name");
    assert!(matches!(error, DeviceError::Unknown { .. }), "{error}");
    println!("as it should be");
}

#[acc]
fn twice_in_region(queue: &Queue, numbers: &mut [u32; 4]) -> Result<(), LaunchError> {
    with_queue(queue, || {
        #[acc(data, copy(numbers))]
        {
            queue.for_each(&mut numbers[..], |number| *number += 1)?;
            queue.for_each(numbers, |number| *number += 1)
        }
    })
}

#[acc]
fn large_region(queue: &Queue, numbers: &mut [u32]) {
    with_queue(queue, || {
        #[acc(data, copy(numbers))]
        for _ in 0..2 {
            queue.for_each(&mut numbers[..], |number| *number += 1).expect("the host has memory");
        }
    });
}

/// A device keeps what the host, another device and it itself change.
#[acc]
fn everywhere(queue: &Queue, second: &Queue, numbers: &mut [u32; 4]) {
    let host = queue.when(false).expect("the host");
    let add = |queue: &Queue, numbers: &mut [u32]| {
        queue.for_each(numbers, |number| *number += 1).expect("it runs");
    };
    #[acc(data, copy(numbers))]
    {
        add(queue, numbers);
        add(&host, numbers);
        add(second, numbers);
        with_queue(second, || {
            #[acc(data, copy(numbers))]
            {
                add(second, numbers);
                add(queue, numbers);
                add(&host, numbers);
            }
        });
        let kept = host.resident(&mut *numbers, |mut view| {
            host.for_each(&mut view, |number| *number += 1)?;
            Ok(())
        });
        kept.expect("it fits");
        algorithms::for_each(&host, &mut *numbers, |number| *number += 1).expect("it runs");
        #[acc(update, self(numbers))]
        assert_eq!(numbers[..2], [405, 406]);
        let (sum, least) = (
            algorithms::reduce(&host, &*numbers, 0, |a, b| a + b).expect("it runs"),
            algorithms::min_element(&host, &*numbers, |a, b| a.cmp(b)).expect("it runs"),
        );
        assert_eq!((sum, least), (4 * 405 + 6, Some(0)));
        // Of a part of it there is an address on the device, and the host's is known.
        let device = acc::device_ptr(&mut numbers[2..]).expect("it is there");
        let host = acc::host_ptr(device.cast_const()).expect("it is there");
        assert_eq!(host, &raw const numbers[2]);
        assert_ne!(device.cast_const(), host);
    }
}

/// Regions on two devices.
fn regions() {
    on_launch(add_hundred);
    let on = |name| Queue::on(&Device::by_name(name).expect("a device")).expect("a queue");
    let (first, second) = (on("cuda:0"), on("cuda:1"));
    let mut numbers = [1_u32, 2, 3, 4];
    let launches = calls("cuLaunchKernel");
    let ((), reports) =
        first.report(|queue| with_queue(queue, || everywhere(queue, &second, &mut numbers)));
    assert_eq!(numbers, [405, 406, 407, 408]);
    assert_eq!(calls("cuLaunchKernel") - launches, 4);
    let first = &reports[0];
    assert_eq!((&*first.device, first.bytes_to, first.bytes_from), ("cuda:0", 16, 0));
    assert_eq!(acc::device_count(), 2);
    acc::set_device(3).expect("the second one");
    assert_eq!(acc::get_device().expect("it is there"), Some(1));
    let mut vector = numbers.to_vec();
    let mut on_device = acc::copyin(&mut vector).expect("it fits");
    second.for_each(&mut on_device[..], |number| *number += 1).expect("it runs");
    // With the directives' device gone elsewhere, it stays where it is.
    acc::shutdown();
    assert_eq!(acc::get_device().expect("it is there"), Some(0));
    acc::update_self(&mut on_device).expect("it is there");
    assert_eq!(on_device[..], [505, 506, 507, 508]);
    drop(on_device);
    assert_eq!(vector, [505, 506, 507, 508]);
    println!("as it should be");
}

/// A number of a GPU is one modulo their number.
fn numbers(count: usize) {
    for n in [0, 1, 2, 3, 4, 6, 7, 1000, usize::MAX] {
        let found = Device::nth_gpu(n);
        if count == 0 {
            let error = found.expect_err("there is none");
            assert!(matches!(error, DeviceError::NoGpu { .. }), "{error}");
        } else {
            let gpu = found.expect("there are some");
            assert_eq!(gpu, Device::by_name(&format!("cuda:{}", n % count)).expect("it is there"));
        }
    }
    // Without a number, the runtime chooses.
    let chosen = Device::default_device().expect("there is always one");
    assert_eq!(chosen.name(), if count == 0 { "cpu" } else { "cuda:0" });
    println!("as it should be");
}

/// Each thread has a device.
fn threads() {
    on_launch(add_hundred);
    let names: Vec<(String, Vec<u32>)> = thread::scope(|scope| {
        let run = |n| {
            let queue = Queue::on(&Device::nth_gpu(n).expect("a GPU")).expect("a queue");
            let mut numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4]).expect("memory");
            for _ in 0..=n {
                let (outcome, reports) =
                    queue.report(|queue| queue.for_each(&mut numbers, |x| *x += 1));
                outcome.expect("it runs");
                assert_eq!(one(reports).device, queue.device().name());
            }
            (queue.device().name().to_owned(), numbers.to_vec())
        };
        let threads: Vec<_> = (0..6).map(|n| scope.spawn(move || run(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for (n, (name, numbers)) in names.into_iter().enumerate() {
        assert_eq!(name, format!("cuda:{}", n % 4));
        let added = 100 * (n as u32 + 1);
        assert_eq!(numbers, [1, 2, 3, 4].map(|x| x + added));
    }
    println!("as it should be");
}
