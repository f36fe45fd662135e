//! What the compiler is told of a loop of a kernel: how often to unroll it, and what it may assume.
//!
//! A marker is inline assembly without an instruction, whose result is unused. Compilers remove
//! such assembly before they optimise the loop around it, so the host pays nothing. In the device
//! half stage 1 finds it first (`schism_passes::frontend::prepare_module`).

/// Marks the place. The text is what stage 1 looks for.
macro_rules! marker {
    ($what:literal $(, $name:ident = const $constant:expr)?) => {
        // Miri runs no assembly.
        #[cfg(not(miri))]
        {
            let _unused: usize;
            // SAFETY: a comment, which leaves its only register, memory and flags as they are.
            unsafe {
                core::arch::asm!(
                    concat!("/* schism: ", $what, " {unused} */"),
                    $($name = const $constant,)?
                    unused = inlateout(reg) 0_usize => _unused,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
        }
    };
}

/// Asks the compiler to unroll the loop around this call: `COUNT` iterations become one.
///
/// `COUNT` is a number of iterations. With 1 the loop is not unrolled, as [`no_unroll`] asks. 0
/// does not compile. If `COUNT` does not divide the trip count, the remaining iterations run in a
/// loop of their own, or leave the unrolled loop early. Values never change: iterations compute in
/// their order.
///
/// Unrolling saves counters and branches, and lets loads of several iterations be in flight
/// together. It costs registers and code size. Without a hint the compiler decides by size and trip
/// count; with one, the heuristics of schism and LLVM leave the loop alone.
///
/// The loop is the innermost one around the call, after inlining: a closure of
/// [`Iterator::for_each`] or [`Iterator::map`] can contain the call as well as the body of a `for`.
/// A call in no loop has no effect. Of several calls in one loop, [`no_unroll`] counts before
/// [`unroll_full`], and that before the greatest `COUNT`.
///
/// This is a hint: LLVM does not follow it if the unrolled loop has more than about 16,000
/// instructions. A loop with a `break`, or with an index check that cannot be made before the loop,
/// has that branch in each copy of an iteration.
///
/// On the device `native`, and in programs that plain rustc compiles, the call does nothing, and
/// optimised code has no trace of it.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let rows = Buffer::filled(&queue, 100 * 37, 1.5_f32)?;
/// let mut sums = Buffer::filled(&queue, 100, 0.0_f32)?;
/// let elements = rows.view();
/// queue.for_each((0.., &mut sums), move |(row, sum)| {
///     for column in 0..37 {
///         schism::unroll::<4>();
///         *sum += elements[row * 37 + column];
///     }
/// })?;
/// assert_eq!(sums.to_vec(), [55.5; 100]);
/// # Ok(())
/// # }
/// ```
///
/// A loop of no iterations at a time does not exist:
/// ```compile_fail,E0080
/// for _ in 0..9 {
///     schism::unroll::<0>();
/// }
/// ```
/// ```
/// for _ in 0..9 {
///     schism::unroll::<1>();
/// }
/// ```
#[inline(always)]
pub fn unroll<const COUNT: u32>() {
    const { assert!(COUNT > 0, "a loop cannot be unrolled by 0 iterations") };
    marker!("unroll {count}", count = const COUNT);
}

/// Asks the compiler to unroll the loop around this call completely, so that no loop is left.
///
/// For loops whose trip count is a constant when the kernel is compiled, at the latest for a launch
/// ([`SpecConst`](crate::SpecConst)). Other loops are left alone. See [`unroll`] for which loop it
/// is, and what else applies.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut hashes = Buffer::filled(&queue, 100, 7_u32)?;
/// queue.for_each(&mut hashes, |hash| {
///     for round in 0..24 {
///         schism::unroll_full();
///         *hash = (*hash ^ round).wrapping_mul(0x0100_0193);
///     }
/// })?;
/// # let expected = (0..24).fold(7_u32, |hash, round| (hash ^ round).wrapping_mul(0x0100_0193));
/// # assert_eq!(hashes.to_vec(), [expected; 100]);
/// # Ok(())
/// # }
/// ```
#[inline(always)]
pub fn unroll_full() {
    marker!("unroll full");
}

/// Asks the compiler not to unroll the loop around this call.
///
/// For loops that seldom have more than a few iterations, or whose code must stay small. See
/// [`unroll`] for which loop it is, and what else applies. The CPU's vectoriser may still compute
/// several iterations in one vector.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut roots = Buffer::filled(&queue, 100, 2.0_f64)?;
/// queue.for_each(&mut roots, |root| {
///     let square = *root;
///     for _ in 0..6 {
///         schism::no_unroll();
///         *root = (*root + square / *root) / 2.0;
///     }
/// })?;
/// assert!((roots.to_vec()[0] - 2.0_f64.sqrt()).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[inline(always)]
pub fn no_unroll() {
    marker!("unroll disable");
}

/// Says of the loop around this call that its iterations have nothing to do with each other: they
/// may be computed in any order, and several at once.
///
/// # Safety
/// That is so, but for what the loop's own variables hold: no iteration reads what another one
/// writes, through whatever pointers.
#[inline(always)]
pub unsafe fn independent_iterations() {
    marker!("independent iterations");
}
