//! Where the last launches of a thread have found their ranges of the host's memory, if regions keep all of
//! these on the device.
//!
//! As long as no copy has come or gone since, the same ranges are where they were: that takes neither a
//! lock nor a count of owners. A region's copies stay at least as long as a launch of its elements: the
//! region that has them exclusively ends when nothing borrows them, and one that shares them is of the same
//! thread. Both wait for launches that are [pending](super::pending).

use std::cell::RefCell;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::data::host_copies::merged;
use crate::data::host_range::{AllPlaced, HostRange, Placed};
use crate::data::{pending, present};
use crate::hal::dispatch::BackendQueue;

/// Launches that are known. More than that replace each other, where they share a place.
const PLACES: usize = 16;

thread_local! {
    static KNOWN: RefCell<[Option<Rc<KnownPlaces>>; PLACES]> = const { RefCell::new([const { None }; PLACES]) };
}

/// Where a launch finds its ranges.
#[derive(Debug)]
pub(crate) struct KnownPlaces {
    /// How often copies had come or gone.
    changes: u64,
    device: String,
    ranges: SmallVec<[Key; 4]>,
    placed: AllPlaced,
    /// The addresses of the copies, which tell them from others.
    pub(crate) copies: SmallVec<[usize; 4]>,
}

/// What matters of a range.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    begin: usize,
    bytes: usize,
    align: usize,
    is_changed: bool,
}

impl Key {
    #[inline]
    fn of(range: &HostRange) -> Self {
        let &HostRange { begin, bytes, align, .. } = range;
        Self { begin: begin.addr(), bytes, align, is_changed: range.is_changed() }
    }
}

impl KnownPlaces {
    /// Where launches of a queue find these ranges, and waits for launches of other threads; `None` if not
    /// all are in copies of regions.
    pub(crate) fn of(queue: &BackendQueue, ranges: &[HostRange]) -> Option<Rc<Self>> {
        let mix = |hash: usize, range: &HostRange| {
            (hash + (range.begin.addr() >> 4) + usize::from(range.is_changed()))
                .wrapping_mul(0x9E37_79B9)
        };
        let place = ranges.iter().fold(0, mix) >> 16 & (PLACES - 1);
        // A launch by a destructor of another thread-local does without it.
        let found = KNOWN.try_with(|known| {
            let known = &mut *known.borrow_mut();
            // Each has two places, so that two launches which take turns do not replace each other.
            let is_it = |known: &&Rc<Self>| known.is_for(queue, ranges);
            let found = [place, place ^ 1].iter().find_map(|at| known[*at].as_ref().filter(is_it));
            found.cloned().or_else(|| {
                let new = Self::new(queue, ranges).map(Rc::new)?;
                known[place ^ 1] = known[place].replace(Rc::clone(&new));
                Some(new)
            })
        });
        let found = found.ok().flatten();
        if found.is_some() {
            pending::wait(true);
        }
        found
    }

    #[inline]
    fn is_for(&self, queue: &BackendQueue, ranges: &[HostRange]) -> bool {
        self.changes == present::changes()
            && self.ranges.len() == ranges.len()
            && self.ranges.iter().zip(ranges).all(|(own, other)| *own == Key::of(other))
            && self.device == queue.device_name()
    }

    #[cold]
    fn new(queue: &BackendQueue, ranges: &[HostRange]) -> Option<Self> {
        let apart = merged(ranges.iter().cloned().collect());
        let (changes, copies) = present::locate_in_regions(queue, &apart)?;
        let place = |(range, copy): (&HostRange, &present::InRegion)| Placed {
            begin: range.begin.addr(),
            end: range.end(),
            copy: copy.place,
        };
        Some(Self {
            changes,
            device: queue.device_name().to_owned(),
            ranges: ranges.iter().map(Key::of).collect(),
            placed: apart.iter().zip(&copies).map(place).collect(),
            copies: copies.iter().map(|copy| copy.owner).collect(),
        })
    }

    /// Where the ranges are.
    #[inline]
    pub(crate) fn placed(&self) -> AllPlaced {
        AllPlaced::from_slice(&self.placed)
    }
}
