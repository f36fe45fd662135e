//! Shares: what one work-item owns of its group's part.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use crate::kernel::group::member::Member;

/// A work-item's share of a part that belongs to its group, such as a row of a matrix: of `n`
/// work-items, number `i` owns the elements `i`, `i + n`, `i + 2n` and so on of the part. It may
/// change them at any time, in any order, without synchronization.
///
/// Kernels get it from [`per_group`](fn@crate::per_group) and
/// [`per_sub_group`](fn@crate::per_sub_group) around [`chunks_mut`](crate::Buffer::chunks_mut).
/// Iterators yield each of its [`len`](Self::len) elements with its index in the part; indexing takes
/// the same indices, and checks that the work-item owns the element. Neighbouring work-items own
/// neighbouring elements, so a GPU can coalesce their accesses.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // Each group scales a row of 5 numbers, so that the largest becomes 1.
/// let queue = Queue::new()?;
/// let input = Buffer::from_slice(&queue, &[1.0, 2.0, 4.0, 2.0, 1.0, 5.0, 0.0, 1.0, 2.0, 3.0])?;
/// let mut output = Buffer::filled(&queue, 10, 0.0_f32)?;
/// let rows = (per_group(input.chunks(5)), per_group(output.chunks_mut(5)));
/// queue.for_each_in(NdRange::new(2 * 4, 4)?, rows, |item, (input, mut output)| {
///     let own = item.strided(input.len()).map(|i| input[i]);
///     let largest = item.reduce_max(own.fold(0.0, f32::max));
///     for (i, to) in output.iter_mut() {
///         *to = input[i] / largest;
///     }
/// })?;
/// assert_eq!(output.to_vec(), [0.25, 0.5, 1.0, 0.5, 0.25, 1.0, 0.0, 0.2, 0.4, 0.6]);
/// # Ok(())
/// # }
/// ```
///
/// # Why this is sound
/// The numbers of the work-items of a group are distinct and less than their count, so no two of
/// them own an element of the same index. Parts of distinct groups do not overlap, and the launch
/// has exclusive access to the buffer. A share cannot be copied, all access goes through a borrow
/// of it, and a work-item cannot keep it or give it away: the kernel accepts it for any lifetime.
/// Therefore two `&mut` to one element never exist, and stores are plain stores.
pub struct Share<'g, T> {
    /// The first element of the part.
    elements: NonNull<T>,
    /// Elements of the part.
    len: usize,
    member: Member,
    part: PhantomData<&'g mut [T]>,
}

impl<'g, T> Share<'g, T> {
    /// # Safety
    /// The elements are valid during `'g`. Nothing else reaches those that belong to `member`.
    #[inline(always)]
    pub(super) const unsafe fn new(part: *mut [T], member: Member) -> Self {
        // SAFETY: the elements are valid.
        let elements = unsafe { NonNull::new_unchecked(part.cast()) };
        Self { elements, len: part.len(), member, part: PhantomData }
    }

    /// The number of elements that the work-item owns.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> usize {
        // Rounded up, by forms that cannot panic; a group has at least one work-item.
        let rest = self.len.saturating_sub(self.member.index);
        let all = rest.wrapping_add(self.member.count).wrapping_sub(1);
        match all.checked_div(self.member.count) {
            Some(own) => own,
            None => 0,
        }
    }

    /// Whether the work-item owns no element.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.member.index >= self.len
    }

    /// The number of elements of the part: what all work-items of the group own together.
    #[inline(always)]
    #[must_use]
    pub const fn part_len(&self) -> usize {
        self.len
    }

    /// Whether the work-item owns the element with this index in the part.
    #[inline(always)]
    const fn owns(&self, index: usize) -> bool {
        // By a form that cannot panic; a group has at least one work-item.
        index < self.len
            && match index.checked_rem(self.member.count) {
                Some(owner) => owner == self.member.index,
                None => false,
            }
    }

    /// The element with this index in the part; `None` if there is none, or another work-item owns it.
    #[inline(always)]
    #[must_use]
    pub const fn get(&self, index: usize) -> Option<&T> {
        if !self.owns(index) {
            return None;
        }
        // SAFETY: the element is in the part, and the work-item's own.
        Some(unsafe { self.elements.add(index).as_ref() })
    }

    /// The element with this index in the part, to be changed; `None` if there is none, or another
    /// work-item owns it.
    #[inline(always)]
    #[must_use]
    pub const fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if !self.owns(index) {
            return None;
        }
        // SAFETY: as above.
        Some(unsafe { self.elements.add(index).as_mut() })
    }

    /// The work-item's elements, each with its index in the part.
    #[inline(always)]
    pub const fn iter_mut(&mut self) -> ShareIter<'_, T> {
        // SAFETY: the share is borrowed exclusively as long as the iterator.
        unsafe { ShareIter::new(self) }
    }
}

