//! A pipeline without its types: what is to be done with its pieces, as data.
//!
//! A program has an instance of each function here for each of its pipelines. All else, from the
//! choice of where a pipeline runs to the joining of its results, is compiled once, and knows pieces,
//! results and reducers by their places.

use std::alloc::Layout;
use std::any::type_name;
use std::marker::PhantomData;
use std::mem::needs_drop;

use rayon::iter::plumbing::{Consumer, Producer, UnindexedConsumer, UnindexedProducer};
use schism::__private::{ErasedKernel, KernelType};

use crate::each;
use crate::grid;
use crate::pieces::{Indexed, Piece, Pieces};
use crate::unindexed::Unindexed;

/// The names of a pipeline's producer, and of all of its types.
pub(crate) type Names = (fn() -> &'static str, fn() -> &'static str);

/// How values of a type are moved and dropped.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    pub(crate) layout: Layout,
    drop: Option<unsafe fn(*mut u8)>,
}

impl Value {
    const fn of<T>() -> Self {
        let drop: Option<unsafe fn(*mut u8)> =
            if needs_drop::<T>() { Some(drop_at::<T>) } else { None };
        Self { layout: Layout::new::<T>(), drop }
    }

    /// Drops a value.
    ///
    /// # Safety
    /// There is one of this type at the place, which is not used again.
    pub(crate) unsafe fn drop_at(self, place: *mut u8) {
        if let Some(drop) = self.drop {
            // SAFETY: the caller's promise.
            unsafe { drop(place) }
        }
    }
}

/// # Safety
/// As for [`Value::drop_at`].
unsafe fn drop_at<T>(place: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { place.cast::<T>().drop_in_place() }
}

/// A value at a place that someone else provides. It is dropped with this, unless it is taken.
pub(crate) struct Held<'a> {
    value: Value,
    place: *mut u8,
    provided: PhantomData<&'a mut ()>,
}

// SAFETY: what is given to another thread is a piece or a result, and these are `Send`.
unsafe impl Send for Held<'_> {}

impl Held<'_> {
    /// # Safety
    /// There is such a value at the place, which is nothing else's.
    pub(crate) const unsafe fn new(value: Value, place: *mut u8) -> Self {
        Self { value, place, provided: PhantomData }
    }

    pub(crate) const fn place(&self) -> *mut u8 {
        self.place
    }

    /// The place, with the value as the caller's own.
    pub(crate) const fn take(self) -> *mut u8 {
        let place = self.place;
        std::mem::forget(self);
        place
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: the value is there, and was not taken.
        unsafe { self.value.drop_at(self.place) }
    }
}

/// What a piece says of its length.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) len: usize,
    /// The least and the greatest length that parts of it shall have. The least is 0 if items are not
    /// counted.
    pub(crate) least: usize,
    pub(crate) most: usize,
}

/// What can be done with the pieces of a pipeline.
pub(crate) struct Steps {
    pub(crate) piece: Value,
    pub(crate) result: Value,
    pub(crate) reducer: Value,
    pub(crate) is_endless: bool,
    pub(crate) names: Names,
    limits: unsafe fn(*const u8) -> Limits,
    split: unsafe fn(*mut u8, usize, *mut u8, *mut u8) -> bool,
    fold: unsafe fn(*mut u8, *mut u8),
    reduce: unsafe fn(*mut u8, *mut u8, *mut u8),
    /// The kernel for all pipelines, and those of [`each`], of which an indexed one may have one in its
    /// place.
    kernel: KernelType,
    each: Option<[(each::Form, KernelType); 2]>,
    /// How work-items cut their own pieces out.
    pub(crate) grid: Option<grid::Steps>,
}

impl Steps {
    /// Those of an indexed pipeline.
    pub(crate) const fn indexed<P, C>() -> Self
    where
        P: Producer,
        C: Consumer<P::Item>,
    {
        Self {
            limits: limits::<P, C>,
            each: Some([
                (each::Form::Each, KernelType::of::<each::Each<Indexed<P, C>>>()),
                (each::Form::Sums, KernelType::of::<each::Sums<Indexed<P, C>>>()),
            ]),
            grid: grid::Steps::of::<P, C>(),
            ..Self::of::<Indexed<P, C>>((type_name::<P>, type_name::<(P, C)>))
        }
    }

