//! `SCHISM_CHECK_RACES=1`: loops of directives run in order on the host, and their accesses to arrays
//! that the program says to be independent are compared, element by element.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::directives::outcome::LaunchOutcome;
use crate::error::{LaunchError, Race, RacingAccess};
use crate::kernel::abi::is_device;
use crate::util::variables::CHECK_RACES;

// The functions below, declared by name: the device half does not see their bodies, so it contains
// none of them before it finds that nothing calls them.
unsafe extern "Rust" {
    #[link_name = "__schism_race_iteration"]
    fn by_name_iteration(positions: &[usize]);
    #[link_name = "__schism_race_access"]
    fn by_name_access(access: usize, index: usize, is_write: bool);
}

/// Whether a loop is checked.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
}

/// Whether loops are checked.
pub(super) fn are_checked() -> bool {
    CHECK_RACES.is_on()
}

/// An iteration begins, at these positions of its loops.
#[inline(always)]
pub fn iteration<const D: usize>(positions: [usize; D]) {
    if !is_device() && IS_ACTIVE.load(Ordering::Relaxed) {
        // SAFETY: the function below, which has this type and no preconditions.
        unsafe { by_name_iteration(&positions) };
    }
}

/// The iteration accesses an element.
#[inline(always)]
pub(super) fn access(access: usize, index: usize, is_write: bool) {
    if !is_device() && IS_ACTIVE.load(Ordering::Relaxed) {
        // SAFETY: as above.
        unsafe { by_name_access(access, index, is_write) };
    }
}

#[unsafe(no_mangle)]
fn __schism_race_iteration(positions: &[usize]) {
    CHECK.with_borrow_mut(|check| {
        if let Some(check) = check {
            check.iteration = positions
                .iter()
                .zip(&check.counts)
                .fold(0, |all, (position, count)| all * *count as u128 + *position as u128);
        }
    });
}

#[unsafe(no_mangle)]
fn __schism_race_access(access: usize, index: usize, is_write: bool) {
    CHECK.with_borrow_mut(|check| {
        if let Some(check) = check {
            check.add(index, Entry { iteration: check.iteration, access, is_write });
        }
    });
}

/// An access by an iteration.
#[derive(Clone, Copy)]
struct Entry {
    iteration: u128,
    access: usize,
    is_write: bool,
}

/// Accesses to an element: the latest write, and the latest reads of two iterations.
#[derive(Default)]
struct History {
    write: Option<Entry>,
    reads: [Option<Entry>; 2],
}

/// The check of a loop that runs on this thread.
struct Check {
    counts: Vec<usize>,
    /// The array and the text of each access.
    accesses: &'static [(&'static str, &'static str)],
    iteration: u128,
    elements: HashMap<(&'static str, usize), History>,
    /// The first two accesses that meet, and the element's index.
    race: Option<(usize, Entry, Entry)>,
}

impl Check {
    fn add(&mut self, index: usize, new: Entry) {
        let (array, _) = self.accesses[new.access];
        let history = self.elements.entry((array, index)).or_default();
        let is_other = |old: &Entry| old.iteration != new.iteration;
        let reads = history.reads.into_iter().flatten().filter(|_| new.is_write);
        if let Some(old) = history.write.into_iter().chain(reads).find(is_other) {
            self.race.get_or_insert((index, old, new));
        }
        if new.is_write {
            history.write = Some(new);
        } else if history.reads[0].as_ref().is_some_and(is_other) {
            history.reads = [Some(new), history.reads[0]];
        } else {
            history.reads[0] = Some(new);
        }
    }

    /// The positions of an iteration.
    fn positions(&self, mut iteration: u128) -> Vec<usize> {
        let mut positions = vec![0; self.counts.len()];
        for (position, count) in positions.iter_mut().zip(&self.counts).rev() {
            let count = (*count).max(1) as u128;
            *position = (iteration % count) as usize;
            iteration /= count;
        }
        positions
    }
}

/// The check of one loop, as long as it lives.
#[derive(Debug)]
pub struct Races<const D: usize> {
    is_on: bool,
    /// It belongs to the thread that began it.
    thread: std::marker::PhantomData<Cell<()>>,
}

impl<const D: usize> Races<D> {
    /// Begins to check loops of so many iterations, if that was asked for. `accesses` are the arrays
    /// and the texts of the accesses that have numbers.
    #[must_use]
    pub fn begin(counts: [usize; D], accesses: &'static [(&'static str, &'static str)]) -> Self {
        let is_on = are_checked() && CHECK.with_borrow(Option::is_none);
        if is_on {
            let counts = counts.into();
            let (elements, iteration, race) = (HashMap::new(), 0, None);
            CHECK.set(Some(Check { counts, accesses, iteration, elements, race }));
            IS_ACTIVE.store(true, Ordering::Relaxed);
        }
        Self { is_on, thread: std::marker::PhantomData }
    }

    /// What becomes of the launch. `counted` tells what the loops count at positions.
    /// An error is the launch's own, or [`LaunchError::Race`].
    pub fn end<const N: usize>(
        self,
        outcome: LaunchOutcome,
        counted: impl Fn([usize; D]) -> [(&'static str, String); N],
    ) -> LaunchOutcome {
        let check = if self.is_on { CHECK.take() } else { None };
        let Some(check) = check else { return outcome };
        let Some((index, first, second)) = check.race else { return outcome };
        let told = |entry: Entry| {
            let positions = check.positions(entry.iteration);
            let positions = positions.try_into().unwrap_or([0; D]);
            let counters = counted(positions).map(|(name, value)| format!("{name} = {value}"));
            RacingAccess {
                iteration: counters.join(", "),
                text: check.accesses[entry.access].1.to_owned(),
                is_write: entry.is_write,
            }
        };
        let array = check.accesses[second.access].0.to_owned();
        let (first, second) = (told(first), told(second));
        let race = Race { array, index, first, second };
        LaunchOutcome::new(Err(LaunchError::Race(Box::new(race))))
    }
}

impl<const D: usize> Drop for Races<D> {
    fn drop(&mut self) {
        if self.is_on {
            CHECK.set(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> Check {
        let (elements, iteration, race) = (HashMap::new(), 0, None);
        Check { counts: vec![3, 4], accesses: &[("a", "a[i]")], iteration, elements, race }
    }

    fn has_race(accesses: &[(u128, bool)]) -> bool {
        let mut check = check();
        for (iteration, is_write) in accesses {
            check.add(7, Entry { iteration: *iteration, access: 0, is_write: *is_write });
        }
        check.race.is_some()
    }

    /// All short orders of accesses, against the definition.
    #[test]
    fn two_iterations_meet_if_one_writes() {
        let kinds: Vec<(u128, bool)> = (0..3).flat_map(|own| [(own, false), (own, true)]).collect();
        let mut orders: Vec<Vec<(u128, bool)>> = vec![Vec::new()];
        for _ in 0..5 {
            let longer = orders
                .iter()
                .flat_map(|order| kinds.iter().map(move |kind| [&order[..], &[*kind]].concat()));
            orders = longer.collect();
            for order in &orders {
                let meets = order.iter().any(|(own, is_write)| {
                    *is_write && order.iter().any(|(other, _)| other != own)
                });
                assert_eq!(has_race(order), meets, "{order:?}");
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_loops() {
        assert_eq!(check().positions(11), [2, 3]);
        assert_eq!(check().positions(4), [1, 0]);
    }
}
