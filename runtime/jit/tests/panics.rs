//! A work-item that panics ends its chunk and says why, where, and which it was.

mod support;

use std::collections::HashSet;

use schism_jit_abi::*;
use support::{
    Kernel, Panic, Source, chunk, many_checked_loops, many_loops, many_loops_on_host, whole, words,
};

const PANICS: &str = include_str!("kernels/panics.ll");

#[repr(C)]
struct Closure {
    out: *mut u8,
    at: u64,
}

fn build(kernel: &str, dimensions: u32) -> Kernel {
    Source::new(PANICS, kernel, words(&[PARAM_POINTER, PARAM_INTEGER]))
        .dimensions(dimensions)
        .build()
}

fn panic_at(global_id: [usize; 3]) -> Panic {
    Panic {
        message: "index out of bounds".to_owned(),
        file: "src/main.rs".to_owned(),
        line: 42,
        column: 7,
        global_id,
    }
}

/// Runs over a range with one output of 8 bytes a work-item, and gives the outputs' first bytes.
fn run(kernel: &Kernel, at: u64, chunk: &CpuChunk) -> (Result<(), Panic>, Vec<u8>) {
    let mut out = vec![0_u8; 8 * 100_000];
    let closure = Closure { out: out.as_mut_ptr(), at };
    // SAFETY: ids stay below 100 000 in these tests, and each has 8 bytes.
    (unsafe { kernel.run(&closure, chunk) }, out)
}

#[test]
fn in_the_kernel() {
    let kernel = build("inlined", 1);
    for at in [0, 1, 17, 999] {
        let (result, out) = run(&kernel, at, &whole(&[1000]));
        assert_eq!(result, Err(panic_at([at as usize, 0, 0])));
        let ran = out.iter().filter(|&&byte| byte == 1).count();
        assert_eq!(ran as u64, at, "those before ran, those after did not");
    }
    let (result, out) = run(&kernel, 5000, &whole(&[1000]));
    assert_eq!(result, Ok(()));
    assert!(out[..1000].iter().all(|&byte| byte == 1));
    let (result, _) = run(&kernel, 17, &chunk(&[(18, 1000, 1000)]));
    assert_eq!(result, Ok(()), "another chunk's work-item does not panic here");
}

#[test]
fn in_two_and_three_dimensions() {
    let (result, _) = run(&build("inlined", 2), 23, &whole(&[10, 5]));
    assert_eq!(result, Err(panic_at([3, 2, 0])));
    let (result, _) = run(&build("inlined", 3), 123, &whole(&[10, 5, 4]));
    assert_eq!(result, Err(panic_at([3, 2, 2])));
}

#[test]
fn with_values() {
    let kernel = build("formatted", 1);
    for at in [0, 17, 999] {
        let (result, out) = run(&kernel, at, &whole(&[1000]));
        let message = format!("item {at} of {at}");
        assert_eq!(result, Err(Panic { message, ..panic_at([at as usize, 0, 0]) }));
        assert_eq!(out.iter().filter(|&&byte| byte == 1).count() as u64, at);
    }
    let (result, _) = run(&kernel, 5000, &whole(&[1000]));
    assert_eq!(result, Ok(()));
}

#[test]
fn without_a_place() {
    let (result, _) = run(&build("placeless", 1), 3, &whole(&[10]));
    let expected = Panic {
        message: "äöü".to_owned(),
        file: String::new(),
        line: 0,
        column: 0,
        global_id: [3, 0, 0],
    };
    assert_eq!(result, Err(expected));
}

#[test]
fn deep_in_a_recursive_function() {
    let kernel = build("recursive", 1);
    let value = |x: u64| (0..x & 15).fold(1_u64, |below, _| below * 3 + x);
    for at in [0, 1, 15, 16, 31, 999, 5000] {
        // Values that must survive the jump, in registers that calls keep.
        let kept: Vec<u64> = (0..20).map(|i| i * at).collect();
        let (result, out) = run(&kernel, at, &whole(&[1000]));
        let ran = (at as usize).min(1000);
        let expected = if ran < 1000 { Err(panic_at([ran, 0, 0])) } else { Ok(()) };
        assert_eq!(result, expected);
        for (x, bytes) in (0_u64..).zip(out.chunks_exact(8)).take(1000) {
            let found = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            assert_eq!(found, if x < ran as u64 { value(x) } else { 0 }, "{x}");
        }
        assert!(kept.iter().zip(0..).all(|(&value, i)| value == i * at));
    }
}

