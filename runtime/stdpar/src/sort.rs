//! rayon's sorts as kernels: `par_sort` and its kin, for elements that drop nothing.
//!
//! One kernel sorts blocks: a work-item inserts each element of a short run in its place, then
//! merges pairs of runs until its block is one. Then each pass merges pairs of runs of all elements:
//! a kernel finds where the parts of the merged runs begin (Green, McColl, Bader, "GPU merge path",
//! 2012), and a second one has a work-item merge each part. So the sort is stable, and balanced for
//! any input.
//!
//! Each step reads one buffer and writes another, so that an element is never in the caller's hands
//! twice or not at all: where a comparison panics, the buffer that was read is whole. Kernels do not
//! unwind, so each block's state says which of the two that is. Parts are delimited by numbers that
//! are written once, and checked before anything is moved: a comparison that is no order can make
//! the result unsorted, and nothing else.

use std::alloc::Layout;
use std::any::type_name;
use std::cmp::Ordering;
use std::mem::{needs_drop, size_of};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::slice::ParallelSliceMut;
use schism::__private::{HostThreads, Kernel, KernelType, run_on_threads, with_host_memory};
use schism::{Item, LaunchError, Queue};

use crate::device;
use crate::memory::Memory;
use crate::steps::Names;

/// Whether elements can be sorted by kernels. They are moved as bytes, and those that are left when
/// something fails are forgotten.
pub(crate) const fn may_move<T>() -> bool {
    !needs_drop::<T>() && size_of::<T>() != 0
}

/// The lengths of a sort.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Runs of this length are sorted by insertion.
    run: usize,
    /// Elements that a work-item sorts, and merges. A multiple of the run by a power of two.
    block: usize,
}

impl Sizes {
    /// How many blocks some elements are.
    pub(crate) const fn blocks(self, len: usize) -> usize {
        len.div_ceil(self.block)
    }

    /// The same with runs of half the length, if with these the elements would end in the other
    /// buffer: insertion moves them there, and each merge moves them to and fro.
    const fn ending_in_slice(self, len: usize) -> Self {
        let merges = (self.block / self.run).ilog2();
        let passes = self.blocks(len).next_power_of_two().ilog2();
        if (merges + passes).is_multiple_of(2) {
            Self { run: self.run / 2, block: self.block }
        } else {
            self
        }
    }
}

/// For threads: blocks that stay in a cache.
pub(crate) const FOR_THREADS: Sizes = Sizes { run: 16, block: 1 << 12 };
/// For devices with many work-items.
pub(crate) const FOR_WIDE: Sizes = Sizes { run: 8, block: 32 };

/// The state of a block: its elements are in the caller's slice.
const IN_SLICE: u8 = 0;
/// They are in the other buffer.
const IN_SPARE: u8 = 1;

/// The kernel that sorts blocks: a work-item for each. The compiler knows this module's kernels. The host
/// writes what they need without knowing the types: these are the same for all.
#[repr(C)]
pub struct Blocks<T, F> {
    slice: *mut T,
    spare: *mut T,
    states: *mut u8,
    is_less: *const F,
    len: usize,
    sizes: Sizes,
}

impl<T, F> Kernel<1> for Blocks<T, F>
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        let Sizes { run, block } = self.sizes;
        let begin = item.x() * block;
        let len = block.min(self.len - begin);
        // SAFETY: blocks have nothing in common, and the launch has one work-item for each. The
        // comparison is `Sync`.
        unsafe {
            let (mut from, mut to) = (self.slice.add(begin), self.spare.add(begin));
            let state = self.states.add(item.x());
            let is_less = &*self.is_less;
            let mut first = 0;
            while first < len {
                let own = run.min(len - first);
                insert(from.add(first), to.add(first), own, is_less);
                first += own;
            }
            let mut place = IN_SPARE;
            state.write(place);
            (from, to) = (to, from);
            let mut sorted = run;
            while sorted < len {
                let mut first = 0;
                while first < len {
                    let middle = sorted.min(len - first);
                    let end = (2 * sorted).min(len - first);
                    let part = from.add(first);
                    merge(
                        part,
                        part.add(middle),
                        part.add(end),
                        part.add(middle),
                        to.add(first),
                        is_less,
                    );
                    first += end;
                }
                place ^= IN_SPARE ^ IN_SLICE;
                state.write(place);
                (from, to) = (to, from);
                sorted *= 2;
            }
        }
    }
}

/// Copies elements in order.
///
/// # Safety
/// `from` is `len` elements that nothing writes, and `to` is memory for as many, which nothing else
/// uses.
#[inline(always)]
unsafe fn insert<T, F: Fn(&T, &T) -> bool>(from: *const T, to: *mut T, len: usize, is_less: &F) {
    for next in 0..len {
        // SAFETY: `next` and `place` are below `len`, and there are elements in `to` up to `next`.
        unsafe {
            let own = from.add(next);
            let mut place = next;
            while place > 0 && is_less(&*own, &*to.add(place - 1)) {
                to.add(place).write(to.add(place - 1).read());
                place -= 1;
            }
            to.add(place).write(own.read());
        }
    }
}

