//! Tells ThreadSanitizer about switches between stacks.
//!
//! ThreadSanitizer keeps a list of the functions that a thread is in, and what the thread has
//! synchronized with. Both belong to a stack, so a stack that work-items wait on is a *fiber* to
//! ThreadSanitizer. The functions that switch stacks are instrumented too: a thread enters them on
//! one stack and leaves them on another, and their number is up to the optimiser. So entries and
//! exits around a switch are attributed to a second fiber, *between* the two stacks; on both stacks
//! each function that is entered is left.
//!
//! All this exists only with `--cfg schism_sanitize="thread"`, which `.ci/sanitize` sets. Otherwise
//! a [`Watched`] has no bytes, and its functions do nothing. AddressSanitizer is informed by the
//! crate that switches stacks, which has a feature for it.

#[cfg(not(schism_sanitize = "thread"))]
pub(crate) use crate::hal::host::groups::coroutine::implementation::watched::unwatched::Watched;
#[cfg(schism_sanitize = "thread")]
pub(crate) use crate::hal::host::groups::coroutine::implementation::watched::watched::Watched;

#[cfg(schism_sanitize = "thread")]
mod watched {
    use std::ffi::{c_uint, c_void};
    use std::ptr::null_mut;

    unsafe extern "C" {
        fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
        fn __tsan_destroy_fiber(fiber: *mut c_void);
        fn __tsan_get_current_fiber() -> *mut c_void;
        fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
    }

    /// The fibers of a stack.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Watched {
        own: *mut c_void,
        between: *mut c_void,
    }

    /// The stack that a thread has switched away from.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct LeftFiber(*mut c_void);

    // All of them are inlined, because a function that switches would be entered on one fiber and
    // left on another.
    impl Watched {
        #[inline(always)]
        pub(crate) fn new() -> Self {
            // SAFETY: the sanitizer is linked in, and creates fibers.
            unsafe { Self { own: __tsan_create_fiber(0), between: __tsan_create_fiber(0) } }
        }

        #[inline(always)]
        pub(crate) unsafe fn before_resume(self) -> LeftFiber {
            // SAFETY: the caller promises that the fiber exists.
            unsafe {
                let left = LeftFiber(__tsan_get_current_fiber());
                __tsan_switch_to_fiber(self.between, 0);
                left
            }
        }

        #[inline(always)]
        pub(crate) unsafe fn after_resume(self, left: LeftFiber) {
            // SAFETY: the fiber is that of the stack that the thread is on again.
            unsafe { __tsan_switch_to_fiber(left.0, 0) };
        }

        #[inline(always)]
        pub(crate) unsafe fn arrive(self) {
            // SAFETY: the caller promises that the fiber exists.
            unsafe { __tsan_switch_to_fiber(self.own, 0) };
        }

        #[inline(always)]
        pub(crate) unsafe fn leave(self) {
            // SAFETY: the caller promises that the fiber exists.
            unsafe { __tsan_switch_to_fiber(self.between, 0) };
        }

        #[inline(always)]
        pub(crate) unsafe fn end(self) {
            // SAFETY: the caller's promises.
            unsafe {
                __tsan_destroy_fiber(self.own);
                __tsan_destroy_fiber(self.between);
            }
        }
    }
}

#[cfg(not(schism_sanitize = "thread"))]
mod unwatched {
    /// A stack that is not instrumented.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Watched;

    /// The stack that a thread has switched away from.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct LeftFiber;

    const _: () = assert!(size_of::<(Watched, LeftFiber)>() == 0);

    impl Watched {
        /// For a new stack.
        #[inline(always)]
        pub(crate) fn new() -> Self {
            Self
        }

        /// Call before a thread switches to this stack.
        ///
        /// # Safety
        /// It has not [ended](Self::end), and no other thread is on it. The next switch is to this
        /// stack, and [`after_resume`](Self::after_resume) follows when the thread has come back.
        #[inline(always)]
        pub(crate) unsafe fn before_resume(self) -> LeftFiber {
            LeftFiber
        }

        /// Call when the thread has come back.
        ///
        /// # Safety
        /// `left` is the result of the call before.
        #[inline(always)]
        pub(crate) unsafe fn after_resume(self, left: LeftFiber) {
            let LeftFiber = left;
        }

        /// Call on this stack after a thread has switched to it.
        ///
        /// # Safety
        /// As said.
        #[inline(always)]
        pub(crate) unsafe fn arrive(self) {}

        /// Call on this stack before the thread leaves it.
        ///
        /// # Safety
        /// As said.
        #[inline(always)]
        pub(crate) unsafe fn leave(self) {}

        /// Call when nothing runs on the stack any more.
        ///
        /// # Safety
        /// No thread is on it or comes back to it, and this is not called again.
        #[inline(always)]
        pub(crate) unsafe fn end(self) {}
    }
}
