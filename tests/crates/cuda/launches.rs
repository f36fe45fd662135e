//! What a launch asks of the driver: parameters, blocks and grids, the order, the calls.

use std::ffi::{c_char, c_uint, c_void};

use schism::prelude::*;
use schism::Error;

use crate::fake::{Parameters, calls, fake, note, on_launch, take_seen};
use crate::{gpu, is_hip, queue};

extern "C" fn saxpy(
    _: *const c_char,
    grid: *const c_uint,
    block: *const c_uint,
    _: c_uint,
    parameters: *mut *mut c_void,
) {
    let parameters = Parameters(parameters);
    // Sources first: the address of `y`; address and length of `x`. Then the closure's factor.
    let len: usize = parameters.get(2);
    let (y, x) = (parameters.elements::<f32>(0, len), parameters.elements::<f32>(1, len));
    let factor: f32 = parameters.get(3);
    let range: u64 = parameters.get(4);
    assert_eq!(range as usize, len);
    let (grid, block) = unsafe { (grid.read(), block.read()) };
    assert!((grid as usize * block as usize) >= len && block % 32 == 0);
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * *x;
    }
}

/// Values and addresses come where the kernel expects them.
pub fn parameters() {
    on_launch(saxpy);
    let queue = queue(&*gpu(0));
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let device_x = Buffer::from_slice(&queue, &x).expect("memory");
    let mut device_y = Buffer::filled(&queue, 1000, 1.0_f32).expect("memory");
    let factor = 2.5;
    queue
        .for_each((&mut device_y, &device_x), move |(y, x)| *y += factor * *x)
        .expect("it runs");
    let expected: Vec<f32> = x.iter().map(|x| 1.0 + 2.5 * x).collect();
    assert_eq!(device_y.to_vec(), expected);
    // A part of a buffer has an address in the middle.
    queue
        .for_each(
            (
                device_y.slice_mut(10..20).expect("a part"),
                device_x.slice(500..510).expect("a part"),
            ),
            move |(y, x)| *y += factor * *x,
        )
        .expect("it runs");
    let found = device_y.to_vec();
    assert_eq!(found[10], expected[10] + 2.5 * 500.0);
    assert_eq!((found[9], found[20]), (expected[9], expected[20]));
}

/// A launch that is made again and again reaches what it is given, wherever that is by then. The trace
/// says which of them were made as one before.
pub fn repeated() {
    on_launch(saxpy);
    let (queue, other) = (queue(&*gpu(0)), queue(&*gpu(0)));
    let host: Vec<f32> = (0..4000).map(|i| (i % 17) as f32).collect();
    let launch = |queue: &Queue, y: ViewMut<'_, f32>, x: View<'_, f32>, factor: f32| {
        queue.for_each((y, x), move |(y, x)| *y += factor * *x).expect("it runs");
    };
    let add = |y: &mut [f32], x: &[f32], factor: f32| {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * *x);
    };
    let make = |elements: &[f32]| Buffer::from_slice(&queue, elements).expect("memory");
    let (mut x, mut y) = (make(&host), make(&host));
    let (mut host_x, mut host_y) = (host.clone(), host.clone());
    let mut kept = Vec::new();
    for round in 0..1300 {
        // Numbers change in every, addresses in some, both in others.
        let factor = if round % 40 < 20 { 0.5 } else { (round % 5) as f32 * 0.25 };
        let part = match round % 100 {
            0..60 => 0..4000,
            60..70 => 256..1280,
            70..80 => 512..1536,
            _ => 512..2560,
        };
        let queue = if round % 300 < 250 { &queue } else { &other };
        let (to, from) = (y.slice_mut(part.clone()), x.slice(part.clone()));
        launch(queue, to.expect("a part"), from.expect("a part"), factor);
        add(&mut host_y[part.clone()], &host_x[part], factor);
        match round % 200 {
            // Buffers take turns.
            100..140 => {
                std::mem::swap(&mut x, &mut y);
                std::mem::swap(&mut host_x, &mut host_y);
            }
            // Others are there, of this size and of many blocks of memory, and some go again.
            150 => {
                x = make(&host_x);
                kept.push(make(&vec![0.0; if round > 1000 { 20 << 20 } else { 100 }]));
            }
            160 => kept.clear(),
            // The host has a copy, which becomes stale.
            170..190 => assert_eq!(y.view()[600], host_y[600], "round {round}"),
            199 => std::thread::scope(|scope| {
                let (x, y) = (x.view(), y.view_mut());
                scope.spawn(move || launch(queue, y, x, 1.0));
                add(&mut host_y, &host_x, 1.0);
            }),
            _ => {}
        }
        if round % 50 == 0 {
            assert!(x.to_vec() == host_x && y.to_vec() == host_y, "round {round}");
            // Sums stay small.
            (x, y, host_x, host_y) = (make(&host), make(&host), host.clone(), host.clone());
        }
    }
    assert!(x.to_vec() == host_x && y.to_vec() == host_y);
}