/// Merges the elements from `left` to `left_end` with those from `right` to `right_end`. Of equal
/// ones, the left one comes first.
///
/// It merges from both ends at once, for as long as both runs have elements for that: what is taken
/// at one end does not depend on what is taken at the other, so a processor does both together.
///
/// # Safety
/// Both are elements that nothing writes, and `to` is memory for all of them, which nothing else uses.
#[inline(always)]
unsafe fn merge<T, F: Fn(&T, &T) -> bool>(
    mut left: *const T,
    mut right: *const T,
    mut right_end: *const T,
    mut left_end: *const T,
    mut to: *mut T,
    is_less: &F,
) {
    // SAFETY: no pointer passes its end. `to` advances, and `to_end` goes back, once for each
    // element. With two elements in each run, none is taken at both ends, whatever the order.
    unsafe {
        let lengths = left_end.offset_from_unsigned(left) + right_end.offset_from_unsigned(right);
        let mut to_end = to.add(lengths);
        while left_end.offset_from_unsigned(left) >= 2 && right_end.offset_from_unsigned(right) >= 2
        {
            let takes_right = is_less(&*right, &*left);
            let leaves_right = is_less(&*right_end.sub(1), &*left_end.sub(1));
            to.write(if takes_right { right.read() } else { left.read() });
            right = right.add(usize::from(takes_right));
            left = left.add(usize::from(!takes_right));
            to = to.add(1);
            let last = if leaves_right { left_end.sub(1) } else { right_end.sub(1) };
            to_end = to_end.sub(1);
            to_end.write(last.read());
            left_end = left_end.sub(usize::from(leaves_right));
            right_end = right_end.sub(usize::from(!leaves_right));
        }
        while left < left_end && right < right_end {
            let takes_right = is_less(&*right, &*left);
            to.write(if takes_right { right.read() } else { left.read() });
            right = right.add(usize::from(takes_right));
            left = left.add(usize::from(!takes_right));
            to = to.add(1);
        }
        let rest = left_end.offset_from_unsigned(left);
        to.copy_from_nonoverlapping(left, rest);
        to.add(rest).copy_from_nonoverlapping(right, right_end.offset_from_unsigned(right));
    }
}

/// Pairs of neighbouring runs that a pass merges.
#[repr(C)]
struct Pass<T, F> {
    from: *const T,
    is_less: *const F,
    /// For each part, how many elements of its pair's left run come before it.
    begins: *mut usize,
    len: usize,
    /// The length of a run: a multiple of a part's.
    run: usize,
    /// The elements of a part.
    part: usize,
}

/// The part of a work-item.
struct Part {
    /// Where its pair begins, and the lengths of the two runs.
    pair: usize,
    left: usize,
    right: usize,
    /// Where it begins and ends in its pair.
    begin: usize,
    end: usize,
}

impl<T, F: Fn(&T, &T) -> bool> Pass<T, F> {
    #[inline(always)]
    fn part(&self, index: usize) -> Part {
        let first = index * self.part;
        let pair = first - first % self.run.saturating_mul(2);
        let left = self.run.min(self.len - pair);
        let right = self.run.min(self.len - pair - left);
        let begin = first - pair;
        Part { pair, left, right, begin, end: (begin + self.part).min(left + right) }
    }

