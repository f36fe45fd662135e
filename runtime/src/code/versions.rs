//! The versions of one kernel on one device, and which of them a launch gets.
//!
//! A version counts on facts and values ([`crate::code::assumptions`]), and runs the launches for which they hold. A launch never waits for a
//! better version than it needs:
//!
//! - The first one is compiled for what holds for the launch that asks.
//! - A launch for which no version is good asks for one that counts on less: on what holds for this launch and for those that asked
//!   before. So there are few such versions, and the last one is good for all. Only the size of a launch's groups stays known,
//!   and what is [`Specialized`](crate::Specialized), up to some number of sizes and values.
//! - What is better for launches as they have been for a while is compiled in the background: see [`crate::code::profile`].

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use crate::code::assumptions::{Facts, Known, Leaves, copy};
use crate::code::profile::Watch;
use crate::code::requirements::{Launch, Wish};
use crate::code::variant::Variant;
use crate::error::ImageError;
use crate::launch::adaptivity::Adaptivity;
use crate::util::retry::Failures;

pub(crate) type Compiled<K> = Result<Arc<K>, ImageError>;

/// As many versions may be for one size of groups only.
const MOST_GROUPS: usize = 8;

/// As many sets of values may be specialized for.
const MOST_SPECIALIZED: usize = 32;

/// A version that is there, or being made by whoever asked first.
#[derive(Debug)]
struct Version<K> {
    wish: Wish,
    /// It knows all values that the program wants to be known.
    specialized: bool,
    code: Code<K>,
}

#[derive(Debug)]
enum Code<K> {
    Ready(Arc<K>),
    /// By whoever asked first.
    Making(Arc<Making<K>>),
    /// It is tried again by the rule of [`crate::util::retry`], if the error is transient.
    Failed(ImageError, Failures),
}

#[derive(Debug)]
struct Making<K> {
    made: OnceLock<Compiled<K>>,
    /// Those before.
    failures: Failures,
}

impl<K> Making<K> {
    fn begin(failures: Failures) -> Arc<Self> {
        Arc::new(Self { made: OnceLock::new(), failures })
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Family<K> {
    /// What all versions have in common.
    pub(crate) variant: Variant,
    pub(crate) leaves: Leaves,
    versions: RwLock<Versions<K>>,
    pub(crate) watch: Watch,
    /// The code was made ahead of time, for launches of which nothing is known.
    pub(crate) is_ahead: bool,
}

#[derive(Debug)]
struct Versions<K> {
    /// Those that count on more come first.
    list: Vec<Version<K>>,
    /// What held for all launches that had to wait for a version.
    common: Option<Facts>,
    /// How many sets of values were specialized for.
    specialized: usize,
}

impl<K> Versions<K> {
    /// The best version for a launch.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    unsafe fn find(&self, launch: &Launch) -> Option<&Version<K>> {
        let adapts = launch.adaptivity != Adaptivity::Off;
        // Few kernels have anything specialized; of the others every version knows all of that.
        let any = !adapts || self.specialized >= MOST_SPECIALIZED;
        self.list.iter().find(|version| {
            let Wish { facts, values } = &version.wish;
            facts.hold_for(launch.facts)
                && (!launch.demands_block || facts.block == launch.facts.block)
                && (any || version.specialized)
                && (adapts || values.is_empty())
                // SAFETY: the caller's promise.
                && values.iter().all(|known| unsafe { known.holds_for(launch.closure) })
        })
    }

    /// Adds a version behind all that count on more.
    fn insert(&mut self, version: Version<K>) {
        let weight = |version: &Version<K>| (version.wish.values.len(), version.wish.facts.count());
        let at = self.list.partition_point(|other| weight(other) >= weight(&version));
        self.list.insert(at, version);
    }
}

impl<K> Family<K> {
    pub(crate) fn new(variant: Variant, leaves: Leaves, watch: Watch) -> Self {
        let versions = Versions { list: Vec::new(), common: None, specialized: 0 };
        Self { variant, leaves, versions: RwLock::new(versions), watch, is_ahead: false }
    }

    /// The same, whose code was or was not made ahead of time.
    pub(crate) fn made_ahead(self, is_ahead: bool) -> Self {
        Self { is_ahead, ..self }
    }

