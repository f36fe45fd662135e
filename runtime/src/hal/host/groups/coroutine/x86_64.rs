//! Coroutines for x86-64, with the calling convention of Linux.
//!
//! A switch stores the registers that a called function must keep in a [`Place`] and on the stack, loads
//! those of another one, and continues there.
//!
//! ```text
//! base of the stack ->  +---------+
//!                       | Control |
//!                       +---------+
//!                       |    …    |  frames
//!                       +---------+
//!                       |   rip   |
//!                       |   rbp   |
//!                       |   rbx   |  <- Place::top, while suspended
//!                       +---------+
//! ```
//!
//! A coroutine that has not run has the address of [`begin`] as `rip`. Those that pass to each other have
//! their places side by side, where their owner keeps them: a line of the cache each, in the order in which
//! they are needed. Of the stack one more line is touched.
//!
//! The processor predicts a `ret` by the last `call`s. Coroutines that wait in a loop leave at one call and
//! arrive behind another one, so each of these returns would be mispredicted. [`wait`] is therefore one
//! frame, directly below generated code, and continues by an indirect jump, which is predicted by the branches
//! before it. [`switch`] leaves and arrives in one function of this crate.

use std::arch::naked_asm;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::cell::Cell;
use std::ptr::{NonNull, null};

use corosensei::stack::Stack;

use crate::hal::host::groups::coroutine::entry::{Entry, Turn};
use crate::hal::host::stack::memory::OwnStack;

/// What is known of a coroutine, at the base of its stack.
#[repr(C, align(16))]
struct Control {
    /// Where it has suspended itself.
    place: Cell<Place>,
    /// Where its resumer, or the coroutine that passed to it, continues, while it runs.
    back: NonNull<Cell<Place>>,
    has_ended: Cell<bool>,
    entry: Entry<Link>,
    data: *const (),
}

/// A function on its own stack.
pub(in super::super) struct Coroutine {
    stack: OwnStack,
    control: NonNull<Control>,
}

/// How a coroutine suspends itself.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Link(NonNull<Control>);

/// Where a stack that was left continues. The default is nowhere.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(in super::super) struct Place {
    /// r12 to r15.
    registers: [usize; 4],
    top: Option<NonNull<u8>>,
}

/// Leaves this stack and continues at another place. Stores where this one continues, and returns when something
/// switches to that.
///
/// # Safety
/// `to` is where a stack was left by this function and has not gone on since, or is ready for [`begin`].
#[unsafe(naked)]
unsafe extern "sysv64" fn switch(from: &Cell<Place>, to: &Cell<Place>) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "mov [rdi], r12",
        "mov [rdi + 8], r13",
        "mov [rdi + 16], r14",
        "mov [rdi + 24], r15",
        "mov [rdi + 32], rsp",
        "mov rsp, [rsi + 32]",
        "mov r12, [rsi]",
        "mov r13, [rsi + 8]",
        "mov r14, [rsi + 16]",
        "mov r15, [rsi + 24]",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Generated code waits here: passes to the next one of the turn, or [suspends](Turn::suspend) itself.
/// Returns when it is resumed.
///
/// # Safety
/// Called in one of the turn's coroutines. All of them have the same `back`.
#[unsafe(naked)]
pub(in super::super) unsafe extern "sysv64" fn wait<T: Turn<Place>>(turn: *const T) {
    naked_asm!(
        "push rdi",
        "call {next}",
        "pop rdi",
        "test rax, rax",
        "je {suspend}",
        "push rbp",
        "push rbx",
        "mov [rax], r12",
        "mov [rax + 8], r13",
        "mov [rax + 16], r14",
        "mov [rax + 24], r15",
        "mov [rax + 32], rsp",
        "mov rsp, [rdx + 32]",
        "mov r12, [rdx]",
        "mov r13, [rdx + 8]",
        "mov r14, [rdx + 16]",
        "mov r15, [rdx + 24]",
        "pop rbx",
        "pop rbp",
        "pop rcx",
        "jmp rcx",
        next = sym next::<T>,
        suspend = sym suspend::<T>,
    )
}

/// Where the running coroutine is to be left, and where another one continues; null if it cannot pass to one.
#[repr(C)]
struct Ways {
    from: *const Cell<Place>,
    to: *const Cell<Place>,
}

/// [`Turn::next`] for [`wait`].
///
/// # Safety
/// As for that.
unsafe extern "sysv64" fn next<T: Turn<Place>>(turn: *const T) -> Ways {
    // SAFETY: the caller's promise.
    let next = unsafe { &*turn }.next();
    next.map_or(Ways { from: null(), to: null() }, |[from, to]| Ways { from, to })
}