    /// How many elements of the left run are among the first ones of the merged pair, up to where a
    /// part begins.
    ///
    /// # Safety
    /// There are elements at `from`, which nothing writes.
    #[inline(always)]
    unsafe fn search(&self, part: &Part) -> usize {
        let mut low = part.begin.saturating_sub(part.right);
        let mut high = part.begin.min(part.left);
        while low < high {
            let middle = low.midpoint(high);
            // SAFETY: `middle` is below the left run's length, and `begin - 1 - middle` below the
            // right one's, by the bounds of the search.
            let takes_right = unsafe {
                let left = self.from.add(part.pair);
                let right = left.add(part.left + part.begin - 1 - middle);
                let is_less = &*self.is_less;
                is_less(&*right, &*left.add(middle))
            };
            if takes_right { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// The kernel that finds where the parts of merged runs begin.
#[repr(transparent)]
pub struct Begins<T, F>(Pass<T, F>);

impl<T, F> Kernel<1> for Begins<T, F>
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        let part = self.0.part(item.x());
        // SAFETY: the launch has as many work-items as there are parts, and each writes its own.
        unsafe { self.0.begins.add(item.x()).write(self.0.search(&part)) }
    }
}

/// The kernel that merges: a work-item for each part.
#[repr(C)]
pub struct Merge<T, F> {
    pass: Pass<T, F>,
    to: *mut T,
    /// Set where parts overlap: the comparison is no order.
    is_bad: *const AtomicBool,
}

impl<T, F> Kernel<1> for Merge<T, F>
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        let pass = &self.pass;
        let part = pass.part(item.x());
        // SAFETY: each part is written by its work-item alone, and the ends of parts are the begins
        // of the next ones, as they were written once: what is read is no other part's.
        unsafe {
            let from = *pass.begins.add(item.x());
            let is_last = part.end == part.left + part.right;
            let to = if is_last { part.left } else { *pass.begins.add(item.x() + 1) };
            let len = part.end - part.begin;
            if to < from || to - from > len {
                (*self.is_bad).store(true, Relaxed);
                return;
            }
            let left = pass.from.add(part.pair);
            let right = left.add(part.left);
            merge(
                left.add(from),
                right.add(part.begin - from),
                right.add(part.end - to),
                left.add(to),
                self.to.add(part.pair + part.begin),
                &*pass.is_less,
            );
        }
    }
}

/// What a sort has come to. In each case the slice has all of its elements.
pub(crate) enum Sorted {
    /// It is sorted.
    Done,
    /// A launch cannot begin, or failed for another reason than a comparison.
    Refused(LaunchError),
    /// There is too little memory, or the comparison is no order.
    Unsorted,
    /// A comparison has panicked.
    Panicked(LaunchError),
}

impl Sorted {
    fn failed(error: LaunchError) -> Self {
        match error {
            LaunchError::Panicked(_) => Self::Panicked(error),
            _ => Self::Refused(error),
        }
    }
}

/// A sort without its types.
pub(crate) struct Steps {
    element: Layout,
    pub(crate) names: Names,
    pub(crate) blocks: KernelType,
    pub(crate) begins: KernelType,
    pub(crate) merge: KernelType,
}

impl Steps {
    pub(crate) const fn of<T, F>() -> Self
    where
        T: Send,
        F: Fn(&T, &T) -> bool + Sync,
    {
        Self {
            element: Layout::new::<T>(),
            names: (type_name::<T>, type_name::<(T, F)>),
            blocks: KernelType::of::<Blocks<T, F>>(),
            begins: KernelType::of::<Begins<T, F>>(),
            merge: KernelType::of::<Merge<T, F>>(),
        }
    }
}

/// A slice that is to be sorted by a comparison.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) begin: *mut u8,
    pub(crate) len: usize,
    pub(crate) is_less: *const u8,
}

/// Sorts a slice by kernels.
///
/// # Safety
/// The elements are those of these steps, which can be moved, and borrowed for the call, as is the
/// comparison.
pub(crate) unsafe fn sort(queue: &Queue, steps: &Steps, slice: Slice, sizes: Sizes) -> Sorted {
    let len = slice.len;
    let sizes = sizes.ending_in_slice(len);
    let parts = sizes.blocks(len);
    let (mut states, mut begins): (Vec<u8>, Vec<usize>) = (Vec::new(), Vec::new());
    let Some(spare) = Memory::for_some(steps.element, len) else { return Sorted::Unsorted };
    if states.try_reserve_exact(parts).is_err() || begins.try_reserve_exact(parts).is_err() {
        return Sorted::Unsorted;
    }
    states.resize(parts, IN_SLICE);
    begins.resize(parts, 0);
    let is_bad = AtomicBool::new(false);
    let launch = Sort {
        steps,
        own: slice.begin,
        other: spare.begin(),
        begins: begins.as_mut_ptr(),
        is_less: slice.is_less,
        len,
        parts,
        sizes,
        is_bad: &is_bad,
    };
    // This may start rayon's threads.
    let threads = device::host_threads(rayon::current_num_threads(), false);
    let mut sorted = Sorted::Unsorted;
    let seen = with_host_memory(queue, &mut || {
        sorted = launch.run(queue, &mut states, threads);
        Ok(())
    });
    seen.map_or_else(Sorted::Refused, |()| sorted)
}

/// A sort in progress.
struct Sort<'a> {
    steps: &'a Steps,
    /// The slice, and memory for as many elements.
    own: *mut u8,
    other: *mut u8,
    /// A number for each part.
    begins: *mut usize,
    is_less: *const u8,
    len: usize,
    parts: usize,
    sizes: Sizes,
    is_bad: &'a AtomicBool,
}

