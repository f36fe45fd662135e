//! Sources that give each iteration of a loop the elements that its indices name, and no other
//! iteration any of these.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::directives::room::{check, plane_width, width};
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

    /// The strides and the numbers of iterations.
    fn list(&self) -> Vec<(i128, usize)>;

    fn strides(self) -> Self::Strides;
}

/// What a kernel needs of these.
pub trait Strides: Copy + Send + Sync {
    /// The distance of one iteration from the first, in elements, wrapping.
    fn distance(&self, at: GridPoint) -> usize;

    /// How many iterations there are, at most as a number of this size.
    fn points(&self) -> usize;

    /// The range of launches whose points have a distance, in the order x, y, z.
    fn range(&self) -> [usize; 3];
}

impl<C: Step, S: Step> Axes for (Axis<C, S>,) {
    type Strides = (Stride<C, S>,);

    fn first(&self) -> i128 {
        self.0.first
    }

    fn list(&self) -> Vec<(i128, usize)> {
        vec![self.0.stride.widened()]
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

    fn points(&self) -> usize {
        self.0.count
    }

    fn range(&self) -> [usize; 3] {
        [self.0.count, 1, 1]
    }
}

impl<C: Step, S: Step, D: Step, T: Step> Axes for (Axis<C, S>, Axis<D, T>) {
    type Strides = (Stride<C, S>, Stride<D, T>);

    fn first(&self) -> i128 {
        self.0.first.saturating_add(self.1.first)
    }

    fn list(&self) -> Vec<(i128, usize)> {
        vec![self.0.stride.widened(), self.1.stride.widened()]
    }

    fn strides(self) -> Self::Strides {
        (self.0.stride, self.1.stride)
    }
}

impl<C: Step, S: Step, D: Step, T: Step> Strides for (Stride<C, S>, Stride<D, T>) {
    #[inline(always)]
    fn distance(&self, at: GridPoint) -> usize {
        let [column, row, _] = at.id;
        self.0.by(row).wrapping_add(self.1.by(column))
    }

    fn points(&self) -> usize {
        self.0.count.saturating_mul(self.1.count)
    }