    /// Those of an unindexed pipeline.
    pub(crate) const fn unindexed<P, C>() -> Self
    where
        P: UnindexedProducer,
        C: UnindexedConsumer<P::Item>,
    {
        Self::of::<Unindexed<P, C>>((type_name::<P>, type_name::<(P, C)>))
    }

    pub(crate) const fn of<W>(names: Names) -> Self
    where
        W: Piece<Result: Send> + Send,
    {
        Self {
            piece: Value::of::<W>(),
            result: Value::of::<W::Result>(),
            reducer: Value::of::<W::Reducer>(),
            is_endless: W::IS_ENDLESS,
            names,
            limits: no_limits,
            split: split::<W>,
            fold: fold::<W>,
            reduce: reduce::<W>,
            kernel: KernelType::of::<Pieces<W>>(),
            each: None,
            grid: None,
        }
    }

    /// The kernel that runs pieces which the host has cut, and its form, unless it is the one for all
    /// pipelines.
    pub(crate) fn kernel(&self) -> (ErasedKernel, Option<each::Form>) {
        let each = self.each.iter().flatten().find_map(|(form, kernel)| {
            let kernel = kernel.kernel();
            (kernel.address() != 0).then_some((kernel, Some(*form)))
        });
        each.unwrap_or_else(|| (self.kernel.kernel(), None))
    }

    /// What a piece says of its length: an unindexed one, nothing.
    ///
    /// # Safety
    /// There is a piece.
    pub(crate) unsafe fn limits(&self, piece: *const u8) -> Limits {
        // SAFETY: the caller's promise.
        unsafe { (self.limits)(piece) }
    }

    /// Splits a piece in two, before the item `middle` if they are counted: what comes first stays at
    /// its place. Returns whether that can be done; if not, the piece is as it was.
    ///
    /// # Safety
    /// There is a piece, and there are places for another one, and for the reducer of their results. If
    /// it unwinds, none of the three is there.
    pub(crate) unsafe fn split(
        &self,
        piece: *mut u8,
        middle: usize,
        right: *mut u8,
        reducer: *mut u8,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (self.split)(piece, middle, right, reducer) }
    }

    /// Uses a piece up, and writes its result.
    ///
    /// # Safety
    /// There is a piece, and a place for its result. If it unwinds, neither is there.
    pub(crate) unsafe fn fold(&self, piece: *mut u8, result: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.fold)(piece, result) }
    }

    /// Uses a reducer and two results up, and writes their joint result to the place of `left`.
    ///
    /// # Safety
    /// All three are there. If it unwinds, none is.
    pub(crate) unsafe fn reduce(&self, reducer: *mut u8, left: *mut u8, right: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.reduce)(reducer, left, right) }
    }
}

/// # Safety
/// As for [`Steps::limits`].
unsafe fn limits<P, C>(piece: *const u8) -> Limits
where
    P: Producer,
    C: Consumer<P::Item>,
{
    // SAFETY: the caller's promise.
    let Indexed { len, producer, .. } = unsafe { &*piece.cast::<Indexed<P, C>>() };
    Limits { len: *len, least: producer.min_len().max(1), most: producer.max_len() }
}

/// # Safety
/// None: it is not looked at.
unsafe fn no_limits(_piece: *const u8) -> Limits {
    Limits { len: usize::MAX, least: 0, most: usize::MAX }
}

/// # Safety
/// As for [`Steps::split`].
unsafe fn split<W: Piece>(piece: *mut u8, middle: usize, right: *mut u8, reducer: *mut u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe { W::split(piece.cast(), middle, right.cast(), reducer.cast()) }
}

/// # Safety
/// As for [`Steps::fold`].
unsafe fn fold<W: Piece>(piece: *mut u8, result: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { result.cast::<W::Result>().write(piece.cast::<W>().read().run()) }
}

/// # Safety
/// As for [`Steps::reduce`].
unsafe fn reduce<W: Piece>(reducer: *mut u8, left: *mut u8, right: *mut u8) {
    let left = left.cast::<W::Result>();
    // SAFETY: the caller's promise.
    unsafe {
        let reducer = reducer.cast::<W::Reducer>().read();
        left.write(W::reduce(reducer, left.read(), right.cast::<W::Result>().read()));
    }
}
