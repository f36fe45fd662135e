//! The containers of the program's shared objects.

use std::sync::{Mutex, PoisonError};

/// One registered container, by its addresses.
struct Registered {
    begin: usize,
    end: usize,
}

static CONTAINERS: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// Runs before `main` and inside `dlopen`: it only takes note.
pub(crate) fn register(begin: *const u8, end: *const u8) {
    CONTAINERS.lock().unwrap_or_else(PoisonError::into_inner).push(Registered { begin: begin.addr(), end: end.addr() });
}

pub(crate) fn unregister(begin: *const u8) {
    CONTAINERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .retain(|container| container.begin != begin.addr() && container.end != begin.addr());
}
