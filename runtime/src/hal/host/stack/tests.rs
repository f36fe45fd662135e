//! Tests of stacks other than the thread's own.

use std::thread;

use super::*;
use crate::hal::host::stack::overflow::Name;

const RUNS: Runs = Runs { kernel: Name::OfType(|| "a test"), device: "native" };

fn need(bytes: usize) -> Need {
    Need { bytes, open: false }
}

fn here() -> usize {
    let local = 0_u8;
    (&raw const local).addr()
}

/// Runs something on a thread with a small stack.
fn on_small_thread(run: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    thread.join().expect("it ends well");
}

#[test]
fn what_fits_stays_on_the_thread() {
    on_small_thread(|| {
        let mut at = 0;
        with_room(need(16 << 10), &RUNS, || {
            at = here();
            Ok(())
        })
        .expect("a stack");
        assert!(at.abs_diff(here()) < 64 << 10);
    });
}

/// A megabyte on a thread that has a quarter; the stack is reused the next time.
#[test]
fn what_does_not_fit_gets_a_stack() {
    on_small_thread(|| {
        let mut places = [0; 3];
        for place in &mut places {
            with_room(need(1 << 20), &RUNS, || {
                *place = here();
                let mut array = [1_u8; 900 << 10];
                std::hint::black_box(&mut array);
                Ok(())
            })
            .expect("a stack");
        }
        assert!(places[0].abs_diff(here()) > 256 << 10);
        assert!(places[0] == places[1] && places[1] == places[2], "{places:x?}");
    });
}

#[test]
fn a_failure_comes_through() {
    on_small_thread(|| {
        let result = with_room(need(1 << 20), &RUNS, || Err(Failure::LocalMemory { bytes: 7 }));
        assert!(matches!(result, Err(Failure::LocalMemory { bytes: 7 })), "{result:?}");
    });
}

#[test]
fn no_memory_is_a_failure() {
    let result = with_room(need(1 << 50), &RUNS, || Ok(()));
    let Err(Failure::NoStack { bytes, reason }) = result else { panic!("{result:?}") };
    assert!(bytes == 1 << 50 && !reason.is_empty());
    assert!(matches!(OwnStack::new(usize::MAX), Err(Failure::NoStack { .. })));
}

#[test]
fn sizes_are_few() {
    for (bytes, size) in
        [(0, 256 << 10), (1, 256 << 10), (256 << 10, 256 << 10), ((256 << 10) + 1, 512 << 10)]
    {
        assert_eq!(size_for(bytes), size);
        assert_eq!(OwnStack::new(bytes).expect("memory").size(), size);
    }
}