impl Sort<'_> {
    fn run(&self, queue: &Queue, states: &mut [u8], threads: HostThreads) -> Sorted {
        let &Self { own, other, len, parts, sizes, .. } = self;
        let size = self.steps.element.size();
        let blocks = Blocks::<u8, u8> {
            slice: own,
            spare: other,
            states: states.as_mut_ptr(),
            is_less: self.is_less,
            len,
            sizes,
        };
        // SAFETY: the kernel and what it points to live until the launch is over; elements are
        // `Send`, the comparison is `Sync`, and work-items have separate blocks.
        let outcome = unsafe {
            let kernel = self.steps.blocks.kernel();
            run_on_threads(queue, kernel, (&raw const blocks).cast(), parts, threads)
        };
        // All blocks go where the first one is, which most are: the last one may be shorter, and have
        // needed fewer steps. After a failure they go back.
        let mut is_in_slice = outcome.is_err() || states.first() == Some(&IN_SLICE);
        let (from, to) = if is_in_slice { (other, own) } else { (own, other) };
        for (block, state) in states.iter().enumerate() {
            if (*state == IN_SLICE) != is_in_slice {
                let begin = block * sizes.block;
                let length = sizes.block.min(len - begin);
                // SAFETY: the block's elements are at `from`, by its state, and its part of the
                // other buffer is memory for them.
                unsafe {
                    let (from, to) = (from.add(begin * size), to.add(begin * size));
                    to.copy_from_nonoverlapping(from, length * size);
                }
            }
        }
        if let Err(error) = outcome {
            return Sorted::failed(error);
        }
        let mut run = sizes.block;
        let mut sorted = Sorted::Done;
        while run < len {
            let (from, to) = if is_in_slice { (own, other) } else { (other, own) };
            match self.pass(queue, from, to, run, threads) {
                Ok(true) => {}
                Ok(false) => {
                    sorted = Sorted::Unsorted;
                    break;
                }
                Err(error) => {
                    sorted = Sorted::failed(error);
                    break;
                }
            }
            is_in_slice = !is_in_slice;
            run = run.saturating_mul(2);
        }
        // A pass has not merged all, or the only block is a short one.
        if !is_in_slice {
            // SAFETY: all elements are there.
            unsafe { own.copy_from_nonoverlapping(other, len * size) };
        }
        sorted
    }

    /// Merges pairs of runs from `from` to `to`. Whether all of it has been merged; `from` is
    /// unchanged.
    fn pass(
        &self,
        queue: &Queue,
        from: *const u8,
        to: *mut u8,
        run: usize,
        threads: HostThreads,
    ) -> Result<bool, LaunchError> {
        let Self { begins, len, is_less, .. } = *self;
        let part = self.sizes.block;
        let pass = || Pass::<u8, u8> { from, is_less, begins, len, run, part };
        let (find, merge) = (Begins(pass()), Merge { pass: pass(), to, is_bad: self.is_bad });
        let kernels = [
            (&self.steps.begins, (&raw const find).cast::<()>()),
            (&self.steps.merge, (&raw const merge).cast()),
        ];
        for (kernel, data) in kernels {
            // SAFETY: as in `run`; work-items have separate parts, and nothing else uses `begins`.
            unsafe { run_on_threads(queue, kernel.kernel(), data, self.parts, threads)? };
        }
        Ok(!self.is_bad.load(Relaxed))
    }
}

/// A slice that rayon sorts: the compiler replaces the methods of slices only.
pub struct HostSlice<'a, T>(pub(crate) &'a mut [T]);

impl<T: Send> ParallelSliceMut<T> for HostSlice<'_, T> {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self.0
    }
}

/// Sorts as rayon does. Equal elements keep their order.
pub(crate) fn with_rayon<T, F>(slice: &mut [T], is_less: &F)
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    HostSlice(slice).par_sort_by(|a, b| order(is_less, a, b));
}

/// Sorts as rayon does.
pub(crate) fn unstable_with_rayon<T, F>(slice: &mut [T], is_less: &F)
where
    T: Send,
    F: Fn(&T, &T) -> bool + Sync,
{
    HostSlice(slice).par_sort_unstable_by(|a, b| order(is_less, a, b));
}

/// What rayon asks for: less, or not.
#[inline(always)]
fn order<T>(is_less: &impl Fn(&T, &T) -> bool, a: &T, b: &T) -> Ordering {
    if is_less(a, b) { Ordering::Less } else { Ordering::Greater }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_ends_in_the_slice() {
        for sizes in [FOR_THREADS, FOR_WIDE] {
            for len in [2, 31, 32, 33, 1000, 4096, 4097, 9000, 1 << 20, (1 << 20) + 1] {
                let Sizes { run, block } = sizes.ending_in_slice(len);
                assert_eq!(block, sizes.block);
                let mut length = run;
                let mut is_in_slice = false;
                while length < block || length < len {
                    length *= 2;
                    is_in_slice = !is_in_slice;
                }
                assert!(is_in_slice, "{len} in {block}, {run}");
            }
        }
    }
}
