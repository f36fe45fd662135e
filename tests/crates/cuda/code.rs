//! Which code launches have made: what it counts on, for which versions, with which mathematics.

use std::env;

use schism::prelude::*;

use crate::fake::{code, note, on_launch, take_seen};
use crate::{gpu, queue};

/// Sums of pairs, from the one with that number on.
fn sums(queue: &Queue, len: usize, from: usize) {
    let mut to = Buffer::filled(queue, len, 0.0_f32).expect("memory");
    let pairs = Buffer::filled(queue, len + from, [0.5_f32; 2]).expect("memory");
    let pairs = pairs.slice(from..).expect("a part");
    queue.for_each((&mut to, pairs), |(to, pair)| *to = pair[0] + pair[1]).expect("it runs");
}

/// What code is made for.
pub fn assumptions() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let run = |len: usize, from: usize| {
        sums(&queue, len, from);
        assert_eq!(take_seen().len(), 1);
        code()
    };
    // The first launch: its block, all of it, addresses that are multiples of 16.
    let (first, loaded) = run(32, 0);
    assert!(first.contains("ld.global.v2") && !first.contains("setp"), "{first}");
    assert!(!first.contains("ntid"), "{first}");
    assert_eq!(run(32, 0).1, loaded);
    // Not all of the block: it is asked for, and the range is a parameter again.
    let (second, count) = run(20, 0);
    assert!(!second.contains("%ntid") && second.contains("setp"), "{second}");
    assert_eq!(count, loaded + 1);
    // Other blocks, and an odd address.
    let (third, count) = run(1 << 20, 1);
    assert!(third.contains("%ntid"), "{third}");
    assert!(!third.contains(".v2") && third.contains("setp"), "{third}");
    assert_eq!(count, loaded + 2);
    // That is for all launches, and the others are for those that they are made for.
    for (len, from) in [(1 << 20, 0), (1000, 3), (64, 0), (32, 0), (20, 0)] {
        assert_eq!(run(len, from).1, loaded + 2);
    }
    // Only where ids need more bits.
    let launch = |len: usize| queue.parallel_for([1, len], |_| ()).expect("it runs");
    launch(1 << 20);
    let (_, loaded) = code();
    launch(1 << 21);
    assert_eq!(code().1, loaded);
    launch(1 << 32);
    assert_eq!(code().1, loaded + 1);
}

/// Each size of groups has its code.
pub fn group_sizes() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let launch = |size: usize| {
        let range = NdRange::new(4 * size, size).expect("even groups");
        queue
            .for_each_in(range, local::<u32>(size), |item, tile| {
                tile.set(item.local_x(), 1);
                let mut half = item.group_size() / 2;
                while half > 0 {
                    item.barrier();
                    half /= 2;
                }
            })
            .expect("it runs");
        code()
    };
    // Loops that depend on the size alone are unrolled.
    for size in [32, 64, 128, 256, 512, 1024, 16, 8] {
        let (text, _) = launch(size);
        assert!(text.contains(&format!(".maxntid {size}")) && !text.contains("%ntid"), "{text}");
        let barriers = text.matches("barrier.sync").count() + text.matches("bar.sync").count();
        assert_eq!(barriers, size.ilog2() as usize, "{text}");
    }
    let (_, loaded) = code();
    launch(64);
    assert_eq!(code().1, loaded);
    // There are enough sizes of groups now: one for all others.
    let (text, _) = launch(96);
    assert!(text.contains(".maxntid 1024") && text.contains("%ntid"), "{text}");
    assert_eq!(code().1, loaded + 1);
    // The array's length is still a constant, for 32 lengths at most: then there is one for all.
    (100..130).for_each(|size| drop(launch(size)));
    let (_, all) = code();
    assert!(all <= loaded + 25, "{all}");
    for size in [2, 3, 4, 5, 6, 7] {
        assert_eq!(launch(size).1, all);
    }
}

/// A kernel that is launched often gets code that knows more, and the launches that it is not for
/// the one that there was. If the driver refuses it, they go on as they were.
pub fn background(is_refused: bool) {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let mut numbers = Buffer::filled(&queue, 100, 1_u32).expect("memory");
    let mut launch = |stride: u32, other: u32| {
        queue
            .for_each(&mut numbers, move |number| *number = number.wrapping_mul(stride) ^ other)
            .expect("it runs");
        let (text, count) = code();
        (text.contains("mul.lo"), count)
    };
    for other in 0..50 {
        assert_eq!(launch(8, 3 + other), (true, 1));
    }
    let begin = std::time::Instant::now();
    let mut other = 0;
    // Few enough launches that the profiler does not look a second time: code for what it sees then
    // would come behind this.
    while code().1 < 2 {
        if other < 400 {
            launch(8, 3 + other);
            other += 1;
        }
        assert!(begin.elapsed().as_secs() < 60, "nothing comes of the background");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(other >= 48, "{other} launches are not often");
    // A stride that is a power of two takes no multiplication.
    assert_eq!(launch(8, 3).0, is_refused);
    for other in 0..500 {
        assert_eq!(launch(if other % 2 == 0 { 8 } else { 7 }, other).1, 2);
    }
}

/// Nothing is counted on.
pub fn off() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    for len in [32, 20, 1 << 20] {
        sums(&queue, len, 0);
        let (text, count) = code();
        assert!(text.contains("%ntid"), "{text}");
        assert!(!text.contains(".v2") && text.contains("setp"), "{text}");
        assert_eq!(count, 1);
    }
    assert_eq!(take_seen().len(), 3);
    // A launch that would like more takes what is there.
    sums(&queue.with_adaptivity(schism::Adaptivity::Basic), 32, 0);
    assert_eq!(code().1, 1);
}

/// Code is made for a processor, in a version of PTX, both of which the test knows.
pub fn processor() {
    let [own, processor, version] =
        [2, 3, 4].map(|index| env::args().nth(index).expect("what is there"));
    on_launch(note);
    let device = Device::by_name(&*gpu(0)).expect("a device");
    let said = device.description();
    let expected = if own == processor {
        format!(", {own}, ")
    } else {
        format!(", {own} with code for {processor}, ")
    };
    assert!(said.contains(&expected), "{said}");
    let queue = queue(&*gpu(0));
    let mut numbers = Buffer::filled(&queue, 10, 1_u32).expect("memory");
    queue.for_each(&mut numbers, |x| *x += 1).expect("it runs");
    assert_eq!(take_seen().len(), 1);
    let (text, _) = code();
    for line in [format!(".target {processor}"), format!(".version {version}")] {
        assert!(text.lines().any(|other| other.starts_with(&line)), "{line}: {text}");
    }
}

/// A kernel, which is found or compiled: the test looks at what is kept.
pub fn driver_version() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    queue.parallel_for(100, |_| ()).expect("it runs");
}

/// A kernel with a function of C.
pub fn sine() -> Result<(), LaunchError> {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let mut numbers = Buffer::filled(&queue, 10, 1.0_f32).expect("memory");
    queue.for_each(&mut numbers, |x| *x = x.sin())
}

/// The program was compiled with lines.
pub fn lines() {
    on_launch(note);
    queue(&*gpu(0)).parallel_for(1, |item| assert!(item.x() < 100)).expect("it runs");
    let (text, _) = code();
    let file = text.lines().find(|line| line.contains(".file") && line.contains("/cuda/code.rs\""));
    let number = file.and_then(|line| line.split_whitespace().nth(1)).expect("this file");
    assert!(text.contains(&format!(".loc\t{number} ")), "{text}");
}
