//! How long stage 2 takes for saxpy, cold and warm, and what a call costs:
//! `cargo run --release -p schism-jit --example jit_time`.

use std::time::Instant;

#[path = "../tests/support/mod.rs"]
mod support;

use schism_jit_abi::{PARAM_FLOAT, PARAM_POINTER};
use support::{Source, param, whole};

fn main() {
    let params =
        vec![param(0, 8, PARAM_POINTER), param(8, 8, PARAM_POINTER), param(16, 4, PARAM_FLOAT)];
    let source = Source::new(include_str!("../tests/kernels/saxpy.ll"), "saxpy", params);
    for round in 0..10 {
        let start = Instant::now();
        let kernel = source.build();
        let total = start.elapsed();
        println!(
            "{} compile: {total:?} ({} µs in stage 2), {} bytes",
            if round == 0 { "cold" } else { "warm" },
            kernel.lower_micros,
            kernel.code.size()
        );
    }

    #[repr(C)]
    struct Closure {
        y: *mut f32,
        x: *const f32,
        a: f32,
    }
    let kernel = source.build();
    for len in [0_usize, 1, 1000, 1_000_000] {
        let x = vec![1.5_f32; len];
        let mut y = vec![0.5_f32; len];
        let closure = Closure { y: y.as_mut_ptr(), x: x.as_ptr(), a: 2.0 };
        let rounds = (10_000_000 / (len + 100)).max(1) as u32;
        let start = Instant::now();
        for _ in 0..rounds {
            // SAFETY: the closure is the kernel's, and its vectors have as many elements as the
            // range.
            unsafe { kernel.run(&closure, &whole(&[len])) }.expect("saxpy does not panic");
        }
        println!("{len} elements: {:?} a call", start.elapsed() / rounds);
    }
}