pub fn shapes() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let covers = |range: [usize; 3]| {
        let [(grid, block, 0, _)]: [_; 1] = take_seen().try_into().expect("one launch") else {
            panic!("no local memory")
        };
        for axis in 0..3 {
            let threads = grid[axis] as usize * block[axis] as usize;
            assert!((range[axis]..range[axis] + block[axis] as usize).contains(&threads));
        }
        assert!(block.iter().product::<u32>() <= 1024);
    };
    // A launch through HIP has fewer than 2³² work-items, and more of them take several.
    let most = if is_hip() { 1 << 26 } else { (1 << 33) + 1 };
    for n in [1, 31, 33, 1000, 1 << 20, most] {
        queue.parallel_for(n, |_| ()).expect("it runs");
        covers([n, 1, 1]);
        queue.parallel_for([3, n], |_| ()).expect("it runs");
        covers([n, 3, 1]);
        queue.parallel_for([5, 2, n], |_| ()).expect("it runs");
        covers([n, 2, 5]);
    }
    queue.parallel_for(0, |_| ()).expect("it runs");
    assert_eq!(take_seen().len(), 0);
    // Blocks of a size that is asked for: of as many threads, or of the next smaller power of two.
    for (asked, line, area) in [(0, 1, 1), (1, 1, 1), (64, 64, 64), (96, 96, 64), (5000, 1024, 1024)] {
        let queue = queue.with_block_size(asked);
        queue.parallel_for(100_000, |_| ()).expect("it runs");
        assert_eq!(take_seen()[0].1, [line, 1, 1]);
        queue.parallel_for([300, 300], |_| ()).expect("it runs");
        assert_eq!(take_seen()[0].1.iter().product::<u32>(), area);
        queue.parallel_for([30, 300, 300], |_| ()).expect("it runs");
        assert!(take_seen()[0].1.iter().product::<u32>() <= area);
        // Groups are what they are.
        queue.parallel_for(NdRange::new(640, 32).expect("even groups"), |_| ()).expect("it runs");
        assert_eq!(take_seen()[0].1, [32, 1, 1]);
    }
    // More rows than a grid has: in pieces.
    queue.parallel_for([40_000_000, 1], |_| ()).expect("it runs");
    let seen = take_seen();
    let rows: usize = seen.iter().map(|(grid, block, ..)| (grid[1] * block[1]) as usize).sum();
    assert!(seen.len() > 1 && (40_000_000..40_001_000).contains(&rows));

    let range = NdRange::new([4, 64, 96], [2, 8, 32]).expect("even groups");
    queue
        .for_each_in(range, local::<u32>(100), |item, tile| {
            tile.set(item.local_x(), 1);
            schism::local_array!(item, u64; 7).set(0, 1);
            item.barrier();
        })
        .expect("it runs");
    let seen = take_seen();
    assert_eq!((seen[0].0, seen[0].1), ([3, 8, 2], [32, 8, 2]));
    assert!((400 + 56..1000).contains(&seen[0].2), "{} bytes", seen[0].2);
    let most = queue.device().local_memory_size();
    let range = NdRange::new(32, 32).expect("one group");
    let launch = |bytes| {
        queue.for_each_in(range, local::<u8>(bytes), |item, tile| tile.set(item.x(), 1))
    };
    launch(most).expect("just as much");
    assert_eq!(calls("cuFuncSetAttribute"), u64::from(!is_hip()), "HIP asks for no consent");
    assert!(matches!(launch(most + 1), Err(LaunchError::LocalMemory { limit, .. }) if limit == most));
    for local in [[2048, 1, 1], [1, 1024, 2], [128, 1, 1]] {
        let range = NdRange::new(local, local).expect("one group");
        let result = queue.parallel_for(range, |item| item.barrier());
        assert!(matches!(result, Err(LaunchError::GroupTooLarge { .. })), "{local:?}");
    }
}

pub fn order() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let mut buffer = Buffer::filled(&queue, 300, 1_u32).expect("memory");
    queue
        .scope(|scope| {
            let mut lent = scope.lend(&mut buffer);
            let mut events = Vec::new();
            for _ in 0..100 {
                events.push(scope.for_each(&mut lent, |x| *x += 1)?);
                events.push(scope.parallel_for([2, 3], |_| ())?);
            }
            assert_eq!(calls("cuStreamSynchronize"), 1, "the copy; launches are not waited for");
            while !events[77].is_complete() {}
            events[3].wait()?;
            Ok(())
        })
        .expect("they run");
    let seen = take_seen();
    assert_eq!(seen.len(), 200);
    assert!(seen.chunks(2).all(|pair| pair[0].3 == seen[0].3 && pair[1].3 == seen[1].3));
    assert_ne!(seen[0].3, seen[1].3);
    let (timed, untimed) = queue
        .scope(|scope| Ok(scope.parallel_for(1, |_| ())?))
        .and_then(|untimed| {
            let timed = queue.with_timing().scope(|scope| Ok(scope.parallel_for(1, |_| ())?))?;
            Ok((timed, untimed))
        })
        .expect("they run");
    assert_eq!(timed.duration(), Some(std::time::Duration::from_micros(1500)));
    assert_eq!(untimed.duration(), None);
    assert_eq!(take_seen().len(), 2);
    // An error of one is the scope's, and the others run.
    let mut foreign = Buffer::filled(&self::queue("cpu"), 3, 1_u32).expect("memory");
    let result = queue.scope(|scope| {
        scope.parallel_for(1, |_| ())?;
        scope.for_each(&mut foreign, |x| *x += 1)?;
        scope.parallel_for(1, |_| ())?;
        Ok(())
    });
    assert!(matches!(result, Err(Error::Launch(LaunchError::ForeignBuffer { .. }))));
    assert_eq!(take_seen().len(), 2);
}

