//! The payload of a kernel's panic.

use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

/// The payload of a panic, until it is taken.
#[derive(Clone, Default)]
pub(crate) struct Payload(Option<Arc<Mutex<Kept>>>);

/// Dropped like [`discard`] does it.
struct Kept(Option<Box<dyn Any + Send>>);

impl Payload {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self(Some(Arc::new(Mutex::new(Kept(Some(payload))))))
    }

    pub(crate) fn take(&self) -> Option<Box<dyn Any + Send>> {
        let kept = self.0.as_ref()?;
        kept.lock().unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(payload) = self.0.take() {
            discard(payload);
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Payload" } else { "no payload" })
    }
}

// What an error says is in its other fields.
impl PartialEq for Payload {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Payload {}

/// Drops a panic payload. It may have any type, and dropping it may panic again; the payload of
/// that is leaked, since nothing may unwind where work-items are counted.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}
