//! What the driver refuses, and contexts that are lost.

use schism::prelude::*;
use schism::{BufferError, Error, ImageError};

use crate::fake::{calls, code, note, on_launch, take_seen};
use crate::memory::add_one;
use crate::{gpu, is_hip, named, panic_of, queue};

fn is_lost(error: &BufferError) -> bool {
    matches!(error, BufferError::DeviceLost { device, source }
        if device == &*gpu(0) && source.code == 700 && source.name == named("CUDA_ERROR_ILLEGAL_ADDRESS"))
}

/// One kernel, wherever it is launched.
fn increase(queue: &Queue, numbers: &mut Buffer<u32>) -> Result<(), LaunchError> {
    queue.for_each(numbers, |number| *number += 1)
}

/// The launch's wait fails as after an illegal address: see the test's environment.
pub fn lost() {
    on_launch(add_one);
    let before = queue(&*gpu(0));
    let mut buffer = Buffer::filled(&before, 100, 1_u32).expect("memory");
    let other = Buffer::filled(&before, 100, 2_u32).expect("memory");
    assert_eq!(other.view()[3], 2);
    let error = increase(&before, &mut buffer).expect_err("it is lost");
    let LaunchError::DeviceLost { device, source, .. } = &error else { panic!("{error}") };
    assert_eq!((&**device, source.code), (&*gpu(0), 700));
    assert!(error.to_string().contains("make a new queue"), "{error}");

    // All that was there says so, and asks the driver for nothing.
    let asked = [calls("cuLaunchKernel"), calls("cuMemcpyDtoHAsync_v2"), calls("cuMemAlloc_v2")];
    assert!(is_lost(&buffer.try_to_vec().expect_err("it is lost")));
    assert!(is_lost(&buffer.write(&[0; 100]).expect_err("it is lost")));
    assert!(is_lost(&buffer.read(&mut [0; 100]).expect_err("it is lost")));
    assert!(is_lost(&Buffer::filled(&before, 1, 1).expect_err("it is lost")));
    let error = increase(&before, &mut buffer).expect_err("it is lost");
    assert!(matches!(error, LaunchError::DeviceLost { .. }), "{error}");
    let result = before.scope(|scope| {
        scope.parallel_for(1, |_| ())?;
        Ok(())
    });
    assert!(matches!(result, Err(Error::Launch(LaunchError::DeviceLost { .. }))), "{result:?}");
    assert!(panic_of(|| drop(buffer.to_vec())).contains("was lost"));
    // What the host has read stays.
    assert_eq!(other.view()[3], 2);
    assert!(panic_of(|| assert_eq!(buffer.view()[0], 0)).contains("was lost"));
    assert_eq!(asked, [calls("cuLaunchKernel"), calls("cuMemcpyDtoHAsync_v2"), calls("cuMemAlloc_v2")]);

    // The process continues with a new queue, for which the same kernel is loaded anew.
    let after = queue(&*gpu(0));
    let mut new = Buffer::from_slice(&after, &[1, 2, 3, 4]).expect("memory");
    let (_, loaded) = code();
    increase(&after, &mut new).expect("it runs");
    assert_eq!((new.to_vec(), code().1), (vec![2, 3, 4, 5], loaded + 1));
    let error = increase(&after, &mut buffer).expect_err("it was lost");
    assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
    assert_eq!(calls("cuCtxDestroy_v2"), 0);
    drop((buffer, other, before));
    assert_eq!(calls("cuCtxDestroy_v2"), 1);
    increase(&after, &mut new).expect("it runs");
    assert_eq!(new.to_vec(), [3, 4, 5, 6]);
}

/// The launch's wait fails as after an illegal address, and the driver does not let this process
/// use the device again.
pub fn lost_for_good() {
    on_launch(add_one);
    let [before, other] = [queue(&gpu(0)), queue(&gpu(1))];
    let mut buffer = Buffer::filled(&before, 100, 1_u32).expect("memory");
    let mut sound = Buffer::from_slice(&other, &[1, 2, 3, 4]).expect("memory");
    let error = increase(&before, &mut buffer).expect_err("it is lost");
    let LaunchError::DeviceLost { device, source, .. } = &error else { panic!("{error}") };
    assert_eq!((&**device, source.code), (&*gpu(0), 700));
    assert!(is_lost(&buffer.try_to_vec().expect_err("it is lost")));
    let again = Queue::on(&Device::by_name(&gpu(0)).expect("it is listed"));
    let Err(schism::DeviceError::Driver { source, .. }) = again else { panic!("{again:?}") };
    assert_eq!(source.name, named("CUDA_ERROR_ILLEGAL_ADDRESS"));
    drop((buffer, before));
    // The others go on.
    increase(&other, &mut sound).expect("it runs");
    assert_eq!(sound.to_vec(), [2, 3, 4, 5]);
}