/// [`Turn::suspend`] for [`wait`].
///
/// # Safety
/// As for that.
unsafe extern "sysv64" fn suspend<T: Turn<Place>>(turn: *const T) {
    // SAFETY: the caller's promise.
    unsafe { (*turn).suspend() };
}

/// Where a coroutine begins: its [`Control`] is on the top of the stack.
///
/// # Safety
/// Not to be called: a switch jumps here.
#[unsafe(naked)]
unsafe extern "sysv64" fn begin() -> ! {
    naked_asm!("pop rdi", "call {run}", "ud2", run = sym run)
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
    // SAFETY: this coroutine is not resumed again.
    unsafe { control_ref.leave() };
    std::process::abort();
}

impl Control {
    /// Continues where the coroutine was resumed.
    ///
    /// # Safety
    /// Called on the coroutine's stack.
    #[inline(always)]
    unsafe fn leave(&self) {
        // SAFETY: `back` lives by the promise of `Coroutine::new`, and the resumer of this coroutine waits
        // for it there.
        unsafe { switch(&self.place, self.back.as_ref()) };
    }
}

impl Coroutine {
    /// Will run `entry` when it is resumed for the first time. Coroutines that pass to each other share
    /// `back`, where the resumer of one of them continues.
    ///
    /// # Safety
    /// `entry` may be called with `data`, and `back` lives, until the coroutine has ended or is forgotten.
    /// Nothing else changes `back`.
    pub(in super::super) unsafe fn new(
        stack: OwnStack,
        entry: Entry<Link>,
        data: *const (),
        back: &Cell<Place>,
    ) -> Self {
        let base = std::ptr::with_exposed_provenance_mut::<u8>(stack.base().get());
        let control = base.wrapping_byte_sub(size_of::<Control>()).cast::<Control>();
        // The frame of `run` begins below an aligned address: it is called after the four words were read.
        let top = control.cast::<usize>().wrapping_sub(4);
        // SAFETY: nothing else uses the stack, whose highest bytes these are. The base is a multiple of a
        // line of the cache, and the size of the control one of its alignment.
        unsafe {
            control.write(Control {
                place: Cell::new(Place { top: NonNull::new(top.cast()), ..Place::default() }),
                back: NonNull::from(back),
                has_ended: Cell::new(false),
                entry,
                data,
            });
            top.write(0);
            top.add(1).write(0);
            top.add(2).write(begin as *const () as usize);
            top.add(3).write(control.expose_provenance());
            Self { stack, control: NonNull::new_unchecked(control) }
        }
    }

    /// Runs it until it suspends itself or ends. If it [passes](Place::pass) to others, this returns when
    /// one of these suspends itself or ends. `place` is where it passed to another one, if it has done so
    /// since it suspended itself.
    ///
    /// # Safety
    /// It has not ended, and is not forgotten. `place` is as said.
    #[inline]
    pub(in super::super) unsafe fn resume(&mut self, place: Option<&Cell<Place>>) {
        // SAFETY: the control lives as long as the stack.
        let control = unsafe { self.control.as_ref() };
        // SAFETY: the coroutine is suspended or has not begun; `back` by the promise of `new`.
        unsafe { switch(control.back.as_ref(), place.unwrap_or(&control.place)) };
    }

    /// Where it has suspended itself.
    pub(in super::super) fn place(&self) -> Place {
        // SAFETY: the control lives as long as the stack.
        unsafe { self.control.as_ref() }.place.get()
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
    /// Suspends the coroutine. Returns when it is resumed.
    ///
    /// # Safety
    /// Called in the link's coroutine.
    #[inline]
    pub(in super::super) unsafe fn suspend(self) {
        // SAFETY: the coroutine runs, so its stack lives.
        unsafe { self.0.as_ref().leave() };
    }
}

impl Place {
    /// Whether a stack continues here.
    #[inline]
    pub(in super::super) const fn is_somewhere(&self) -> bool {
        self.top.is_some()
    }

    /// Suspends the running coroutine, which continues at `own`, and resumes the one that continues at `to`.
    /// Returns when the first one is resumed. Who has resumed it waits for the other one.
    ///
    /// # Safety
    /// Called in a coroutine. The other one is suspended there, and has the same `back`.
    #[inline(always)]
    pub(in super::super) unsafe fn pass(own: &Cell<Self>, to: &Cell<Self>) {
        // SAFETY: the caller's promise.
        unsafe { switch(own, to) };
    }

    /// Loads the top of the stack into the cache: something will pass to it soon.
    #[inline]
    pub(in super::super) fn prefetch(&self) {
        let top = self.top.map_or(std::ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: every processor of this architecture has the instruction, which may have any address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(top.cast());
            _mm_prefetch::<_MM_HINT_T0>(top.wrapping_add(64).cast());
        }
    }
}

const _: () = assert!(size_of::<Place>() == 5 * 8 && std::mem::offset_of!(Place, top) == 32);
