//! Coroutines: a function on its own stack, which can be suspended and resumed.
//!
//! Both implementations have the same interface. Work-items that wait at barriers do little else than
//! switch, so on x86-64 one of this crate's own switches directly from one coroutine to the next.
//! Elsewhere, and under sanitizers, which have to know of each switch, it is the crate `corosensei`.

mod entry;
#[cfg(any(
    not(all(target_arch = "x86_64", target_os = "linux")),
    schism_sanitize = "address",
    schism_sanitize = "thread"
))]
#[path = "portable.rs"]
mod implementation;
#[cfg(all(
    target_arch = "x86_64",
    target_os = "linux",
    not(any(schism_sanitize = "address", schism_sanitize = "thread"))
))]
#[path = "x86_64.rs"]
mod implementation;

pub(super) use crate::hal::host::groups::coroutine::entry::Turn;
pub(super) use crate::hal::host::groups::coroutine::implementation::{
    Coroutine, Link, Place, wait,
};

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;
    use crate::hal::host::stack::memory::OwnStack;

    #[derive(Default)]
    struct Shared {
        links: RefCell<Vec<Link>>,
        places: RefCell<Vec<Rc<Cell<Place>>>>,
        back: Cell<Place>,
        seen: RefCell<Vec<usize>>,
        rounds: Cell<usize>,
    }

    unsafe fn count(data: *const (), link: Link) {
        // SAFETY: the tests pass this, and end or forget each coroutine before it is gone.
        let shared = unsafe { &*data.cast::<Shared>() };
        let name = shared.links.borrow().len();
        shared.links.borrow_mut().push(link);
        let mut float = name as f64;
        for _ in 0..shared.rounds.get() {
            float *= 2.0;
            shared.seen.borrow_mut().push(name * 100 + float as usize);
            // SAFETY: this runs in the link's coroutine.
            unsafe { link.suspend() };
        }
    }

    fn coroutine(shared: &Shared) -> Coroutine {
        let stack = OwnStack::new(0).expect("memory for a stack");
        let data = std::ptr::from_ref(shared).cast();
        // SAFETY: as in `count`.
        unsafe { Coroutine::new(stack, count, data, &shared.back) }
    }

    #[test]
    fn coroutines_take_turns() {
        let shared = Shared::default();
        shared.rounds.set(3);
        let mut all = [coroutine(&shared), coroutine(&shared), coroutine(&shared)];
        for round in 0..4 {
            for coroutine in &mut all {
                // SAFETY: it has not ended.
                unsafe { coroutine.resume(None) };
                assert_eq!(coroutine.has_ended(), round == 3);
            }
        }
        assert_eq!(*shared.seen.borrow(), [0, 102, 204, 0, 104, 208, 0, 108, 216]);
        for coroutine in all {
            drop(coroutine.into_stack());
        }
    }

    #[test]
    fn a_suspended_one_is_forgotten() {
        let shared = Shared::default();
        shared.rounds.set(3);
        let mut coroutine = coroutine(&shared);
        // SAFETY: it has not ended; `count` has nothing to drop.
        unsafe {
            coroutine.resume(None);
            assert!(!coroutine.has_ended());
            coroutine.forget();
        }
        drop(coroutine.into_stack());
        assert_eq!(*shared.seen.borrow(), [0]);
    }

    /// Passes to the next one, the last one suspends all.
    unsafe fn relay(data: *const (), link: Link) {
        // SAFETY: as in `count`.
        let shared = unsafe { &*data.cast::<Shared>() };
        let name = shared.links.borrow().len();
        shared.links.borrow_mut().push(link);
        // SAFETY: this runs in the link's coroutine, and all others are suspended.
        unsafe {
            link.suspend();
            for round in 0..shared.rounds.get() {
                shared.seen.borrow_mut().push(round * 10 + name);
                let own = shared.places.borrow()[name].clone();
                let next = shared.places.borrow().get(name + 1).cloned();
                match next {
                    Some(next) => Place::pass(&own, &next),
                    None => link.suspend(),
                }
            }
        }
    }

    #[test]
    fn one_passes_to_the_next() {
        let shared = Shared::default();
        shared.rounds.set(2);
        let new = || {
            let stack = OwnStack::new(0).expect("memory for a stack");
            let data = std::ptr::from_ref(&shared).cast();
            // SAFETY: as in `count`.
            unsafe { Coroutine::new(stack, relay, data, &shared.back) }
        };
        let mut all = [new(), new(), new()];
        // SAFETY: none has ended, and each continues where it was left last.
        unsafe {
            for coroutine in &mut all {
                coroutine.resume(None);
                let place = coroutine.place();
                if !place.is_somewhere() {
                    return;
                }
                shared.places.borrow_mut().push(Rc::new(Cell::new(place)));
            }
            let place = |index: usize| shared.places.borrow()[index].clone();
            for _ in 0..2 {
                all[0].resume(Some(&place(0)));
                assert!(!all.iter().any(Coroutine::has_ended));
                place(2).set(all[2].place());
            }
            for (index, coroutine) in all.iter_mut().enumerate() {
                coroutine.resume(Some(&place(index)));
                assert!(coroutine.has_ended());
            }
        }
        assert_eq!(*shared.seen.borrow(), [0, 1, 2, 10, 11, 12]);
    }
}
