//! Algorithms: where their operands are, and how they divide them.

use schism::algorithms;
use schism::prelude::*;
use schism::{BufferError, LaunchError};

use crate::fake::{note, on_launch, take_seen};
use crate::memory::add_one;
use crate::{gpu, queue};

fn is_foreign<R>(result: Result<R, LaunchError>) {
    let error = result.err().expect("it is elsewhere");
    assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
}

pub fn algorithms() {
    on_launch(add_one);
    let (gpu, cpu) = (queue(&*gpu(0)), queue("cpu"));
    // What is on the host is copied to the device, and back.
    let mut host = [1_u32, 2, 3, 4];
    algorithms::for_each(&gpu, &mut host, |x| *x += 1).expect("it runs");
    assert_eq!(host, [2, 3, 4, 5]);
    let mut longer = vec![7; 6];
    algorithms::for_each(&gpu, &mut longer[1..5], |x| *x += 1).expect("it runs");
    assert_eq!(longer, [7, 8, 8, 8, 8, 7]);
    // A buffer of the device stays there.
    let mut buffer = Buffer::from_slice(&gpu, &host).expect("memory");
    algorithms::for_each(&gpu, &mut buffer, |x| *x += 1).expect("it runs");
    let mut view = buffer.view_mut();
    algorithms::for_each(&gpu, &mut view, |x| *x += 1).expect("it runs");
    assert_eq!(buffer.to_vec(), [4, 5, 6, 7]);
    assert_eq!(host, [2, 3, 4, 5]);

    // Other devices have no access, in whatever form it is asked for.
    is_foreign(algorithms::find(&cpu, &buffer, 1));
    is_foreign(algorithms::find(&cpu, &buffer.view(), 1));
    is_foreign(algorithms::reverse(&cpu, &mut buffer));
    is_foreign(algorithms::reverse(&cpu, &mut buffer.view_mut()));
    is_foreign(algorithms::copy(&cpu, &[0; 4], &mut buffer));
    is_foreign(algorithms::count(&cpu, &buffer.view_mut(), 1));
    assert_eq!(buffer.to_vec(), [4, 5, 6, 7]);
    let mut on_cpu = Buffer::from_slice(&cpu, &host).expect("memory");
    is_foreign(algorithms::for_each(&gpu, &mut on_cpu, |x| *x += 1));

    // One launch of work-groups, which are enough, and not too many.
    on_launch(note);
    let large = Buffer::filled(&gpu, 1 << 20, 1_u32).expect("memory");
    algorithms::reduce(&gpu, &large, 0, |a, b| a + b).expect("it runs");
    let launches = take_seen();
    let items: Vec<u32> = launches.iter().map(|(grid, block, ..)| grid[0] * block[0]).collect();
    let [items] = items[..] else { panic!("{items:?}") };
    assert!((1024..=1 << 20).contains(&items) && items % 32 == 0, "{items}");
}

/// What does not fit is an error of the launch.
pub fn no_memory_for_algorithms() {
    let gpu = queue(&gpu(0));
    let host = vec![1_u8; 100 << 20];
    let error = algorithms::find(&gpu, &host, 2).expect_err("it is more than there is");
    assert!(matches!(error, LaunchError::Memory(BufferError::OutOfMemory { .. })), "{error}");
    assert!(error.to_string().starts_with(&format!("device `{}` has no room", crate::gpu(0))), "{error}");
}