    fn range(&self) -> [usize; 3] {
        [self.1.count, self.0.count, 1]
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

    fn list(&self) -> Vec<(i128, usize)> {
        vec![self.0.stride.widened(), self.1.stride.widened(), self.2.stride.widened()]
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
        let [column, row, plane] = at.id;
        self.0.by(plane).wrapping_add(self.1.by(row)).wrapping_add(self.2.by(column))
    }

    fn points(&self) -> usize {
        self.0.count.saturating_mul(self.1.count).saturating_mul(self.2.count)
    }

    fn range(&self) -> [usize; 3] {
        [self.2.count, self.1.count, self.0.count]
    }
}

/// Whether each iteration can own `least` elements from these offsets on, plus what the axes add, as
/// [`Owned`] needs it.
pub fn are_apart(least: usize, offsets: &[i128], axes: &impl Axes) -> bool {
    let first = axes.first();
    let lanes: Vec<i128> = offsets.iter().map(|offset| offset.saturating_add(first)).collect();
    width(&lanes, &axes.list(), least).is_ok()
}

/// What inner loops count, as planes: copies of everything that the iterations own, at multiples of a
/// distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes {
    /// From one to the next.
    pub(super) pitch: usize,
    /// How many there are at most; 0 if what the iterations own is not apart from plane to plane.
    pub(super) count: usize,
}

/// A source that gives each iteration the elements at an index that depends on what the loops count,
/// `LEAST` of them or more, which may be none; and as many in each of `MORE` other lanes, which are at
/// a distance that is the same for all iterations.
#[derive(Debug)]
pub struct Owned<'a, T, A, const LEAST: usize, const MORE: usize> {
    elements: NonNull<T>,
    len: usize,
    first: usize,
    width: usize,
    lanes: [usize; MORE],
    planes: Planes,
    strides: A,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element, A: Send, const LEAST: usize, const MORE: usize> Send
    for Owned<'_, T, A, LEAST, MORE>
{
}
// SAFETY: work-items share it, but each takes other elements.
unsafe impl<T: Element, A: Sync, const LEAST: usize, const MORE: usize> Sync
    for Owned<'_, T, A, LEAST, MORE>
{
}

impl<'a, T: Element, A: Strides, const LEAST: usize, const MORE: usize>
    Owned<'a, T, A, LEAST, MORE>
{
    /// Iterations begin at `offset` plus what the axes add, and in other lanes at these offsets. Planes
    /// of what inner loops count are at multiples of `pitch`, or there are none if it is 0. `text` is
    /// the access in the program.
    ///
    /// # Panics
    /// If two iterations could own the same element.
    #[track_caller]
    pub fn new(
        text: &str,
        elements: ViewMut<'a, T>,
        offset: i128,
        lanes: [i128; MORE],
        pitch: i128,
        axes: impl Axes<Strides = A>,
    ) -> Self {
        let first = offset.saturating_add(axes.first());
        let mut all = vec![first];
        all.extend(lanes.map(|lane| lane.saturating_add(axes.first())));
        match width(&all, &axes.list(), LEAST) {
            Ok(width) => Self {
                elements: elements.elements(),
                len: elements.len(),
                first: first as usize,
                width: width.min(plane_width(&all, &axes.list(), pitch).unwrap_or(width)),
                planes: Planes {
                    pitch: pitch as usize,
                    count: match plane_width(&all, &axes.list(), pitch) {
                        Some(_) => elements.len() / pitch as usize + 1,
                        None => 0,
                    },
                },
                lanes: lanes.map(|lane| lane.wrapping_sub(offset) as usize),
                strides: axes.strides(),
                borrow: PhantomData,
            },
            Err(why) => panic!(
                "the iterations of this loop cannot run at the same time: at `{text}` {why}; `unsafe(independent)` asserts that they do not"
            ),
        }
    }
}

// SAFETY: the launch's range is that of the strides. Points of the grid that differ begin at elements that are `width` or more apart, in the same
// lane or in different ones, as was checked: of strides in order of size, each is as large as the way
// through all smaller ones, and `width` more; no difference of two points is nearer than `width` to
// that of two lanes. Planes are further apart than all that iterations own in one, `width` included, or
// there are none. No index wraps.
unsafe impl<T: Element, A: Strides, const LEAST: usize, const MORE: usize> Source
    for Owned<'_, T, A, LEAST, MORE>
{
    type Item<'item> = Own<'item, T, LEAST, MORE>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Own<'item, T, LEAST, MORE> {
        Own {
            elements: self.elements,
            len: self.len,
            begin: self.first.wrapping_add(self.strides.distance(at)),
            width: self.width,
            lanes: self.lanes,
            planes: self.planes,
            borrow: PhantomData,
        }
    }
}

impl<T: Element, A: Strides, M, const LEAST: usize, const MORE: usize> Prepare<M>
    for Owned<'_, T, A, LEAST, MORE>
{
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        if !lengths.are_over(self.strides.range()) {
            let reason = "its iterations are not those of the launch".to_owned();
            lengths.refuse(Err(reason))?;
        }
        // One that is no `usize` is more than any launch has.
        lengths.add(self.strides.points())
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

/// The elements that an iteration owns, with indices from its first in each lane.
#[derive(Debug)]
pub struct Own<'item, T, const LEAST: usize, const MORE: usize> {
    /// Of the whole array.
    elements: NonNull<T>,
    len: usize,
    begin: usize,
    width: usize,
    /// Where the other lanes are, from the first one.
    lanes: [usize; MORE],
    planes: Planes,
    borrow: PhantomData<&'item mut [T]>,
}

/// An element that an iteration owns in a lane, at a distance that is known when the program is
/// compiled.
#[derive(Clone, Copy, Debug)]
pub struct Near<const LANE: usize, const DISTANCE: usize>;

/// An element that an iteration owns in a lane, at a distance that it computes.
#[derive(Clone, Copy, Debug)]
pub struct Within<const LANE: usize>(pub usize);

/// An element that an iteration owns in a lane of a plane, at a distance that it computes.
#[derive(Clone, Copy, Debug)]
pub struct InPlane<const LANE: usize>(pub usize, pub usize);