/// Each launch on the second device ends its context. The first one has the same kernel, and
/// nothing to do with it.
pub fn second_lost() {
    on_launch(add_one);
    let first = queue(&*gpu(0));
    let mut sound = Buffer::from_slice(&first, &[1, 2, 3, 4]).expect("memory");
    increase(&first, &mut sound).expect("it runs");
    for round in 1..3 {
        // A new queue has a new context.
        let second = queue(&*gpu(1));
        let mut gone = Buffer::from_slice(&second, &[1, 2, 3, 4]).expect("memory");
        assert_eq!(gone.to_vec(), [1, 2, 3, 4]);
        let error = increase(&second, &mut gone).expect_err("it is lost");
        let LaunchError::DeviceLost { device, source, .. } = &error else { panic!("{error}") };
        assert_eq!((&**device, source.code, source.call), (&*gpu(1), 719, named("cuLaunchKernel")));
        let error = gone.try_to_vec().expect_err("it is lost");
        assert!(matches!(&error, BufferError::DeviceLost { device, .. } if device == &*gpu(1)), "{error}");
        increase(&first, &mut sound).expect("it runs");
        assert_eq!(sound.to_vec(), [2 + round, 3 + round, 4 + round, 5 + round]);
        assert_eq!(calls("cuCtxCreate_v2"), 1 + u64::from(round));
    }
    // Where both had a kernel from the beginning, each has its own.
    assert_eq!(code().1, 3);
}

/// Driver errors that leave the context alone.
pub fn refused_launch() {
    on_launch(note);
    let queue = queue(&*gpu(0));
    let error = queue.parallel_for(1, |_| ()).expect_err("it is refused");
    let LaunchError::Driver { source, .. } = &error else { panic!("{error}") };
    assert_eq!((source.call, source.code), (named("cuLaunchKernel"), 1));
    assert!(error.to_string().contains(named("CUDA_ERROR_INVALID_VALUE")), "{error}");
    assert_eq!(take_seen().len(), 0);
    queue.parallel_for(1, |_| ()).expect("the next one is not");
    assert_eq!(take_seen().len(), 1);
    // An unknown code.
    let error = queue.parallel_for(1, |_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("error 12345"), "{error}");
}

pub fn refused_code() {
    let queue = queue(&*gpu(0));
    let launch = || queue.parallel_for(1, |_| ());
    for _ in 0..2 {
        let error = launch().expect_err("the driver refuses the code");
        let LaunchError::Image { cause, .. } = &error else { panic!("{error}") };
        let ImageError::Driver { source, log, .. } = &**cause else { panic!("{error}") };
        assert_eq!((source.call, source.code), (named("cuModuleLoadDataEx"), 218));
        // Only a driver that compiles says why.
        assert!(is_hip() || log.contains("told to refuse"), "{log}");
        assert!(is_hip() || error.to_string().ends_with("told to refuse this"), "{error}");
    }
    // Other kernels are fine.
    queue.parallel_for(1, |item| assert!(item.x() == 0)).expect("it runs");
}

/// The driver has no memory when it gets the code, once: see the test's environment.
pub fn no_memory_once() {
    on_launch(add_one);
    let queue = queue(&*gpu(0));
    let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3]).expect("memory");
    let error = increase(&queue, &mut numbers).expect_err("the driver has no memory");
    let LaunchError::Image { cause, .. } = &error else { panic!("{error}") };
    assert!(matches!(&**cause, ImageError::Driver { source, .. } if source.code == 2), "{error}");
    increase(&queue, &mut numbers).expect("now it has");
    assert_eq!((numbers.to_vec(), code().1), (vec![2, 3, 4], 2));
    increase(&queue, &mut numbers).expect("it is kept");
    assert_eq!(code().1, 2);
}

/// It never has memory: a loop that launches again and again does not ask it each time.
pub fn no_memory() {
    let queue = queue(&*gpu(0));
    let begin = std::time::Instant::now();
    for _ in 0..20_000 {
        queue.parallel_for(1, |_| ()).expect_err("the driver has no memory");
    }
    let most = 3 + u64::from((begin.elapsed().as_millis() as u64 / 10 + 1).ilog2());
    let asked = calls("cuModuleLoadDataEx");
    assert!((2..=most).contains(&asked), "{asked} times, not {most} at most");
}
