//! The device of programs that choose none, and launches and buffers that it refuses.

use std::env;
use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::{DeviceError, LaunchReport};

use crate::fake::{calls, note, on_launch};
use crate::forks::in_child;
use crate::gpu;
use crate::memory::add_one;

fn argument(number: usize) -> String {
    env::args().nth(number).expect("an argument")
}

fn one(reports: Vec<LaunchReport>) -> LaunchReport {
    let [report] = <[_; 1]>::try_from(reports).expect("one launch");
    report
}

/// The arguments say which device it is, and what is said of those before it.
pub fn default() {
    let is_fake = env::var("SCHISM_CUDA").is_ok_and(|path| path.ends_with("libfake_cuda.so"));
    if is_fake {
        on_launch(note);
    }
    let (name, why) = (argument(2), argument(3));
    let device = Device::default_device().expect("there is always one");
    assert_eq!(device.name(), name);
    assert!(!is_fake || calls("cuCtxCreate_v2") == 0, "there is no queue yet");
    let queue = Queue::on(&device).expect("a queue");
    assert_eq!(queue.device(), &device);
    let (outcome, reports) = queue.report(|queue| queue.parallel_for(1, |_| ()));
    outcome.expect("it runs");
    let report = one(reports);
    assert_eq!(report.device, name);
    assert!(report.why.contains(&why), "{}", report.why);
    assert_eq!((report.bytes_to, report.bytes_from), (0, 0));
    assert!(report.kernel.contains("defaults::default"), "{}", report.kernel);
    // An empty launch runs nowhere.
    let (outcome, reports) = queue.report(|queue| queue.parallel_for(0, |_| ()));
    assert!(outcome.is_ok() && reports.is_empty());
}

/// The argument is in the error.
pub fn default_fails() {
    let error = Queue::new().expect_err("it is demanded");
    assert!(!matches!(error, DeviceError::Driver { .. }));
    assert!(error.to_string().contains(&argument(2)), "{error}");
}

/// A GPU is its parent's: in a child, the default device is another one.
pub fn forked() {
    in_child(|| {
        // Its parent has not asked for a device.
        assert_eq!(Device::default_device().expect("a device").name(), gpu(0));
    });
    let parents = Device::default_device().expect("a device");
    assert_eq!(parents.name(), gpu(0));
    in_child(|| {
        assert_eq!(Device::default_device().expect("a device").name(), "cpu");
        for queue in [Queue::new(), Queue::on(&parents)] {
            let queue = queue.expect("a queue of the host's");
            assert_eq!(queue.device().name(), "cpu");
            let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3]).expect("memory");
            queue.for_each(&mut numbers, |x| *x += 1).expect("it runs");
            assert_eq!(numbers.to_vec(), [2, 3, 4]);
        }
    });
}

/// The driver makes no contexts.
pub fn no_context() {
    assert_eq!(Device::default_device().expect("it is listed").name(), gpu(0));
    let mut numbers = Buffer::from_slice(&Device::default_device().expect("as above"), &[1, 2, 3])
        .expect("memory of the host's");
    let queue = Queue::new().expect("a queue of the host's");
    assert_eq!(queue.device().name(), "cpu");
    let (outcome, reports) = queue.report(|queue| queue.for_each(&mut numbers, |x| *x += 1));
    outcome.expect("it runs");
    let why = one(reports).why;
    assert!(why.contains(&gpu(0)), "{why}");
    assert_eq!(numbers.to_vec(), [2, 3, 4]);
}

