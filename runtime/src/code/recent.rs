//! The kernels that a queue has launched last: their code is found without a lock.
//!
//! A thread that launches holds the queue anyway, so what the queue keeps for itself needs no other lock.
//! It is a copy of [`VersionSet`]'s list, which is taken again when that has changed. As long as it has
//! not, a launch with the same values gets the same code: by its [`KnownVersions`] the queue finds what it
//! has kept of that launch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::code::profile::Attention;
use crate::code::requirements::{SpecializationKey, VersionRequest};
use crate::code::versions::{VersionSet, Versions};
use crate::launch::adaptivity::Adaptivity;
use crate::launch::options::Math;

/// Kernels of a queue. More than that replace each other, where they share a place.
const PLACES: usize = 8;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct RecentCode<K> {
    places: [Option<RecentKernel<K>>; PLACES],
    /// Whether some versions are not known any more.
    has_replaced: bool,
}

/// A kernel, for the one loader of its queue.
#[derive(Debug)]
pub(super) struct RecentKernel<K> {
    site: Site,
    pub(super) set: Arc<VersionSet<K>>,
    versions: Arc<Versions<K>>,
    /// How often the set had changed then.
    changes: u64,
    /// Which versions these are: no others have the same number.
    number: u64,
    by_all_values: bool,
}

/// The versions that a launch is one of, as they were when it chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownVersions {
    /// Other versions, and those of another kernel, have another number.
    pub(crate) number: u64,
    /// Whether they differ by values other than addresses and integers.
    pub(crate) by_all_values: bool,
    pub(crate) attention: Attention,
}

/// A number for versions that are known from now on.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a set of versions is for, beside its loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// The address of the launch site's entry, which is never freed.
    pub(super) entry: usize,
    pub(super) math: Math,
    pub(super) offset: bool,
    pub(super) sub_grids: bool,
}

impl Site {
    #[inline]
    fn place(self) -> usize {
        // Entries are larger than a cache line.
        (self.entry >> 6 ^ self.entry >> 12) % PLACES
    }
}

impl<K> Default for RecentCode<K> {
    fn default() -> Self {
        Self { places: Default::default(), has_replaced: false }
    }
}

impl<K> RecentCode<K> {
    /// The kernel with its versions of now. `look_up` finds it if it was not launched before, or not
    /// lately.
    #[inline]
    pub(super) fn kernel(
        &mut self,
        site: Site,
        look_up: impl FnOnce() -> Option<Arc<VersionSet<K>>>,
    ) -> Option<&RecentKernel<K>> {
        let place = &mut self.places[site.place()];
        match place {
            Some(known) if known.site == site => {
                if known.is_changed() {
                    known.look_again();
                    self.has_replaced = true;
                }
            }
            _ => {
                self.has_replaced |= place.is_some();
                *place = Some(RecentKernel::new(site, look_up()?));
            }
        }
        place.as_ref()
    }

    /// The kernel, if it was launched lately, and its versions are what they were.
    #[inline]
    pub(super) fn unchanged(&self, site: Site) -> Option<&RecentKernel<K>> {
        let known = self.places[site.place()].as_ref()?;
        (known.site == site && !known.is_changed()).then_some(known)
    }

    /// Gives up code of kernels that have changed since, such as those that are gone.
    pub(crate) fn give_up_changed(&mut self) {
        for place in &mut self.places {
            if place.as_ref().is_some_and(RecentKernel::is_changed) {
                *place = None;
                self.has_replaced = true;
            }
        }
    }

    /// Whether some versions are not known any more that were when it was asked last.
    pub(crate) fn has_replaced(&mut self) -> bool {
        std::mem::take(&mut self.has_replaced)
    }

    /// Whether it knows the versions of this [number](KnownVersions::number).
    pub(crate) fn has(&self, number: u64) -> bool {
        self.places.iter().flatten().any(|known| known.number == number)
    }
}

impl<K> RecentKernel<K> {
    #[cold]
    fn new(site: Site, set: Arc<VersionSet<K>>) -> Self {
        let (versions, changes) = set.now();
        let by_all_values = versions.differ_by_all_values(&set.flattened);
        Self { site, set, versions, changes, number: number(), by_all_values }
    }

