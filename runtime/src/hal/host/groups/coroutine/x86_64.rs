//! Coroutines for x86-64, with the calling convention of Linux.
//!
//! A switch stores the registers that a called function must keep on the stack that it leaves, and jumps
//! to where the other stack was left. It never returns: the processor predicts a `ret` by the last `call`s.
//! Work-items leave at a barrier and arrive at one, so with jumps the last calls are those of the frames
//! that are returned from, on whichever stack they were made.
//!
//! ```text
//! base of the stack ->  +---------+
//!                       | Control |
//!                       +---------+
//!                       |    …    |  frames
//!                       +---------+
//!                       |   rbp   |
//!                       |   rbx   |
//!                       |   rip   |  <- Control::top while suspended
//!                       +---------+
//! ```
//!
//! A coroutine that has not run has the address of [`begin`] there.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

use corosensei::stack::Stack;

use crate::hal::host::groups::coroutine::entry::Entry;
use crate::hal::host::stack::memory::OwnStack;

/// What is known of a coroutine, at the base of its stack.
#[repr(C, align(16))]
struct Control {
    /// The top of its stack while it is suspended.
    top: Cell<*mut u8>,
    /// The top of the stack of whoever has resumed it, or the one that passed to it, while it runs.
    resumer: Cell<*mut u8>,
    has_ended: Cell<bool>,
    entry: Entry<Link>,
    data: *const (),
}

/// A function on a stack of its own.
pub(in super::super) struct Coroutine {
    stack: OwnStack,
    control: NonNull<Control>,
}

/// How a coroutine suspends itself.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Link(NonNull<Control>);