impl<T: Copy> Share<'_, T> {
    /// Writes all of the work-item's elements.
    #[inline(always)]
    pub fn fill(&mut self, value: T) {
        for (_, element) in self {
            *element = value;
        }
    }
}

impl<T> Index<usize> for Share<'_, T> {
    type Output = T;

    /// The element with this index in the part.
    ///
    /// # Panics
    /// If there is none, or another work-item owns it.
    #[inline(always)]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => not_own(index, self.len, self.member),
        }
    }
}

impl<T> IndexMut<usize> for Share<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let (len, member) = (self.len, self.member);
        match self.get_mut(index) {
            Some(element) => element,
            None => not_own(index, len, member),
        }
    }
}

#[track_caller]
fn not_own(index: usize, len: usize, Member { index: own, count, .. }: Member) -> ! {
    if index < len {
        panic!(
            "element {index} is another work-item's: number {own} of {count} owns {own}, and each {count}th after it"
        );
    }
    panic!("the part has {len} elements; there is no element {index}");
}

impl<'g, T> IntoIterator for Share<'g, T> {
    type Item = (usize, &'g mut T);
    type IntoIter = ShareIter<'g, T>;

    #[inline(always)]
    fn into_iter(self) -> ShareIter<'g, T> {
        // SAFETY: the share is gone.
        unsafe { ShareIter::new(&self) }
    }
}

impl<'s, T> IntoIterator for &'s mut Share<'_, T> {
    type Item = (usize, &'s mut T);
    type IntoIter = ShareIter<'s, T>;

    #[inline(always)]
    fn into_iter(self) -> ShareIter<'s, T> {
        self.iter_mut()
    }
}

impl<T> fmt::Debug for Share<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { len, member, .. } = self;
        f.debug_struct("Share").field("part_len", len).field("member", member).finish()
    }
}

/// The elements of a [`Share`], each with its index in the part.
#[derive(Debug)]
pub struct ShareIter<'s, T> {
    elements: NonNull<T>,
    len: usize,
    next: usize,
    step: usize,
    part: PhantomData<&'s mut [T]>,
}

impl<T> ShareIter<'_, T> {
    /// # Safety
    /// As long as the iterator is there, nothing else reaches the share's elements.
    #[inline(always)]
    const unsafe fn new(share: &Share<'_, T>) -> Self {
        Self {
            elements: share.elements,
            len: share.len,
            next: share.member.index,
            step: share.member.count,
            part: PhantomData,
        }
    }
}

impl<'s, T> Iterator for ShareIter<'s, T> {
    type Item = (usize, &'s mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, &'s mut T)> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        // The length of a part is at most half of what fits in `usize`, and groups are small.
        self.next = index.wrapping_add(self.step);
        // SAFETY: the element is in the part, and the work-item's own; no other call of `next`
        // gives it.
        Some((index, unsafe { self.elements.add(index).as_mut() }))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = self.len.saturating_sub(self.next).div_ceil(self.step);
        (rest, Some(rest))
    }
}

impl<T> ExactSizeIterator for ShareIter<'_, T> {}