    fn read(&self) -> RwLockReadGuard<'_, Versions<K>> {
        self.versions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Versions<K>> {
        self.versions.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code for a launch, if it is there and well; and what shall be made for launches to come.
    ///
    /// # Safety
    /// The closure is of the kernel's type.
    #[inline]
    pub(crate) unsafe fn ready(&self, launch: &Launch) -> Option<(Arc<K>, Option<Box<Wish>>)> {
        let versions = self.read();
        // SAFETY: the caller's promise.
        let version = unsafe { versions.find(launch) }?;
        let Code::Ready(code) = &version.code else { return None };
        // SAFETY: as above.
        let wish = unsafe { self.watch.note(launch, &version.wish, &self.leaves) };
        let is_new = |wish: &Wish| versions.list.iter().all(|known| known.wish != *wish);
        Some((Arc::clone(code), wish.filter(|wish| is_new(wish))))
    }

    /// The code for a launch, which `compile` makes if nobody has, or if it is time to try again.
    ///
    /// # Safety
    /// As for [`ready`](Self::ready).
    #[cold]
    pub(crate) unsafe fn make(
        &self,
        launch: &Launch,
        compile: impl FnOnce(&Wish) -> Compiled<K>,
    ) -> Compiled<K> {
        let mut versions = self.write();
        // SAFETY: the caller's promise.
        let version = match unsafe { versions.find(launch) } {
            Some(version) => version,
            None => {
                // SAFETY: as above.
                let version = unsafe { self.begin(&mut versions, launch) };
                versions.insert(version);
                // SAFETY: as above.
                let Some(version) = (unsafe { versions.find(launch) }) else {
                    let reason = "no version of a kernel is good for its launch".to_owned();
                    let code = schism_jit_abi::INTERNAL;
                    return Err(ImageError::Compile { code, reason });
                };
                version
            }
        };
        let slot = match &version.code {
            Code::Ready(code) => return Ok(Arc::clone(code)),
            Code::Making(slot) => Arc::clone(slot),
            Code::Failed(error, failures) => {
                if !(error.is_transient() && failures.may_try(Instant::now())) {
                    return Err(error.clone());
                }
                let (wish, slot) = (version.wish.clone(), Making::begin(*failures));
                let same = versions.list.iter_mut().filter(|known| known.wish == wish);
                same.for_each(|version| version.code = Code::Making(Arc::clone(&slot)));
                return self.finish(wish, slot, compile, versions);
            }
        };
        let wish = version.wish.clone();
        self.finish(wish, slot, compile, versions)
    }

    /// Waits for a version, or makes it.
    fn finish(
        &self,
        wish: Wish,
        slot: Arc<Making<K>>,
        compile: impl FnOnce(&Wish) -> Compiled<K>,
        versions: RwLockWriteGuard<'_, Versions<K>>,
    ) -> Compiled<K> {
        drop(versions);
        // Only those who want the same version wait for it.
        let compiled = slot.made.get_or_init(|| compile(&wish)).clone();
        let mut versions = self.write();
        // Whoever is the first of those to come here says how it ended. Somebody else may have put another version in its place since.
        let ours =
            |code: &Code<K>| matches!(code, Code::Making(other) if Arc::ptr_eq(other, &slot));
        let mut known = versions.list.iter_mut();
        if let Some(version) = known.find(|known| known.wish == wish && ours(&known.code)) {
            version.code = match &compiled {
                Ok(code) => Code::Ready(Arc::clone(code)),
                Err(error) => {
                    Code::Failed(error.clone(), slot.failures.and_another(Instant::now()))
                }
            };
        }
        compiled
    }

    /// A version for a launch for which there is none.
    ///
    /// # Safety
    /// As for [`ready`](Self::ready).
    unsafe fn begin(&self, versions: &mut Versions<K>, launch: &Launch) -> Version<K> {
        let adapts = launch.adaptivity != Adaptivity::Off;
        let mut facts = launch.facts;
        if adapts {
            facts = versions.common.map_or(facts, |common| common.and(facts));
            versions.common = Some(facts);
        }
        let knows_groups = adapts && launch.groups && versions.list.len() < MOST_GROUPS;
        if knows_groups || launch.demands_block {
            facts.block = launch.facts.block;
        }
        let wanted = &*self.leaves.specialized;
        let mut values = Vec::new();
        if adapts && !wanted.is_empty() && versions.specialized < MOST_SPECIALIZED {
            versions.specialized += 1;
            values.extend(wanted.iter().map(|leaf| Known {
                param: leaf.param,
                offset: leaf.offset,
                // SAFETY: the caller's promise; leaves lie in the closure.
                bytes: unsafe { copy(launch.closure.add(leaf.offset), leaf.size) },
            }));
        }
        let specialized = values.len() == wanted.len();
        let code = Code::Making(Making::begin(Failures::default()));
        Version { wish: Wish { facts, values }, specialized, code }
    }

    /// Adds a version that was made in the background.
    pub(crate) fn add(&self, wish: Wish, code: Arc<K>) {
        let mut versions = self.write();
        if versions.list.iter().any(|known| known.wish == wish) {
            return;
        }
        let knows = |param: u32| wish.values.iter().any(|known| known.param == param);
        let specialized = self.leaves.specialized.iter().all(|leaf| knows(leaf.param));
        versions.insert(Version { wish, specialized, code: Code::Ready(code) });
    }

    /// Forgets all versions: their kernel is gone.
    pub(crate) fn clear(&self) {
        let list = std::mem::take(&mut self.write().list);
        // Without the lock: that may take calls of a driver.
        drop(list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::assumptions::Scalar;

    /// A kernel whose closure is eight bytes: a value that is specialized in the first half, a number in the second.
    fn family(specialized: bool) -> Family<Wish> {
        let leaf = |param, offset| Scalar { param, offset, size: 4, is_float: false };
        let leaves =
            Leaves::of(vec![leaf(1, 4)], if specialized { vec![leaf(0, 0)] } else { Vec::new() });
        Family::new(Variant::default(), leaves, Watch::new(true))
    }

    fn facts(exact: bool, block: u32) -> Facts {
        Facts { small: true, exact, block: [block, 1, 1], aligned: 0, narrow: 0 }
    }

    /// What a launch gets, and whether it waited for it.
    fn ask(family: &Family<Wish>, launch: Launch) -> (Wish, bool) {
        // SAFETY: the closure has eight bytes.
        if let Some((compiled, _)) = unsafe { family.ready(&launch) } {
            return ((*compiled).clone(), false);
        }
        // SAFETY: as above.
        let compiled = unsafe { family.make(&launch, |wish| Ok(Arc::new(wish.clone()))) };
        ((*compiled.expect("it is made")).clone(), true)
    }

    fn launch(facts: Facts, closure: &[u32; 2]) -> Launch {
        Launch {
            facts,
            closure: closure.as_ptr().cast(),
            groups: false,
            demands_block: false,
            adaptivity: Adaptivity::Basic,
        }
    }

    #[test]
    fn few_versions_for_launches_of_all_shapes() {
        let family = family(false);
        let closure = [1, 2];
        let ask = |facts| ask(&family, launch(facts, &closure));
        let (first, waited) = ask(facts(true, 32));
        assert!(waited && first.facts == facts(true, 32));
        assert!(!ask(facts(true, 32)).1);
        // The same blocks, not all of them full.
        let (second, waited) = ask(facts(false, 32));
        assert!(waited && second.facts == facts(false, 32));
        // Other blocks: neither is known any more, and this one is for all.
        let (third, waited) = ask(facts(true, 256));
        assert!(waited && third.facts == Facts { small: true, ..Facts::default() });
        for block in [64, 128, 256] {
            for exact in [false, true] {
                assert_eq!(ask(facts(exact, block)), (third.clone(), false));
            }
        }
        // Those that count on more are taken where they are good.
        assert_eq!(ask(facts(true, 32)), (first, false));
        assert_eq!(ask(facts(false, 32)), (second, false));
        let (last, waited) = ask(Facts { small: false, ..facts(true, 256) });
        assert!(waited && last.facts == Facts::default());
    }

    #[test]
    fn groups_have_versions_of_their_own_up_to_some_number() {
        let family = family(false);
        let closure = [1, 2];
        let of = |block| Launch { groups: true, ..launch(facts(true, block), &closure) };
        for block in 1..=MOST_GROUPS as u32 {
            let (wish, waited) = ask(&family, of(block));
            assert!(waited && wish.facts.block == [block, 1, 1]);
        }
        let (rest, waited) = ask(&family, of(100));
        assert!(waited && rest.facts.block == [0; 3] && rest.facts.exact);
        assert_eq!(ask(&family, of(101)), (rest, false));
        assert_eq!(ask(&family, of(3)).0.facts.block, [3, 1, 1]);
        // If that does not do.
        let demanding = Launch { demands_block: true, ..of(101) };
        assert_eq!(ask(&family, demanding).0.facts.block, [101, 1, 1]);
    }

    #[test]
    fn specialized_values_have_versions_of_their_own_up_to_some_number() {
        let family = family(true);
        let value = |wish: &Wish| wish.values.first().map(|known| known.bytes[0]);
        for number in 0..MOST_SPECIALIZED as u32 {
            let (wish, waited) = ask(&family, launch(facts(true, 32), &[number, 7]));
            assert!(waited && value(&wish) == Some(number as u8));
            let (again, waited) = ask(&family, launch(facts(true, 32), &[number, 8]));
            assert!(!waited && again == wish);
        }
        let (rest, waited) = ask(&family, launch(facts(true, 32), &[100, 7]));
        assert!(waited && value(&rest).is_none());
        assert_eq!(ask(&family, launch(facts(true, 32), &[101, 7])), (rest, false));
        assert_eq!(value(&ask(&family, launch(facts(true, 32), &[3, 7])).0), Some(3));
    }

    #[test]
    fn without_adaptivity_nothing_is_counted_on() {
        let family = family(true);
        let closure = [5, 2];
        let small = Facts { small: true, ..Facts::default() };
        let off = Launch { adaptivity: Adaptivity::Off, ..launch(small, &closure) };
        ask(&family, launch(facts(true, 32), &closure));
        let (wish, waited) = ask(&family, off);
        assert!(waited && wish == Wish { facts: small, values: Vec::new() });
        assert!(!ask(&family, off).1);
        // What was made for it says nothing about others.
        let (wish, _) = ask(&family, launch(facts(true, 32), &[6, 2]));
        assert_eq!((wish.facts, wish.values.len()), (facts(true, 32), 1));
    }

    /// What `make` gives, with a compiler that fails so; and whether it was asked.
    fn fail(family: &Family<Wish>, launch: &Launch, error: &ImageError) -> bool {
        let mut asked = false;
        let compile = |_: &Wish| {
            asked = true;
            Err(error.clone())
        };
        // SAFETY: the closure has eight bytes.
        let compiled = unsafe { family.make(launch, compile) };
        assert_eq!(compiled.expect_err("it fails").to_string(), error.to_string());
        asked
    }

    #[test]
    fn a_transient_failure_is_tried_again_and_a_permanent_one_is_kept() {
        let closure = [1, 2];
        let launch = launch(facts(true, 32), &closure);
        let driver = |code| ImageError::Driver {
            source: Box::new(crate::error::DriverError {
                call: "cuModuleLoadDataEx",
                code,
                name: String::new(),
                text: String::new(),
            }),
            log: String::new(),
        };
        // Out of memory, once.
        let (no_memory, refused) = (driver(2), driver(218));
        let once = family(false);
        assert!(fail(&once, &launch, &no_memory));
        let (_, waited) = ask(&once, launch);
        assert!(waited);
        assert!(!ask(&once, launch).1);
        // Again and again: after the second time there is a pause.
        let always = family(false);
        let tries = (0..100_000).filter(|_| fail(&always, &launch, &no_memory)).count();
        assert!((2..20).contains(&tries), "{tries}");
        std::thread::sleep(std::time::Duration::from_millis(50));
        // Code that is refused is refused for ever.
        let never = family(false);
        assert!(fail(&never, &launch, &refused));
        assert!((0..100).all(|_| !fail(&never, &launch, &refused)));
    }

    #[test]
    fn a_version_of_the_background_is_taken_while_its_values_hold() {
        let family = family(false);
        let (plain, _) = ask(&family, launch(facts(true, 32), &[1, 2]));
        let known = Known { param: 1, offset: 4, bytes: Box::from(2_u32.to_le_bytes()) };
        let better = Wish { facts: facts(true, 32), values: vec![known] };
        family.add(better.clone(), Arc::new(better.clone()));
        family.add(better.clone(), Arc::new(better.clone()));
        assert_eq!(ask(&family, launch(facts(true, 32), &[9, 2])), (better, false));
        assert_eq!(ask(&family, launch(facts(true, 32), &[9, 3])), (plain, false));
        family.clear();
        assert!(ask(&family, launch(facts(true, 32), &[9, 2])).1);
    }
}