#[test]
fn through_a_pointer_and_in_a_recursive_kernel() {
    for (name, count) in [("by_pointer", 1), ("itself", 3)] {
        let kernel = build(name, 1);
        let (result, out) = run(&kernel, 77, &whole(&[1000]));
        assert_eq!(result, Err(panic_at([77, 0, 0])), "{name}");
        assert!(out[..77].iter().all(|&byte| byte == count), "{name}");
        assert!(out[77..1000].iter().all(|&byte| byte == 0), "{name}");
        let (result, out) = run(&kernel, 5000, &whole(&[1000]));
        assert_eq!(result, Ok(()), "{name}");
        assert!(out[..1000].iter().all(|&byte| byte == count), "{name}");
    }
}

#[test]
fn what_was_stored_before_is_there() {
    for name in ["stored", "stored_deep"] {
        let (result, out) = run(&build(name, 1), 77, &whole(&[1000]));
        assert_eq!(result, Err(panic_at([77, 0, 0])), "{name}");
        assert_eq!(out[77], 7, "{name}");
        assert!(out[..77].iter().all(|&byte| byte == 1), "{name}");
    }
}

#[test]
fn in_a_kernel_of_many_loops() {
    for loops in [10, 70] {
        let params = words(&[PARAM_POINTER, PARAM_INTEGER]);
        let kernel = Source::new(&many_loops(loops), "many", params).build();
        let value = |x: u64| many_loops_on_host(loops, x);
        let (result, out) = run(&kernel, value(77), &whole(&[1000]));
        assert_eq!(result.expect_err("it panics").global_id, [77, 0, 0], "{loops} loops");
        for (x, bytes) in (0_u64..).zip(out.chunks_exact(8)).take(100) {
            let found = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            let expected = match x {
                0..77 => value(x).wrapping_add(1),
                77 => value(x),
                _ => 0,
            };
            assert_eq!(found, expected, "{loops} loops, {x}");
        }
    }
}

/// Loops become two, one of them without checks, and do the same.
#[test]
fn in_a_kernel_of_many_checked_loops() {
    for loops in [10, 70] {
        let params = words(&[PARAM_POINTER, PARAM_INTEGER]);
        let kernel = Source::new(&many_checked_loops(loops), "many", params).build();
        // The last loop's iteration 11 is the first that fails, which work-item 12 is the first to
        // come to.
        for (at, first) in [(loops + 10, Some(12)), (loops + 101, None)] {
            let (result, out) = run(&kernel, at, &whole(&[1000]));
            let failed = result.err().map(|panic| panic.global_id);
            assert_eq!(failed, first.map(|first| [first, 0, 0]), "{loops} loops below {at}");
            for (x, bytes) in (0_u64..).zip(out.chunks_exact(8)).take(1001) {
                let found = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
                let expected = match x < first.map_or(1000, |first| first as u64) {
                    true => many_loops_on_host(loops, x).wrapping_add(1),
                    false => 0,
                };
                assert_eq!(found, expected, "{loops} loops below {at}, {x}");
            }
        }
    }
}

#[test]
fn always_and_never() {
    let (result, _) = run(&build("always", 1), 0, &whole(&[10]));
    assert_eq!(result, Err(panic_at([0, 0, 0])));
    let (result, _) = run(&build("always", 1), 0, &whole(&[0]));
    assert_eq!(result, Ok(()), "no work-item, no panic");
    let (result, out) = run(&build("never", 1), 0, &whole(&[10]));
    assert_eq!(result, Ok(()));
    assert!(out[..10].iter().all(|&byte| byte == 1));
}

#[test]
fn on_many_threads_each_its_own() {
    let kernels = [build("inlined", 1), build("recursive", 1), build("by_pointer", 1)];
    let found: Vec<HashSet<usize>> = kernels
        .iter()
        .map(|kernel| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8_usize)
                    .map(|thread| {
                        scope.spawn(move || {
                            let mut last = 0;
                            for round in 0..200 {
                                let at = thread * 100 + round % 100;
                                let (result, _) = run_small(kernel, at as u64);
                                last = result.expect_err("each panics").global_id[0];
                                assert_eq!(last, at);
                            }
                            last
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().expect("no failure")).collect()
            })
        })
        .collect();
    assert!(found.iter().all(|ids| ids.len() == 8));
}

fn run_small(kernel: &Kernel, at: u64) -> (Result<(), Panic>, Vec<u8>) {
    let mut out = vec![0_u8; 8 * 1000];
    let closure = Closure { out: out.as_mut_ptr(), at };
    // SAFETY: there are 8 bytes for each of 1000 ids.
    (unsafe { kernel.run(&closure, &whole(&[1000])) }, out)
}
