//! Compiling, running and releasing on many threads at once.

mod support;

use schism_jit_abi::*;
use support::{Source, param, whole, words};

#[repr(C)]
struct Saxpy {
    y: *mut f32,
    x: *const f32,
    a: f32,
}

#[test]
fn many_threads_compile_run_and_release() {
    let params =
        vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
    let good = Source::new(include_str!("kernels/saxpy.ll"), "saxpy", params);
    let faults = include_str!("kernels/faults.ll");
    let bad = Source::new(faults, "unresolved", words(&[PARAM_POINTER]));
    let broken = Source::new(faults, "assembly", words(&[PARAM_POINTER]));
    let long_lived = good.build();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (good, bad, broken, long_lived) = (&good, &bad, &broken, &long_lived);
            scope.spawn(move || {
                for round in 0..10 {
                    let kernel = good.build();
                    let x: Vec<f32> = (0..1000).map(|i| (i * thread) as f32).collect();
                    let mut y = vec![1.0_f32; 1000];
                    let closure = Saxpy { y: y.as_mut_ptr(), x: x.as_ptr(), a: round as f32 };
                    // SAFETY: both vectors have as many elements as the range.
                    unsafe {
                        kernel.run(&closure, &whole(&[1000])).expect("no panic");
                        long_lived.run(&closure, &whole(&[1000])).expect("no panic");
                    }
                    drop(kernel);
                    for (x, y) in x.iter().zip(&y) {
                        let once = round as f32 * x + 1.0;
                        assert_eq!(*y, round as f32 * x + once);
                    }
                    assert_eq!(bad.error().0, UNRESOLVED_SYMBOLS);
                    assert_eq!(broken.error().0, BACKEND_FAILED);
                }
            });
        }
    });
}
