//! Sources that give each iteration of a loop the elements that its indices name, and no other
//! iteration any of these.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::directives::steps::{Counter, Step, Steps};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// What a loop adds to an index, as a kernel needs it.
#[derive(Clone, Copy, Debug)]
pub struct Stride<C, S> {
    coefficient: C,
    step: S,
    /// How many iterations the loop has.
    pub(super) count: usize,
}

impl<C: Step, S: Step> Stride<C, S> {
    #[inline(always)]
    pub(super) fn by(&self, iterations: usize) -> usize {
        let one = self.coefficient.get().wrapping_mul(self.step.get()) as usize;
        one.wrapping_mul(iterations)
    }

    pub(super) fn widened(&self) -> (i128, usize) {
        (self.coefficient.get() as i128 * self.step.get() as i128, self.count)
    }
}

/// What a loop adds to an index: a multiple of what it counts.
#[derive(Clone, Copy, Debug)]
pub struct Axis<C, S> {
    pub(super) stride: Stride<C, S>,
    /// What it adds in the first iteration.
    pub(super) first: i128,
}

impl<C: Step, S: Step> Axis<C, S> {
    /// `count` iterations of a loop that counts by `steps`, each adding `coefficient` times what it
    /// counts.
    pub fn new<I: Counter>(coefficient: C, steps: &Steps<I, S>, count: usize) -> Self {
        let first = steps.begin().saturating_mul(coefficient.get() as i128);
        Self { stride: Stride { coefficient, step: steps.step(), count }, first }
    }
}

/// The loops of a launch, from the outermost.
pub trait Axes {
    type Strides: Strides;

    fn first(&self) -> i128;

    fn strides(self) -> Self::Strides;
}

/// What a kernel needs of these.
pub trait Strides: Copy + Send + Sync {
    /// The distance of one iteration from the first, in elements, wrapping.
    fn distance(&self, at: GridPoint) -> usize;

    /// The strides and the numbers of iterations.
    fn list(&self) -> Vec<(i128, usize)>;
}

impl<C: Step, S: Step> Axes for (Axis<C, S>,) {
    type Strides = (Stride<C, S>,);

    fn first(&self) -> i128 {
        self.0.first
    }

    fn strides(self) -> Self::Strides {
        (self.0.stride,)
    }
}

impl<C: Step, S: Step> Strides for (Stride<C, S>,) {
    #[inline(always)]
    fn distance(&self, at: GridPoint) -> usize {
        self.0.by(at.index)
    }

    fn list(&self) -> Vec<(i128, usize)> {
        vec![self.0.widened()]
    }
}

impl<C: Step, S: Step, D: Step, T: Step> Axes for (Axis<C, S>, Axis<D, T>) {
    type Strides = (Stride<C, S>, Stride<D, T>);

    fn first(&self) -> i128 {
        self.0.first.saturating_add(self.1.first)
    }

    fn strides(self) -> Self::Strides {
        (self.0.stride, self.1.stride)
    }
}

impl<C: Step, S: Step, D: Step, T: Step> Strides for (Stride<C, S>, Stride<D, T>) {
    #[inline(always)]
    fn distance(&self, at: GridPoint) -> usize {
        let [row, column] = at.in_rows_of(self.1.count);
        self.0.by(row).wrapping_add(self.1.by(column))
    }

    fn list(&self) -> Vec<(i128, usize)> {
        vec![self.0.widened(), self.1.widened()]
    }
}

impl<C, S, D, T, E, U> Axes for (Axis<C, S>, Axis<D, T>, Axis<E, U>)
where
    C: Step,
    S: Step,
    D: Step,
    T: Step,
    E: Step,
    U: Step,
{
    type Strides = (Stride<C, S>, Stride<D, T>, Stride<E, U>);

    fn first(&self) -> i128 {
        self.0.first.saturating_add(self.1.first).saturating_add(self.2.first)
    }

    fn strides(self) -> Self::Strides {
        (self.0.stride, self.1.stride, self.2.stride)
    }
}

impl<C, S, D, T, E, U> Strides for (Stride<C, S>, Stride<D, T>, Stride<E, U>)
where
    C: Step,
    S: Step,
    D: Step,
    T: Step,
    E: Step,
    U: Step,
{
    #[inline(always)]
    fn distance(&self, at: GridPoint) -> usize {
        let [rows, column] = at.in_rows_of(self.2.count);
        // A division by 0 occurs only where there are no points.
        let plane = rows.checked_div(self.1.count).unwrap_or(0);
        let row = rows.checked_rem(self.1.count).unwrap_or(0);
        self.0.by(plane).wrapping_add(self.1.by(row)).wrapping_add(self.2.by(column))
    }

    fn list(&self) -> Vec<(i128, usize)> {
        vec![self.0.widened(), self.1.widened(), self.2.widened()]
    }
}

/// No index of an element is further from 0.
const FURTHEST: i128 = 1 << 62;

