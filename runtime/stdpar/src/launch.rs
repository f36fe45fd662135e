//! A pipeline that the host has cut into pieces, and that is to be a launch. Types are not known here:
//! a program has this code once.

use std::alloc::handle_alloc_error;
use std::ops::Range;

use schism::__private::{ErasedKernel, run_on_threads, with_host_memory};
use schism::{LaunchError, Queue};

use crate::device;
use crate::memory::Memory;
use crate::pieces::{DONE, Places, State, TAKEN, UNTOUCHED};
use crate::steps::{Held, Steps, Value};

/// A state in which there is no piece, and no reducer. A reducer that is there is [`UNTOUCHED`].
const NONE: State = 3;

/// Places for values of one type, next to each other.
struct Row {
    value: Value,
    memory: Memory,
}

impl Row {
    /// Places for so many values.
    fn new(value: Value, count: usize) -> Self {
        let memory = Memory::for_some(value.layout, count);
        Self { value, memory: memory.unwrap_or_else(|| handle_alloc_error(value.layout)) }
    }

    const fn at(&self, index: usize) -> *mut u8 {
        self.memory.begin().wrapping_add(index * self.value.layout.size())
    }
}

/// How the results of a pipeline are joined: in the order in which a stack machine does it.
enum Join {
    /// The next piece's result.
    Next,
    /// The last two, by the reducer at this place.
    Reduce(usize),
}

/// A pipeline that is to be a launch. What is left of it is dropped with it.
pub(crate) struct Launch {
    steps: &'static Steps,
    /// One is there while its state is [`UNTOUCHED`].
    pieces: Row,
    /// One is there while its state is [`DONE`]. There is none before the pieces run.
    results: Row,
    /// One for each piece.
    states: Vec<State>,
    /// One is there while its state is [`UNTOUCHED`].
    reducers: Row,
    reducer_states: Vec<State>,
    joins: Vec<Join>,
}

/// What has become of a launch.
pub(crate) enum Outcome {
    /// The result of the whole is in its place.
    Done,
    /// Nothing has run.
    NotBegun(Box<Launch>, LaunchError),
    /// Some pieces have run, and all that was left of the pipeline is dropped.
    Within(LaunchError),
}

/// How an indexed pipeline is cut: in halves as by rayon, none smaller than the producer's least length,
/// at multiples of a unit.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) len: usize,
    pub(crate) least: usize,
    pub(crate) unit: usize,
}

impl Cut {
    /// That of an unindexed pipeline, which says itself where it can be split.
    pub(crate) const UNINDEXED: Self = Self { len: usize::MAX, least: 0, unit: 1 };

    const fn of(self, len: usize) -> Self {
        Self { len, ..self }
    }
}

impl Launch {
    /// Cuts a pipeline into pieces, about as many as are wanted.
    ///
    /// # Safety
    /// The piece is one of a pipeline with these steps, with as many items as `cut` says.
    pub(crate) unsafe fn new(
        steps: &'static Steps,
        piece: Held<'_>,
        wanted: usize,
        cut: Cut,
    ) -> Self {
        // Each half of a part has half of its places, so it is known where it begins.
        let room = wanted.max(1).next_power_of_two();
        let mut this = Self {
            steps,
            pieces: Row::new(steps.piece, room),
            results: Row::new(steps.result, 0),
            states: vec![NONE; room],
            reducers: Row::new(steps.reducer, room),
            reducer_states: vec![NONE; room],
            joins: Vec::with_capacity(2 * room),
        };
        let place = piece.take();
        // SAFETY: there is room for one, and the piece was the caller's.
        unsafe { this.pieces.at(0).copy_from_nonoverlapping(place, steps.piece.layout.size()) };
        this.states[0] = UNTOUCHED;
        // SAFETY: the caller's promise.
        unsafe { this.split(0..room, wanted, cut) };
        this.close_up();
        this
    }

    /// Cuts the piece at the first of some places, of which the others are free.
    ///
    /// # Safety
    /// The piece is there, and has as many items as `cut` says.
    unsafe fn split(&mut self, places: Range<usize>, wanted: usize, cut: Cut) {
        let Range { start: first, end } = places;
        let middle = cut.len / 2 / cut.unit * cut.unit;
        if wanted < 2 || middle < cut.least {
            return self.joins.push(Join::Next);
        }
        let second = first.midpoint(end);
        self.states[first] = NONE;
        // SAFETY: the piece is there, and the places of the two others are free: there is a piece for
        // each place, and a split for each that is in the middle of some.
        let is_split = unsafe {
            let reducer = self.reducers.at(second);
            self.steps.split(self.pieces.at(first), middle, self.pieces.at(second), reducer)
        };
        self.states[first] = UNTOUCHED;
        if !is_split {
            return self.joins.push(Join::Next);
        }
        self.states[second] = UNTOUCHED;
        self.reducer_states[second] = UNTOUCHED;
        // Rounded up, so that no piece is longer than the producer's greatest length.
        let wanted = wanted.div_ceil(2);
        // SAFETY: both are there, and have so many items.
        unsafe {
            self.split(first..second, wanted, cut.of(middle));
            self.split(second..end, wanted, cut.of(cut.len - middle));
        }
        self.joins.push(Join::Reduce(second));
    }

