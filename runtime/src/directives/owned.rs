//! Sources that give each iteration of a loop the elements that its indices name, and no other
//! iteration any of these.

use std::cell::RefCell;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;
use std::slice;

use smallvec::SmallVec;

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::directives::elements::Exclusive;
use crate::directives::room::{plane_width, width};
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
    fn list(&self) -> impl AsRef<[(i128, usize)]>;

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

/// Whether each iteration can own `least` elements from these offsets on, plus what the axes add, as
/// [`Owned`] needs it.
pub fn are_apart(least: usize, offsets: &[i128], axes: &impl Axes) -> bool {
    width(&lanes_from(axes.first(), offsets), axes.list().as_ref(), least).is_ok()
}

/// The offsets of lanes, and what axes add to them first.
fn lanes_from(first: i128, offsets: &[i128]) -> SmallVec<[i128; 4]> {
    offsets.iter().map(|offset| offset.saturating_add(first)).collect()
}

/// What iterations own of lanes that begin at these offsets, of which the others' distances from the
/// first are written to `distances`. `text` is the access in the program.
///
/// # Panics
/// If two iterations could own the same element.
#[track_caller]
fn share(
    text: &str,
    len: usize,
    offsets: &[i128],
    distances: &mut [usize],
    (first, strides): (i128, &[(i128, usize)]),
    pitch: i128,
    least: usize,
) -> Lanes {
    for (distance, lane) in distances.iter_mut().zip(&offsets[1..]) {
        *distance = lane.wrapping_sub(offsets[0]) as usize;
    }
    match KNOWN.with_borrow_mut(|known| {
        // Each access has its own text.
        let address = text.as_ptr().addr();
        let known = &mut known[(address >> 2 ^ address >> 7) % PLACES];
        let loops = Loops { len, first, pitch, least };
        if let Some(known) = known
            && known.loops == loops
            && (&*known.offsets, &*known.strides) == (offsets, strides)
        {
            return Ok(known.lanes);
        }
        let lanes = lanes_of(&loops, offsets, strides)?;
        let (offsets, strides) = (offsets.into(), strides.into());
        *known = Some(KnownLanes { loops, offsets, strides, lanes });
        Ok::<_, String>(lanes)
    }) {
        Ok(lanes) => lanes,
        Err(why) => panic!(
            "the iterations of this loop cannot run at the same time: at `{text}` {why}; `unsafe(independent)` asserts that they do not"
        ),
    }
}

/// What the lanes of an access depend on, beside its offsets and strides.
#[derive(Debug, PartialEq, Eq)]
struct Loops {
    /// Elements of the array.
    len: usize,
    first: i128,
    pitch: i128,
    least: usize,
}

/// The lanes of an access in the last loops of a thread.
#[derive(Debug)]
struct KnownLanes {
    loops: Loops,
    offsets: SmallVec<[i128; 4]>,
    strides: SmallVec<[(i128, usize); 4]>,
    lanes: Lanes,
}

/// Accesses that are known. More than that replace each other, where they share a place.
const PLACES: usize = 16;

thread_local! {
    static KNOWN: RefCell<[Option<KnownLanes>; PLACES]> = const { RefCell::new([const { None }; PLACES]) };
}

/// What iterations own of lanes that begin at these offsets.
///
/// # Errors
/// Two iterations could own the same element.
#[inline(never)]
fn lanes_of(
    &Loops { len, first, pitch, least }: &Loops,
    offsets: &[i128],
    strides: &[(i128, usize)],
) -> Result<Lanes, String> {
    let lanes = lanes_from(first, offsets);
    let width = width(&lanes, strides, least)?;
    let of_planes = plane_width(&lanes, strides, pitch);
    let planes =
        Planes { pitch: pitch as usize, count: of_planes.map_or(0, |_| len / pitch as usize + 1) };
    Ok(Lanes { first: lanes[0] as usize, width: width.min(of_planes.unwrap_or(width)), planes })
}

/// Where the first iteration's elements begin in the first lane, and what each owns of all lanes.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    first: usize,
    width: usize,
    planes: Planes,
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
    elements: Exclusive<'a, T>,
    all: Lanes,
    lanes: [usize; MORE],
    strides: A,
}

impl<'a, T: Element, A: Strides, const LEAST: usize, const MORE: usize>
    Owned<'a, T, A, LEAST, MORE>
{
    /// Iterations begin at the first of `offsets` plus what the axes add, and in `MORE` other lanes at the
    /// other offsets. Planes of what inner loops count are at multiples of `pitch`, or there are none if
    /// it is 0. `text` is the access in the program.
    ///
    /// # Panics
    /// If two iterations could own the same element.
    #[track_caller]
    pub fn new(
        text: &str,
        elements: ViewMut<'a, T>,
        offsets: &[i128],
        pitch: i128,
        axes: impl Axes<Strides = A>,
    ) -> Self {
        let mut lanes = [0; MORE];
        let (list, len) = (axes.list(), elements.len());
        let loops = (axes.first(), list.as_ref());
        let all = share(text, len, offsets, &mut lanes, loops, pitch, LEAST);
        drop(list);
        Self { elements: Exclusive::new(elements), all, lanes, strides: axes.strides() }
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
            elements: self.elements.in_kernel(),
            begin: self.all.first.wrapping_add(self.strides.distance(at)),
            width: self.all.width,
            lanes: self.lanes,
            planes: self.all.planes,
        }
    }
}