/// How many elements each iteration can own so that no two own the same, if each begins at its
/// multiples of the strides from `first`; an error if these are fewer than `least`.
fn width(first: i128, strides: &[(i128, usize)], least: usize) -> Result<usize, String> {
    if strides.iter().any(|(_, count)| *count == 0) {
        return Ok(least);
    }
    let mut moving: Vec<(i128, i128)> = strides
        .iter()
        .filter(|(_, count)| *count > 1)
        .map(|(stride, count)| (*stride, (*count - 1) as i128))
        .collect();
    moving.sort_by_key(|(stride, _)| stride.unsigned_abs());
    // The distance from the first element of the iterations so far to the last of these.
    let (mut reach, mut room) = (0_i128, FURTHEST);
    let (mut lowest, mut highest) = (first, first);
    for (stride, last) in moving {
        let size = stride.saturating_abs();
        room = room.min(size.saturating_sub(reach));
        let all = size.saturating_mul(last);
        reach = reach.saturating_add(all);
        if stride < 0 {
            lowest = lowest.saturating_sub(all);
        } else {
            highest = highest.saturating_add(all);
        }
    }
    let room = room.max(0);
    if room < least as i128 {
        return Err("two iterations may access the same element".to_owned());
    }
    if lowest < -FURTHEST || highest > FURTHEST {
        return Err(format!("the indices from {lowest} to {highest} are none"));
    }
    Ok(usize::try_from(room).unwrap_or(least))
}

/// A source that gives each iteration the elements at an index that depends on what the loops count,
/// `LEAST` of them or more, which may be none.
#[derive(Debug)]
pub struct Owned<'a, T, A, const LEAST: usize> {
    elements: NonNull<T>,
    len: usize,
    first: usize,
    width: usize,
    strides: A,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element, A: Send, const LEAST: usize> Send for Owned<'_, T, A, LEAST> {}
// SAFETY: work-items share it, but each takes other elements.
unsafe impl<T: Element, A: Sync, const LEAST: usize> Sync for Owned<'_, T, A, LEAST> {}

impl<'a, T: Element, A: Strides, const LEAST: usize> Owned<'a, T, A, LEAST> {
    /// Iterations begin at `offset` plus what the axes add. `text` is the access in the program.
    ///
    /// # Panics
    /// If two iterations could own the same element.
    #[track_caller]
    pub fn new(
        text: &str,
        elements: ViewMut<'a, T>,
        offset: i128,
        axes: impl Axes<Strides = A>,
    ) -> Self {
        let first = offset.saturating_add(axes.first());
        let strides = axes.strides();
        match width(first, &strides.list(), LEAST) {
            Ok(width) => Self {
                elements: elements.elements(),
                len: elements.len(),
                first: first as usize,
                width,
                strides,
                borrow: PhantomData,
            },
            Err(why) => panic!(
                "the iterations of this loop cannot run at the same time: at `{text}` {why}; `unsafe(independent)` asserts that they do not"
            ),
        }
    }
}

// SAFETY: points of the grid that differ begin at elements that are `width` or more apart, as was
// checked: of strides in order of size, each is as large as the way through all smaller ones, and
// `width` more. No index wraps.
unsafe impl<T: Element, A: Strides, const LEAST: usize> Source for Owned<'_, T, A, LEAST> {
    type Item<'item> = Own<'item, T, LEAST>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Own<'item, T, LEAST> {
        Own {
            elements: self.elements,
            len: self.len,
            begin: self.first.wrapping_add(self.strides.distance(at)),
            width: self.width,
            borrow: PhantomData,
        }
    }
}

impl<T: Element, A: Strides, M, const LEAST: usize> Prepare<M> for Owned<'_, T, A, LEAST> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        // One that is no `usize` is more than any launch has.
        let points = self.strides.list().into_iter().map(|(_, count)| count);
        lengths.add(points.fold(1, usize::saturating_mul))
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

/// The elements that an iteration owns, with indices from its first.
#[derive(Debug)]
pub struct Own<'item, T, const LEAST: usize> {
    /// Of the whole array.
    elements: NonNull<T>,
    len: usize,
    begin: usize,
    width: usize,
    borrow: PhantomData<&'item mut [T]>,
}

/// An element that an iteration owns, at a distance that is known when the program is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Near<const DISTANCE: usize>;

impl<T, const LEAST: usize> Own<'_, T, LEAST> {
    /// The number of elements of the whole array.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it stands for the array")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The element at a distance from the first that the iteration owns.
    ///
    /// # Safety
    /// The iteration owns as many elements.
    #[inline(always)]
    #[track_caller]
    unsafe fn element(&self, distance: usize) -> NonNull<T> {
        let (index, len) = (self.begin.wrapping_add(distance), self.len);
        assert!(index < len, "index out of bounds: the len is {len} but the index is {index}");
        // SAFETY: the index is below the length.
        unsafe { self.elements.add(index) }
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, distance: usize) {
        let (begin, width) = (self.begin, self.width);
        assert!(
            distance < width,
            "this iteration owns {width} elements from index {begin}, and another may access the one {distance} further on"
        );
    }
}