/// A launch is one call of the driver, even if the thread's context changes meanwhile.
pub fn driver_calls() {
    const LAUNCHES: usize = 5000;
    const FUNCTIONS: [&str; 5] = [
        "cuLaunchKernel", "cuCtxSetCurrent", "cuStreamSynchronize", "cuEventQuery", "cuEventRecord",
    ];
    on_launch(note);
    let queues = [queue(&*gpu(0)), queue(&*gpu(1))];
    for queue in &queues {
        queue.parallel_for(1, |_| ()).expect("it runs");
    }
    let [queue, other] = &queues;
    let launch = |item: Item<1>| assert!(item.x() < 100);
    queue.parallel_for(1, launch).expect("it runs");
    let before = FUNCTIONS.map(calls);
    queue
        .scope(|scope| {
            (0..LAUNCHES).try_for_each(|_| scope.parallel_for(1, launch).map(drop))?;
            Ok(())
        })
        .expect("they run");
    let after = FUNCTIONS.map(calls);
    let made: [u64; 5] = std::array::from_fn(|function| after[function] - before[function]);
    assert_eq!((made[0], made[2]), (LAUNCHES as u64, 1));
    let others = made[1] + made[3] + made[4];
    assert!(others < LAUNCHES as u64 / 20, "{made:?}");
    take_seen();

    // Another library of the program's makes another context the thread's, or none.
    let set: extern "C" fn(usize) -> u32 = unsafe { std::mem::transmute(fake("cuCtxSetCurrent")) };
    let get: extern "C" fn(*mut usize) -> u32 = unsafe { std::mem::transmute(fake("cuCtxGetCurrent")) };
    other.parallel_for(1, launch).expect("it runs");
    let mut of_other = 0;
    assert_eq!((get(&mut of_other), of_other == 0), (0, false));
    take_seen();
    for context in [0, of_other] {
        queue.parallel_for(1, launch).expect("it runs");
        assert_eq!(set(context), 0);
        queue.parallel_for(1, launch).expect("it runs");
        let event = queue.scope(|scope| {
            let event = scope.parallel_for(1, launch)?;
            assert_eq!(set(context), 0);
            while !event.is_complete() {}
            let timed = queue.with_timing();
            assert_eq!(set(context), 0);
            let timed = timed.scope(|scope| Ok(scope.parallel_for(1, launch)?))?;
            assert!(timed.duration().is_some());
            let event = scope.parallel_for(1, launch)?;
            assert_eq!(set(context), 0);
            event.wait()?;
            Ok(event)
        });
        assert!(event.expect("they run").is_complete());
        // Launches that the driver refused because of the context are not among these.
        assert_eq!(take_seen().len(), 5);
    }
    // Memory, copies and code, too: of the queue's device, whichever the thread's context is.
    for (context, kernel) in [(0, 0), (of_other, 1)] {
        assert_eq!(set(context), 0);
        let mut buffer = Buffer::from_slice(queue, &[1_u32, 2, 3]).expect("memory");
        assert_eq!(set(context), 0);
        buffer.write(&[4, 5, 6]).expect("as long");
        assert_eq!(set(context), 0);
        assert_eq!(buffer.to_vec(), [4, 5, 6]);
        assert_eq!(set(context), 0);
        let large = Buffer::filled(queue, 5 << 20, 7_u8).expect("memory");
        assert_eq!(set(context), 0);
        assert!(large.to_vec().iter().all(|byte| *byte == 7));
        assert_eq!(set(context), 0);
        drop(large);
        // Kernels that were not compiled before.
        let first = |item: Item<1>| assert!(item.x() < 101);
        let second = |item: Item<1>| assert!(item.x() < 102);
        assert_eq!(set(context), 0);
        if kernel == 0 { queue.parallel_for(1, first) } else { queue.parallel_for(1, second) }
            .expect("it runs");
        assert_eq!(set(context), 0);
        let new = crate::queue(&*gpu(0));
        assert_eq!(set(context), 0);
        new.parallel_for(1, launch).expect("it runs");
        assert_eq!(set(context), 0);
        drop(new);
        assert_eq!(take_seen().len(), 2);
    }
    // On other threads as well.
    std::thread::scope(|threads| {
        threads.spawn(|| queue.parallel_for(1, launch).expect("it runs"));
        threads.spawn(|| other.parallel_for(1, launch).expect("it runs"));
    });
    assert_eq!(take_seen().len(), 2);
}