impl<T: Element, A: Strides, M, const LEAST: usize, const MORE: usize> Prepare<M>
    for Owned<'_, T, A, LEAST, MORE>
{
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.elements.tell(lengths);
        // A number of points that is no `usize` is more than any launch has.
        lengths.add_all_of(self.strides.range(), self.strides.points(), "iterations")
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: self.elements.placed(placement), ..self }
    }
}

/// The elements that an iteration owns, with indices from its first in each lane.
#[derive(Debug)]
pub struct Own<'item, T, const LEAST: usize, const MORE: usize> {
    /// Of the whole array.
    elements: Exclusive<'item, T>,
    begin: usize,
    width: usize,
    /// Where the other lanes are, from the first one.
    lanes: [usize; MORE],
    planes: Planes,
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
        self.elements.len()
    }

    /// Where a lane begins, from the first one.
    #[inline(always)]
    const fn lane<const LANE: usize>(&self) -> usize {
        const { assert!(LANE <= MORE) };
        if LANE == 0 { 0 } else { self.lanes[LANE - 1] }
    }

    /// The element at a distance from the first that the iteration owns.
    #[inline(always)]
    #[track_caller]
    fn element(&self, distance: usize) -> NonNull<T> {
        self.elements.element(self.begin.wrapping_add(distance))
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
}

/// An index of what an iteration owns.
pub trait OwnIndex<const LEAST: usize, const MORE: usize> {
    /// How far the element is from the first one.
    ///
    /// # Panics
    /// If the iteration does not own it.
    fn distance<T>(self, own: &Own<'_, T, LEAST, MORE>) -> usize;
}

impl<const LANE: usize, const DISTANCE: usize, const LEAST: usize, const MORE: usize>
    OwnIndex<LEAST, MORE> for Near<LANE, DISTANCE>
{
    #[inline(always)]
    fn distance<T>(self, own: &Own<'_, T, LEAST, MORE>) -> usize {
        // It owns `LEAST` elements or more of each lane.
        const { assert!(DISTANCE < LEAST) };
        own.lane::<LANE>().wrapping_add(DISTANCE)
    }
}

impl<const LANE: usize, const LEAST: usize, const MORE: usize> OwnIndex<LEAST, MORE>
    for Within<LANE>
{
    #[inline(always)]
    #[track_caller]
    fn distance<T>(self, own: &Own<'_, T, LEAST, MORE>) -> usize {
        own.within::<LANE>(self.0)
    }
}

impl<const LANE: usize, const LEAST: usize, const MORE: usize> OwnIndex<LEAST, MORE>
    for InPlane<LANE>
{
    #[inline(always)]
    #[track_caller]
    fn distance<T>(self, own: &Own<'_, T, LEAST, MORE>) -> usize {
        let Self(plane, distance) = self;
        let before = plane.wrapping_mul(own.planes.pitch);
        if plane < own.planes.count {
            return own.within::<LANE>(distance).wrapping_add(before);
        }
        // Where nothing is known of planes, all is one.
        let is_one = own.planes.count == 0;
        own.within::<LANE>(if is_one { before.wrapping_add(distance) } else { usize::MAX })
    }
}

impl<T, I: OwnIndex<LEAST, MORE>, const LEAST: usize, const MORE: usize> Index<I>
    for Own<'_, T, LEAST, MORE>
{
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: I) -> &T {
        let distance = index.distance(self);
        // SAFETY: the iteration owns it; nothing else accesses it as long as that runs.
        unsafe { self.element(distance).as_ref() }
    }
}

impl<T, I: OwnIndex<LEAST, MORE>, const LEAST: usize, const MORE: usize> IndexMut<I>
    for Own<'_, T, LEAST, MORE>
{
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut T {
        let distance = index.distance(self);
        // SAFETY: as above, and it is borrowed exclusively.
        unsafe { self.element(distance).as_mut() }
    }
}

/// A source that gives the only work-item of a launch all elements.
#[derive(Debug)]
pub struct All<'a, T>(Exclusive<'a, T>);

impl<'a, T: Element> All<'a, T> {
    /// All elements of a view.
    #[must_use]
    pub const fn new(elements: ViewMut<'a, T>) -> Self {
        Self(Exclusive::new(elements))
    }
}

// SAFETY: it has agreed to a length of 1, so there are no two indices.
unsafe impl<T: Element> Source for All<'_, T> {
    type Item<'item> = &'item mut [T];

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> &'item mut [T] {
        // SAFETY: these are the elements of the view, whose borrow outlives the launch; this is the
        // only work-item.
        unsafe { slice::from_raw_parts_mut(self.0.begin().as_ptr(), self.0.len()) }
    }
}

impl<T: Element, M> Prepare<M> for All<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        self.0.tell(lengths);
        lengths.add(1)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self(self.0.placed(placement))
    }
}