impl<T, const LEAST: usize, const DISTANCE: usize> Index<Near<DISTANCE>> for Own<'_, T, LEAST> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, _: Near<DISTANCE>) -> &T {
        const { assert!(DISTANCE < LEAST) };
        // SAFETY: it owns `LEAST` elements or more, which nothing else accesses as long as it lives.
        unsafe { self.element(DISTANCE).as_ref() }
    }
}

impl<T, const LEAST: usize, const DISTANCE: usize> IndexMut<Near<DISTANCE>> for Own<'_, T, LEAST> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, _: Near<DISTANCE>) -> &mut T {
        const { assert!(DISTANCE < LEAST) };
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { self.element(DISTANCE).as_mut() }
    }
}

impl<T, const LEAST: usize> Index<usize> for Own<'_, T, LEAST> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, distance: usize) -> &T {
        self.check(distance);
        // SAFETY: the check; nothing else accesses the elements as long as it lives.
        unsafe { self.element(distance).as_ref() }
    }
}

impl<T, const LEAST: usize> IndexMut<usize> for Own<'_, T, LEAST> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, distance: usize) -> &mut T {
        self.check(distance);
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { self.element(distance).as_mut() }
    }
}

/// A source that gives every iteration all elements, to read and to change.
#[derive(Debug)]
pub struct Independent<'a, T> {
    elements: NonNull<T>,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: as of `Owned`.
unsafe impl<T: Element> Send for Independent<'_, T> {}
// SAFETY: the caller of `new` promises that work-items do not meet.
unsafe impl<T: Element> Sync for Independent<'_, T> {}

impl<'a, T: Element> Independent<'a, T> {
    /// # Safety
    /// No two work-items of the launch access the same element, unless both only read it.
    pub const unsafe fn new(elements: ViewMut<'a, T>) -> Self {
        Self { elements: elements.elements(), len: elements.len(), borrow: PhantomData }
    }
}

// SAFETY: the caller of `new` promises that work-items do not meet.
unsafe impl<T: Element> Source for Independent<'_, T> {
    type Item<'item> = Own<'item, T, 1>;

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> Own<'item, T, 1> {
        let (elements, len) = (self.elements, self.len);
        Own { elements, len, begin: 0, width: usize::MAX, borrow: PhantomData }
    }
}

impl<T: Element, M> Prepare<M> for Independent<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

/// A source that gives the only work-item of a launch all elements.
#[derive(Debug)]
pub struct All<'a, T> {
    elements: NonNull<T>,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for All<'_, T> {}
// SAFETY: one work-item uses it.
unsafe impl<T: Element> Sync for All<'_, T> {}

impl<'a, T: Element> All<'a, T> {
    /// All elements of a view.
    #[must_use]
    pub const fn new(elements: ViewMut<'a, T>) -> Self {
        Self { elements: elements.elements(), len: elements.len(), borrow: PhantomData }
    }
}

// SAFETY: it has agreed to a length of 1, so there are no two indices.
unsafe impl<T: Element> Source for All<'_, T> {
    type Item<'item> = &'item mut [T];

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> &'item mut [T] {
        // SAFETY: these are the elements of the view, whose borrow outlives the launch; this is the
        // only work-item.
        unsafe { std::slice::from_raw_parts_mut(self.elements.as_ptr(), self.len) }
    }
}

impl<T: Element, M> Prepare<M> for All<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        lengths.add(1)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::width;

    /// Every point of small grids, with strides of both signs.
    #[test]
    fn no_two_points_own_the_same_element() {
        let mut accepted = 0;
        for a in -9_i128..10 {
            for b in -4..5 {
                for (m, n) in [(1, 1), (1, 4), (3, 1), (2, 3), (4, 2), (3, 4)] {
                    for least in 1..4 {
                        let strides = [(a, m), (b, n)];
                        let Ok(width) = width(5, &strides, least) else { continue };
                        assert!(width >= least);
                        accepted += 1;
                        let mut owners = HashMap::new();
                        for i in 0..m {
                            for j in 0..n {
                                let begin = a * i as i128 + b * j as i128;
                                for element in begin..begin + width.min(20) as i128 {
                                    let owner = owners.insert(element, (i, j));
                                    assert!(owner.is_none(), "{strides:?} {width}");
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(accepted > 500, "{accepted}");
    }

    #[test]
    fn what_is_no_index_is_refused() {
        assert!(width(0, &[(1, usize::MAX)], 1).is_err());
        assert!(width(i128::MAX, &[(1, 2)], 1).is_err());
        assert!(width(0, &[(i128::MIN, 2)], 1).is_err());
        assert!(width(0, &[(0, 2)], 1).is_err());
        assert_eq!(width(0, &[(0, 2), (1, 0)], 1), Ok(1));
        assert_eq!(width(0, &[(10, 5), (1, 10)], 1), Ok(1));
        assert_eq!(width(0, &[(10, 5)], 1), Ok(10));
        // What is checked at each access may have no room.
        assert_eq!(width(0, &[(0, 5)], 0), Ok(0));
        assert_eq!(width(0, &[(1, 5), (2, 5)], 0), Ok(0));
    }
}