impl<T, const LEAST: usize, const MORE: usize> Own<'_, T, LEAST, MORE> {
    /// The number of elements of the whole array.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it stands for the array")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Where a lane begins, from the first one.
    #[inline(always)]
    const fn lane<const LANE: usize>(&self) -> usize {
        const { assert!(LANE <= MORE) };
        if LANE == 0 { 0 } else { self.lanes[LANE - 1] }
    }

    /// The element at a distance from the first that the iteration owns.
    ///
    /// # Safety
    /// The iteration owns it, if the array has as many.
    #[inline(always)]
    #[track_caller]
    unsafe fn element(&self, distance: usize) -> NonNull<T> {
        let index = self.begin.wrapping_add(distance);
        check(index, self.len);
        // SAFETY: the index is below the length.
        unsafe { self.elements.add(index) }
    }

    /// The distance of an element in a lane, if the iteration owns it.
    #[inline(always)]
    #[track_caller]
    fn within<const LANE: usize>(&self, distance: usize) -> usize {
        let width = self.width;
        let lane = self.lane::<LANE>();
        assert!(
            distance < width,
            "this iteration owns {width} elements from index {}, and another may access the one {distance} further on",
            self.begin.wrapping_add(lane)
        );
        lane.wrapping_add(distance)
    }

    /// The distance of an element in a lane of a plane, if the iteration owns it.
    #[inline(always)]
    #[track_caller]
    fn in_plane<const LANE: usize>(&self, plane: usize, distance: usize) -> usize {
        let before = plane.wrapping_mul(self.planes.pitch);
        if plane < self.planes.count {
            return self.within::<LANE>(distance).wrapping_add(before);
        }
        // Where nothing is known of planes, all is one.
        let is_one = self.planes.count == 0;
        self.within::<LANE>(if is_one { before.wrapping_add(distance) } else { usize::MAX })
    }
}

impl<T, const LEAST: usize, const MORE: usize, const LANE: usize> Index<InPlane<LANE>>
    for Own<'_, T, LEAST, MORE>
{
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, InPlane(plane, distance): InPlane<LANE>) -> &T {
        let distance = self.in_plane::<LANE>(plane, distance);
        // SAFETY: the check; nothing else accesses the elements as long as it lives.
        unsafe { self.element(distance).as_ref() }
    }
}

impl<T, const LEAST: usize, const MORE: usize, const LANE: usize> IndexMut<InPlane<LANE>>
    for Own<'_, T, LEAST, MORE>
{
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, InPlane(plane, distance): InPlane<LANE>) -> &mut T {
        let distance = self.in_plane::<LANE>(plane, distance);
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { self.element(distance).as_mut() }
    }
}

impl<T, const LEAST: usize, const MORE: usize, const LANE: usize, const DISTANCE: usize>
    Index<Near<LANE, DISTANCE>> for Own<'_, T, LEAST, MORE>
{
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, _: Near<LANE, DISTANCE>) -> &T {
        const { assert!(DISTANCE < LEAST) };
        let distance = self.lane::<LANE>().wrapping_add(DISTANCE);
        // SAFETY: it owns `LEAST` elements or more of each lane, which nothing else accesses as long as
        // it lives.
        unsafe { self.element(distance).as_ref() }
    }
}

impl<T, const LEAST: usize, const MORE: usize, const LANE: usize, const DISTANCE: usize>
    IndexMut<Near<LANE, DISTANCE>> for Own<'_, T, LEAST, MORE>
{
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, _: Near<LANE, DISTANCE>) -> &mut T {
        const { assert!(DISTANCE < LEAST) };
        let distance = self.lane::<LANE>().wrapping_add(DISTANCE);
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { self.element(distance).as_mut() }
    }
}

impl<T, const LEAST: usize, const MORE: usize, const LANE: usize> Index<Within<LANE>>
    for Own<'_, T, LEAST, MORE>
{
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, Within(distance): Within<LANE>) -> &T {
        let distance = self.within::<LANE>(distance);
        // SAFETY: the check; nothing else accesses the elements as long as it lives.
        unsafe { self.element(distance).as_ref() }
    }
}

impl<T, const LEAST: usize, const MORE: usize, const LANE: usize> IndexMut<Within<LANE>>
    for Own<'_, T, LEAST, MORE>
{
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, Within(distance): Within<LANE>) -> &mut T {
        let distance = self.within::<LANE>(distance);
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { self.element(distance).as_mut() }
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