    #[inline]
    fn is_changed(&self) -> bool {
        self.changes != self.set.changes()
    }

    #[cold]
    fn look_again(&mut self) {
        (self.versions, self.changes) = self.set.now();
        self.number = number();
        self.by_all_values = self.versions.differ_by_all_values(&self.set.flattened);
    }

    /// The versions for a launch.
    #[inline]
    pub(super) fn known(&self, adaptivity: Adaptivity) -> KnownVersions {
        KnownVersions {
            number: self.number,
            by_all_values: self.by_all_values,
            attention: self.set.profiler.attention(adaptivity),
        }
    }

    /// The code for a launch, if it is ready; and the key of a better version to compile for later
    /// launches.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(super) unsafe fn ready(
        &self,
        launch: &VersionRequest,
    ) -> Option<(&Arc<K>, Option<Box<SpecializationKey>>)> {
        // SAFETY: the caller's promise.
        unsafe { self.versions.ready(&self.set, launch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::assumptions::{Assumptions, FlattenedParameters};
    use crate::code::profile::Profiler;
    use crate::code::variant::Variant;
    use crate::launch::adaptivity::Adaptivity;

    const LAUNCH: VersionRequest = VersionRequest {
        assumptions: Assumptions {
            small: false,
            divisible: false,
            block: [0; 3],
            aligned: 0,
            narrow: 0,
        },
        closure: std::ptr::null(),
        groups: false,
        demands_block: false,
        demands_assumptions: false,
        adaptivity: Adaptivity::Basic,
    };

    fn set() -> Arc<VersionSet<u32>> {
        let (flattened, profiler) = (FlattenedParameters::default(), Profiler::blind());
        Arc::new(VersionSet::new(Variant::default(), flattened, profiler))
    }

    fn site(entry: usize) -> Site {
        Site { entry, math: Math::Precise, offset: false, sub_grids: false }
    }

    /// The code of a launch from `entry`; `set` is what is found there.
    fn code(recent: &mut RecentCode<u32>, entry: usize, set: &Arc<VersionSet<u32>>) -> Option<u32> {
        let kernel = recent.kernel(site(entry), || Some(Arc::clone(set)))?;
        // SAFETY: the kernel has no parameters, so nothing is read.
        unsafe { kernel.ready(&LAUNCH) }.map(|(code, _)| **code)
    }

    fn make(set: &VersionSet<u32>, code: u32) {
        // SAFETY: as above.
        unsafe { set.make(&LAUNCH, |_| Ok(Arc::new(code))) }.expect("it is made");
    }

    #[test]
    fn changes_are_seen() {
        let (mut recent, set) = (RecentCode::default(), set());
        assert_eq!(code(&mut recent, 64, &set), None);
        make(&set, 7);
        assert_eq!(code(&mut recent, 64, &set), Some(7));
        set.clear();
        assert_eq!(code(&mut recent, 64, &set), None);
        make(&set, 8);
        assert_eq!(code(&mut recent, 64, &set), Some(8));
    }

    #[test]
    fn sites_that_share_a_place_replace_each_other() {
        let mut recent = RecentCode::default();
        let sets: Vec<_> = (0..40).map(|_| set()).collect();
        for (number, set) in sets.iter().enumerate() {
            make(set, number as u32);
        }
        for round in 0..3 {
            for (number, set) in sets.iter().enumerate() {
                let entry = 64 * (number + 1);
                assert_eq!(code(&mut recent, entry, set), Some(number as u32), "round {round}");
            }
        }
        let others = Site { offset: true, ..site(64) };
        assert!(recent.kernel(others, || None).is_none());
    }

    #[test]
    fn code_of_a_kernel_that_is_gone_is_given_up() {
        let (mut recent, set) = (RecentCode::default(), set());
        make(&set, 7);
        code(&mut recent, 64, &set);
        recent.give_up_changed();
        assert_eq!(Arc::strong_count(&set), 2);
        set.clear();
        recent.give_up_changed();
        assert_eq!(Arc::strong_count(&set), 1);
    }
}
