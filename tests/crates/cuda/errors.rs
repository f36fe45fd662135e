//! What the driver refuses, and contexts that are lost.

use schism::prelude::*;
use schism::{BufferError, ImageError};

use crate::fake::calls;
use crate::{panic_of, queue};

fn is_lost(error: &BufferError) -> bool {
    matches!(error, BufferError::DeviceLost { device, source }
        if device == "cuda:0" && source.code == 700 && source.name == "CUDA_ERROR_ILLEGAL_ADDRESS")
}

/// The launch's wait fails as after an illegal address: see the test's environment.
pub fn lost() {
    let before = queue("cuda:0");
    let mut buffer = Buffer::filled(&before, 100, 1_u32).expect("memory");
    let other = Buffer::filled(&before, 100, 2_u32).expect("memory");
    assert_eq!(other.view()[3], 2);
    let error = before.for_each(&mut buffer, |number| *number += 1).expect_err("it is lost");
    let LaunchError::DeviceLost { device, source, .. } = &error else { panic!("{error}") };
    assert_eq!((&**device, source.code), ("cuda:0", 700));
    assert!(error.to_string().contains("make a new queue"), "{error}");

    // All that was there says so.
    assert!(is_lost(&buffer.try_to_vec().expect_err("it is lost")));
    assert!(is_lost(&buffer.write(&[0; 100]).expect_err("it is lost")));
    assert!(is_lost(&buffer.read(&mut [0; 100]).expect_err("it is lost")));
    assert!(is_lost(&Buffer::filled(&before, 1, 1).expect_err("it is lost")));
    let error = before.parallel_for(1, |_| ()).expect_err("it is lost");
    assert!(matches!(error, LaunchError::DeviceLost { .. }), "{error}");
    assert!(panic_of(|| drop(buffer.to_vec())).contains("was lost"));
    // What the host has read stays.
    assert_eq!(other.view()[3], 2);
    assert!(panic_of(|| assert_eq!(buffer.view()[0], 0)).contains("was lost"));

    // The process goes on with a new queue.
    let after = queue("cuda:0");
    let mut new = Buffer::from_slice(&after, &[1, 2, 3]).expect("memory");
    after.for_each(&mut new, |number| *number += 1).expect("it runs");
    assert_eq!(new.to_vec(), [1, 2, 3]);
    let error = after.for_each(&mut buffer, |number| *number += 1).expect_err("it was lost");
    assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
    assert_eq!(calls("cuCtxDestroy_v2"), 0);
    drop((buffer, other, before));
    assert_eq!(calls("cuCtxDestroy_v2"), 1);
    assert_eq!(new.to_vec(), [1, 2, 3]);
}

/// Driver errors that leave the context alone.
pub fn refused_launch() {
    let queue = queue("cuda:0");
    let error = queue.parallel_for(1, |_| ()).expect_err("it is refused");
    let LaunchError::Driver { source, .. } = &error else { panic!("{error}") };
    assert_eq!((source.call, source.code), ("cuLaunchKernel", 1));
    assert!(error.to_string().contains("CUDA_ERROR_INVALID_VALUE"), "{error}");
    queue.parallel_for(1, |_| ()).expect("the next one is not");
    // A code that nobody knows.
    let error = queue.parallel_for(1, |_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("error 12345"), "{error}");
}

pub fn refused_code() {
    let queue = queue("cuda:0");
    let launch = || queue.parallel_for(1, |_| ());
    for _ in 0..2 {
        let error = launch().expect_err("the driver refuses the code");
        let LaunchError::Image { cause, .. } = &error else { panic!("{error}") };
        let ImageError::Driver { source, log, .. } = &**cause else { panic!("{error}") };
        assert_eq!((source.call, source.code), ("cuModuleLoadDataEx", 218));
        assert!(log.contains("told to refuse"), "{log}");
        assert!(error.to_string().ends_with("told to refuse this"), "{error}");
    }
    // Other kernels are fine.
    queue.parallel_for(1, |item| assert!(item.x() == 0)).expect("it runs");
}