/// The driver takes no code.
pub fn refused() {
    on_launch(note);
    let queue = Queue::new().expect("a queue");
    assert_eq!(queue.device().name(), gpu(0));
    let from = Buffer::from_slice(&queue, &(0..1000).collect::<Vec<u32>>()).expect("memory");
    let mut to = Buffer::filled(&queue, 1000, 7_u64).expect("memory");
    let view = from.view();
    // What the host has read before does not count later.
    assert_eq!((to.view()[5], view[5]), (7, 5));
    let (outcome, reports) = queue.report(|queue| {
        queue.for_each((0.., &mut to), move |(i, to)| *to += u64::from(view[i]) << 1)
    });
    outcome.expect("it runs on the host");
    let report = one(reports);
    assert_eq!((&*report.device, report.bytes_from), ("cpu", 12_000));
    // What may have been written, and perhaps more.
    assert!((8_000..=12_000).contains(&report.bytes_to), "{}", report.bytes_to);
    assert!(report.why.contains(&gpu(0)), "{}", report.why);
    let expected: Vec<u64> = (0..1000).map(|i| 7 + 2 * i).collect();
    assert_eq!((to.view()[5], to.to_vec()), (17, expected));
    assert_eq!(from.to_vec(), (0..1000).collect::<Vec<u32>>());

    // Halves, empty views, atomics, enums with views, groups with local memory.
    let mut counts = Buffer::filled(&queue, 4, 0_u32).expect("memory");
    let bins = counts.atomic_view();
    queue.parallel_for(1000, move |item| drop(bins[item.x() % 4].fetch_add(1, Relaxed))).expect("it runs");
    assert_eq!(counts.to_vec(), [250; 4]);
    let nothing = from.slice(1000..).expect("nothing");
    let some = Some(from.slice(10..20).expect("a part"));
    let mut sums = Buffer::filled(&queue, 1, 0_u32).expect("memory");
    queue
        .for_each(&mut sums, move |sum| {
            *sum = nothing.iter().sum::<u32>() + some.map_or(0, |some| some.iter().sum());
        })
        .expect("it runs");
    assert_eq!(sums.to_vec(), [145]);
    let mut of_groups = Buffer::filled(&queue, 4, 0_u32).expect("memory");
    let range = NdRange::new(64, 16).expect("a range");
    queue
        .for_each_in(range, (local::<u32>(16), per_group(&mut of_groups)), |item, (tile, sum)| {
            tile.set(item.local_x(), item.x() as u32);
            item.barrier();
            if let Some(sum) = sum {
                *sum = (0..tile.len()).map(|i| tile.get(i)).sum();
            }
        })
        .expect("it runs");
    assert_eq!(of_groups.to_vec(), [120, 376, 632, 888]);

    // A panic is an error as on any device, and what was stored before it is there.
    let mut numbers = Buffer::filled(&queue, 1000, 0_u32).expect("memory");
    let (outcome, reports) = queue.report(|queue| {
        queue.for_each((0.., &mut numbers), |(i, number)| {
            *number = 1;
            assert!(i != 77, "this is {i}");
        })
    });
    let error = outcome.expect_err("it panics");
    let LaunchError::Panicked(panic) = &error else { panic!("{error}") };
    assert_eq!((&*panic.message, panic.work_item.as_deref()), ("this is 77", Some(&[77][..])));
    assert_eq!(&*one(reports).device, "cpu");
    assert_eq!(numbers.get(77), Some(1));

    // In scopes, and in order.
    let (outcome, reports) = queue.report(|queue| {
        queue.scope(|scope| {
            let mut lent = scope.lend(&mut counts);
            for _ in 0..3 {
                scope.for_each(&mut lent, |count| *count = *count * 2 + 1)?.wait()?;
            }
            scope.for_each(&mut lent, |count| *count -= 1)?;
            Ok(())
        })
    });
    outcome.expect("it runs");
    assert_eq!((counts.to_vec(), reports.len()), (vec![2006; 4], 4));
    // Demanded, it is an error.
    let demanded = Queue::on(&Device::by_name(&gpu(0)).expect("there is one")).expect("a queue");
    let error = demanded.for_each(&mut counts, |count| *count += 1).expect_err("refused");
    assert!(matches!(error, LaunchError::Image { .. }), "{error}");
    assert_eq!(counts.to_vec(), [2006; 4]);
    // No device has such groups: the error is that of the queue's.
    let error = queue.parallel_for(NdRange::new(2048, 2048).expect("a range"), |_| ()).expect_err("too large");
    assert!(matches!(&error, LaunchError::GroupTooLarge { device, .. } if *device == gpu(0)), "{error}");
}

/// The driver refuses the first kernel, and takes others: those see what it has written.
pub fn refused_once() {
    on_launch(add_one);
    let queue = Queue::new().expect("a queue");
    let mut numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4]).expect("memory");
    let (outcome, reports) = queue.report(|queue| {
        queue.scope(|scope| {
            let mut lent = scope.lend(&mut numbers);
            scope.for_each(&mut lent, |number| *number *= 10)?;
            // The fake driver's kernel.
            scope.for_each(&mut lent, |number| *number += 1)?;
            scope.for_each(&mut lent, |number| *number *= 10)?;
            Ok(())
        })
    });
    outcome.expect("it runs");
    let devices: Vec<_> = reports.iter().map(|report| &*report.device).collect();
    assert_eq!(devices, ["cpu", &*gpu(0), "cpu"]);
    assert_eq!(numbers.to_vec(), [110, 210, 310, 410]);
}

/// The device has 64 MiB.
pub fn no_room() {
    on_launch(add_one);
    let queue = Queue::new().expect("a queue");
    let mut small = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4]).expect("memory");
    let mut large = Buffer::filled(&queue, 20 << 20, 1_u32).expect("memory of the host's");
    let view = small.view();
    let (outcome, reports) = queue.report(|queue| {
        queue.for_each((0.., &mut large), move |(i, large)| *large += view[i % 4])
    });
    outcome.expect("it runs");
    let report = one(reports);
    assert_eq!((&*report.device, report.bytes_from), ("cpu", 16));
    assert!(large.to_vec().iter().zip([2, 3, 4, 5].iter().cycle()).all(|(is, shall)| is == shall));
    queue.for_each(&mut small, |number| *number += 1).expect("it runs on the device");
    assert_eq!(small.to_vec(), [2, 3, 4, 5]);
    assert_eq!(large.view()[1], 3);
    let on_device = Buffer::filled(&Device::default_device().expect("a device"), 20 << 20, 1_u32);
    assert_eq!(on_device.expect("memory of the host's").get(7), Some(1));
    let demanded = Device::by_name(&gpu(0)).expect("there is one");
    Buffer::filled(&demanded, 20 << 20, 1_u32).expect_err("it was asked for by name");
}

/// Launches of two queues at a time, over halves of a buffer and over the same atomics.
pub fn two_queues() {
    on_launch(note);
    let queues = [Queue::new().expect("a queue"), Queue::new().expect("a queue")];
    let mut numbers = Buffer::filled(&queues[0], 2000, 0_u32).expect("memory");
    let mut counts = Buffer::filled(&queues[0], 1, 0_u32).expect("memory");
    let count = counts.atomic_view();
    let (first, second) = numbers.view_mut().split_at(1000).expect("halves");
    std::thread::scope(|scope| {
        for (queue, mut half) in queues.iter().zip([first, second]) {
            scope.spawn(move || {
                for _ in 0..100 {
                    queue
                        .for_each(&mut half, move |number| {
                            *number += 1;
                            count[0].fetch_add(1, Relaxed);
                        })
                        .expect("it runs");
                }
            });
        }
    });
    assert_eq!(numbers.to_vec(), [100; 2000]);
    assert_eq!(counts.to_vec(), [200_000]);
}