    /// Moves pieces to free places before them.
    fn close_up(&mut self) {
        let size = self.pieces.value.layout.size();
        let mut count = 0;
        for place in 0..self.states.len() {
            if self.states[place] != UNTOUCHED {
                continue;
            }
            if count != place {
                // SAFETY: the piece is there, and the other place is free.
                unsafe {
                    self.pieces.at(count).copy_from_nonoverlapping(self.pieces.at(place), size);
                }
                self.states[place] = NONE;
                self.states[count] = UNTOUCHED;
            }
            count += 1;
        }
        self.states.truncate(count);
    }

    /// The number of pieces.
    pub(crate) const fn pieces(&self) -> usize {
        self.states.len()
    }

    /// What a kernel needs to run the pieces, whose work-items begin in so many parts of them. It is for
    /// one launch, while `self` stays where it is.
    fn places(&mut self, parts: usize) -> Places {
        let count = self.states.len();
        self.results = Row::new(self.steps.result, count);
        Places {
            pieces: self.pieces.at(0),
            results: self.results.at(0),
            states: self.states.as_mut_ptr(),
            parts: parts.clamp(1, count),
        }
    }

    /// Runs the pieces as a kernel, and writes what their results are joined to.
    ///
    /// # Safety
    /// The kernel is one of the pipeline, for pieces, and there is a place for a result.
    pub(crate) unsafe fn run(
        mut self,
        queue: &Queue,
        kernel: ErasedKernel,
        result: *mut u8,
    ) -> Outcome {
        // A pool's size is how many threads its pipelines may have.
        let threads = device::host_threads(rayon::current_num_threads(), self.steps.is_endless);
        let count = self.states.len();
        // The device sees only what is there when the launch begins.
        let places = self.places(threads.most);
        let outcome = with_host_memory(queue, &mut || {
            // SAFETY: the kernel's data, and what they point to, live until the launch is over.
            // Work-items touch their own piece, result and state; pieces may go to other threads, and
            // results may come from there: both are `Send`.
            unsafe { run_on_threads(queue, kernel, (&raw const places).cast(), count, threads) }
        });
        match outcome {
            Ok(()) => {
                // SAFETY: the caller's promise.
                unsafe { self.join(result) };
                Outcome::Done
            }
            // The launch is over, and only this thread reads the states.
            Err(error) if self.states.iter().all(|state| *state == UNTOUCHED) => {
                Outcome::NotBegun(Box::new(self), error)
            }
            Err(error) => Outcome::Within(error),
        }
    }

