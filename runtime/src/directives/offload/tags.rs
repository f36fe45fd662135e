//! Tags of `signal` and `wait`: which ones have been signalled, of each target.

use std::sync::{Mutex, PoisonError};

use crate::directives::offload::error::OffloadError;
use crate::util::fork::NoForkGuard;

/// What `signal` and `wait` take: integers, and references and pointers, which stand for their address.
pub trait Tag {
    /// The tag as a number.
    fn __tag(self) -> usize;
}

impl<T: ?Sized> Tag for &T {
    fn __tag(self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T: ?Sized> Tag for *const T {
    fn __tag(self) -> usize {
        self.addr()
    }
}

impl<T: ?Sized> Tag for *mut T {
    fn __tag(self) -> usize {
        self.addr()
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Tag for $integer {
            fn __tag(self) -> usize {
                self as usize
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

/// The tags that a target's statements have signalled.
struct Signalled {
    target: String,
    tags: Vec<usize>,
}

static SIGNALLED: Mutex<Vec<Signalled>> = Mutex::new(Vec::new());

/// What has the tag has ended on the target.
pub(super) fn signal(target: &str, tag: usize) {
    let _no_fork = NoForkGuard::enter();
    let mut all = SIGNALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let index = match all.iter().position(|own| own.target == target) {
        Some(index) => index,
        None => {
            all.push(Signalled { target: target.to_owned(), tags: Vec::new() });
            all.len() - 1
        }
    };
    let tags = &mut all[index].tags;
    if let Err(place) = tags.binary_search(&tag) {
        tags.insert(place, tag);
    }
}

/// Waits for what has the tag: statements end before the next begins, so it has ended.
///
/// # Errors
/// [`OffloadError::UnknownSignal`] if nothing on the target has signalled it.
pub(super) fn wait(target: &str, tag: usize) -> Result<(), OffloadError> {
    let _no_fork = NoForkGuard::enter();
    let all = SIGNALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.iter().find(|own| own.target == target);
    if known.is_some_and(|own| own.tags.binary_search(&tag).is_ok()) {
        return Ok(());
    }
    Err(OffloadError::UnknownSignal { target: target.to_owned(), tag })
}