/// Leaves this stack and goes on where the one with the top `to` was left. Stores the top of this one, and
/// returns when something switches to that.
///
/// # Safety
/// `to` is the top of a stack that was left by this function, or is ready for [`begin`]; `from` can be
/// written, and lives until then.
#[inline(always)]
unsafe fn switch(from: *mut *mut u8, to: *mut u8) {
    // SAFETY: the compiler keeps no value in a register over this but in rbx and rbp, which are kept on
    // the stack. Neither stack is changed above its top meanwhile. The assembly may use the stack, so
    // there is no red zone below it.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rax",
            "lea rcx, [rip + 2f]",
            "cmp rax, rcx",
            "je 2f",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inlateout("rdi") from => _,
            inlateout("rsi") to => _,
            lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// Where a coroutine begins: its [`Control`] is on the top of the stack.
///
/// # Safety
/// Not to be called: a switch jumps here.
#[unsafe(naked)]
unsafe extern "sysv64" fn begin() -> ! {
    naked_asm!("pop rdi", "xor ebp, ebp", "call {run}", "ud2", run = sym run)
}

/// Runs a coroutine. A panic that reaches this function aborts.
///
/// # Safety
/// Called by [`begin`] on the coroutine's stack.
unsafe extern "sysv64" fn run(control: NonNull<Control>) -> ! {
    // SAFETY: the control lives as long as the stack.
    let control_ref = unsafe { control.as_ref() };
    // SAFETY: the promise of `Coroutine::new`.
    unsafe { (control_ref.entry)(control_ref.data, Link(control)) };
    control_ref.has_ended.set(true);
    // SAFETY: whoever has resumed this coroutine waits for it, and nobody resumes it again.
    unsafe { switch(control_ref.top.as_ptr(), control_ref.resumer.get()) };
    std::process::abort();
}

impl Coroutine {
    /// Will run `entry` when it is resumed for the first time.
    ///
    /// # Safety
    /// `entry` may be called with `data` until the coroutine has ended or is forgotten.
    pub(in super::super) unsafe fn new(
        stack: OwnStack,
        entry: Entry<Link>,
        data: *const (),
    ) -> Self {
        let base = std::ptr::with_exposed_provenance_mut::<u8>(stack.base().get());
        let control = base.wrapping_byte_sub(size_of::<Control>()).cast::<Control>();
        // The frame of `run` begins below an aligned address: it is called after the two words were read.
        let top = control.cast::<usize>().wrapping_sub(2);
        // SAFETY: nothing else uses the stack, whose highest bytes these are. The base is a multiple of a
        // line of the cache, and the size of the control one of its alignment.
        unsafe {
            control.write(Control {
                top: Cell::new(top.cast()),
                resumer: Cell::new(null_mut()),
                has_ended: Cell::new(false),
                entry,
                data,
            });
            top.write(begin as *const () as usize);
            top.add(1).write(control.expose_provenance());
            Self { stack, control: NonNull::new_unchecked(control) }
        }
    }

    /// Runs it until it suspends itself or ends. If it [passes](Link::pass_to) to others, this returns when
    /// one of these suspends itself or ends.
    ///
    /// # Safety
    /// It has not ended, and is not forgotten.
    #[inline]
    pub(in super::super) unsafe fn resume(&mut self) {
        // SAFETY: the control lives as long as the stack.
        let control = unsafe { self.control.as_ref() };
        // SAFETY: the coroutine is suspended or has not begun.
        unsafe { switch(control.resumer.as_ptr(), control.top.get()) };
    }

    /// Whether it has ended.
    #[inline]
    pub(in super::super) fn has_ended(&self) -> bool {
        // SAFETY: the control lives as long as the stack.
        unsafe { self.control.as_ref() }.has_ended.get()
    }

    /// Discards the frames on its stack.
    ///
    /// # Safety
    /// None of them has anything to drop.
    pub(in super::super) unsafe fn forget(&mut self) {}

    /// The stack. The coroutine has ended or is forgotten.
    pub(in super::super) fn into_stack(self) -> OwnStack {
        self.stack
    }
}

impl Link {
    /// Whether [`pass_to`](Self::pass_to) can be called.
    pub(in super::super) const PASSES: bool = true;

    /// Suspends the coroutine. Returns when it is resumed.
    ///
    /// # Safety
    /// Called in the link's coroutine.
    #[inline]
    pub(in super::super) unsafe fn suspend(self) {
        // SAFETY: the coroutine runs, so its stack lives.
        let control = unsafe { self.0.as_ref() };
        // SAFETY: whoever has resumed it waits for it.
        unsafe { switch(control.top.as_ptr(), control.resumer.get()) };
    }

    /// Loads into the cache what [`prefetch_stack`](Self::prefetch_stack) needs.
    #[inline]
    pub(in super::super) fn prefetch(self) {
        // SAFETY: every processor of this architecture has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.as_ptr().cast_const().cast()) };
    }

    /// Loads the top of the coroutine's stack into the cache: something will pass to it soon.
    ///
    /// # Safety
    /// It is suspended.
    #[inline]
    pub(in super::super) unsafe fn prefetch_stack(self) {
        // SAFETY: the coroutine is suspended, so its stack lives. Every processor of this architecture has
        // the instruction.
        unsafe {
            let top = self.0.as_ref().top.get();
            _mm_prefetch::<_MM_HINT_T0>(top.cast());
            _mm_prefetch::<_MM_HINT_T0>(top.wrapping_add(64).cast());
        }
    }

    /// Suspends the coroutine and resumes another one. Returns when it is resumed. Who has resumed this
    /// coroutine waits for that one.
    ///
    /// # Safety
    /// Called in the link's coroutine; the other one is suspended.
    #[inline]
    pub(in super::super) unsafe fn pass_to(self, other: Self) {
        // SAFETY: the coroutine runs, and the other one is suspended, so both stacks live.
        let (control, other) = unsafe { (self.0.as_ref(), other.0.as_ref()) };
        other.resumer.set(control.resumer.get());
        // SAFETY: the other one was left by a switch.
        unsafe { switch(control.top.as_ptr(), other.top.get()) };
    }
}