    /// Has `each` call a function once for each number of a range, runs the piece of that number by
    /// `run` there, which uses it up and writes its result, and writes what these are joined to.
    ///
    /// # Safety
    /// There is a place for a result.
    pub(crate) unsafe fn run_by(
        mut self,
        each: fn(Range<usize>, &(dyn Fn(usize) + Sync)),
        run: &(dyn Fn(*mut u8, *mut u8) + Sync),
        result: *mut u8,
    ) {
        /// Places of which each thread uses other ones.
        struct Shared<'a>(Places, &'a Row, &'a Row);
        // SAFETY: pieces may go to other threads, and results may come from there; each is used by one
        // thread.
        unsafe impl Sync for Shared<'_> {}
        impl Shared<'_> {
            fn state(&self, index: usize) -> *mut State {
                self.0.states.wrapping_add(index)
            }

            fn piece_and_result(&self, index: usize) -> (*mut u8, *mut u8) {
                (self.1.at(index), self.2.at(index))
            }
        }
        let (places, count) = (self.places(1), self.states.len());
        let shared = Shared(places, &self.pieces, &self.results);
        each(0..count, &|index| {
            let (piece, result) = shared.piece_and_result(index);
            // SAFETY: the state of a piece that runs once, and is taken before anything of it runs.
            unsafe {
                shared.state(index).write(TAKEN);
                run(piece, result);
                shared.state(index).write(DONE);
            }
        });
        // SAFETY: the caller's promise.
        unsafe { self.join(result) }
    }

    /// Joins the results. A reducer may panic, and what is left is dropped then.
    ///
    /// # Safety
    /// There is a place for the result.
    unsafe fn join(mut self, result: *mut u8) {
        // Each joint result is where that of its first piece was.
        let mut places: Vec<usize> = Vec::new();
        let mut next = 0;
        for step in std::mem::take(&mut self.joins) {
            match step {
                Join::Next => {
                    assert!(self.states[next] == DONE, "each piece has run to its end");
                    places.push(next);
                    next += 1;
                }
                Join::Reduce(reducer) => {
                    let right = places.pop().expect("both halves come before their reducer");
                    let left = *places.last().expect("both halves come before their reducer");
                    (self.states[left], self.states[right]) = (TAKEN, TAKEN);
                    self.reducer_states[reducer] = TAKEN;
                    // SAFETY: all three are there, as their states said, which now say that they are
                    // not.
                    unsafe {
                        let reducer = self.reducers.at(reducer);
                        self.steps.reduce(reducer, self.results.at(left), self.results.at(right));
                    }
                    self.states[left] = DONE;
                }
            }
        }
        let whole = places.pop().expect("a piece for each step, and at least one");
        self.states[whole] = TAKEN;
        // SAFETY: the result is there, and the caller has a place for it.
        unsafe {
            result
                .copy_from_nonoverlapping(self.results.at(whole), self.steps.result.layout.size());
        }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        let Steps { piece, result, reducer, .. } = self.steps;
        for (index, state) in self.states.iter().enumerate() {
            match *state {
                // SAFETY: the piece is where it was.
                UNTOUCHED => unsafe { piece.drop_at(self.pieces.at(index)) },
                // SAFETY: the result is there.
                DONE => unsafe { result.drop_at(self.results.at(index)) },
                // The work-item that panicked has dropped what it had, where it unwinds. On a device
                // nothing of it is dropped.
                _ => {}
            }
        }
        for (index, state) in self.reducer_states.iter().enumerate() {
            if *state == UNTOUCHED {
                // SAFETY: the reducer is there, and was not used.
                unsafe { reducer.drop_at(self.reducers.at(index)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::mem::MaybeUninit;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;
    use crate::pieces::Piece;

    /// Values, each of which is a piece in the end.
    struct Values<T>(Vec<T>);

    /// What is made of a value, and of two results.
    trait Joined: Sized {
        fn of(&self) -> Self;
        fn join(left: Self, right: Self) -> Self;
    }

    impl<T: Joined> Piece for Values<T> {
        type Result = T;
        type Reducer = Option<T>;

        const IS_ENDLESS: bool = false;

        fn run(self) -> T {
            self.0[0].of()
        }

        unsafe fn split(
            piece: *mut Self,
            middle: usize,
            right: *mut Self,
            reducer: *mut Self::Reducer,
        ) -> bool {
            // SAFETY: the caller's promises.
            unsafe {
                let Self(mut values) = piece.read();
                let own = values[0].of();
                right.write(Self(values.split_off(middle)));
                piece.write(Self(values));
                reducer.write(Some(own));
            }
            true
        }

        fn reduce(_: Option<T>, left: T, right: T) -> T {
            T::join(left, right)
        }
    }

    impl Joined for String {
        fn of(&self) -> Self {
            self.clone()
        }

        fn join(left: Self, right: Self) -> Self {
            format!("({left} {right})")
        }
    }

    const fn steps<T: Joined + Send>() -> Steps {
        Steps::of::<Values<T>>((type_name::<T>, type_name::<T>))
    }

    /// Runs values as pieces, some of which may be several.
    fn run<T: Joined + Send>(steps: &'static Steps, values: Vec<T>, wanted: usize) -> T {
        let cut = Cut { len: values.len(), least: 1, unit: 1 };
        let mut values = MaybeUninit::new(Values(values));
        let mut result = MaybeUninit::<T>::uninit();
        // SAFETY: the values are there, and there is a place for the result, which is written.
        unsafe {
            let values = Held::new(steps.piece, values.as_mut_ptr().cast());
            let launch = Launch::new(steps, values, wanted, cut);
            let run = |piece, result| steps.fold(piece, result);
            launch.run_by(|numbers, run| numbers.for_each(run), &run, result.as_mut_ptr().cast());
            result.assume_init()
        }
    }

    #[test]
    fn results_are_joined_in_order() {
        let of = |names: &str, wanted| {
            let names = names.chars().map(String::from).collect();
            run(const { &steps::<String>() }, names, wanted)
        };
        assert_eq!(of("abcd", 4), "((a b) (c d))");
        assert_eq!(of("abcdef", 8), "((a (b c)) (d (e f)))");
        assert_eq!(of("a", 4), "a");
        assert_eq!(of("abc", 2), "(a b)");
    }

    /// Panics where there are more of it than a number, or where two are joined.
    struct Counted(Arc<usize>);

    impl Joined for Counted {
        fn of(&self) -> Self {
            assert!(Arc::strong_count(&self.0) < *self.0, "it is to be caught");
            Self(Arc::clone(&self.0))
        }

        fn join(_: Self, _: Self) -> Self {
            panic!("it is to be caught")
        }
    }

    #[test]
    fn what_is_left_is_dropped_once() {
        // In a split, in the first piece, in a later one, and in a reducer.
        for most in [6, 8, 9, 10, 100] {
            let count = Arc::new(most);
            let values = || (0..4).map(|_| Counted(Arc::clone(&count))).collect();
            let in_order = || run(const { &steps::<Counted>() }, values(), 4);
            catch_unwind(AssertUnwindSafe(in_order)).err().expect("it panics");
            assert_eq!(Arc::strong_count(&count), 1, "{most}");
        }
    }
}
